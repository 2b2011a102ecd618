"""The client-side assignors `sticky` and `cooperative-sticky` (`AbstractStickyAssignor`, `StickyAssignor`, `CooperativeStickyAssignor`)."""

from __future__ import annotations

from typing import NamedTuple

from core.kafka.assignors.rack_awareness import RackInfo
from core.kafka.assignors.sticky.constrained_assign import constrained_assign
from core.kafka.assignors.sticky.constrained_assignment_builder import ConstrainedAssignmentBuilder
from core.kafka.assignors.sticky.general_assignment_builder import GeneralAssignmentBuilder
from core.kafka.assignors.sticky.owned_partitions import owned_partitions
from core.kafka.assignors.subscription import Assignment, Members, Topics, subscribed
from core.kafka.ids import TopicPartition
from core.kafka.release import Release, StickyAlgorithm


class StickyRules(NamedTuple):
    """The rules that differ between releases.

    Attributes:
        algorithm: the algorithm for members that all subscribe to the same topics.
        rack_aware: whether members get partitions in their racks (KIP-881, 3.5).
        claims_by_partition: whether, of two members that claim the same partition, the one with the higher generation owns it (KAFKA-14639,
            3.5). Before 3.5, only the members that report the highest generation own any partitions.
        sorts_owned: whether a member that owns too many partitions keeps the partitions with the lowest numbers, across all topics
            (KAFKA-16277, 3.7.1). Before 3.7.1, a member that owns too many partitions keeps the partitions that it reports first.
    """

    algorithm: StickyAlgorithm = StickyAlgorithm.EXPECTED_MEMBERS
    rack_aware: bool = True
    claims_by_partition: bool = True
    sorts_owned: bool = True

    @staticmethod
    def of(release: Release) -> StickyRules:
        """Return the rules of the sticky assignors in a release."""
        return StickyRules(
            release.sticky_algorithm, release.rack_aware_assignors, release.claims_by_partition, release.sorts_owned_partitions
        )


class StickyAssignment(NamedTuple):
    """An assignment and, for each partition that moves from one member to another, the new owner (`partitionsTransferringOwnership`)."""

    assignment: Assignment
    transferring: dict[TopicPartition, str]


CURRENT_RULES = StickyRules()
"""The rules of the sticky assignors in the newest releases."""


def assign(topics: Topics, members: Members, rules: StickyRules = CURRENT_RULES) -> StickyAssignment:
    """Assign all partitions evenly, with as few movements as possible (`AbstractStickyAssignor#assignPartitions`).

    Args:
        topics: the topics that have metadata.
        members: the members of the group, in hash map order. The order of the members determines which of them keep more partitions than
            others.
        rules: the rules of the release.
    """
    topics = subscribed(topics, members)
    if not rules.rack_aware:
        members = [member._replace(rack="") for member in members]
    owned = owned_partitions(topics, members, claims_by_partition=rules.claims_by_partition)
    rack_info = RackInfo(topics, members)
    if owned.subscriptions_equal and rules.algorithm is StickyAlgorithm.MAXIMUM_QUOTA:
        return StickyAssignment(*constrained_assign(topics, owned))
    if owned.subscriptions_equal and rules.algorithm is StickyAlgorithm.EXPECTED_MEMBERS:
        builder = ConstrainedAssignmentBuilder(topics, owned, rack_info, sorts_owned=rules.sorts_owned)
        assignment = builder.build()
        return StickyAssignment(assignment, builder.transferring)
    assignment = GeneralAssignmentBuilder(topics, owned, rack_info, members).build()
    return StickyAssignment(assignment, _transferring(members, assignment))


def cooperative_assign(topics: Topics, members: Members, rules: StickyRules = CURRENT_RULES) -> Assignment:
    """Return the sticky assignment, excluding the partitions that another member must give up first.

    Kafka: `CooperativeStickyAssignor#adjustAssignment`.
    """
    assignment, transferring = assign(topics, members, rules)
    withheld: dict[str, set[TopicPartition]] = {}
    for tp, member in transferring.items():
        withheld.setdefault(member, set()).add(tp)
    for member, tps in withheld.items():
        assignment[member] = [tp for tp in assignment[member] if tp not in tps]
    return assignment


def _transferring(members: Members, assignment: Assignment) -> dict[TopicPartition, str]:
    """Return the partitions that one member gets and another member loses.

    Kafka: `CooperativeStickyAssignor#computePartitionsTransferringOwnership`.
    """
    added: dict[TopicPartition, str] = {}
    revoked: set[TopicPartition] = set()
    for member in members:
        assigned = frozenset(assignment[member.member_id])
        owned = frozenset(member.owned)
        revoked.update(owned - assigned)
        added.update((tp, member.member_id) for tp in assignment[member.member_id] if tp not in owned)
    return {tp: member for tp, member in added.items() if tp in revoked}
