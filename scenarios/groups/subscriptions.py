"""Infers the topics to which members subscribe from the partitions that they own, because `kafka-consumer-groups` doesn't print subscriptions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from core.kafka.assignors import subscription
from core.kafka.assignors.java_order import hash_map_order
from core.kafka.clients.group_member.assignors import ASSIGNORS, default_assignors
from core.kafka.release import Release
from scenarios.describe.lines import shown
from scenarios.groups.facts import Group, Member


def subscriptions(
    group: Group, assignors: Sequence[str], counts: Mapping[str, int], release: Release, notes: list[str]
) -> dict[str, tuple[str, ...]]:
    """Return the topics of each member, by member ID. If the imported output shows no topics for the group, the tuples are empty.

    Two subscriptions are possible: all members subscribe to every topic of the group, or each member subscribes only to the topics whose
    partitions it owns. The function uses the first subscription with which the assignor produces the assignment in the imported output.

    Args:
        group: the group, with the partitions that its members own.
        assignors: the assignors that the imported output names; if empty, the default of the release is used.
        counts: the number of partitions of each topic.
        release: the release under which the group is to run.
        notes: the list to which the function adds a note if the assignor assigns partitions other than those that the imported output
            shows.
    """
    owned = {tp.topic for member in group.members for tp in member.assignment}
    shared = tuple(sorted(owned or {tp.topic for tp in group.offsets}))
    everything = {member.member_id: shared for member in group.members}
    own = {member.member_id: tuple(sorted({tp.topic for tp in member.assignment})) or shared for member in group.members}
    if not owned:
        return everything
    name = assignors[0] if assignors else default_assignors(release)[0]
    for topics in (everything, own):
        if name not in ASSIGNORS or _assigns_the_same(group.members, topics, name, counts, release):
            return topics
    notes.append(
        f"the members of group {shown(group.name)} can get partitions other than those in the imported output, "
        f"because assignor {name} assigns all partitions again when they join"
    )
    return everything


def _assigns_the_same(
    members: Sequence[Member], topics: Mapping[str, tuple[str, ...]], name: str, counts: Mapping[str, int], release: Release
) -> bool:
    """Whether an assignor gives new members the partitions that the imported output shows for them."""
    by_id = {
        member.member_id: subscription.Member(
            f"{member.instance_id or member.client}-{member.member_id}", topics[member.member_id], instance_id=member.instance_id
        )
        for member in members
    }
    known = {topic: subscription.TopicMetadata(counts[topic]) for topic in sorted({each for some in topics.values() for each in some})}
    ordered = [by_id[member_id] for member_id in hash_map_order(by_id)]
    found = ASSIGNORS[name].assign(known, ordered, release)
    return all(set(found[by_id[member.member_id].member_id]) == set(member.assignment) for member in members)
