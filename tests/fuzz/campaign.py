"""A sequence of random cases that are tried one after the other. For each kind of failure, one case is kept and made smaller."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from tests.fuzz.targets import Target
from tests.fuzz.watch import Failure, failure_of

TWICE: Final = 0.005
"""The share of cases that are tried twice. Both tries must have the same result."""

TIME_TO_SHRINK: Final = 10.0
"""The maximum time for making a failing case smaller, in seconds."""


class Campaign:
    """A sequence of cases.

    Attributes:
        cases: the number of cases of each target.
        spent: the seconds that each target took.
        failures: one failure of each kind: the target, the case, the failure, and the seed of the other random draws.
    """

    def __init__(self, targets: Sequence[Target], seed: int) -> None:
        self.targets = list(targets)
        self.draw = random.Random(seed)
        self.cases: Counter[str] = Counter({target.name: 0 for target in targets})
        self.spent: dict[str, float] = {target.name: 0.0 for target in targets}
        self.failures: list[tuple[Target, bytes, Failure, int]] = []
        self._sorts: set[tuple[str, str]] = set()

    def run(self, seconds: float, cases: int = 0, say: Callable[[str], None] | None = None) -> None:
        """Try cases for the given number of seconds, or until the given number of cases is reached."""
        for target in self.targets:
            target.corpus()
        end = time.monotonic() + seconds
        told = time.monotonic()
        weights = [target.share for target in self.targets]
        while (now := time.monotonic()) < end and not 0 < cases <= sum(self.cases.values()):
            target = self.draw.choices(self.targets, weights)[0]
            for _ in range(target.batch):
                self._one(target)
            self.spent[target.name] += time.monotonic() - now
            if say is not None and now - told > 60:
                told = now
                say(f"{sum(self.cases.values()):,} cases, {len(self.failures)} kinds of failures")

    def _one(self, target: Target) -> None:
        case, draw_seed = target.case(self.draw), self.draw.randrange(2**32)
        outcome = attempt(target, case, draw_seed)
        self.cases[target.name] += 1
        if outcome is None and self.draw.random() < TWICE and attempt(target, case, draw_seed) is not None:
            outcome = Failure("not deterministic", "the first try succeeded")
        if outcome is not None and (target.name, outcome.sort) not in self._sorts:
            self._sorts.add((target.name, outcome.sort))
            self.failures.append((target, case, outcome, draw_seed))


def attempt(target: Target, case: bytes, draw_seed: int) -> Failure | None:
    """Try one case."""
    return failure_of(lambda: target.attempt(case, random.Random(draw_seed)))


def minimised(target: Target, case: bytes, failure: Failure, draw_seed: int) -> bytes:
    """Return a smaller case that fails in the same way. Pieces are removed as long as the case still fails in this way."""
    end = time.monotonic() + TIME_TO_SHRINK
    if failure.sort in ("hang", "memory"):
        return case
    size = max(len(case) // 2, 1)
    while size and time.monotonic() < end:
        at = 0
        while at < len(case) and time.monotonic() < end:
            smaller = case[:at] + case[at + size :]
            again = attempt(target, smaller, draw_seed)
            if again is not None and again.sort == failure.sort:
                case = smaller
            else:
                at += size
        size //= 2
    return case
