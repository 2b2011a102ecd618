"""Summarizes Spark failures, and the log of Spark's JVM, for the user."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import IO, Final

MISSING: Final = "reports need PySpark, which is not installed; run `make report LOG=session.jsonl` to install it, or install isrlab with its spark extra"
"""The error message if PySpark is missing."""

_DIED: Final = re.compile(r"^(?:Exception in thread \"main\"|Caused by:) [\w.$]+(?:: (?:requirement failed: )?(.+))$", re.MULTILINE)

_TAIL_LINES: Final = 15

_SPACE: Final = 8 << 20
"""The space, in bytes, without which Spark cannot do anything, because it unpacks its native libraries."""


def reason_of(failure: Exception) -> str:
    """Return the reason for a failure on one line. For a Java exception, the reason is the message of the innermost exception."""
    lines = [line.strip() for line in str(failure).strip().splitlines()]
    causes = [line.removeprefix("Caused by: ").removeprefix(": ") for line in lines if line.startswith(("Caused by: ", ": "))]
    return (causes or lines or [type(failure).__name__])[-1 if causes else 0]


def disk_note(scratch: Path) -> str:
    """Return a note if the disk of Spark's scratch directory is full. Spark's own message then often speaks of something else, for example
    of a library that it could not unpack. If the disk has space, return ''.
    """
    free = shutil.disk_usage(scratch).free
    return f"; the disk of {scratch.parent} is full; set TMPDIR to a directory with space" if free < _SPACE else ""


def exit_reason(log: IO[bytes]) -> str:
    """Return the reason that Java gave for exiting, for example a package that it cannot find. If Java gave no reason, return ''."""
    log.flush()
    log.seek(0)
    said = _DIED.findall(log.read().decode("utf-8", "replace"))
    return said[-1].strip() if said else ""


def log_tail(log: IO[bytes]) -> str:
    """Return the last lines of Spark's own log, each indented and preceded by a line break. Return '' if the log is empty."""
    log.flush()
    log.seek(0)
    lines = log.read().decode("utf-8", "replace").splitlines()[-_TAIL_LINES:]
    return "".join(f"\n  {line}" for line in lines if line.strip())
