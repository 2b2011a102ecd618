"""The racks of members and partitions (KIP-881), which the client-side range and sticky assignors use."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from typing import Final

from core.kafka.assignors.subscription import Members, Topics
from core.kafka.ids import TopicPartition


def use_rack_aware_assignment(consumer_racks: Set[str], partition_racks: Collection[frozenset[str]]) -> bool:
    """Return whether racks can affect the assignment. Racks can affect the assignment if at least one member is in the same rack as a
    replica, and the partitions do not all have their replicas in the same racks.

    Kafka: `AbstractPartitionAssignor#useRackAwareAssignment`.
    """
    all_racks = frozenset[str]().union(*partition_racks)
    return not consumer_racks.isdisjoint(all_racks) and not all(racks == all_racks for racks in partition_racks)


class RackInfo:
    """The racks that a sticky assignor compares (`AbstractStickyAssignor.RackInfo`).

    Attributes:
        consumer_racks: the racks of the members; empty if racks cannot affect the assignment.
        partition_racks: the racks of each partition's replicas; empty if racks cannot affect the assignment.
    """

    __slots__ = ("_consumers_by_partition", "consumer_racks", "partition_racks")

    consumer_racks: Final[Mapping[str, str]]
    partition_racks: Final[Mapping[TopicPartition, frozenset[str]]]

    def __init__(self, topics: Topics, members: Members) -> None:
        consumers = {member.member_id: member.rack for member in members if member.rack}
        partitions = (
            {TopicPartition(topic, number): each.racks_of(number) for topic, each in topics.items() for number in range(each.partitions)}
            if consumers
            else {}
        )
        aware = use_rack_aware_assignment(set(consumers.values()), partitions.values())
        self.consumer_racks = consumers if aware else {}
        self.partition_racks = partitions if aware else {}
        in_rack: dict[str, int] = {}
        for rack in consumers.values():
            in_rack[rack] = in_rack.get(rack, 0) + 1
        self._consumers_by_partition = {tp: sum(in_rack.get(rack, 0) for rack in racks) for tp, racks in partitions.items()}

    def mismatch(self, consumer: str, tp: TopicPartition) -> bool:
        """Return whether a member has a rack in which the partition has no replica (`#racksMismatch`)."""
        rack = self.consumer_racks.get(consumer)
        return rack is not None and rack not in self.partition_racks.get(tp, ())

    def by_consumers(self, tps: list[TopicPartition]) -> list[TopicPartition]:
        """Return the partitions, ordered by the number of members that are in the racks of their replicas
        (`#sortPartitionsByRackConsumers`).
        """
        if not self._consumers_by_partition:
            return tps
        return sorted(tps, key=lambda tp: self._consumers_by_partition.get(tp, 0))

    def next_consumer(self, tp: TopicPartition, consumers: Sequence[str], first: int) -> int:
        """Find the next member that is in the rack of one of a partition's replicas, and return its position; -1 if there is no such
        member. The search begins at position `first` and wraps around.

        Kafka: `#nextRackConsumer`.
        """
        racks = self.partition_racks.get(tp)
        if not racks:
            return -1
        for step in range(len(consumers)):
            index = (first + step) % len(consumers)
            if self.consumer_racks.get(consumers[index]) in racks:
                return index
        return -1
