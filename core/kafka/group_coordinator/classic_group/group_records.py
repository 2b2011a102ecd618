"""The record of a classic group in `__consumer_offsets` (Kafka: `GroupMetadataKey`, `GroupMetadataValue`).

A coordinator writes the record when it receives the assignment from the leader, when the group becomes empty, and when a static member gets
a new member ID.
"""

from __future__ import annotations

from typing import NamedTuple

from core.kafka.group_coordinator.classic_group.classic_group import ClassicGroup
from core.kafka.group_coordinator.classic_group.classic_group_member import ClassicGroupMember
from core.kafka.group_coordinator.classic_group.classic_group_messages import Partitions, Subscription
from core.kafka.group_coordinator.classic_group.group_state import GroupState


class GroupMetadataKey(NamedTuple):
    """The key of a group's record. Compaction keeps the last value of each key."""

    group: str


class StoredMember(NamedTuple):
    """A member, as stored in its group's record."""

    member_id: str
    instance_id: str
    client: str
    session_timeout: int
    rebalance_timeout: int
    subscription: Subscription
    assignment: Partitions


class GroupMetadataValue(NamedTuple):
    """The value of a group's record. `state_timestamp` is the time when the group entered its state, in µs."""

    protocol_type: str
    generation: int
    protocol: str
    leader: str
    state_timestamp: int
    members: tuple[StoredMember, ...]


def stored(group: ClassicGroup, assignments: dict[str, Partitions]) -> GroupMetadataValue:
    """Return the record of a group whose members have the given partitions."""
    members = tuple(
        StoredMember(
            member.member_id, member.instance_id, member.client, member.session_timeout, member.rebalance_timeout,
            member.subscription(group.protocol), assignments.get(member.member_id, ()),
        )
        for member in group.members.values()
    )  # fmt: skip
    leader = group.leader if group.protocol else ""
    return GroupMetadataValue(group.protocol_type, group.generation, group.protocol, leader, group.state_timestamp, members)


def loaded(name: str, value: GroupMetadataValue) -> ClassicGroup:
    """Return the group that a record contains. The group is Stable if it has members; otherwise, it is Empty
    (`GroupMetadataManager#replay`)."""
    group = ClassicGroup(name)
    for each in value.members:
        member = ClassicGroupMember(
            each.member_id,
            each.instance_id,
            each.client,
            each.session_timeout,
            each.rebalance_timeout,
            ((value.protocol, each.subscription),),
        )
        member.assignment = each.assignment
        group.add(member)
    group.state = group.previous_state = GroupState.STABLE if value.members else GroupState.EMPTY
    group.protocol_type, group.generation, group.protocol = value.protocol_type, value.generation, value.protocol
    group.leader, group.state_timestamp = value.leader, value.state_timestamp
    return group


def value_bytes(value: GroupMetadataValue) -> int:
    """Return the approximate size of a value, in bytes."""
    return 34 + sum(
        60 + len(each.member_id) + len(each.client) + sum(8 + len(topic) for topic in each.subscription.topics) + 8 * len(each.assignment)
        for each in value.members
    )
