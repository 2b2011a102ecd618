"""Computes the upper limits of the axes of charts."""

from __future__ import annotations

import math


def round_up(value: float) -> float:
    """Round up to the next number that is 1, 2, 2.5, or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= value)


def end_of_shares(most: float) -> float:
    """Return the end of an axis that shows percentages: the next multiple of 10% or, for small percentages, the next round number."""
    return min(1.0, math.ceil(most * 10.5) / 10 if most > 0.1 else round_up(most * 1.05 or 0.01))
