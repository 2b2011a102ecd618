"""Estimates with 95% confidence intervals.

- The interval of a proportion is exact (Clopper and Pearson, Biometrika 26, 1934): it covers the true value at least as often as it says.
- If no value is 0 and their standard deviation is at most their mean, the interval of a mean is that of Student's t.
- If the values differ more, few large ones determine the mean. Its interval is then that of a gamma distribution whose spread is drawn
  towards the one of an exponential distribution, as if two more values had shown that spread, because few values show it badly.
- If some values are 0, as when most runs lose nothing, the mean is the product of the proportion of values that are not 0 and of their
  mean, which has that gamma interval. The two intervals are combined on the logarithmic scale (Donner and Zou, Statistical Methods in
  Medical Research 21, 2012).
- If all values are 0, nothing is known about the size of what was not seen, so that a mean has no upper bound unless the values have one.

`tests/bench/bench_intervals.py` prints how often these intervals cover the true value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import attrs

from scenarios.sweeps.statistics.quantiles import beta_quantile, gamma_quantile, student_quantile

TAIL: Final = 0.025
"""The probability that the true value is above the interval, and the probability that it is below."""

PRIOR_VALUES: Final = 2
"""The number of values with the spread of an exponential distribution that are added when the spread of few values is estimated."""


@attrs.frozen
class Estimate:
    """An estimated value and the bounds of its 95% confidence interval. The upper bound is infinite if it is not known."""

    value: float
    low: float
    high: float

    @property
    def width(self) -> float:
        """The width of the confidence interval."""
        return self.high - self.low


def proportion(hits: float, runs: float) -> Estimate:
    """Return a proportion with its exact interval. In weighted samples, the numbers of hits and runs need not be whole.

    Raises:
        ValueError: there are no runs.
    """
    if runs <= 0:
        raise ValueError("a proportion needs at least one run")
    return Estimate(hits / runs, beta_quantile(TAIL, hits, runs - hits + 1), beta_quantile(1 - TAIL, hits + 1, runs - hits))


def mean(values: Sequence[float], most: float = math.inf) -> Estimate:
    """Return the mean of values from 0 to `most`, with its interval.

    Raises:
        ValueError: there are no values.
    """
    if not values:
        raise ValueError("a mean needs at least one value")
    seen = [value for value in values if value]
    if not seen:
        return Estimate(0.0, 0.0, proportion(0, len(values)).high * most)
    if len(seen) == len(values):
        found = student(values) if is_even(values) else _mean_of_few(values)
    else:
        found = product(proportion(len(seen), len(values)), _mean_of_few(seen))
    return Estimate(found.value, max(0.0, found.low), min(most, found.high))


def is_even(values: Sequence[float]) -> bool:
    """Return whether positive values differ so little that their mean is about normal: their standard deviation is at most their mean."""
    return len(values) > 1 and variance(values) <= (math.fsum(values) / len(values)) ** 2


def student(values: Sequence[float]) -> Estimate:
    """Return the mean of at least two values with Student's interval."""
    centre = math.fsum(values) / len(values)
    half = student_quantile(1 - TAIL, len(values) - 1) * math.sqrt(variance(values) / len(values))
    return Estimate(centre, centre - half, centre + half)


def variance(values: Sequence[float]) -> float:
    """Return the variance of a population, estimated from a sample of at least two values."""
    centre = math.fsum(values) / len(values)
    return math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1)


def product(one: Estimate, other: Estimate) -> Estimate:
    """Return the product of two independent positive estimates."""
    value = one.value * other.value
    if not value:
        return Estimate(0.0, 0.0, one.high * other.high)
    down = math.hypot(*(math.log(each.value / each.low) for each in (one, other)))
    up = math.hypot(*(math.log(each.high / each.value) for each in (one, other)))
    return Estimate(value, value * math.exp(-down), value * math.exp(up))


def _mean_of_few(values: Sequence[float]) -> Estimate:
    """Return the mean of positive values, with the interval of a gamma distribution."""
    centre = math.fsum(values) / len(values)
    spread = math.fsum((value / centre - 1) ** 2 for value in values)
    shape = len(values) * (len(values) - 1 + PRIOR_VALUES) / (spread + PRIOR_VALUES)
    return Estimate(centre, centre * shape / gamma_quantile(1 - TAIL, shape), centre * shape / gamma_quantile(TAIL, shape))
