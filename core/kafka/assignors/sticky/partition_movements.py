"""The partitions that a sticky assignor has moved from one member to another (`AbstractStickyAssignor.PartitionMovements`)."""

from __future__ import annotations

from typing import Final, TypeAlias

from core.kafka.assignors.java_order import bucket, partition_hash, table_size
from core.kafka.ids import TopicPartition

Pair: TypeAlias = tuple[str, str]
"""The former owner and the new owner of a partition (`ConsumerPair`)."""


class PartitionMovements:
    """The movements that have been made so far.

    If a partition is about to move from A to B, but another partition of its topic has already moved from B to A, that other partition
    moves back instead.
    """

    __slots__ = ("_by_topic", "_pairs")

    _by_topic: Final[dict[str, dict[Pair, _Moved]]]
    _pairs: Final[dict[TopicPartition, Pair]]

    def __init__(self) -> None:
        self._by_topic = {}
        self._pairs = {}

    def move(self, tp: TopicPartition, source: str, target: str) -> None:
        """Record a movement. A partition that returns to its original owner does not count as moved (`#movePartition`)."""
        former = self._pairs.pop(tp, None)
        if former is not None:
            topic = self._by_topic[tp.topic]
            topic[former].discard(tp)
            if not topic[former].partitions:
                del topic[former]
            source = former[0]
            if source == target:
                return
        self._pairs[tp] = (source, target)
        self._by_topic.setdefault(tp.topic, {}).setdefault((source, target), _Moved()).add(tp)

    def actual_partition_to_move(self, tp: TopicPartition, source: str, target: str) -> TopicPartition:
        """Return the partition to move: `tp` or, if another partition of the topic has already moved in the opposite direction, that
        partition.

        Kafka: `#getTheActualPartitionToBeMoved`.
        """
        topic = self._by_topic.get(tp.topic)
        if topic is None:
            return tp
        if tp in self._pairs:
            source = self._pairs[tp][0]
        back = topic.get((target, source))
        return tp if back is None else back.first()


class _Moved:
    """A hash set of partitions. The first element in iteration order is the same as the first element of the corresponding Java HashSet."""

    __slots__ = ("partitions", "size")

    def __init__(self) -> None:
        self.partitions: dict[TopicPartition, int] = {}
        self.size = 0

    def add(self, tp: TopicPartition) -> None:
        self.partitions[tp] = partition_hash(tp)
        self.size = max(self.size, len(self.partitions))

    def discard(self, tp: TopicPartition) -> None:
        self.partitions.pop(tp, None)

    def first(self) -> TopicPartition:
        buckets = table_size(self.size)
        return min(self.partitions, key=lambda tp: bucket(self.partitions[tp], buckets))
