"""Converts classic groups to consumer groups, and consumer groups to classic groups (KIP-848).

Kafka: `ConsumerGroup#fromClassicGroup`, `ClassicGroup#fromConsumerGroup`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from core.kafka.assignors.java_order import hash_map_order
from core.kafka.group_coordinator.classic_group.classic_group import ClassicGroup
from core.kafka.group_coordinator.classic_group.classic_group_member import ClassicGroupMember
from core.kafka.group_coordinator.classic_group.group_state import GroupState
from core.kafka.group_coordinator.consumer_group.consumer_group import ConsumerGroup
from core.kafka.group_coordinator.consumer_group.consumer_group_member import ClassicMemberMetadata, ConsumerGroupMember, partitions
from core.kafka.group_coordinator.consumer_group.records import (
    ConsumerGroupRecord,
    CurrentAssignmentKey,
    EpochKey,
    EpochValue,
    MemberKey,
    PartitionMetadataKey,
    SubscriptionMetadata,
    TargetEpochKey,
    TargetMemberKey,
    TargetMemberValue,
    current_assignment_record,
    member_record,
)


def upgrade_records(group: ClassicGroup, metadata: Callable[[Collection[str]], SubscriptionMetadata]) -> tuple[ConsumerGroupRecord, ...]:
    """Return the records of the consumer group that replaces a classic group.

    The group epoch equals the generation. Each member keeps the partitions that it owned in the classic generation, which are also its
    target assignment.

    Args:
        group: the classic group.
        metadata: a function that returns the metadata of topics.
    """
    members = [_upgraded(group.members[member_id], group) for member_id in hash_map_order(group.members)]
    topics = {topic for member in members for topic in member.topics}
    return (
        *(member_record(group.name, member) for member in members),
        (EpochKey(group.name), EpochValue(group.generation, metadata(topics))),
        *((TargetMemberKey(group.name, member.member_id), TargetMemberValue(member.assigned)) for member in members),
        (TargetEpochKey(group.name), group.generation),
        *(current_assignment_record(group.name, member) for member in members),
    )


def _upgraded(member: ClassicGroupMember, group: ClassicGroup) -> ConsumerGroupMember:
    name = group.protocol if member.supports(group.protocol) else member.protocols[0][0]
    subscription = member.subscription(name)
    return ConsumerGroupMember(
        member.member_id,
        member.client,
        tuple(sorted(set(subscription.topics))),
        member.rebalance_timeout,
        member.instance_id,
        subscription.rack,
        epoch=group.generation,
        previous_epoch=group.generation,
        assigned=partitions(member.assignment),
        classic=ClassicMemberMetadata(member.session_timeout, member.protocols),
    )


def downgraded(group: ConsumerGroup, leaving: Collection[str], now: int) -> ClassicGroup:
    """Return the classic group that replaces a consumer group. The generation of the classic group equals the group epoch.

    Args:
        group: the consumer group.
        leaving: the IDs of the members that leave. All remaining members use the classic protocol.
        now: the current time, in µs.
    """
    classic = ClassicGroup(group.name)
    for member in group.members.values():
        if member.member_id in leaving:
            continue
        assert member.classic is not None, "only members that use the classic protocol remain"
        added = ClassicGroupMember(
            member.member_id,
            member.instance_id,
            member.client,
            member.classic.session_timeout,
            member.rebalance_timeout,
            member.classic.protocols,
        )
        added.assignment = group.target.get(member.member_id, ())
        classic.add(added)
    classic.generation, classic.protocol = group.epoch, classic.select_protocol()
    classic.state = classic.previous_state = GroupState.STABLE
    classic.state_timestamp = now
    return classic


def group_tombstones(group: ConsumerGroup, *, with_metadata: bool) -> tuple[ConsumerGroupRecord, ...]:
    """Return the records that remove a consumer group (`ConsumerGroup#createGroupTombstoneRecords`)."""
    ids = hash_map_order(group.members)
    return (
        *((CurrentAssignmentKey(group.name, member_id), None) for member_id in ids),
        *((TargetMemberKey(group.name, member_id), None) for member_id in ids),
        (TargetEpochKey(group.name), None),
        *((MemberKey(group.name, member_id), None) for member_id in ids),
        *(((PartitionMetadataKey(group.name), None),) if with_metadata else ()),
        (EpochKey(group.name), None),
    )
