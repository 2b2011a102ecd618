"""Computes a group's target assignment (Kafka: `TargetAssignmentBuilder`)."""

from __future__ import annotations

from core.kafka.assignors.java_order import hash_map_order
from core.kafka.assignors.server import range_assignor, uniform_assignor
from core.kafka.assignors.subscription import Assignment, Member, TopicMetadata, Topics
from core.kafka.group_coordinator.consumer_group.consumer_group import ConsumerGroup
from core.kafka.group_coordinator.consumer_group.consumer_group_member import ConsumerGroupMember, Partitions, partitions
from core.kafka.group_coordinator.consumer_group.records import SubscriptionMetadata
from core.kafka.release import Release


def target_assignment(
    group: ConsumerGroup, updated: ConsumerGroupMember, metadata: SubscriptionMetadata, assignor: str, release: Release
) -> dict[str, Partitions]:
    """Return the partitions to assign to each member (`#build`).

    Args:
        group: the group, before `updated` is applied.
        updated: the member whose heartbeat triggers the computation. The updated member might be new, or it might replace a static member.
        metadata: the metadata of the topics that the group's members subscribe to.
        assignor: the name of the assignor, `uniform` or `range`.
        release: the release of the coordinator.
    """
    members = dict(group.members)
    owned = group.target.get(updated.member_id, ())
    former = group.static_members.get(updated.instance_id)
    if former is not None and former != updated.member_id:
        owned = group.target.get(former, ())
        del members[former]
    members[updated.member_id] = updated
    specs = []
    for member_id in hash_map_order(members):
        member = members[member_id]
        has = owned if member is updated else group.target.get(member_id, ())
        specs.append(Member(member_id, member.topics, has, instance_id=member.instance_id, rack=member.rack))
    topics = {topic: TopicMetadata(count) for topic, count in metadata}
    return {member_id: partitions(tps) for member_id, tps in _assign(topics, specs, assignor, release).items()}


def _assign(topics: Topics, members: list[Member], assignor: str, release: Release) -> Assignment:
    if assignor == "range":
        return range_assignor.assign(topics, members)
    return uniform_assignor.assign(topics, members, extra_goes_to_any_member=release.extra_goes_to_any_member)
