"""The throttle of replication (Kafka: `ReplicationQuotaManager`): how many bytes a second of throttled partitions go over the wire.

Throttled is what a topic's lists say: `leader.replication.throttled.replicas` at the leader, `follower.replication.throttled.replicas`
at the follower. For a topic without a list it is what `kafka-reassign-partitions --throttle` would write for the running
reassignment: at the leader the partition that moves, at the follower the replica that is added. All bytes of throttled
partitions count, but only those who are not in sync are held back. The rate is measured over eleven one-second samples, so a
copy comes in bursts around the rate.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from core.kafka.ids import TopicPartition
from core.kafka.settings import ALL_REPLICAS
from core.sim.units import SECOND

SAMPLES: Final = 11
"""replication.quota.window.num, of replication.quota.window.size.seconds = 1 each."""


class ReplicationQuota:
    """One broker's quota as leader or as follower.

    Attributes:
        rate: bytes a second.
        listed: the throttled partitions of topics that have a list (`Settings.topic_lists`).
    """

    __slots__ = ("_samples", "listed", "rate")

    def __init__(self, rate: int) -> None:
        self.rate = rate
        self.listed: dict[str, frozenset[int]] = {}
        self._samples: deque[tuple[int, int]] = deque()

    def is_throttled(self, tp: TopicPartition, *, reassigned: bool) -> bool:
        """Whether a partition's bytes count here; `reassigned` decides where the topic has no list.

        Kafka: `ReplicationQuotaManager#isThrottled`.
        """
        partitions = self.listed.get(tp.topic)
        if partitions is None:
            return reassigned
        return tp.partition in partitions or partitions == ALL_REPLICAS

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
