"""The replication throttle (Kafka: `ReplicationQuotaManager`): a limit on the rate, in bytes per second, at which throttled partitions are
replicated.

Two lists for each topic contain the throttled replicas: `leader.replication.throttled.replicas` for leaders, and
`follower.replication.throttled.replicas` for followers. If a topic has no list, isrlab behaves as if `kafka-reassign-partitions --throttle`
had written lists for the running reassignment: the leader throttles the partition that is being moved, and the added replica is throttled
as a follower. All bytes of throttled partitions count toward the rate, but only replicas that are not in sync are held back: for the
leader, those outside the ISR, and for the follower, those that lag or have not had a response in the current leader epoch. The rate is
measured over eleven samples of one second each, and is checked before a fetch, whatever its size, so throttled replication proceeds in bursts.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from core.kafka.ids import TopicPartition
from core.kafka.settings.setting import MAX_LONG
from core.kafka.settings.settings import Settings
from core.kafka.settings.throttled_replicas import ALL_REPLICAS
from core.sim.units import SECOND

SAMPLES: Final = 11
"""The number of one-second samples over which the rate is measured (replication.quota.window.num,
replication.quota.window.size.seconds)."""


class ReplicationQuota:
    """One broker's quota as leader or as follower.

    Attributes:
        rate: the limit in bytes per second; MAX_LONG if the rate is unlimited.
        limits: whether the rate is limited.
        listed: the throttled partitions of topics that have a list (`Settings.topic_lists`).
    """

    __slots__ = ("_samples", "limits", "listed", "rate")

    def __init__(self, rate: int = MAX_LONG) -> None:
        self.rate = rate
        self.limits = rate != MAX_LONG
        self.listed: dict[str, frozenset[int]] = {}
        self._samples: deque[tuple[int, int]] = deque()

    def refresh(self, side: str, settings: Settings, broker: int) -> None:
        """Read the settings of a broker again for its role as `leader` or `follower`, because they might have changed."""
        self.rate = settings.integer(f"{side}.replication.throttled.rate", broker=broker)
        self.limits = self.rate != MAX_LONG
        if self.limits:
            self.listed = settings.topic_lists(f"{side}.replication.throttled.replicas", broker)
        else:
            self._samples.clear()

    def is_throttled(self, tp: TopicPartition, *, reassigned: bool) -> bool:
        """Return whether a partition's bytes count toward the rate (`ReplicationQuotaManager#isThrottled`). If the topic has no list of
        throttled replicas, return `reassigned`."""
        partitions = self.listed.get(tp.topic)
        if partitions is None:
            return reassigned
        return tp.partition in partitions or partitions == ALL_REPLICAS

    def record(self, now: int, size: int) -> None:
        """Record throttled bytes that are sent or received now."""
        start = now - now % SECOND
        if self._samples and self._samples[-1][0] == start:
            size += self._samples.pop()[1]
        self._samples.append((start, size))

    def is_exceeded(self, now: int) -> bool:
        """Return whether the measured rate exceeds the limit (`ReplicationQuotaManager#isQuotaExceeded`, `SimpleRate`)."""
        while self._samples and self._samples[0][0] <= now - SAMPLES * SECOND:
            self._samples.popleft()
        if not self._samples:
            return False
        elapsed = max(now - self._samples[0][0], SECOND)
        return sum(size for _, size in self._samples) * SECOND > self.rate * elapsed
