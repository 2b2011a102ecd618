"""The metadata cache of a broker in ZooKeeper mode (Kafka: `ZkMetadataCache`), which the controller fills with UpdateMetadata requests."""

from __future__ import annotations

from typing import Final

from core.kafka.ids import NO_LEADER, TopicPartition
from core.kafka.metadata_cache import MetadataCache
from core.kafka.partition_registration import PartitionRegistration
from core.kafka.zookeeper_mode.controller.requests import LEADER_DURING_DELETE


class ZkMetadataCache(MetadataCache):
    """What the controller has told a broker.

    Attributes:
        live: the live brokers.
    """

    __slots__ = ("_deleted_topics", "_states", "live")

    _states: Final[dict[str, dict[int, PartitionRegistration]]]
    _deleted_topics: Final[dict[str, None]]

    def __init__(self, racks: dict[int, str | None]) -> None:
        super().__init__(racks)
        self.live: tuple[int, ...] = ()
        self._states = {}
        self._deleted_topics = {}

    def clear(self) -> None:
        """Forget everything, because the process has ended."""
        self._states.clear()
        self.live = ()
        self._deleted_topics.clear()

    def update(self, items: tuple[tuple[TopicPartition, PartitionRegistration], ...]) -> tuple[TopicPartition, ...]:
        """Store the states of partitions (`#updateMetadata`). Return the partitions of deleted topics."""
        for tp, state in items:
            if state.leader == LEADER_DURING_DELETE:
                self._states.get(tp.topic, {}).pop(tp.partition, None)
                self._deleted_topics[tp.topic] = None
            else:
                self._states.setdefault(tp.topic, {})[tp.partition] = state
                self._deleted_topics.pop(tp.topic, None)
        return tuple(tp for tp, state in items if state.leader == LEADER_DURING_DELETE)

    def partition_state(self, tp: TopicPartition) -> PartitionRegistration | None:
        """Return the state of a partition (`#getPartitionInfo`); None if the partition does not exist.

        Before 2.7, a leader writes its ISR to ZooKeeper, and publishes the change some seconds later. Until the controller has read the
        change and sent it, the ISR in the cache is an older one.
        """
        return self._states.get(tp.topic, {}).get(tp.partition)

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
        return tp.partition in self._states.get(tp.topic, {})

    def topic_leaders(self, topic: str) -> tuple[tuple[int, int], ...]:
        """Return (leader, leader epoch) for each partition of a topic; empty if the topic does not exist. A leader that is not alive counts
        as no leader (`#getPartitionMetadata`)."""
        known = self._states.get(topic, {})
        found = (known.get(number) for number in range(max(known, default=-1) + 1))
        return tuple(
            (NO_LEADER, -1) if state is None else (state.leader if state.leader in self.live else NO_LEADER, state.leader_epoch)
            for state in found
        )

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
