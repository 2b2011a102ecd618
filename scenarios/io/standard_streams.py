"""Prints results to stdout and messages to stderr.

The output can contain text that other people wrote. Both streams therefore escape control characters (`scenarios.io.escaping`) and
characters that the stream's encoding cannot represent. If writing to stdout fails, for example because the disk is full, `OutputLost` is
raised. If writing to stderr fails, the message is dropped.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from collections.abc import Iterable, Iterator
from typing import IO, Any, Final, cast

from scenarios.io.escaping import escape_json, escape_line, escape_text

NAME: Final = "isrlab"
"""The program name, which is the first word of each error message."""


class OutputLost(Exception):
    """An attempt to write to stdout failed.

    Attributes:
        wrong: what the attempt raised.
        reader_left: whether stdout is a pipe that its reader, for example `head`, has closed.
    """

    def __init__(self, wrong: OSError | ValueError) -> None:
        super().__init__(wrong)
        self.wrong = wrong
        self.reader_left = isinstance(wrong, BrokenPipeError)

    def __str__(self) -> str:
        return f"cannot write to stdout: {(isinstance(self.wrong, OSError) and self.wrong.strerror) or self.wrong}"


class _WholeWrites(io.RawIOBase):
    """A binary stream that passes on every byte to another one.

    If Python does not buffer its standard streams (PYTHONUNBUFFERED), the text stream writes to the file itself, and drops what a nearly
    full disk does not take in one write, without an error.
    """

    def __init__(self, raw: io.RawIOBase) -> None:
        self._raw = raw

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._raw.fileno()

    def isatty(self) -> bool:
        return self._raw.isatty()

    def write(self, data: Any, /) -> int:
        rest = memoryview(data).cast("B")
        count = len(rest)
        while rest:
            rest = rest[self._raw.write(rest) or 0 :]
        return count


def _whole(stream: Any) -> Any:
    """Return a stream with the same text encoding that writes everything; this is the stream itself if it is buffered."""
    raw = getattr(stream, "buffer", None)
    if not isinstance(raw, io.RawIOBase):
        return stream
    return io.TextIOWrapper(cast("Any", _WholeWrites(raw)), stream.encoding, stream.errors, write_through=True)


class EscapingStream:
    """A text stream that escapes untrusted text. All other attributes are those of the wrapped stream."""

    def __init__(self, stream: IO[str] | None, *, must_arrive: bool, spell_out: bool = True) -> None:
        """Wrap a stream.

        Args:
            stream: the stream to wrap, or None if the stream was closed before the program started.
            must_arrive: whether a failed write raises `OutputLost`.
            spell_out: whether to escape control characters.
        """
        self._stream = stream
        self._must_arrive = must_arrive
        self._spell_out = spell_out

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def isatty(self) -> bool:
        """Whether the stream is a terminal."""
        return self._stream is not None and self._stream.isatty()

    def write(self, text: str) -> int:
        """Write text with its control characters escaped.

        Raises:
            OutputLost: the write failed.
        """
        shown = escape_text(text) if self._spell_out else text
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
        """Write several strings."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Flush the wrapped stream.

        Raises:
            OutputLost: the write failed.
        """
        if self._stream is None:
            return
        try:
            self._stream.flush()
        except (OSError, ValueError) as wrong:
            self._lost(wrong)

    def _lost(self, wrong: OSError | ValueError) -> None:
        """Redirect the stream to the null device, so that Python does not try to write the buffered text again at exit and fail again."""
        with contextlib.suppress(OSError, ValueError, AttributeError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, cast("IO[str]", self._stream).fileno())
            os.close(nowhere)
        if self._must_arrive:
            raise OutputLost(wrong) from None

    @property
    def styled(self) -> IO[str]:
        """The same stream without escaping, for callers that write control sequences and that escape untrusted text themselves."""
        return cast("IO[str]", EscapingStream(self._stream, must_arrive=self._must_arrive, spell_out=False))


@contextlib.contextmanager
def escaping_streams() -> Iterator[None]:
    """Within the block, replace `sys.stdout` and `sys.stderr` with streams that escape printed text."""
    if sys.stdout is None or sys.stderr is None:
        _fill_descriptors()
    stdout, stderr = sys.stdout, sys.stderr
    sys.stdout = cast("IO[str]", EscapingStream(_whole(stdout), must_arrive=True))
    sys.stderr = cast("IO[str]", EscapingStream(_whole(stderr), must_arrive=False))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = stdout, stderr


def _fill_descriptors() -> None:
    """Open the null device for each closed standard stream.

    If the descriptor of a closed stream remained unused, the next opened file would get this descriptor, and the stream's output would go
    to that file.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)


def styled(stream: IO[str]) -> IO[str]:
    """Return the stream without escaping, for text that contains the program's own colors and cursor movements."""
    return stream.styled if isinstance(stream, EscapingStream) else stream


def print_lines(lines: Iterable[str], *, flush: bool = False) -> None:
    """Print lines to stdout. Line breaks within a line are escaped."""
    for line in lines:
        sys.stdout.write(escape_line(line) + "\n")
    if flush:
        sys.stdout.flush()


def print_text(text: str) -> None:
    """Print multi-line text, such as a script, to stdout."""
    sys.stdout.write(text)


def print_json(document: str) -> None:
    """Print a JSON document to stdout, with JSON's own escapes."""
    sys.stdout.write(escape_json(document))


def print_messages(*lines: str) -> None:
    """Print messages to stderr."""
    sys.stderr.write("".join(escape_line(line) + "\n" for line in lines))
    sys.stderr.flush()


def print_error(message: str) -> None:
    """Print an error message on one line of stderr."""
    print_messages(f"{NAME}: {message}")
