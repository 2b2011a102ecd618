"""Sticky assignment for members that all subscribe to the same topics (`AbstractStickyAssignor.ConstrainedAssignmentBuilder`).

Each member gets `min_quota` or `max_quota` partitions, and keeps as many of its own partitions as possible.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from core.kafka.assignors.rack_awareness import RackInfo
from core.kafka.assignors.sticky.owned_partitions import OwnedPartitions
from core.kafka.assignors.subscription import Assignment, Topics
from core.kafka.ids import TopicPartition


class ConstrainedAssignmentBuilder:
    """Builds one assignment.

    Attributes:
        assignment: the partitions of each member so far.
        transferring: for each partition that moves from one member to another, its new owner.
        under_min: the members that have fewer than `min_quota` partitions.
        exactly_min: the members that have exactly `min_quota` partitions and can get one more.
        over_min: the number of members that have more than `min_quota` partitions.
    """

    __slots__ = (
        "assignment",
        "doubly_claimed",
        "exactly_min",
        "expected_over_min",
        "max_quota",
        "maybe_revoked",
        "min_quota",
        "over_min",
        "owned",
        "rack_info",
        "sorts_owned",
        "topics",
        "transferring",
        "under_min",
    )  # fmt: skip

    topics: Final[Topics]
    owned: Final[dict[str, list[TopicPartition]]]
    doubly_claimed: Final[dict[TopicPartition, None]]
    rack_info: Final[RackInfo]
    sorts_owned: Final[bool]
    assignment: Final[Assignment]
    transferring: Final[dict[TopicPartition, str]]
    maybe_revoked: Final[dict[TopicPartition, str]]

    def __init__(self, topics: Topics, owned: OwnedPartitions, rack_info: RackInfo, *, sorts_owned: bool) -> None:
        self.topics = topics
        self.owned = owned.by_member
        self.doubly_claimed = owned.doubly_claimed
        self.rack_info = rack_info
        self.sorts_owned = sorts_owned
        self.min_quota, self.expected_over_min = divmod(sum(each.partitions for each in topics.values()), len(self.owned))
        self.max_quota = self.min_quota + (self.expected_over_min > 0)
        self.over_min = 0
        self.assignment = {member: [] for member in self.owned}
        self.transferring = {}
        self.maybe_revoked = {}
        self.under_min: list[str] = []
        self.exactly_min: list[str] = []

    def build(self) -> Assignment:
        """Build the assignment (`#build`)."""
        self._assign_owned_partitions()
        assigned = {tp for tps in self.assignment.values() for tp in tps}
        every = (TopicPartition(topic, number) for topic in sorted(self.topics) for number in range(self.topics[topic].partitions))
        unassigned = [tp for tp in every if tp not in assigned]
        self.under_min.sort()
        self.exactly_min.sort()
        unassigned = self._assign_rack_aware_round_robin(self.rack_info.by_consumers(unassigned))
        self._assign_round_robin(unassigned)
        return self.assignment

    def _assign_owned_partitions(self) -> None:
        """Let members keep their own partitions, up to their quotas (`#assignOwnedPartitions`)."""
        for member, owned in self.owned.items():
            mine = []
            for tp in owned:
                if self.rack_info.mismatch(member, tp):
                    self.maybe_revoked[tp] = member
                elif tp not in self.doubly_claimed:
                    mine.append(tp)
            if self.sorts_owned:
                mine.sort(key=_by_partition)
            if len(mine) < self.min_quota:
                self.under_min.append(member)
                kept = len(mine)
            elif len(mine) >= self.max_quota and self.over_min < self.expected_over_min:
                kept = self.max_quota
                self.over_min += 1
                if self.over_min == self.expected_over_min:
                    self.exactly_min.clear()
            else:
                kept = self.min_quota
                if self.over_min < self.expected_over_min:
                    self.exactly_min.append(member)
            self.assignment[member] += mine[:kept]
            self.maybe_revoked.update(dict.fromkeys(mine[kept:], member))

    def _assign_rack_aware_round_robin(self, unassigned: list[TopicPartition]) -> list[TopicPartition]:
        """Assign partitions to members that are in the partitions' racks and can get more partitions. Return the remaining partitions
        (`#assignRackAwareRoundRobin`)."""
        if not self.rack_info.consumer_racks:
            return unassigned
        following = 0
        left = []
        for tp in unassigned:
            index = self.rack_info.next_consumer(tp, self.under_min, following)
            if index >= 0:
                member = self.under_min[index]
                count = len(self.assignment[member]) + 1
                if count >= self.min_quota:
                    del self.under_min[index]
                    if count < self.max_quota and self.over_min < self.expected_over_min:
                        self.exactly_min.append(member)
                else:
                    index += 1
                following = index % len(self.under_min) if self.under_min else 0
            else:
                index = self.rack_info.next_consumer(tp, self.exactly_min, 0)
                if index < 0:
                    left.append(tp)
                    continue
                member = self.exactly_min[index]
                if len(self.assignment[member]) + 1 == self.max_quota:
                    del self.exactly_min[index]
                    self.over_min += 1
                    if self.over_min == self.expected_over_min:
                        self.exactly_min.clear()
            self._assign_new_partition(tp, member)
        return left

    def _assign_round_robin(self, unassigned: list[TopicPartition]) -> None:
        """Assign the other partitions, in round-robin order, to the members below `min_quota`, and then one partition to each member that
        can get one more.

        Kafka: `#assignRoundRobin`.
        """
        circle = deque(self.under_min)
        exactly_min = deque(self.exactly_min)
        for tp in unassigned:
            if circle:
                member = circle.popleft()
                self._assign_new_partition(tp, member)
                (exactly_min if len(self.assignment[member]) == self.min_quota else circle).append(member)
            else:
                self._assign_new_partition(tp, exactly_min.popleft())

    def _assign_new_partition(self, tp: TopicPartition, member: str) -> None:
        """Assign a partition, and record whether another member owned it (`#assignNewPartition`)."""
        self.assignment[member].append(tp)
        if self.maybe_revoked.get(tp, member) != member or tp in self.doubly_claimed:
            self.transferring[tp] = member


def _by_partition(tp: TopicPartition) -> tuple[int, str]:
    return tp.partition, tp.topic
