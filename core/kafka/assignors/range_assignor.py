"""The client-side assignor `range` (`RangeAssignor`), which gives every member consecutive partitions of each topic.

If members have racks (KIP-881, since 3.5), a member first gets partitions that have a replica in its own rack. Racks do not change the
number of partitions that each member gets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from core.kafka.assignors.rack_awareness import use_rack_aware_assignment
from core.kafka.assignors.subscription import Assignment, Members, TopicMetadata, Topics, member_order, subscribed
from core.kafka.ids import TopicPartition


class TopicAssignmentState:
    """The assignment state of one topic (`RangeAssignor.TopicAssignmentState`).

    Attributes:
        topic: the name of the topic.
        consumers: the rack of each subscriber, in member order; empty if the member has no rack.
        needs_rack_aware_assignment: whether racks can affect the assignment of this topic.
        unassigned: the numbers of the partitions that have no owner, in ascending order.
        assigned: the number of partitions that have been assigned to each subscriber so far.
        quota: the minimum number of partitions that each subscriber gets.
        extra: the number of subscribers that can still get one partition more than `quota`.
    """

    __slots__ = ("_metadata", "assigned", "consumers", "extra", "needs_rack_aware_assignment", "partitions", "quota", "topic", "unassigned")

    topic: Final[str]
    partitions: Final[int]
    consumers: Final[dict[str, str]]

    def __init__(self, topic: str, metadata: TopicMetadata, consumers: dict[str, str], *, rack_aware: bool) -> None:
        self.topic = topic
        self.partitions = metadata.partitions
        self.consumers = consumers
        self.unassigned = dict.fromkeys(range(metadata.partitions))
        self.assigned = dict.fromkeys(consumers, 0)
        self.quota, self.extra = divmod(metadata.partitions, len(consumers))
        self._metadata = metadata
        consumer_racks = {rack for rack in consumers.values() if rack}
        self.needs_rack_aware_assignment = rack_aware and use_rack_aware_assignment(consumer_racks, metadata.racks)

    def racks_match(self, consumer: str, partition: int) -> bool:
        """Return whether a subscriber has no rack, or is in the same rack as one of the partition's replicas (`#racksMatch`)."""
        rack = self.consumers[consumer]
        return not rack or rack in self._metadata.racks_of(partition)

    def max_assignable(self, consumer: str) -> int:
        """Return the number of partitions that a subscriber can still get (`#maxAssignable`)."""
        return max(0, self.quota + (self.extra > 0) - self.assigned[consumer])

    def assign(self, consumer: str, partitions: list[int], assignment: Assignment) -> None:
        """Assign partitions to a subscriber (`#onAssigned`)."""
        assignment[consumer] += [TopicPartition(self.topic, partition) for partition in partitions]
        self.assigned[consumer] += len(partitions)
        if self.assigned[consumer] > self.quota:
            self.extra -= 1
        for partition in partitions:
            del self.unassigned[partition]


def assign(topics: Topics, members: Members, *, rack_aware: bool = True) -> Assignment:
    """Assign ranges of each topic's partitions to members (`RangeAssignor#assignPartitions`).

    Args:
        topics: the topics that have metadata.
        members: the members of the group, in any order.
        rack_aware: whether the release takes racks into account.
    """
    ordered = sorted(members, key=member_order)
    consumers: dict[str, dict[str, str]] = {}
    for member in ordered:
        for topic in member.topics:
            consumers.setdefault(topic, {})[member.member_id] = member.rack
    states = [
        TopicAssignmentState(topic, metadata, consumers[topic], rack_aware=rack_aware)
        for topic, metadata in sorted(subscribed(topics, members).items())
    ]
    assignment: Assignment = {member.member_id: [] for member in members}
    racks_matter = any(state.needs_rack_aware_assignment for state in states)
    if racks_matter:
        _assign_with_rack_matching(states, assignment)
    for state in states:
        _assign_ranges(state, _any_partition, assignment)
    if racks_matter:
        for tps in assignment.values():
            tps.sort()
    return assignment


def _any_partition(consumer: str, partition: int) -> bool:
    return True


def _assign_ranges(state: TopicAssignmentState, may_assign: Callable[[str, int], bool], assignment: Assignment) -> None:
    """Give each subscriber, in turn, the first unassigned partitions until it has its share (`#assignRanges`)."""
    for consumer in state.consumers:
        if not state.unassigned:
            break
        limit = state.max_assignable(consumer)
        assignable: list[int] = []
        for partition in state.unassigned if limit else ():
            if may_assign(consumer, partition):
                assignable.append(partition)
                if len(assignable) == limit:
                    break
        if assignable:
            state.assign(consumer, assignable, assignment)


def _assign_with_rack_matching(states: list[TopicAssignmentState], assignment: Assignment) -> None:
    """Assign partitions to members that are in the same rack as a replica. Topics that have the same subscribers and the same number of
    partitions are assigned together.

    Kafka: `#assignWithRackMatching`.
    """
    alike: dict[tuple[tuple[tuple[str, str], ...], int], list[TopicAssignmentState]] = {}
    for state in states:
        alike.setdefault((tuple(state.consumers.items()), state.partitions), []).append(state)
    for co_partitioned in alike.values():
        if len(co_partitioned) > 1:
            _assign_co_partitioned(co_partitioned, assignment)
        elif co_partitioned[0].needs_rack_aware_assignment:
            _assign_ranges(co_partitioned[0], co_partitioned[0].racks_match, assignment)


def _assign_co_partitioned(states: list[TopicAssignmentState], assignment: Assignment) -> None:
    """If a member's rack matches the partitions that have the same number in all topics, assign all of these partitions to this member.

    Kafka: `#assignCoPartitionedWithRackMatching`.
    """
    remaining = dict.fromkeys(states[0].consumers)
    for partition in range(states[0].partitions):
        for consumer in remaining:
            if all(state.racks_match(consumer, partition) and state.max_assignable(consumer) > 0 for state in states):
                break
        else:
            continue
        for state in states:
            state.assign(consumer, [partition], assignment)
        if not any(state.max_assignable(consumer) for state in states):
            del remaining[consumer]
            if not remaining:
                break
