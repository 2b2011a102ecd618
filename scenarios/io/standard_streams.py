"""Where everything that the command line prints goes through: payload to stdout, what is said about it to stderr.

What is printed holds text that others wrote, so both streams spell out what a terminal would obey (`scenarios.io.escaping`), and a
character that the stream's encoding lacks. stdout that cannot be written, such as on a full disk or when it was closed, raises
`OutputLost`; stderr that cannot be written is left alone, since there is nobody to tell.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterable, Iterator
from typing import IO, Any, Final, cast

from scenarios.io.escaping import visible_json, visible_line, visible_text

NAME: Final = "isrlab"
"""What a complaint begins with."""


class OutputLost(Exception):
    """stdout did not take what was written to it.

    Attributes:
        reader_left: whether it is a pipe whose reader went away, as `head` does.
    """

    def __init__(self, wrong: OSError | ValueError) -> None:
        super().__init__(f"stdout cannot be written: {(isinstance(wrong, OSError) and wrong.strerror) or wrong}")
        self.reader_left = isinstance(wrong, BrokenPipeError)


class Guarded:
    """A text stream on which foreign text may be printed; what it does not know itself is asked of the stream beneath."""

    def __init__(self, stream: IO[str] | None, *, must_arrive: bool, spell_out: bool = True) -> None:
        """Guard a stream.

        Args:
            stream: None if it was closed before the program began.
            must_arrive: whether what is lost raises `OutputLost`.
            spell_out: whether control characters are spelled out.
        """
        self._stream = stream
        self._must_arrive = must_arrive
        self._spell_out = spell_out

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return self._stream is not None and self._stream.isatty()

    def write(self, text: str) -> int:
        """Write a text, its control characters spelled out.

        Raises:
            OutputLost: the stream does not take it.
        """
        shown = visible_text(text) if self._spell_out else text
        try:
            if self._stream is None:
                raise OSError(errno.EBADF, "it is closed")
            try:
                self._stream.write(shown)
            except UnicodeEncodeError as wrong:
                self._stream.write(shown.encode(wrong.encoding, "backslashreplace").decode(wrong.encoding))
        except (OSError, ValueError) as wrong:
            self._lost(wrong)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Hand on what was written.

        Raises:
            OutputLost: the stream does not take it.
        """
        if self._stream is None:
            return
        try:
            self._stream.flush()
        except (OSError, ValueError) as wrong:
            self._lost(wrong)

    def _lost(self, wrong: OSError | ValueError) -> None:
        """What is still buffered would be written again when Python ends, and fail again: from now on it goes nowhere."""
        with contextlib.suppress(OSError, ValueError, AttributeError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, cast("IO[str]", self._stream).fileno())
            os.close(nowhere)
        if self._must_arrive:
            raise OutputLost(wrong) from None

    @property
    def styled(self) -> IO[str]:
        """The same stream for what sets colours and moves the cursor itself, and spells out what is foreign in it."""
        return cast("IO[str]", Guarded(self._stream, must_arrive=self._must_arrive, spell_out=False))


@contextlib.contextmanager
def guarded_streams() -> Iterator[None]:
    """In the block `sys.stdout` and `sys.stderr` are guarded."""
    if sys.stdout is None or sys.stderr is None:
        _fill_descriptors()
    stdout, stderr = sys.stdout, sys.stderr
    sys.stdout = cast("IO[str]", Guarded(stdout, must_arrive=True))
    sys.stderr = cast("IO[str]", Guarded(stderr, must_arrive=False))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = stdout, stderr


def _fill_descriptors() -> None:
    """Where a standard stream is closed, the next file that is opened would take its place, and get what others print."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)


def styled(stream: IO[str]) -> IO[str]:
    """A stream for text with colours and cursor movements of our own."""
    return stream.styled if isinstance(stream, Guarded) else stream


def say_lines(lines: Iterable[str], *, flush: bool = False) -> None:
    """Print payload, line by line; none of them makes a second one."""
    for line in lines:
        sys.stdout.write(visible_line(line) + "\n")
    if flush:
        sys.stdout.flush()


def say_text(text: str) -> None:
    """Print payload that is a whole text, such as a script."""
    sys.stdout.write(text)


def say_json(document: str) -> None:
    """Print payload that is a JSON document; what is spelled out in it is so in JSON's own way."""
    sys.stdout.write(visible_json(document))


def remark(*lines: str) -> None:
    """Say something about what is done, on stderr."""
    sys.stderr.write("".join(visible_line(line) + "\n" for line in lines))
    sys.stderr.flush()


def complain(message: str) -> None:
    """One line on stderr about what is wrong."""
    remark(f"{NAME}: {message}")
