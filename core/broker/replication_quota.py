"""The throttle of a reassignment (Kafka: `ReplicationQuotaManager`): how many bytes a second the replicas being added may copy.

Throttled are the replicas that a running reassignment adds, as `kafka-reassign-partitions --throttle` lists them; members of the
ISR are never held back. The rate is measured over eleven one-second samples, so a copy comes in bursts around the rate.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from core.units import SECOND

SAMPLES: Final = 11
"""replication.quota.window.num, of replication.quota.window.size.seconds = 1 each."""


class ReplicationQuota:
    """One broker's quota as leader or as follower; `rate` in bytes a second."""

    __slots__ = ("_samples", "rate")

    def __init__(self, rate: int) -> None:
        self.rate = rate
        self._samples: deque[tuple[int, int]] = deque()

    def record(self, now: int, size: int) -> None:
        """That many throttled bytes went over the wire now."""
        start = now - now % SECOND
        if self._samples and self._samples[-1][0] == start:
            size += self._samples.pop()[1]
        self._samples.append((start, size))

    def is_exceeded(self, now: int) -> bool:
        """Whether more than the rate was used lately (`ReplicationQuotaManager#isQuotaExceeded`, `SimpleRate`)."""
        while self._samples and self._samples[0][0] <= now - SAMPLES * SECOND:
            self._samples.popleft()
        if not self._samples:
            return False
        elapsed = max(now - self._samples[0][0], SECOND)
        return sum(size for _, size in self._samples) * SECOND > self.rate * elapsed
