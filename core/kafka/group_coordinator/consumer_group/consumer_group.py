"""A group that uses the consumer protocol (Kafka: `ConsumerGroup`, `ModernGroup`). The state of the group changes only when a record is
applied to it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from core.kafka import errors
from core.kafka.group_coordinator.consumer_group.consumer_group_member import (
    LEAVE_GROUP_MEMBER_EPOCH,
    ConsumerGroupMember,
    Partitions,
)
from core.kafka.group_coordinator.consumer_group.member_state import ConsumerGroupState, MemberState
from core.kafka.group_coordinator.consumer_group.records import (
    ConsumerGroupKey,
    ConsumerGroupRecord,
    ConsumerGroupValue,
    CurrentAssignmentKey,
    CurrentAssignmentValue,
    EpochKey,
    EpochValue,
    MemberKey,
    MemberValue,
    SubscriptionMetadata,
    TargetEpochKey,
    TargetMemberKey,
    TargetMemberValue,
)
from core.kafka.group_coordinator.group_requests import NOT_A_MEMBER, GroupMembership
from core.kafka.ids import TopicPartition

NO_EPOCH: Final = -1
"""The epoch of a partition that no member owns."""


class MemberTimers:
    """The deadlines after which a coordinator fences a member. When another broker becomes coordinator, it restarts all deadlines.

    Attributes:
        deadline: the time when the session ends unless the member sends a heartbeat, in µs.
        due: the time when the session's timer is due, in µs; -1 if there is no timer.
        revoked_by: the time by which the member must give up partitions, in µs; -1 if there are none to give up.
        joined_by: the time by which a member that uses the classic protocol must join again, in µs; -1 if none is set.
        synced_by: the time by which a member that uses the classic protocol must send SyncGroup, in µs; -1 if none is set.
    """

    __slots__ = ("deadline", "due", "joined_by", "revoked_by", "synced_by")

    def __init__(self) -> None:
        self.deadline = -1
        self.due = -1
        self.revoked_by = -1
        self.joined_by = -1
        self.synced_by = -1


class ConsumerGroup:
    """The state of one group.

    Attributes:
        name: the group ID.
        members: the members by ID, in the order in which they joined.
        static_members: the member ID of each group.instance.id.
        epoch: the group epoch. The group epoch increases with each change in members, subscriptions, or topics.
        assignment_epoch: the group epoch for which the target assignment was computed.
        metadata: the topics that the members subscribed to in the group epoch, each with its number of partitions.
        target: the target assignment of each member ID.
        partition_epochs: for each partition that has an owner, the member epoch of the owner.
        subscribers: the number of members that subscribe to each topic.
        timers: the deadlines of each member.
        assigned_at: the time of the last target assignment, in µs; -1 if this coordinator has computed none.
    """

    __slots__ = (
        "assigned_at",
        "assignment_epoch",
        "epoch",
        "members",
        "metadata",
        "name",
        "partition_epochs",
        "static_members",
        "subscribers",
        "target",
        "timers",
    )

    name: Final[str]
    members: Final[dict[str, ConsumerGroupMember]]
    static_members: Final[dict[str, str]]
    target: Final[dict[str, Partitions]]
    partition_epochs: Final[dict[TopicPartition, int]]
    subscribers: Final[dict[str, int]]
    timers: Final[dict[str, MemberTimers]]

    def __init__(self, name: str, epoch: int = 0) -> None:
        self.name = name
        self.members = {}
        self.static_members = {}
        self.epoch = epoch
        self.assignment_epoch = 0
        self.metadata: SubscriptionMetadata = ()
        self.target = {}
        self.partition_epochs = {}
        self.subscribers = {}
        self.timers = {}
        self.assigned_at = -1

    def state(self) -> ConsumerGroupState:
        """Return the state of the group (`#maybeUpdateGroupState`)."""
        if not self.members:
            return ConsumerGroupState.EMPTY
        if self.epoch > self.assignment_epoch:
            return ConsumerGroupState.ASSIGNING
        if all(member.is_reconciled_to(self.assignment_epoch) for member in self.members.values()):
            return ConsumerGroupState.STABLE
        return ConsumerGroupState.RECONCILING

    def static_member(self, instance_id: str) -> ConsumerGroupMember | None:
        """Return the member with this group.instance.id; None if there is none."""
        member_id = self.static_members.get(instance_id)
        return None if member_id is None else self.members[member_id]

    def current_partition_epoch(self, tp: TopicPartition) -> int:
        """Return the member epoch of a partition's owner; NO_EPOCH if the partition has no owner (`#currentPartitionEpoch`)."""
        return self.partition_epochs.get(tp, NO_EPOCH)

    def waits_for_unreleased_partition(self, member: ConsumerGroupMember) -> bool:
        """Return whether a partition that a member is waiting for still has another owner (`#waitingOnUnreleasedPartition`)."""
        if member.state is not MemberState.UNRELEASED_PARTITIONS:
            return False
        has = frozenset(member.assigned)
        return any(tp not in has and tp in self.partition_epochs for tp in self.target.get(member.member_id, ()))

    def preferred_assignor(self, default: str, updated: ConsumerGroupMember) -> str:
        """Return the server-side assignor that most members prefer. `updated` replaces the member that has the same ID
        (`#computePreferredServerAssignor`)."""
        votes: dict[str, int] = {}
        for member in ({**self.members, updated.member_id: updated}).values():
            if member.assignor:
                votes[member.assignor] = votes.get(member.assignor, 0) + 1
        return max(votes, key=votes.__getitem__) if votes else default

    # --- members of the classic protocol ---------------------------------------------------------------------------

    def classic_members(self) -> list[ConsumerGroupMember]:
        """Return the members that use the classic protocol."""
        return [member for member in self.members.values() if member.classic is not None]

    def supports_classic_protocols(self, names: tuple[str, ...]) -> bool:
        """Return whether at least one of the given assignors is supported by all members that use the classic protocol
        (`#supportsClassicProtocols`).
        """
        supported = [frozenset(member.classic.names()) for member in self.members.values() if member.classic is not None]
        return any(all(name in each for each in supported) for name in names)

    def member_error(self, member_id: str, instance_id: str, generation: int) -> str:
        """Return the error for a request in the classic protocol, or NONE (`#validateConsumerGroupMember`, `#throwIfGenerationIdUnmatched`)."""
        if instance_id:
            known = self.static_members.get(instance_id)
            if known is not None and known != member_id:
                return errors.FENCED_INSTANCE_ID
        member = self.members.get(member_id)
        if member is None or member.classic is None or member.instance_id != instance_id:
            return errors.UNKNOWN_MEMBER_ID
        return errors.NONE if generation == member.epoch else errors.ILLEGAL_GENERATION

    # --- commits ---------------------------------------------------------------------------------------------------

    def commit_error(self, membership: GroupMembership, *, transactional: bool = False) -> str:
        """Return the error for a commit, or NONE (`#validateOffsetCommit`)."""
        if membership.generation < 0 and not self.members:
            return errors.NONE
        if transactional and membership == NOT_A_MEMBER:
            return errors.NONE
        error = self._epoch_error(membership.member_id, membership.generation)
        # A producer does not know this error (`OffsetMetadataManager#validateTransactionalOffsetCommit`).
        return errors.ILLEGAL_GENERATION if transactional and error == errors.STALE_MEMBER_EPOCH else error

    def fetch_error(self, membership: GroupMembership) -> str:
        """Return the error for an offset fetch, or NONE (`#validateOffsetFetch`)."""
        if not membership.member_id and membership.generation < 0:
            return errors.NONE
        return self._epoch_error(membership.member_id, membership.generation)

    def _epoch_error(self, member_id: str, epoch: int) -> str:
        member = self.members.get(member_id)
        if member is None:
            return errors.UNKNOWN_MEMBER_ID
        if member.epoch == epoch:
            return errors.NONE
        return errors.STALE_MEMBER_EPOCH if member.classic is None else errors.ILLEGAL_GENERATION

    # --- records ---------------------------------------------------------------------------------------------------

    def replay_all(self, records: Iterable[ConsumerGroupRecord]) -> None:
        """Apply records in the given order."""
        for key, value in records:
            self.replay(key, value)

    def replay(self, key: ConsumerGroupKey, value: ConsumerGroupValue) -> None:
        """Apply one record (`GroupMetadataManager#replay`)."""
        if isinstance(key, MemberKey):
            self._replay_member(key, value)
        elif isinstance(key, CurrentAssignmentKey):
            self._replay_assignment(key, value)
        elif isinstance(key, TargetMemberKey):
            if value is None:
                self.target.pop(key.member_id, None)
            else:
                assert isinstance(value, TargetMemberValue)
                self.target[key.member_id] = value.partitions
        elif isinstance(key, TargetEpochKey):
            assert isinstance(value, int) or value is None
            self.assignment_epoch = value or 0
        elif isinstance(key, EpochKey) and isinstance(value, EpochValue):
            self.epoch, self.metadata = value

    def _replay_member(self, key: MemberKey, value: ConsumerGroupValue) -> None:
        former = self.members.get(key.member_id)
        for topic in former.topics if former is not None else ():
            self.subscribers[topic] -= 1
            if not self.subscribers[topic]:
                del self.subscribers[topic]
        if value is None:
            if former is not None:
                self._release(former)
                del self.members[key.member_id]
                self.timers.pop(key.member_id, None)
                if self.static_members.get(former.instance_id) == key.member_id:
                    del self.static_members[former.instance_id]
            return
        assert isinstance(value, MemberValue)
        client, topics, rebalance_timeout, instance_id, rack, assignor, classic = value
        member = former or ConsumerGroupMember(key.member_id)
        self.members[key.member_id] = member._replace(
            client=client, topics=topics, rebalance_timeout=rebalance_timeout, instance_id=instance_id, rack=rack, assignor=assignor,
            classic=classic,
        )  # fmt: skip
        for topic in topics:
            self.subscribers[topic] = self.subscribers.get(topic, 0) + 1
        if instance_id:
            self.static_members[instance_id] = key.member_id

    def _replay_assignment(self, key: CurrentAssignmentKey, value: ConsumerGroupValue) -> None:
        former = self.members.get(key.member_id)
        if value is None:
            value = CurrentAssignmentValue(LEAVE_GROUP_MEMBER_EPOCH, LEAVE_GROUP_MEMBER_EPOCH, MemberState.STABLE, (), ())
            if former is None:
                return
        assert isinstance(value, CurrentAssignmentValue)
        member = former or ConsumerGroupMember(key.member_id)
        self._release(member)
        epoch, previous_epoch, state, assigned, pending = value
        member = member._replace(epoch=epoch, previous_epoch=previous_epoch, state=state, assigned=assigned, pending_revocation=pending)
        self.members[key.member_id] = member
        self.partition_epochs.update(dict.fromkeys(member.owned(), epoch))

    def _release(self, member: ConsumerGroupMember) -> None:
        """Forget that a member owns its partitions (`#removePartitionEpochs`)."""
        for tp in member.owned():
            self.partition_epochs.pop(tp, None)
