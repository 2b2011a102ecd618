"""A long computation that runs in slices, so that a caller can handle keys between two slices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

ShouldYield = Callable[[], bool]
"""Returns whether a task pauses now; called every few steps. A caller that is short of time reads a clock here."""

STEPS_PER_CHECK: Final = 64
"""Steps between two calls of `ShouldYield`."""


def never_yield() -> bool:
    """Returns False: the task runs to its end."""
    return False


class IncrementalTask(Protocol):
    """A computation of many steps."""

    @property
    def progress(self) -> float | None:
        """The share that is done, 0 to 1; None when it is unknown."""

    def advance(self, should_yield: ShouldYield = never_yield) -> bool:
        """Runs until `should_yield` returns True; returns whether the task has finished."""

    def cancel(self) -> bool:
        """Stops the task; returns whether the caller treats it as finished."""
