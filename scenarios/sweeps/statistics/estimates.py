"""Estimates with 95% confidence intervals: Wilson's interval for a proportion, and a bootstrap interval for a mean."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import Final

import attrs

Z: Final = 1.959963984540054
"""The two-sided 95% quantile of the normal distribution."""

RESAMPLES: Final = 1_000
"""The number of resamples of a bootstrap."""

MAX_BLOCKS: Final = 400
"""The maximum number of values that a bootstrap draws from.

If there are more values, the bootstrap first averages them in `MAX_BLOCKS` blocks. This step preserves the spread of the mean.
"""


@attrs.frozen
class Estimate:
    """An estimated value and the bounds of its 95% confidence interval."""

    value: float
    low: float
    high: float

    @property
    def width(self) -> float:
        """The width of the confidence interval."""
        return self.high - self.low


def wilson(hits: int, runs: int) -> Estimate:
    """Return a proportion with Wilson's score interval, which is reliable even for proportions near 0 and 1 and for few runs.

    Raises:
        ValueError: there are no runs.
    """
    if runs < 1:
        raise ValueError("a proportion needs at least one run")
    share = hits / runs
    scale = 1 + Z * Z / runs
    centre = (share + Z * Z / (2 * runs)) / scale
    half = Z * (share * (1 - share) / runs + Z * Z / (4 * runs * runs)) ** 0.5 / scale
    # At 0 and 1, the bound is exact, so rounding must not show.
    return Estimate(share, 0.0 if hits == 0 else centre - half, 1.0 if hits == runs else centre + half)


def bootstrap(values: Sequence[float], seed: str) -> Estimate:
    """Return a mean with its percentile bootstrap interval. The same values and the same seed always give the same bounds.

    Raises:
        ValueError: there are no values.
    """
    if not values:
        raise ValueError("a mean needs at least one value")
    mean = sum(values) / len(values)
    if min(values) == max(values):
        return Estimate(mean, mean, mean)
    blocks = _blocks(values)
    draw = random.Random(seed)
    means = sorted(sum(draw.choices(blocks, k=len(blocks))) / len(blocks) for _ in range(RESAMPLES))
    return Estimate(mean, means[round(0.025 * (RESAMPLES - 1))], means[round(0.975 * (RESAMPLES - 1))])


def _blocks(values: Sequence[float]) -> list[float]:
    """Return the values if there are at most `MAX_BLOCKS`; otherwise, return the means of `MAX_BLOCKS` blocks of values. Values that do not
    fill a block are added to the last block.
    """
    if len(values) <= MAX_BLOCKS:
        return list(values)
    size = len(values) // MAX_BLOCKS
    bounds = [*range(0, size * MAX_BLOCKS, size), len(values)]
    return [sum(values[a:b]) / (b - a) for a, b in itertools.pairwise(bounds)]
