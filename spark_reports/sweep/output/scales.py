"""The ends of axes."""

from __future__ import annotations

import math


def round_up(value: float) -> float:
    """Return the next number that is 1, 2, 2.5, or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= value)
