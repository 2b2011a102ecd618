"""Estimates with their intervals, from plain numbers: Wilson's for a share, a bootstrap for a mean. Both at 95 %."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import Final

import attrs

Z: Final = 1.959963984540054
"""Two-sided 95 % quantile of the normal distribution."""

RESAMPLES: Final = 1_000
"""Resamples of a bootstrap."""

MAX_BLOCKS: Final = 400
"""Values a bootstrap draws from at most; more are first averaged in blocks of equal size, which leaves the mean's spread as it is."""


@attrs.frozen
class Estimate:
    """A number with the bounds that hold in 95 of 100 sweeps."""

    value: float
    low: float
    high: float

    @property
    def width(self) -> float:
        """From bound to bound."""
        return self.high - self.low


def wilson(hits: int, runs: int) -> Estimate:
    """A share and Wilson's score interval, which is sound for shares near 0 and 1 and for few runs.

    Raises:
        ValueError: no runs.
    """
    if runs < 1:
        raise ValueError("no runs, no share")
    share = hits / runs
    scale = 1 + Z * Z / runs
    centre = (share + Z * Z / (2 * runs)) / scale
    half = Z * (share * (1 - share) / runs + Z * Z / (4 * runs * runs)) ** 0.5 / scale
    # At the ends the exact bound is the end itself; rounding must not show.
    return Estimate(share, 0.0 if hits == 0 else centre - half, 1.0 if hits == runs else centre + half)


def bootstrap(values: Sequence[float], seed: str) -> Estimate:
    """A mean and its percentile-bootstrap interval; the same values and seed give the same bounds.

    Raises:
        ValueError: no values.
    """
    if not values:
        raise ValueError("no values, no mean")
    mean = sum(values) / len(values)
    if min(values) == max(values):
        return Estimate(mean, mean, mean)
    blocks = _blocks(values)
    draw = random.Random(seed)
    means = sorted(sum(draw.choices(blocks, k=len(blocks))) / len(blocks) for _ in range(RESAMPLES))
    return Estimate(mean, means[round(0.025 * (RESAMPLES - 1))], means[round(0.975 * (RESAMPLES - 1))])


def _blocks(values: Sequence[float]) -> list[float]:
    """The values, or means of blocks of them; what does not fill a block joins the last one."""
    if len(values) <= MAX_BLOCKS:
        return list(values)
    size = len(values) // MAX_BLOCKS
    bounds = [*range(0, size * MAX_BLOCKS, size), len(values)]
    return [sum(values[a:b]) / (b - a) for a, b in itertools.pairwise(bounds)]
