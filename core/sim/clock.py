"""A component's own clock: wrong by a skew, and running too fast or too slow by a drift.

Virtual time is the true time. A broker or the controller measures its settings' durations (session, lag, expiry, intervals) by
its own clock: one that gains 10 % thinks after 9.1 s that 10 s are over. Retention compares records' timestamps, which are
their producers' (CreateTime), with the broker's own time of day; there a skew matters, too.
"""

from __future__ import annotations

import attrs

from core.sim.repr_mixin import ReprMixin

MILLION = 1_000_000


@attrs.frozen(repr=False)
class Clock(ReprMixin):
    """A clock that showed `now + skew` (µs) at `since`, and has gained `drift_ppm` millionths (lost, if negative) ever since."""

    skew: int = 0
    drift_ppm: int = 0
    since: int = 0

    def read(self, now: int) -> int:
        """What it shows at a true time, µs; before virtual time began it shows 0."""
        return max(0, now + self.skew + (now - self.since) * self.drift_ppm // MILLION)

    def true_duration(self, duration: int) -> int:
        """How long a duration by this clock truly takes, µs."""
        return duration * MILLION // (MILLION + self.drift_ppm)


RIGHT = Clock()
"""A clock that shows virtual time."""
