"""The consumer groups that one broker coordinates (`GroupMetadataManager`): heartbeats, sessions, and rebalance timeouts of members."""

from __future__ import annotations

from typing import Final

from core.kafka import errors, events
from core.kafka.group_coordinator.consumer.consumer_group import ConsumerGroup, MemberTimers
from core.kafka.group_coordinator.consumer.consumer_group_member import (
    LEAVE_GROUP_STATIC_MEMBER_EPOCH,
    ConsumerGroupMember,
)
from core.kafka.group_coordinator.consumer.heartbeats import (
    ConsumerGroupRules,
    HeartbeatResult,
    fence_member,
    heartbeat,
    request_error,
)
from core.kafka.group_coordinator.consumer.member_state import ConsumerGroupState, MemberState
from core.kafka.group_coordinator.consumer.messages import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from core.kafka.group_coordinator.consumer.records import ConsumerGroupRecord, CurrentAssignmentKey
from core.kafka.group_coordinator.consumer_protocol.record_write import TIMER, RecordWrite
from core.kafka.group_coordinator.coordinator_context import GroupCoordinatorContext
from core.kafka.group_coordinator.group_metadata_manager import GroupCache, GroupMetadataManager

MemberTimer = tuple[int, int, str, str]
"""The subject of a member's timer: the partition of `__consumer_offsets`, the coordinator epoch, the group, and the member ID."""


