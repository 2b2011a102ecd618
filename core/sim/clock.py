"""A component's own clock, which can be ahead or behind (skew) and can run too fast or too slow (drift).

Virtual time is the true time. A node measures durations with its own clock. For example, a clock that runs 10% too fast shows 10 s when
9.1 s have passed. A node that compares its time of day with times that other nodes wrote is also affected by the skew between their clocks.
"""

from __future__ import annotations

import attrs

from core.sim.repr_mixin import ReprMixin

MILLION = 1_000_000


@attrs.frozen(repr=False)
class Clock(ReprMixin):
    """A clock that was `skew` µs ahead of virtual time at `since` and has gained `drift_ppm` parts per million since then.

    A negative skew means that the clock was behind virtual time. A negative drift means that the clock loses time.
    """

    skew: int = 0
    drift_ppm: int = 0
    since: int = 0

    def read(self, now: int) -> int:
        """Return the time that the clock shows at a true time, in µs. The result is never negative."""
        return max(0, now + self.skew + (now - self.since) * self.drift_ppm // MILLION)

    def true_duration(self, duration: int) -> int:
        """Return the true length of a duration that this clock measures, in µs."""
        return duration * MILLION // (MILLION + self.drift_ppm)


RIGHT = Clock()
"""A clock that shows virtual time exactly."""
