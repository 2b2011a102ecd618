"""Distribution functions and quantiles of the beta, gamma, and Student's t distributions.

The distribution functions are computed with the usual series and continued fractions (Abramowitz and Stegun, 6.5.29, 6.5.31, and 26.5.8),
and the quantiles by bisection. The relative error of a quantile is below 10⁻⁹. Parameters need not be whole numbers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from typing import Final

_TINY: Final = 1e-300
_ENOUGH: Final = 1e-15


def beta_cdf(x: float, a: float, b: float) -> float:
    """Return the probability that a beta variate with parameters `a` and `b` is at most `x`."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # the fraction converges slowly there
        return 1 - beta_cdf(1 - x, b, a)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a

    def numerators() -> Iterable[float]:
        for m in itertools.count():
            yield -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
            yield (m + 1) * (b - m - 1) * x / ((a + 2 * m + 1) * (a + 2 * m + 2))

    return front / _continued_fraction((each, 1.0) for each in numerators())


def gamma_cdf(x: float, shape: float) -> float:
    """Return the probability that a gamma variate with the given shape and the scale 1 is at most `x`."""
    if x <= 0:
        return 0.0
    front = math.exp(shape * math.log(x) - x - math.lgamma(shape))
    if x > shape + 1:
        terms = ((-n * (n - shape), x + 2 * n + 1 - shape) for n in itertools.count(1))
        return 1 - front / _continued_fraction(terms, x + 1 - shape)
    total = term = 1 / shape
    for n in itertools.count(1):
        term *= x / (shape + n)
        total += term
        if term < total * _ENOUGH:
            break
    return front * total


def beta_quantile(share: float, a: float, b: float) -> float:
    """Return the value that a beta variate exceeds with the probability 1 − `share`. It is 0 if `a` is 0, and 1 if `b` is 0."""
    if a <= 0 or b <= 0:
        return float(a > 0)
    return _bisected(lambda x: beta_cdf(x, a, b) < share, 0.0, 1.0)


def gamma_quantile(share: float, shape: float) -> float:
    """Return the value that a gamma variate with scale 1 exceeds with the probability 1 − `share`. It is 0 if the shape is 0."""
    if shape <= 0:
        return 0.0
    high = shape + 1
    while gamma_cdf(high, shape) < share:
        high *= 2
    return _bisected(lambda x: gamma_cdf(x, shape) < share, 0.0, high)


def student_quantile(share: float, freedom: float) -> float:
    """Return the quantile of Student's t distribution for a share of at least a half."""
    x = beta_quantile(2 * (1 - share), freedom / 2, 0.5)
    return math.sqrt(freedom * (1 - x) / x)


def _continued_fraction(terms: Iterable[tuple[float, float]], first: float = 1.0) -> float:
    """Return `first` + a₁/(b₁ + a₂/(b₂ + …)) for the terms (a, b), by the method of Lentz."""
    value = c = first or _TINY
    d = 0.0
    for a, b in terms:
        d = 1 / (b + a * d or _TINY)
        c = b + a / c or _TINY
        value *= c * d
        if abs(c * d - 1) < _ENOUGH:
            break
    return value


def _bisected(below: Callable[[float], bool], low: float, high: float) -> float:
    """Return the place at which a condition ceases to hold."""
    while high - low > 1e-11 * high and high > _TINY:
        middle = (low + high) / 2
        if below(middle):
            low = middle
        else:
            high = middle
    return (low + high) / 2