class ConsumerGroupCoordinator:
    """The consumer groups of one broker.

    Attributes:
        writes: the last write to each partition of `__consumer_offsets`. A response without records waits for it, too.
    """

    __slots__ = ("broker", "groups", "writes")

    broker: Final[GroupCoordinatorContext]
    groups: Final[GroupMetadataManager]
    writes: Final[dict[int, RecordWrite]]

    def __init__(self, broker: GroupCoordinatorContext, groups: GroupMetadataManager) -> None:
        self.broker = broker
        self.groups = groups
        self.writes = {}
        broker.handlers[ConsumerGroupHeartbeatRequest] = self._heartbeat
        broker.timers.update(
            {TIMER: self._write_timed_out, "consumer-session": self._session_timer, "consumer-rebalance": self._rebalance_timer}
        )

    def reset(self) -> None:
        """Drop all state, because the process has ended."""
        self.writes.clear()

    def _write_timed_out(self, write: object) -> None:
        assert isinstance(write, RecordWrite)
        write.timed_out()

    def _emit(self, kind: str, *columns: object) -> None:
        """Record an event of this coordinator. It is the cause of what follows."""
        journal = self.broker.journal
        journal.cause = journal.emit(kind, self.broker.id, *columns)

    def _rules(self) -> ConsumerGroupRules:
        settings, broker, release = self.broker.settings, self.broker.id, self.broker.release
        names = tuple(str(settings.get("group.consumer.assignors", broker=broker)).split(","))
        interval = settings.us("group.consumer.assignment.interval.ms", broker=broker) if release.spaces_assignments else 0
        return ConsumerGroupRules(
            release, settings.integer("group.consumer.max.size", broker=broker), names, interval, self.broker.partition_count
        )

    # --- leadership of __consumer_offsets --------------------------------------------------------------------------

    def loaded(self, cache: GroupCache) -> None:
        """Restart the sessions of all members (`#onLoaded`)."""
        for metadata in cache.groups.values():
            group = metadata.consumer
            for member in () if group is None else group.members.values():
                assert group is not None
                self._renew_session(cache, group, member.member_id)
                self._time_revocation(cache, group, member)

    def unloaded(self, cache: GroupCache) -> None:
        """Answer the requests that wait, because another broker coordinates the groups now (`#onUnloaded`)."""
        write = self.writes.pop(cache.partition, None)
        if write is not None:
            write.append_completed(errors.NOT_COORDINATOR)

    # --- ConsumerGroupHeartbeat ------------------------------------------------------------------------------------

    def _heartbeat(self, request: ConsumerGroupHeartbeatRequest, sender: str) -> None:
        """Handle a heartbeat: write what it changes, and respond when that is committed (`#consumerGroupHeartbeat`)."""
        cache = self.groups.cache_of(request.group)
        group = None if cache is None else self._group_for(cache, request)
        error = self._error(request, group)
        if error == errors.NONE and cache is not None and group is not None:
            rules = self._rules()
            result = heartbeat(group, request, rules, self.broker.journal.now)
            error = result.error
            if error == errors.NONE:
                self._accept(cache, group, request, sender, result)
                return
        self._emit(events.GroupRequestRefused.kind, request.group, "ConsumerGroupHeartbeat", error)
        self.broker.reply(sender, ConsumerGroupHeartbeatResponse(request.correlation, error))

    def _error(self, request: ConsumerGroupHeartbeatRequest, group: ConsumerGroup | None) -> str:
        """Return the error of a request that does not depend on the state of its group; NONE if there is none."""
        if not self.broker.release.consumer_protocol:
            return errors.UNSUPPORTED_VERSION
        error = self.groups.error_of(request.group)
        if error == errors.NONE:
            error = request_error(request, self._rules().assignors)
        if error == errors.NONE and group is None:
            error = errors.GROUP_ID_NOT_FOUND
        return error

    def _group_for(self, cache: GroupCache, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroup | None:
        """Return the group of a request. A client that joins creates it (`#getOrMaybeCreateConsumerGroup`)."""
        known = cache.groups.get(request.group)
        if known is not None and known.consumer is not None:
            return known.consumer
        if request.member_epoch != 0 or (known is not None and (known.classic.members or known.classic.pending_members)):
            return None
        return ConsumerGroup(request.group, self.broker.release.consumer_groups_begin_at)

    def _accept(
        self, cache: GroupCache, group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest, sender: str, result: HeartbeatResult
    ) -> None:
        member = result.member
        assert member is not None
        interval = 0
        if request.member_epoch >= 0:
            interval = self.broker.settings.us("group.consumer.heartbeat.interval.ms", broker=self.broker.id)
        response = ConsumerGroupHeartbeatResponse(
            request.correlation, errors.NONE, member.member_id, member.epoch, interval, result.assignment
        )
        before = group.members.get(request.member_id)
        if request.member_epoch == 0 and before is None:
            self._emit_join(group, request)
        elif request.member_epoch < 0:
            why = "left-for-a-while" if request.member_epoch == LEAVE_GROUP_STATIC_MEMBER_EPOCH else "left"
            self._emit_leave(group, request.member_id, why)
        write = self._write(cache, group, result.records)
        if write is None or not write.done or write.error == errors.NONE:
            if result.assigned:
                group.assigned_at = self.broker.journal.now
            if request.member_epoch >= 0:
                cache.group(group.name).consumer = group
                self._renew_session(cache, group, member.member_id)
                if member != before:
                    self._time_revocation(cache, group, member)
        if write is None:
            self.broker.reply(sender, response)
        else:
            write.respond(sender, response)

    def _emit_join(self, group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest) -> None:
        former = group.static_members.get(request.instance_id) if request.instance_id else None
        if former is not None:
            self._emit(events.StaticMemberReplaced.kind, group.name, request.instance_id, former, request.member_id)
        else:
            members = len(group.members) + 1
            self._emit(events.GroupMemberJoined.kind, group.name, request.member_id, request.client, request.instance_id, members)

    def _emit_leave(self, group: ConsumerGroup, member_id: str, why: str) -> None:
        self._emit(events.GroupMemberRemoved.kind, group.name, member_id, why, len(group.members) - (why != "left-for-a-while"))

    # --- writes ----------------------------------------------------------------------------------------------------

    def _write(self, cache: GroupCache, group: ConsumerGroup, records: tuple[ConsumerGroupRecord, ...]) -> RecordWrite | None:
        """Write records, and apply them to the group. Returns the write that a response waits for; None if there is nothing to wait for."""
        if not records:
            write = self.writes.get(cache.partition)
            return None if write is None or write.done else write
        write = RecordWrite(self.broker, cache.partition, records)
        write.start()
        if write.done and write.error != errors.NONE:
            return write
        self.writes[cache.partition] = write
        before, epoch, assignment_epoch = group.state(), group.epoch, group.assignment_epoch
        members = dict(group.members)
        group.replay_all(records)
        if group.epoch != epoch:
            self._emit(events.GroupEpochBumped.kind, group.name, group.epoch, len(group.members))
        if group.assignment_epoch != assignment_epoch:
            self._emit(events.TargetAssigned.kind, group.name, group.assignment_epoch, described(group))
        for key, value in records:
            if isinstance(key, CurrentAssignmentKey) and value is not None and key.member_id in group.members:
                self._emit_reconciled(group, members.get(key.member_id), group.members[key.member_id])
        state = group.state()
        if state is not before or (state is ConsumerGroupState.STABLE and group.epoch != epoch):
            self._emit(events.ConsumerGroupStateChanged.kind, group.name, before.value, state.value, group.epoch)
        return write

    def _emit_reconciled(self, group: ConsumerGroup, former: ConsumerGroupMember | None, member: ConsumerGroupMember) -> None:
        """Record the step of a member, unless only its previous epoch has changed."""
        if former is not None and former._replace(previous_epoch=member.previous_epoch) == member:
            return
        names = (", ".join(map(str, tps)) for tps in (member.assigned, member.pending_revocation))
        self._emit(events.MemberReconciled.kind, group.name, member.member_id, member.epoch, member.state.value, *names)

    # --- sessions and rebalance timeouts ---------------------------------------------------------------------------

    def _renew_session(self, cache: GroupCache, group: ConsumerGroup, member_id: str) -> None:
        """Restart the session of a member. When a running timer is due, it checks the new deadline."""
        broker = self.broker
        timers = group.timers.get(member_id)
        if timers is None:
            timers = group.timers[member_id] = MemberTimers()
        timers.deadline = broker.journal.now + broker.settings.us("group.consumer.session.timeout.ms", broker=broker.id)
        if timers.due < broker.journal.now:
            self._arm_session(cache, group, member_id, timers)

    def _arm_session(self, cache: GroupCache, group: ConsumerGroup, member_id: str, timers: MemberTimers) -> None:
        timers.due = timers.deadline
        about: MemberTimer = (cache.partition, cache.coordinator_epoch, group.name, member_id)
        self.broker.timer(timers.deadline - self.broker.journal.now, "consumer-session", about)

    def _timed_member(self, about: object) -> tuple[GroupCache, ConsumerGroup, ConsumerGroupMember, MemberTimers] | None:
        """Return the member that a timer is about; None if this broker does not coordinate it anymore."""
        assert isinstance(about, tuple)
        partition, coordinator_epoch, name, member_id = about
        cache = self.groups.caches.get(partition)
        metadata = cache.groups.get(name) if cache is not None and cache.coordinator_epoch == coordinator_epoch else None
        if cache is None or metadata is None or metadata.consumer is None or member_id not in metadata.consumer.members:
            return None
        return cache, metadata.consumer, metadata.consumer.members[member_id], metadata.consumer.timers[member_id]

    def _session_timer(self, about: object) -> None:
        found = self._timed_member(about)
        if found is None:
            return
        cache, group, member, timers = found
        now = self.broker.journal.now
        if timers.due != now:
            return
        if timers.deadline > now:
            self._arm_session(cache, group, member.member_id, timers)
        else:
            self._fence(cache, group, member, "session-timeout")

    def _time_revocation(self, cache: GroupCache, group: ConsumerGroup, member: ConsumerGroupMember) -> None:
        """Give a member its rebalance timeout to give up partitions (`#scheduleConsumerGroupRebalanceTimeout`)."""
        timers = group.timers[member.member_id]
        if member.state is not MemberState.UNREVOKED_PARTITIONS:
            timers.revoked_by = -1
            return
        timers.revoked_by = self.broker.journal.now + member.rebalance_timeout
        about: MemberTimer = (cache.partition, cache.coordinator_epoch, group.name, member.member_id)
        self.broker.timer(member.rebalance_timeout, "consumer-rebalance", about)

    def _rebalance_timer(self, about: object) -> None:
        found = self._timed_member(about)
        if found is not None and found[3].revoked_by == self.broker.journal.now:
            self._fence(found[0], found[1], found[2], "revocation-timeout")

    def _fence(self, cache: GroupCache, group: ConsumerGroup, member: ConsumerGroupMember, why: str) -> None:
        """Remove a member that has not asked to leave (`#consumerGroupFenceMemberOperation`)."""
        self._emit_leave(group, member.member_id, why)
        self._write(cache, group, fence_member(group, member, self._rules()))


def described(group: ConsumerGroup) -> str:
    """Return the target assignment in words."""
    return "; ".join(f"{member_id}: {', '.join(map(str, tps)) or 'nothing'}" for member_id, tps in group.target.items())
