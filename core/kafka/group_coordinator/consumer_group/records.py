"""The records of consumer groups in `__consumer_offsets` (Kafka: `GroupCoordinatorRecordHelpers`).

A coordinator writes a record for each change to a member, the group epoch, the target assignment, or the partitions that a member has.
Therefore, another coordinator can continue an unfinished rebalance. A value of None is a tombstone.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from core.kafka.group_coordinator.consumer_group.consumer_group_member import ClassicMemberMetadata, ConsumerGroupMember, Partitions
from core.kafka.group_coordinator.consumer_group.member_state import MemberState

SubscriptionMetadata: TypeAlias = tuple[tuple[str, int], ...]
"""The topics that a group subscribes to, in ascending order, with their numbers of partitions."""


class MemberKey(NamedTuple):
    """The key of a member's subscription (`ConsumerGroupMemberMetadataKey`)."""

    group: str
    member_id: str


class MemberValue(NamedTuple):
    """The subscription of a member (`ConsumerGroupMemberMetadataValue`)."""

    client: str
    topics: tuple[str, ...]
    rebalance_timeout: int
    instance_id: str
    rack: str
    assignor: str
    classic: ClassicMemberMetadata | None


class EpochKey(NamedTuple):
    """The key of a group's epoch (`ConsumerGroupMetadataKey`)."""

    group: str


class EpochValue(NamedTuple):
    """The epoch of a group, and the metadata of its topics. Since 4.1, Kafka stores a hash of the topic metadata
    (`ConsumerGroupMetadataValue`)."""

    epoch: int
    metadata: SubscriptionMetadata


class PartitionMetadataKey(NamedTuple):
    """The key of the record that contains the metadata of a group's topics, which exists only before 4.1
    (`ConsumerGroupPartitionMetadataKey`)."""

    group: str


class TargetMemberKey(NamedTuple):
    """The key of a member's target assignment (`ConsumerGroupTargetAssignmentMemberKey`)."""

    group: str
    member_id: str


class TargetMemberValue(NamedTuple):
    """The target assignment of a member (`ConsumerGroupTargetAssignmentMemberValue`)."""

    partitions: Partitions


class TargetEpochKey(NamedTuple):
    """The key of the epoch of the target assignment (`ConsumerGroupTargetAssignmentMetadataKey`)."""

    group: str


class CurrentAssignmentKey(NamedTuple):
    """The key of the partitions that a member has (`ConsumerGroupCurrentMemberAssignmentKey`)."""

    group: str
    member_id: str


class CurrentAssignmentValue(NamedTuple):
    """The partitions that a member has (`ConsumerGroupCurrentMemberAssignmentValue`)."""

    epoch: int
    previous_epoch: int
    state: MemberState
    assigned: Partitions
    pending_revocation: Partitions


ConsumerGroupKey: TypeAlias = MemberKey | EpochKey | PartitionMetadataKey | TargetMemberKey | TargetEpochKey | CurrentAssignmentKey

CONSUMER_GROUP_KEYS = (MemberKey, EpochKey, PartitionMetadataKey, TargetMemberKey, TargetEpochKey, CurrentAssignmentKey)

ConsumerGroupValue: TypeAlias = MemberValue | EpochValue | SubscriptionMetadata | TargetMemberValue | int | CurrentAssignmentValue | None

ConsumerGroupRecord: TypeAlias = tuple[ConsumerGroupKey, ConsumerGroupValue]


def member_record(group: str, member: ConsumerGroupMember) -> ConsumerGroupRecord:
    """Return the record of a member's subscription."""
    value = MemberValue(
        member.client, member.topics, member.rebalance_timeout, member.instance_id, member.rack, member.assignor, member.classic
    )
    return MemberKey(group, member.member_id), value


def current_assignment_record(group: str, member: ConsumerGroupMember) -> ConsumerGroupRecord:
    """Return the record that contains the partitions that a member has."""
    value = CurrentAssignmentValue(member.epoch, member.previous_epoch, member.state, member.assigned, member.pending_revocation)
    return CurrentAssignmentKey(group, member.member_id), value


def member_tombstones(group: str, member_id: str) -> list[ConsumerGroupRecord]:
    """Return the records that remove a member (`GroupMetadataManager#removeMember`)."""
    return [
        (CurrentAssignmentKey(group, member_id), None),
        (TargetMemberKey(group, member_id), None),
        (MemberKey(group, member_id), None),
    ]


def record_bytes(record: ConsumerGroupRecord) -> int:
    """Return the approximate size of a record, in bytes."""
    key, value = record
    size = 12 + sum(len(part) for part in key)
    if isinstance(value, MemberValue):
        return size + 30 + len(value.client) + sum(2 + len(topic) for topic in value.topics)
    if isinstance(value, CurrentAssignmentValue):
        return size + 20 + 8 * (len(value.assigned) + len(value.pending_revocation))
    if isinstance(value, EpochValue):
        return size + 14
    if isinstance(value, TargetMemberValue):
        return size + 6 + 8 * len(value.partitions)
    return size + (8 * len(value) if isinstance(value, tuple) else 6)
