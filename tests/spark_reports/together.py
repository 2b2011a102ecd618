"""Logs from several test modules that Spark processes together.

For any number of logs, Spark takes longer to prepare a summary's query than to run it. Therefore, each module registers the function that
writes its logs, and the fixture `summarized` computes every summary once for the logs of all collected modules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

Writer = Callable[[Path], tuple[Sequence[Path], Any]]
"""A function that writes logs to a directory. It returns their paths, and the data with which its tests compare the tables. The names of
the logs are unique among all modules.
"""

WRITERS: Final[list[Writer]] = []

AnyWriter = TypeVar("AnyWriter", bound=Writer)


def summarized_together(write: AnyWriter) -> AnyWriter:
    """Register a function that writes logs. Use this function as a decorator."""
    WRITERS.append(write)
    return write
