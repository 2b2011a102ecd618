"""A long computation that runs in slices, so that a caller can handle key presses between two slices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

ShouldYield = Callable[[], bool]
"""A function that returns whether a task pauses now. It is called every few steps, and can, for example, read a clock."""

STEPS_PER_CHECK: Final = 64
"""The number of steps between two calls of `ShouldYield`."""


def never_yield() -> bool:
    """Return False, so that the task runs to its end."""
    return False


class IncrementalTask(Protocol):
    """A computation of many steps."""

    @property
    def progress(self) -> float | None:
        """The share that is done, from 0 to 1; None if it is unknown."""

    def advance(self, should_yield: ShouldYield = never_yield) -> bool:
        """Run until `should_yield` returns True. Return whether the task has finished."""

    def cancel(self) -> bool:
        """Stop the task. Return whether the caller must treat the task as finished."""
