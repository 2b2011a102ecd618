"""Logs of several test modules that go through Spark together.

Spark prepares a summary's query for longer than it runs it, whatever the number of logs. So the modules name the functions that write their
logs, and the fixture `summarized` puts the logs of all modules that were collected through every summary once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

Writer = Callable[[Path], tuple[Sequence[Path], Any]]
"""A function that writes logs to a directory, and returns their paths and whatever its tests compare the tables with. The names of the logs
are unique among all modules.
"""

WRITERS: Final[list[Writer]] = []

AnyWriter = TypeVar("AnyWriter", bound=Writer)


def summarized_together(write: AnyWriter) -> AnyWriter:
    """Name a function that writes logs. Decorator."""
    WRITERS.append(write)
    return write
