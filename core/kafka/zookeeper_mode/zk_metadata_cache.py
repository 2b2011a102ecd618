"""The metadata cache of a broker in ZooKeeper mode (Kafka: `ZkMetadataCache`), which the controller fills with UpdateMetadata requests."""

from __future__ import annotations

from typing import Final

from core.kafka.ids import NO_LEADER, TopicPartition
from core.kafka.metadata_cache import MetadataCache
from core.kafka.zookeeper_mode.controller.requests import LEADER_DURING_DELETE


class ZkMetadataCache(MetadataCache):
    """What the controller has told a broker.

    Attributes:
        live: the live brokers.
    """

    __slots__ = ("_deleted_topics", "_leaders", "live")

    _leaders: Final[dict[str, dict[int, tuple[int, int]]]]
    _deleted_topics: Final[dict[str, None]]

    def __init__(self, racks: dict[int, str | None]) -> None:
        super().__init__(racks)
        self.live: tuple[int, ...] = ()
        self._leaders = {}
        self._deleted_topics = {}

    def clear(self) -> None:
        """Forget everything, because the process has ended."""
        self._leaders.clear()
        self.live = ()
        self._deleted_topics.clear()

    def update(self, items: tuple[tuple[TopicPartition, int, int], ...]) -> tuple[TopicPartition, ...]:
        """Store (partition, leader, leader epoch) of partitions (`#updateMetadata`). Return the partitions of deleted topics."""
        for tp, leader, epoch in items:
            if leader == LEADER_DURING_DELETE:
                self._leaders.get(tp.topic, {}).pop(tp.partition, None)
                self._deleted_topics[tp.topic] = None
            else:
                self._leaders.setdefault(tp.topic, {})[tp.partition] = (leader, epoch)
                self._deleted_topics.pop(tp.topic, None)
        return tuple(tp for tp, leader, _ in items if leader == LEADER_DURING_DELETE)

    @property
    def offset(self) -> int:
        """0, because there is no metadata log."""
        return 0

    @property
    def transaction_version(self) -> int:
        """0, because ZooKeeper mode has no feature levels."""
        return 0

    def contains(self, tp: TopicPartition) -> bool:
        """Return whether a partition exists (`#contains`)."""
        return tp.partition in self._leaders.get(tp.topic, {})

    def topic_leaders(self, topic: str) -> tuple[tuple[int, int], ...]:
        """Return (leader, leader epoch) for each partition of a topic; empty if the topic does not exist."""
        known = self._leaders.get(topic, {})
        return tuple(known.get(number, (NO_LEADER, -1)) for number in range(max(known, default=-1) + 1))

    def is_deleted(self, topic: str) -> bool:
        """Return whether a topic is being deleted or has been deleted."""
        return topic in self._deleted_topics

    def alive_broker_epoch(self, broker: int) -> int:
        """Return -1, because a ZooKeeper controller does not send the broker epochs of other brokers."""
        return -1

    def has_alive_broker(self, broker: int) -> bool:
        """Return whether a broker is alive."""
        return broker in self.live

    def is_isr_eligible(self, broker: int, broker_epoch: int) -> bool:
        """Return whether a broker can join an ISR, which means that it is alive."""
        return broker in self.live
