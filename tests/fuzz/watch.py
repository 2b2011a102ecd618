"""The properties that every case must have: it ends soon, uses a limited amount of memory, ends with a declared exit code or a refusal, and
writes no raw control characters to a stream.
"""

from __future__ import annotations

import contextlib
import io
import resource
import signal
import sys
import traceback
import unicodedata
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Final

import attrs

from core.sim.errors import Standstill
from scenarios.errors import InputError
from scenarios.io.escaping import escape_line
from tui.cli import main

TOO_LONG: Final = 10.0
"""The maximum processor time of a case, in seconds. Other load on the machine does not count."""

TOO_MUCH: Final = 1024
"""The maximum memory in MB that a case can add to the maximum of the process."""

MEASURED: Final = 50
"""The number of cases between two checks of memory. If a case allocates too much memory between two checks, the memory limit of the process
ends it."""

CODES: Final = frozenset({0, 1, 2, 74, 141})
"""The declared exit codes: success, failure, bad input, and stdout that is full or closed."""


class Hang(BaseException):
    """A case took too long. This class is not derived from `Exception`, so that no handler in between catches it."""


class Broken(Exception):
    """A case ended in a way that is not allowed. The text describes how it ended."""


@attrs.frozen
class Failure:
    """The kind and place of a failure. Two failures of the same kind at the same place are equal."""

    sort: str
    told: str


def largest() -> int:
    """Return the maximum memory that this process has used, MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """Raise `Hang` within the block after `TOO_LONG` of processor time."""

    def ring(_signal: int, _frame: FrameType | None) -> None:
        raise Hang

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, TOO_LONG)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def failure_of(case: Callable[[], object]) -> Failure | None:
    """Run a case. Return None if all properties hold. An `InputError` is a valid refusal."""
    try:
        with limited():
            case()
    except InputError as refused:
        wrong = [line for line in refused.lines if _raw(escape_line(line))]
        return Failure("raw", repr(wrong[0])) if wrong or not refused.lines else None
    except Standstill:
        return None
    except Hang:
        return Failure("hang", f"took longer than {TOO_LONG:g} s\n{traceback.format_exc(limit=-6)}")
    except KeyboardInterrupt:
        raise
    except BaseException as wrong:
        frames = traceback.extract_tb(wrong.__traceback__)
        own = [frame for frame in frames if "site-packages" not in frame.filename] or frames
        return Failure(f"{type(wrong).__name__} {own[-1].filename.rpartition('/')[2]}:{own[-1].lineno}", traceback.format_exc())
    return _memory.look()


class _Memory:
    """The growth of the process, which is checked only occasionally, because a check takes as long as many cases."""

    def __init__(self) -> None:
        self.cases = 0
        self.before = 0

    def look(self) -> Failure | None:
        self.cases += 1
        if self.before and self.cases % MEASURED:
            return None
        now = largest()
        grown, self.before = now - (self.before or now), now
        return Failure("memory", f"the process grew by {grown} MB within {MEASURED} cases") if grown > TOO_MUCH else None


_memory: Final = _Memory()


class _Kept(io.BytesIO):
    """The written output, which remains available after its stream is closed."""

    def close(self) -> None:
        pass


def command(argv: list[str], stdin: bytes = b"") -> tuple[int, str, str]:
    """Run the command line, and return the exit code, stdout, and stderr.

    Raises:
        Broken: another exit code, or a control character on a stream.
    """
    out, err = _Kept(), _Kept()
    streams = sys.stdin, sys.stdout, sys.stderr
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin))
    sys.stdout, sys.stderr = io.TextIOWrapper(out, "utf-8"), io.TextIOWrapper(err, "utf-8")
    try:
        try:
            code = main(argv)
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
        for stream in (sys.stdout, sys.stderr):
            if not stream.closed:
                stream.flush()
    finally:
        sys.stdin, sys.stdout, sys.stderr = streams
    texts = out.getvalue().decode("utf-8", "surrogateescape"), err.getvalue().decode("utf-8", "surrogateescape")
    if code not in CODES:
        raise Broken(f"exit code {code}")
    if code == 2 and not texts[1]:
        raise Broken("exit code 2 without a message")
    for name, text in zip(("stdout", "stderr"), texts, strict=True):
        if raw := _raw(text):
            raise Broken(f"a raw {raw} on {name}")
        if "Traceback (most recent call last)" in text:
            raise Broken(f"a traceback on {name}")
    return code, *texts


def _raw(text: str) -> str:
    """Return the first control character of a text that must not reach a stream, or '' if there is none."""
    if text.isprintable():
        return ""
    for char in text:
        if char not in "\n\t" and unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp"):
            return repr(char)
    return ""
