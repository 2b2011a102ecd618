"""How a coordinator handles JoinGroup requests for a consumer group, and what it tells members that use the classic protocol.

Kafka: `GroupMetadataManager#classicGroupJoinToConsumerGroup`, `#classicGroupHeartbeatToConsumerGroup`, `#classicGroupSyncToConsumerGroup`.

The functions in this module do not change the group, but return records, which the coordinator writes and then applies to the group.
"""

from __future__ import annotations

from core.kafka import errors
from core.kafka.group_coordinator.classic_group.classic_group_messages import JoinGroupRequest
from core.kafka.group_coordinator.consumer_group.consumer_group import ConsumerGroup
from core.kafka.group_coordinator.consumer_group.consumer_group_member import (
    ClassicMemberMetadata,
    ConsumerGroupMember,
    Partitions,
    partitions,
)
from core.kafka.group_coordinator.consumer_group.heartbeats import ConsumerGroupRules, HeartbeatResult, advance, replaced
from core.kafka.group_coordinator.consumer_group.member_state import MemberState
from core.kafka.group_coordinator.consumer_group.records import ConsumerGroupRecord, member_record

REMEMBERING_ASSIGNOR = "sticky"
"""The assignor whose subscription contains the member's last assignment instead of the partitions that the member owns."""


def classic_join(group: ConsumerGroup, request: JoinGroupRequest, member_id: str, rules: ConsumerGroupRules, now: int) -> HeartbeatResult:
    """Let a client that uses the classic protocol join a consumer group or take its next step toward the target assignment.

    Args:
        group: the consumer group that the client joins.
        request: the JoinGroup request.
        member_id: the member ID of the client, which might be new.
        rules: the coordinator's settings.
        now: the current time, in µs.
    """
    if len(group.members) >= rules.max_size and member_id not in group.members:
        return HeartbeatResult(errors.GROUP_MAX_SIZE_REACHED)
    if not group.supports_classic_protocols(tuple(name for name, _ in request.protocols)):
        return HeartbeatResult(errors.INCONSISTENT_GROUP_PROTOCOL)
    records: list[ConsumerGroupRecord] = []
    member = group.members.get(member_id) or ConsumerGroupMember(member_id)
    known = group.static_member(request.instance_id) if request.instance_id else None
    if request.instance_id and request.member_id:
        if known is None:
            return HeartbeatResult(errors.UNKNOWN_MEMBER_ID)
        if known.member_id != member_id:
            return HeartbeatResult(errors.FENCED_INSTANCE_ID)
    elif known is not None:
        member = replaced(group, known, member_id, records)
    name, subscription = request.protocols[0]
    updated = member._replace(
        client=request.client,
        instance_id=request.instance_id or member.instance_id,
        rack=subscription.rack or member.rack,
        rebalance_timeout=request.rebalance_timeout,
        topics=tuple(sorted(set(subscription.topics))),
        assignor="",
        classic=ClassicMemberMetadata(request.session_timeout, request.protocols),
    )
    if updated != member:
        records.append(member_record(group.name, updated))
    owned: Partitions = () if name == REMEMBERING_ASSIGNOR else partitions(subscription.owned)
    reconciled, assigns = advance(group, member, updated, owned, records, rules, now)
    return HeartbeatResult(errors.NONE, tuple(records), reconciled, reconciled.assigned, assigns)


def must_rejoin(group: ConsumerGroup, member: ConsumerGroupMember) -> bool:
    """Return whether the response to a heartbeat tells a member that uses the classic protocol to join again.

    The member joins again to reach a newer group epoch, to give up partitions, or to get partitions that have become free.
    """
    if member.epoch < group.epoch or member.state is MemberState.UNREVOKED_PARTITIONS:
        return True
    return member.state is MemberState.UNRELEASED_PARTITIONS and not group.waits_for_unreleased_partition(member)


def sync_error(group: ConsumerGroup, member: ConsumerGroupMember) -> str:
    """Return the error for a SyncGroup request from a member that has joined, or NONE (`#throwIfRebalanceInProgress`)."""
    if group.epoch > member.epoch and member.state is not MemberState.UNREVOKED_PARTITIONS:
        return errors.REBALANCE_IN_PROGRESS
    return errors.NONE
