"""Turns Spark's failures and its JVM's log into one line for people."""

from __future__ import annotations

import re
from typing import IO, Final

MISSING: Final = "reports need PySpark, which is not installed; run `make report LOG=session.jsonl` to install it, or install isrlab with its spark extra"
"""The message if PySpark is missing."""

_DIED: Final = re.compile(r"^(?:Exception in thread \"main\"|Caused by:) [\w.$]+(?:: (?:requirement failed: )?(.+))$", re.MULTILINE)

_TAIL_LINES: Final = 15


def reason_of(failure: Exception) -> str:
    """What went wrong, in one line: for a Java exception, the message of the innermost one, which names the cause."""
    lines = [line.strip() for line in str(failure).strip().splitlines()]
    causes = [line.removeprefix("Caused by: ").removeprefix(": ") for line in lines if line.startswith(("Caused by: ", ": "))]
    return (causes or lines or [type(failure).__name__])[-1 if causes else 0]


def exit_reason(log: IO[bytes]) -> str:
    """The reason that Java gave for exiting, for example a package that it cannot find; empty if it gave none."""
    log.flush()
    log.seek(0)
    said = _DIED.findall(log.read().decode("utf-8", "replace"))
    return said[-1].strip() if said else ""


def log_tail(log: IO[bytes]) -> str:
    """The last lines of Spark's own log, indented, after a line break; empty if there are none."""
    log.flush()
    log.seek(0)
    lines = log.read().decode("utf-8", "replace").splitlines()[-_TAIL_LINES:]
    return "".join(f"\n  {line}" for line in lines if line.strip())
