"""How a long way is gone: some steps at a time, until whoever goes it has had enough for now."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

Enough = Callable[[], bool]
"""Asked every few steps: whether to stop for now. Whoever must not wait long reads a clock in it; here there is none."""

STEPS_AT_ONCE: Final = 64
"""Steps between two questions whether it is enough."""


def never() -> bool:
    """It is not enough before the end."""
    return False


class Way(Protocol):
    """Something that takes many steps."""

    @property
    def progress(self) -> float | None:
        """How much of it is done, 0 to 1; None where nobody can tell."""

    def work(self, enough: Enough = never) -> bool:
        """Go on until it is enough; True when it has come to its end."""

    def give_up(self) -> bool:
        """Go no further; whether it counts as come to its end all the same."""
