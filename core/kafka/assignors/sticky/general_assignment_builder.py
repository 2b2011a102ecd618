"""Sticky assignment for members that subscribe to different topics (`AbstractStickyAssignor.GeneralAssignmentBuilder`).

Members initially keep the partitions that they own. Each partition that has no owner goes to the least loaded subscriber. Afterward, a
partition moves from one member to another as long as the first member has at least two more partitions than the second, and the second
member can take one of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from core.kafka.assignors.rack_awareness import RackInfo
from core.kafka.assignors.sticky.least_loaded import LeastLoaded
from core.kafka.assignors.sticky.owned_partitions import OwnedPartitions
from core.kafka.assignors.sticky.partition_movements import PartitionMovements
from core.kafka.assignors.subscription import Assignment, Members, Topics
from core.kafka.ids import TopicPartition

ROUNDS_IN_VAIN: Final = 10
"""After this number of rounds without an improvement, the builder no longer prefers to reverse its earlier moves."""


class GeneralAssignmentBuilder:
    """Builds one assignment.

    Attributes:
        assignment: the partitions of each member so far. A dict serves as an ordered set.
        owners: the member that owns each partition.
        potential_consumers: the members that subscribe to each topic (`topic2AllPotentialConsumers`).
        potential_topics: for each member, the subscribed topics that have metadata (`consumer2AllPotentialTopics`).
        previous: for each partition, its owner in an earlier generation, if this owner still subscribes to the topic (`prevAssignment`).
        revocation_required: whether a member must give up a partition that it owns.
    """

    __slots__ = (
        "assignment", "least_loaded", "movements", "owners", "potential_consumers", "potential_topics", "previous", "rack_info",
        "revocation_required", "topics",
    )  # fmt: skip

    topics: Final[Topics]
    rack_info: Final[RackInfo]
    assignment: Final[dict[str, dict[TopicPartition, None]]]
    potential_consumers: Final[dict[str, list[str]]]
    potential_topics: Final[dict[str, list[str]]]
    previous: Final[dict[TopicPartition, str]]
    movements: Final[PartitionMovements]
    least_loaded: Final[LeastLoaded]

    def __init__(self, topics: Topics, owned: OwnedPartitions, rack_info: RackInfo, members: Members) -> None:
        self.topics = topics
        self.rack_info = rack_info
        self.assignment = {member: dict.fromkeys(tps) for member, tps in owned.by_member.items()}
        self.owners: dict[TopicPartition, str] = {tp: member for member, tps in self.assignment.items() for tp in tps}
        self.potential_topics = {
            member.member_id: [topic for topic in dict.fromkeys(member.topics) if topic in topics] for member in members
        }
        self.potential_consumers = {topic: [] for topic in topics}
        for member, names in self.potential_topics.items():
            for topic in names:
                self.potential_consumers[topic].append(member)
        self.previous = _previous_owners(members, owned.max_generation)
        self.movements = PartitionMovements()
        self.revocation_required = False
        racks = {member.member_id: rack_info.consumer_racks.get(member.member_id, "") for member in members}
        self.least_loaded = LeastLoaded(self.potential_topics, racks)

    def build(self) -> Assignment:
        """Build the assignment (`#build`)."""
        kept = self._assign_owned_partitions()
        topics = sorted(self.topics, key=lambda topic: (len(self.potential_consumers[topic]), topic))
        every = [TopicPartition(topic, number) for topic in topics for number in range(self.topics[topic].partitions)]
        for member, tps in self.assignment.items():
            self.least_loaded.put(member, len(tps))
        self._balance(every, [tp for tp in every if tp not in kept])
        return {member: list(tps) for member, tps in self.assignment.items()}

    def _assign_owned_partitions(self) -> set[TopicPartition]:
        """Take partitions away from members that can no longer own them. Return the partitions that stay with their owners
        (`#assignOwnedPartitions`)."""
        kept = set()
        for member, tps in self.assignment.items():
            topics = frozenset(self.potential_topics[member])
            for tp in list(tps):
                if tp.topic not in topics or self.rack_info.mismatch(member, tp):
                    del tps[tp]
                    self.revocation_required = True
                else:
                    kept.add(tp)
        return kept

    def _balance(self, every: list[TopicPartition], unassigned: list[TopicPartition]) -> None:
        """Assign the partitions that have no owner, and then move partitions if this improves the balance (`#balance`)."""
        initializing = not any(self.assignment.values())
        left = unassigned
        if self.rack_info.consumer_racks:
            left = [tp for tp in unassigned if not self._maybe_assign(tp, same_rack=True)]
        for tp in left:
            self._maybe_assign(tp, same_rack=False)
        movable = {topic for topic, consumers in self.potential_consumers.items() if len(consumers) >= 2}
        for member in list(self.assignment):
            if not self._can_participate(member, movable):
                self.least_loaded.remove(member)
        former = {member: dict(tps) for member, tps in self.assignment.items()}
        former_owners = dict(self.owners)
        if not self.revocation_required:
            self._perform_reassignments([tp for tp in unassigned if tp.topic in movable])
        reassigned = self._perform_reassignments([tp for tp in every if tp.topic in movable])
        if not initializing and reassigned and self._score(self.assignment) >= self._score(former):
            self.assignment.update(former)
            self.owners = former_owners

    def _maybe_assign(self, tp: TopicPartition, *, same_rack: bool) -> bool:
        """Give a partition to the least loaded subscriber, if there is one (`#maybeAssignPartition`)."""
        racks = self.rack_info.partition_racks.get(tp, frozenset()) if same_rack else None
        member = self.least_loaded.first(tp.topic, racks)
        if member is None:
            return False
        self.assignment[member][tp] = None
        self.owners[tp] = member
        self.least_loaded.put(member, len(self.assignment[member]))
        return True

    def _can_participate(self, member: str, movable: set[str]) -> bool:
        """Return whether a reassignment can affect a member: the member lacks a partition that it could have, or it has a partition that
        another member could have.

        Kafka: `#canConsumerParticipateInReassignment`.
        """
        most = sum(self.topics[topic].partitions for topic in self.potential_topics[member])
        return len(self.assignment[member]) < most or any(tp.topic in movable for tp in self.assignment[member])

    def _perform_reassignments(self, tps: list[TopicPartition]) -> bool:
        """Move partitions until no member has at least two more partitions than another member that could take one of them.

        Return whether any partition moved (`#performReassignments`).

        Kafka also stops as soon as `#isBalanced` returns true. isrlab omits this check, because no partition could move in that case. In
        rare cases, Kafka moves the same partition back and forth endlessly, because `#getTheActualPartitionToBeMoved` keeps choosing it.
        isrlab stops choosing it if several rounds do not improve the balance (`ROUNDS_IN_VAIN`).
        """
        performed = False
        modified = True
        best = self._sum_of_squares()
        in_vain = 0
        while modified:
            modified = False
            for tp in tps:
                count = len(self.assignment[self.owners[tp]])
                target = self.previous.get(tp)
                if target is None or count <= len(self.assignment[target]) + 1:
                    target = self.least_loaded.first(tp.topic)
                    if target is None or count <= len(self.assignment[target]) + 1:
                        continue
                self._reassign(tp, target, prefers_moved=in_vain < ROUNDS_IN_VAIN)
                performed = modified = True
            squares = self._sum_of_squares()
            in_vain = 0 if squares < best else in_vain + 1
            best = min(best, squares)
        return performed

    def _sum_of_squares(self) -> int:
        """Return a measure of the assignment's imbalance, which decreases when a partition moves to a member that has at least two fewer
        partitions than the former owner.
        """
        return sum(len(tps) ** 2 for tps in self.assignment.values())

    def _reassign(self, tp: TopicPartition, target: str, *, prefers_moved: bool) -> None:
        """Move a partition to another member. If another partition of the same topic has moved in the opposite direction, move that one
        back instead.

        Kafka: `#reassignPartition`, `#processPartitionMovement`.
        """
        moved = self.movements.actual_partition_to_move(tp, self.owners[tp], target) if prefers_moved else tp
        source = self.owners[moved]
        self.movements.move(moved, source, target)
        self.assignment[source].pop(moved, None)
        self.assignment[target][moved] = None
        self.owners[moved] = target
        self.least_loaded.put(target, len(self.assignment[target]))
        self.least_loaded.put(source, len(self.assignment[source]))

    def _score(self, assignment: dict[str, dict[TopicPartition, None]]) -> int:
        """Return the sum of the differences in the number of partitions between all pairs of participating members; 0 means perfect balance
        (`#getBalanceScore`).
        """
        sizes = sorted(len(tps) for member, tps in assignment.items() if self.least_loaded.has(member))
        return sum((2 * place - len(sizes) + 1) * size for place, size in enumerate(sizes))


def _previous_owners(members: Members, max_generation: int) -> dict[TopicPartition, str]:
    """Return the owners of partitions in generations before the highest one (`#prepopulateCurrentAssignments`)."""
    previous: dict[TopicPartition, tuple[int, str]] = {}
    for member in members:
        if member.generation < max_generation:
            for tp in _of_subscribed_topics(member.owned, member.topics):
                if tp not in previous or member.generation > previous[tp][0]:
                    previous[tp] = (member.generation, member.member_id)
    return {tp: member for tp, (_, member) in previous.items()}


def _of_subscribed_topics(tps: Iterable[TopicPartition], topics: Iterable[str]) -> list[TopicPartition]:
    names = frozenset(topics)
    return [tp for tp in tps if tp.topic in names]
