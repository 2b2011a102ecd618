"""The classic protocol on one broker: Heartbeat and LeaveGroup requests, and what happens when groups are loaded and unloaded
(`GroupMetadataManager`)."""

from __future__ import annotations

from typing import Final

from core.kafka import errors, events
from core.kafka.group_coordinator.classic_group.classic_group import ClassicGroup
from core.kafka.group_coordinator.classic_group.classic_group_messages import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
)
from core.kafka.group_coordinator.classic_group.group_state import GroupState
from core.kafka.group_coordinator.classic_group_coordinator.group_joins import GroupJoins
from core.kafka.group_coordinator.classic_group_coordinator.group_syncs import GroupSyncs
from core.kafka.group_coordinator.classic_group_coordinator.group_write import TIMER, GroupWrite
from core.kafka.group_coordinator.classic_group_coordinator.rebalances import Rebalances
from core.kafka.group_coordinator.coordinator_context import GroupCoordinatorContext
from core.kafka.group_coordinator.group_metadata_manager import GroupCache, GroupMetadataManager
from core.kafka.group_coordinator.group_requests import GroupMembership

RENEWING: Final = (GroupState.STABLE, GroupState.PREPARING_REBALANCE)
"""The states in which an offset commit renews the member's session."""


class ClassicGroupCoordinator:
    """The classic groups that one broker coordinates."""

    __slots__ = ("broker", "groups", "joins", "rebalances", "syncs")

    broker: Final[GroupCoordinatorContext]
    groups: Final[GroupMetadataManager]
    rebalances: Final[Rebalances]
    joins: Final[GroupJoins]
    syncs: Final[GroupSyncs]

    def __init__(self, broker: GroupCoordinatorContext, groups: GroupMetadataManager) -> None:
        self.broker = broker
        self.groups = groups
        self.rebalances = Rebalances(broker, groups)
        self.joins = GroupJoins(self.rebalances)
        self.syncs = GroupSyncs(self.rebalances)
        broker.node.timers[TIMER] = self._write_timed_out

    def _write_timed_out(self, write: object) -> None:
        assert isinstance(write, GroupWrite)
        write.timed_out()

    # --- leadership of __consumer_offsets --------------------------------------------------------------------------

    def loaded(self, cache: GroupCache) -> None:
        """Restart the sessions of all members. If a group is too large, begin a rebalance (`#onLoaded`)."""
        most = self.broker.settings.integer("group.max.size", broker=self.broker.id)
        for metadata in list(cache.groups.values()):
            group = metadata.classic
            for member in group.members.values():
                self.rebalances.deadlines.renew(cache, group, member)
            if self.rebalances.release.limits_group_size and len(group.members) > most:
                self.rebalances.prepare(cache, group, f"it has more than {most} members (group.max.size)")

    def unloaded(self, cache: GroupCache) -> None:
        """Answer the requests that are waiting, because another broker now coordinates the groups (`#onUnloaded`)."""
        for metadata in cache.groups.values():
            group = metadata.classic
            group.transition_to(GroupState.DEAD, self.broker.journal.now)
            for member in group.members.values():
                self.rebalances.answer_join(member, JoinGroupResponse(0, errors.NOT_COORDINATOR, ""))
                self.rebalances.answer_sync(cache, group, member, errors.NOT_COORDINATOR)

    # --- Heartbeat -------------------------------------------------------------------------------------------------

    def heartbeat(self, request: HeartbeatRequest, sender: str) -> None:
        """Renew the session of a member, and tell the member whether the group is rebalancing (`#classicGroupHeartbeat`)."""
        error = self.groups.error_of(request.group)
        cache = self.groups.cache_of(request.group)
        known = None if cache is None else cache.groups.get(request.group)
        if error == errors.NONE and (cache is None or known is None):
            error = errors.UNKNOWN_MEMBER_ID
        if error == errors.NONE and cache is not None and known is not None:
            error = self._heartbeat_of(cache, known.classic, request)
        response = HeartbeatResponse(request.correlation, error)
        if cache is not None and error in (errors.NONE, errors.REBALANCE_IN_PROGRESS):
            cache.deferred.respond(sender, response, response)
            return
        self.rebalances.emit(events.GroupRequestRefused.kind, request.group, "Heartbeat", error)
        self.broker.node.reply(sender, response)

    def _heartbeat_of(self, cache: GroupCache, group: ClassicGroup, request: HeartbeatRequest) -> str:
        release = self.rebalances.release
        if group.state is GroupState.DEAD:
            return errors.COORDINATOR_NOT_AVAILABLE
        error = group.member_error(request.member_id, request.instance_id if release.static_members else "")
        if error != errors.NONE:
            return error
        if request.generation != group.generation:
            return errors.ILLEGAL_GENERATION
        if group.state is GroupState.EMPTY:
            return errors.UNKNOWN_MEMBER_ID
        if group.state is GroupState.COMPLETING_REBALANCE and not release.heartbeats_while_completing:
            return errors.REBALANCE_IN_PROGRESS
        self.rebalances.deadlines.renew(cache, group, group.members[request.member_id])
        return errors.REBALANCE_IN_PROGRESS if group.state is GroupState.PREPARING_REBALANCE else errors.NONE

    def committed(self, cache: GroupCache, group: ClassicGroup, membership: GroupMembership) -> None:
        """Renew a member's session, because the member has committed offsets."""
        member = group.members.get(membership.member_id)
        if member is not None and group.state in RENEWING:
            self.rebalances.deadlines.renew(cache, group, member)

    # --- LeaveGroup ------------------------------------------------------------------------------------------------

    def leave(self, request: LeaveGroupRequest, sender: str) -> None:
        """Remove members that leave, or that an administrator removes (`#classicGroupLeave`)."""
        error = self.groups.error_of(request.group)
        cache = self.groups.cache_of(request.group)
        known = None if cache is None else cache.groups.get(request.group)
        if error == errors.NONE and known is None:
            error = errors.UNKNOWN_MEMBER_ID
        if error == errors.NONE and known is not None and known.classic.state is GroupState.DEAD:
            error = errors.COORDINATOR_NOT_AVAILABLE
        if error != errors.NONE:
            self.rebalances.emit(events.GroupRequestRefused.kind, request.group, "LeaveGroup", error)
            self.broker.node.reply(sender, LeaveGroupResponse(request.correlation, error, ()))
            return
        assert cache is not None, "checked"
        assert known is not None, "checked"
        group = known.classic
        cause = self.broker.journal.cause
        results = tuple(self._remove(group, member_id, instance_id) for member_id, instance_id in request.members)
        leaves = self.broker.journal.cause != cause
        response = LeaveGroupResponse(request.correlation, errors.NONE, results)
        waits = self.rebalances.release.responses_wait_for_writes
        if not waits:
            self.broker.node.reply(sender, response)
        if leaves:
            left = [member_id or instance_id for member_id, instance_id in request.members]
            self.rebalances.after_removal(cache, group, f"{', '.join(left)} left")
        if waits:
            cache.deferred.respond(sender, response, response._replace(members=()))

    def _remove(self, group: ClassicGroup, member_id: str, instance_id: str) -> str:
        """Remove one member, and return its error."""
        if instance_id:
            known = group.static_members.get(instance_id)
            if known is None:
                return errors.UNKNOWN_MEMBER_ID
            if member_id and member_id != known:
                return errors.FENCED_INSTANCE_ID
            member_id = known
        if member_id in group.pending_members:
            group.remove(member_id)
            self.rebalances.emit_removal(group, member_id, "left")
            return errors.NONE
        member = group.members.get(member_id)
        if member is None:
            return errors.UNKNOWN_MEMBER_ID
        self.rebalances.answer_join(member, JoinGroupResponse(0, errors.UNKNOWN_MEMBER_ID, ""))
        group.remove(member_id)
        self.rebalances.emit_removal(group, member_id, "removed" if instance_id else "left")
        return errors.NONE
