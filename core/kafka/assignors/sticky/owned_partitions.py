"""The partitions that the members of a group already own, which the sticky assignors try to preserve
(`AbstractStickyAssignor#allSubscriptionsEqual`)."""

from __future__ import annotations

from typing import NamedTuple

from core.kafka.assignors.subscription import NO_GENERATION, Members, Topics
from core.kafka.ids import TopicPartition


class OwnedPartitions(NamedTuple):
    """The partitions that members claim to own.

    Attributes:
        by_member: the partitions that each member owns, in the order in which the member reports them.
        doubly_claimed: partitions that two members claim for the same generation. Partitions that two members claim count as having no
            owner.
        subscriptions_equal: whether all members subscribe to the same topics.
        max_generation: the highest generation that any member reports.
    """

    by_member: dict[str, list[TopicPartition]]
    doubly_claimed: dict[TopicPartition, None]
    subscriptions_equal: bool
    max_generation: int


def owned_partitions(topics: Topics, members: Members, *, claims_by_partition: bool = True) -> OwnedPartitions:
    """Return the owners of partitions, according to the members' own reports (`AbstractStickyAssignor#allSubscriptionsEqual`).

    Args:
        topics: the topics that have metadata. Partitions that do not exist are ignored, whereas Kafka fails if a topic was deleted and then
            created again with fewer partitions than before.
        members: the members of the group, in hash map order.
        claims_by_partition: whether, of two members that claim the same partition, the one with the higher generation owns it (KAFKA-14639,
            3.5). Before 3.5, only the members that report the highest generation own any partitions.
    """
    generations = {member.member_id: member.generation for member in members}
    highest = max(generations.values(), default=NO_GENERATION)
    by_member: dict[str, list[TopicPartition]] = {}
    doubly_claimed: dict[TopicPartition, None] = {}
    owners: dict[TopicPartition, str] = {}
    for member in members:
        owned = by_member[member.member_id] = []
        if not claims_by_partition and member.generation < highest:
            continue
        for tp in member.owned:
            if tp.topic not in topics or tp.partition >= topics[tp.topic].partitions:
                continue
            other = owners.get(tp)
            if other is None:
                owned.append(tp)
                owners[tp] = member.member_id
            elif member.generation == generations[other]:
                doubly_claimed[tp] = None
                if tp in by_member[other]:
                    by_member[other].remove(tp)
                owners[tp] = member.member_id
            elif member.generation > generations[other]:
                owned.append(tp)
                if tp in by_member[other]:
                    by_member[other].remove(tp)
                owners[tp] = member.member_id
    return OwnedPartitions(by_member, doubly_claimed, _subscriptions_equal(members), highest)


def _subscriptions_equal(members: Members) -> bool:
    """Return whether all members subscribe to the same topics. As in Kafka, members that have no topics are ignored if they precede all
    members that have topics."""
    first = frozenset[str]()
    for member in members:
        if not first:
            first = frozenset(member.topics)
        elif len(member.topics) != len(first) or not first.issuperset(member.topics):
            return False
    return True
