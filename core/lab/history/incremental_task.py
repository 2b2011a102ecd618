"""How a long way is gone: some steps at a time, until whoever goes it has had enough for now."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

ShouldYield = Callable[[], bool]
"""Asked every few steps: whether to stop for now. Whoever must not wait long reads a clock in it; here there is none."""

STEPS_PER_CHECK: Final = 64
"""Steps between two questions whether it is enough."""


def never_yield() -> bool:
    """It is not enough before the end."""
    return False


class IncrementalTask(Protocol):
    """Something that takes many steps."""

    @property
    def progress(self) -> float | None:
        """How much of it is done, 0 to 1; None where nobody can tell."""

    def advance(self, should_yield: ShouldYield = never_yield) -> bool:
        """Go on until it is enough; True when it has come to its end."""

    def cancel(self) -> bool:
        """Go no further; whether it counts as come to its end all the same."""
