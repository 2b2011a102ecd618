"""The server-side assignor `uniform` (`UniformAssignor`), and the builder that it uses if all members subscribe to the same topics."""

from __future__ import annotations

from core.kafka.assignors.java_order import initial_table_size
from core.kafka.assignors.server.uniform_heterogeneous import UniformHeterogeneousAssignmentBuilder
from core.kafka.assignors.subscription import Assignment, Member, Members, Topics, subscribed
from core.kafka.ids import TopicPartition


def assign(topics: Topics, members: Members, *, extra_goes_to_any_member: bool = True) -> Assignment:
    """Assign all partitions evenly, and move as few of them as possible (`UniformAssignor#assign`).

    Args:
        topics: the topics that have metadata, in the order of their IDs.
        members: the members of the group in the order of the hash map. Each member counts as owning the partitions in its current target
            assignment.
        extra_goes_to_any_member: whether any member can have one more partition than the others (KAFKA-18688, since 4.1), so that a
            balanced assignment stays unchanged. Before 4.1, only the first members can have one more partition.
    """
    topics = subscribed(topics, members)
    if not topics:
        return {member.member_id: [] for member in members}
    first = frozenset(members[0].topics)
    if all(first == frozenset(member.topics) for member in members):
        return _assign_homogeneous(topics, members, extra_goes_to_any_member)
    return UniformHeterogeneousAssignmentBuilder(topics, members).build()


def _assign_homogeneous(topics: Topics, members: Members, extra_goes_to_any_member: bool) -> Assignment:
    """Assign partitions to members that all have the same subscriptions (`UniformHomogeneousAssignmentBuilder#build`).

    If the number of partitions is not divisible by the number of members, some members get one more partition than others: first the
    members that already own one more, and then the last members. Each member keeps its own partitions up to its quota. Then the members
    below their quotas get the remaining partitions: one member gets partitions up to its quota before the next member gets any.
    """
    owned = {tp for member in members for tp in member.owned}
    every = (TopicPartition(topic, number) for topic, metadata in topics.items() for number in range(metadata.partitions))
    unassigned = [tp for tp in every if tp not in owned]
    minimum, extra = divmod(sum(metadata.partitions for metadata in topics.values()), len(members))
    assignment: Assignment = {}
    space: dict[str, int] = {}
    for place, member in enumerate(members):
        has_extra = extra > 0
        quota = minimum + has_extra
        kept = assignment[member.member_id] = []
        for topic, numbers in _by_topic(topics, member).items():
            kept += [TopicPartition(topic, number) for number in numbers[:quota]]
            unassigned += [TopicPartition(topic, number) for number in numbers[quota:]]
            quota -= min(quota, len(numbers))
        if extra_goes_to_any_member and has_extra and quota > 0 and len(members) - place > extra:
            has_extra = False
            quota -= 1
        extra -= has_extra
        space[member.member_id] = quota
    start = 0
    for member_id, quota in space.items():
        assignment[member_id] += unassigned[start : start + quota]
        start += quota
    return assignment


def _by_topic(topics: Topics, member: Member) -> dict[str, list[int]]:
    """Return the partitions that a member owns in topics that it subscribes to.

    If the member must give up some partitions, it keeps those that come first when Java iterates over a hash set of the partition numbers.
    """
    owned: dict[str, list[int]] = {topic: [] for topic in topics}
    for tp in member.owned:
        if tp.topic in owned and tp.partition < topics[tp.topic].partitions:
            owned[tp.topic].append(tp.partition)
    for numbers in owned.values():
        mask = initial_table_size(len(numbers)) - 1
        numbers.sort(key=lambda number: (number & mask, number))
    return owned
