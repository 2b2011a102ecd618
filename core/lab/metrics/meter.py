"""A meter as in Kafka's brokers (`com.yammer.metrics.core.Meter`): a count, and exponentially weighted rates.

Every five seconds, the rates are updated with the mean rate of those five seconds. In the one-minute rate, a value that is one minute old
has a weight of 1/e. A rate is 0 until the first tick, which sets it.
"""

from __future__ import annotations

import math
from typing import Final

from core.sim.units import SECOND

TICK: Final = 5 * SECOND
"""The time between two updates of the rates, in µs (`Meter.INTERVAL`)."""

MINUTES: Final = (1, 5, 15)
"""The windows of OneMinuteRate, FiveMinuteRate, and FifteenMinuteRate, in minutes."""

_ALPHAS: Final = tuple(1 - math.exp(-5 / 60 / minutes) for minutes in MINUTES)


class Meter:
    """A meter that counts occurrences, such as requests, from a given start time. Times are in µs, and rates are per second.

    Attributes:
        count: the number of occurrences since the start.
    """

    __slots__ = ("_rates", "_start", "_ticked", "_uncounted", "count")

    def __init__(self, start: int) -> None:
        self.count = 0.0
        self._start = start
        self._ticked = start
        self._uncounted = 0.0
        self._rates: list[float] = []

    def mark(self, now: int, amount: float = 1) -> None:
        """Count occurrences at the current time."""
        self.advance(now)
        self.count += amount
        self._uncounted += amount

    def advance(self, now: int) -> None:
        """Update the rates up to a given time."""
        while self._ticked + TICK <= now:
            self._ticked += TICK
            rate = self._uncounted * SECOND / TICK
            self._uncounted = 0.0
            if not self._rates:
                self._rates = [rate] * len(_ALPHAS)
            elif not rate and max(self._rates) < 1e-12:
                self._rates = [0.0] * len(_ALPHAS)
                self._ticked += (now - self._ticked) // TICK * TICK
            else:
                self._rates = [old + alpha * (rate - old) for old, alpha in zip(self._rates, _ALPHAS, strict=True)]

    def attributes(self, now: int) -> tuple[tuple[str, float], ...]:
        """Return Count, MeanRate, and the three moving rates, by the names of their JMX attributes."""
        self.advance(now)
        rates = self._rates or [0.0] * len(_ALPHAS)
        mean = self.count * SECOND / (now - self._start) if now > self._start else 0.0
        return (
            ("Count", self.count), ("OneMinuteRate", rates[0]), ("FiveMinuteRate", rates[1]), ("FifteenMinuteRate", rates[2]),
            ("MeanRate", mean),
        )  # fmt: skip
