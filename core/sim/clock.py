"""A component's own clock, which can be wrong by a skew and can run too fast or too slow by a drift.

Virtual time is the true time. A broker or controller measures durations (session, lag, expiry, intervals) by its own clock:
a clock that gains 10% measures 10 s after 9.1 s. Retention compares the timestamps of records, which their producers set
(CreateTime), with the broker's time of day. In this comparison, skew matters, too.
"""

from __future__ import annotations

import attrs

from core.sim.repr_mixin import ReprMixin

MILLION = 1_000_000


@attrs.frozen(repr=False)
class Clock(ReprMixin):
    """A clock that was `skew` µs ahead of virtual time at `since` and has gained `drift_ppm` parts per million since then.

    Negative numbers mean that the clock was behind and that it loses time.
    """

    skew: int = 0
    drift_ppm: int = 0
    since: int = 0

    def read(self, now: int) -> int:
        """Return the time that the clock shows at a true time, µs. It is never below 0."""
        return max(0, now + self.skew + (now - self.since) * self.drift_ppm // MILLION)

    def true_duration(self, duration: int) -> int:
        """Return the true length of a duration that this clock measures, µs."""
        return duration * MILLION // (MILLION + self.drift_ppm)


RIGHT = Clock()
"""A clock that shows virtual time exactly."""
