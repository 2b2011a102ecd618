"""How a coordinator handles a ConsumerGroupHeartbeat request (Kafka: `GroupMetadataManager#consumerGroupHeartbeat`).

The functions in this module do not change the group, but return records, which the coordinator writes and then applies to the group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from core.kafka import errors
from core.kafka.group_coordinator.consumer_group.consumer_group import ConsumerGroup
from core.kafka.group_coordinator.consumer_group.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from core.kafka.group_coordinator.consumer_group.consumer_group_member import (
    LEAVE_GROUP_MEMBER_EPOCH,
    LEAVE_GROUP_STATIC_MEMBER_EPOCH,
    ConsumerGroupMember,
    Partitions,
)
from core.kafka.group_coordinator.consumer_group.current_assignment_builder import next_assignment
from core.kafka.group_coordinator.consumer_group.records import (
    ConsumerGroupRecord,
    EpochKey,
    EpochValue,
    PartitionMetadataKey,
    SubscriptionMetadata,
    TargetEpochKey,
    TargetMemberKey,
    TargetMemberValue,
    current_assignment_record,
    member_record,
    member_tombstones,
)
from core.kafka.group_coordinator.consumer_group.target_assignment_builder import target_assignment
from core.kafka.release import Release


class ConsumerGroupRules(NamedTuple):
    """The settings of a coordinator, and what it knows about topics.

    Attributes:
        release: the release of the coordinator.
        max_size: the maximum number of members (group.consumer.max.size).
        assignors: the coordinator's assignors (group.consumer.assignors). The first one is the default.
        assignment_interval: the minimum time between two target assignments, in µs.
        partition_count: a function that returns the number of partitions of a topic; 0 if the topic does not exist.
    """

    release: Release
    max_size: int
    assignors: tuple[str, ...]
    assignment_interval: int
    partition_count: Callable[[str], int]


class HeartbeatResult(NamedTuple):
    """The result of a heartbeat.

    Attributes:
        error: the error, or NONE. If `error` is not NONE, `records` is empty.
        records: the records to write.
        member: the member after the heartbeat; None if the request failed.
        assignment: the partitions for the response; None if they have not changed.
        assigned: whether a target assignment was computed.
    """

    error: str
    records: tuple[ConsumerGroupRecord, ...] = ()
    member: ConsumerGroupMember | None = None
    assignment: Partitions | None = None
    assigned: bool = False


def request_error(request: ConsumerGroupHeartbeatRequest, assignors: tuple[str, ...]) -> str:
    """If a request is invalid regardless of its group, return the error; otherwise, return NONE
    (`#throwIfConsumerGroupHeartbeatRequestIsInvalid`)."""
    if request.member_epoch == 0:
        if request.rebalance_timeout is None or request.owned is None or request.owned or not request.topics:
            return errors.INVALID_REQUEST
    elif (
        request.member_epoch < LEAVE_GROUP_STATIC_MEMBER_EPOCH
        or not request.member_id
        or (request.member_epoch == LEAVE_GROUP_STATIC_MEMBER_EPOCH and not request.instance_id)
    ):
        return errors.INVALID_REQUEST
    if request.assignor is not None and request.assignor not in assignors:
        return errors.UNSUPPORTED_ASSIGNOR
    return errors.NONE


def heartbeat(group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest, rules: ConsumerGroupRules, now: int) -> HeartbeatResult:
    """Let a member join, remain in, or leave a group."""
    if request.member_epoch < 0:
        return _leave(group, request, rules)
    if len(group.members) >= rules.max_size and request.member_id not in group.members:
        return HeartbeatResult(errors.GROUP_MAX_SIZE_REACHED)
    records: list[ConsumerGroupRecord] = []
    member = _member(group, request, records)
    if isinstance(member, str):
        return HeartbeatResult(member)
    updated = _updated(member, request)
    if updated != member:
        records.append(member_record(group.name, updated))
    reconciled, assigns = advance(group, member, updated, request.owned, records, rules, now)
    told = reconciled.assigned if request.is_full() or reconciled.assigned != member.assigned else None
    return HeartbeatResult(errors.NONE, tuple(records), reconciled, told, assigns)


def advance(
    group: ConsumerGroup,
    member: ConsumerGroupMember,
    updated: ConsumerGroupMember,
    owned: Partitions | None,
    records: list[ConsumerGroupRecord],
    rules: ConsumerGroupRules,
    now: int,
) -> tuple[ConsumerGroupMember, bool]:
    """If necessary, raise the group epoch, compute the target assignment, and let the member take its next step.

    Args:
        group: the consumer group.
        member: the member before the request.
        updated: the member, updated from the fields in the request.
        owned: the partitions that the member reports as its own; None if the member reports nothing.
        records: the list of records that earlier steps have produced, to which this function appends its own records.
        rules: the coordinator's settings.
        now: the current time, in µs.

    Returns:
        The member after its step, and whether a target assignment was computed.
    """
    former = group.members.get(updated.member_id) or (group.static_member(updated.instance_id) if updated.instance_id else None)
    metadata = subscription_metadata(group, rules, former, updated)
    epoch = group.epoch
    if updated.topics != member.topics or metadata != group.metadata:
        epoch += 1
        records += epoch_records(group, epoch, metadata, rules.release)
    target_epoch = group.assignment_epoch
    target = group.target.get(updated.member_id, ())
    if member.member_id not in group.members and updated.instance_id:
        target = group.target.get(group.static_members.get(updated.instance_id, ""), ())
    assigns = epoch > group.assignment_epoch and not _assigned_recently(group, rules, now)
    if assigns:
        target_epoch = epoch
        assignor = group.preferred_assignor(rules.assignors[0], updated)
        targets = target_assignment(group, updated, metadata, assignor, rules.release)
        for member_id, tps in targets.items():
            if group.target.get(member_id) != tps:
                records.append((TargetMemberKey(group.name, member_id), TargetMemberValue(tps)))
        records.append((TargetEpochKey(group.name), target_epoch))
        target = targets[updated.member_id]
    reconciled = updated
    if not updated.is_reconciled_to(target_epoch):
        reconciled = next_assignment(updated, target_epoch, target, group.current_partition_epoch, owned)
        if reconciled != updated:
            records.append(current_assignment_record(group.name, reconciled))
    return reconciled, assigns


def _assigned_recently(group: ConsumerGroup, rules: ConsumerGroupRules, now: int) -> bool:
    """Return whether the last target assignment is so recent that the coordinator must not compute another one yet
    (group.consumer.assignment.interval.ms)."""
    return group.assigned_at >= 0 and now < group.assigned_at + rules.assignment_interval


def _member(group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest, records: list[ConsumerGroupRecord]) -> ConsumerGroupMember | str:
    """Return the member that sent a request, or an error (`#getOrMaybeSubscribeDynamicConsumerGroupMember`,
    `#getOrMaybeSubscribeStaticConsumerGroupMember`)."""
    if not request.instance_id:
        member = group.members.get(request.member_id)
        if member is None:
            return errors.UNKNOWN_MEMBER_ID if request.member_epoch else ConsumerGroupMember(request.member_id)
        return member if _epoch_is_valid(member, request) else errors.FENCED_MEMBER_EPOCH
    known = group.static_member(request.instance_id)
    if request.member_epoch:
        error = _static_error(known, request)
        if error != errors.NONE or known is None:
            return error
        return known if _epoch_is_valid(known, request) else errors.FENCED_MEMBER_EPOCH
    if known is None:
        return ConsumerGroupMember(request.member_id)
    if known.classic is None and known.epoch != LEAVE_GROUP_STATIC_MEMBER_EPOCH:
        return errors.UNRELEASED_INSTANCE_ID
    return replaced(group, known, request.member_id, records)


def replaced(group: ConsumerGroup, known: ConsumerGroupMember, member_id: str, records: list[ConsumerGroupRecord]) -> ConsumerGroupMember:
    """Return a static member with a new member ID, and add the records that replace the old member (`#replaceMember`)."""
    member = known._replace(member_id=member_id, epoch=0, previous_epoch=0)
    records += member_tombstones(group.name, known.member_id)
    records.append(member_record(group.name, member))
    records.append((TargetMemberKey(group.name, member.member_id), TargetMemberValue(group.target.get(known.member_id, ()))))
    records.append(current_assignment_record(group.name, member))
    return member


def _static_error(known: ConsumerGroupMember | None, request: ConsumerGroupHeartbeatRequest) -> str:
    """Return the error for a static member, or NONE (`#throwIfStaticMemberIsUnknown`, `#throwIfInstanceIdIsFenced`)."""
    if known is None:
        return errors.UNKNOWN_MEMBER_ID
    return errors.NONE if known.member_id == request.member_id else errors.FENCED_INSTANCE_ID


def _epoch_is_valid(member: ConsumerGroupMember, request: ConsumerGroupHeartbeatRequest) -> bool:
    """Return whether the epoch of a request is valid (`#throwIfConsumerGroupMemberEpochIsInvalid`).

    An epoch is valid if it is the member's current epoch. The previous epoch is also valid if the member owns only assigned partitions,
    because the response with the current epoch might have been lost.
    """
    if request.member_epoch == member.epoch:
        return True
    if request.member_epoch > member.epoch or request.member_epoch != member.previous_epoch or request.owned is None:
        return False
    return frozenset(member.assigned).issuperset(request.owned)


def _updated(member: ConsumerGroupMember, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupMember:
    """Return the member, updated with those fields of a request that are not None."""
    return member._replace(
        client=request.client,
        instance_id=request.instance_id or member.instance_id,
        rack=member.rack if request.rack is None else request.rack,
        rebalance_timeout=member.rebalance_timeout if request.rebalance_timeout is None else request.rebalance_timeout,
        topics=member.topics if request.topics is None else tuple(sorted(set(request.topics))),
        assignor=member.assignor if request.assignor is None else request.assignor,
        classic=None,
    )


def subscription_metadata(
    group: ConsumerGroup, rules: ConsumerGroupRules, former: ConsumerGroupMember | None, updated: ConsumerGroupMember | None
) -> SubscriptionMetadata:
    """Return a group's topics and their numbers of partitions, after replacing the member `former` with `updated`
    (`#computeSubscriptionMetadata`)."""
    subscribers: dict[str, int] = group.subscribers
    if (former.topics if former is not None else ()) != (updated.topics if updated is not None else ()):
        subscribers = dict(subscribers)
        for topic in updated.topics if updated is not None else ():
            subscribers[topic] = subscribers.get(topic, 0) + 1
        for topic in former.topics if former is not None else ():
            subscribers[topic] -= 1
    return topic_metadata((topic for topic, count in subscribers.items() if count), rules)


def topic_metadata(topics: Iterable[str], rules: ConsumerGroupRules) -> SubscriptionMetadata:
    """Return topics with their numbers of partitions, excluding topics that do not exist."""
    counts = ((topic, rules.partition_count(topic)) for topic in sorted(topics))
    return tuple((topic, count) for topic, count in counts if count)


def epoch_records(group: ConsumerGroup, epoch: int, metadata: SubscriptionMetadata, release: Release) -> list[ConsumerGroupRecord]:
    """Return the records that begin a new group epoch."""
    records: list[ConsumerGroupRecord] = []
    if metadata != group.metadata and release.stores_subscription_metadata:
        records.append((PartitionMetadataKey(group.name), metadata))
    records.append((EpochKey(group.name), EpochValue(epoch, metadata)))
    return records


def _leave(group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest, rules: ConsumerGroupRules) -> HeartbeatResult:
    """Let a member leave permanently, or let a static member leave temporarily (`#consumerGroupLeave`)."""
    if not request.instance_id:
        member = group.members.get(request.member_id)
        if member is None:
            return HeartbeatResult(errors.UNKNOWN_MEMBER_ID)
    else:
        member = group.static_member(request.instance_id)
        error = _static_error(member, request)
        if error != errors.NONE or member is None:
            return HeartbeatResult(error)
    if request.member_epoch == LEAVE_GROUP_STATIC_MEMBER_EPOCH:
        left = member._replace(epoch=LEAVE_GROUP_STATIC_MEMBER_EPOCH, pending_revocation=())
        return HeartbeatResult(errors.NONE, (current_assignment_record(group.name, left),), left)
    left = member._replace(epoch=LEAVE_GROUP_MEMBER_EPOCH)
    return HeartbeatResult(errors.NONE, fence_member(group, member, rules), left)


def fence_member(group: ConsumerGroup, member: ConsumerGroupMember, rules: ConsumerGroupRules) -> tuple[ConsumerGroupRecord, ...]:
    """Return the records that remove a member. On the next heartbeat of another member, the coordinator computes the target assignment
    (`#consumerGroupFenceMember`)."""
    return fence_members(group, (member,), rules)


def fence_members(
    group: ConsumerGroup, members: tuple[ConsumerGroupMember, ...], rules: ConsumerGroupRules
) -> tuple[ConsumerGroupRecord, ...]:
    """Return the records that remove several members, which raises the group epoch once (`#consumerGroupFenceMembers`)."""
    remaining = {member_id: member for member_id, member in group.members.items() if member not in members}
    topics = {topic for member in remaining.values() for topic in member.topics}
    tombstones = [record for member in members for record in member_tombstones(group.name, member.member_id)]
    return (*tombstones, *epoch_records(group, group.epoch + 1, topic_metadata(topics, rules), rules.release))
