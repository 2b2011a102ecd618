"""Requests from consumer group members that use the classic protocol: JoinGroup, SyncGroup, Heartbeat, and LeaveGroup (KIP-848, since 4.0).

If the group is a classic group, the request is passed to the classic protocol's coordinator. Kafka:
`GroupMetadataManager#classicGroup…ToConsumerGroup`.
"""

from __future__ import annotations

from typing import Final

from core.kafka import errors, events
from core.kafka.group_coordinator.classic_group.classic_group_messages import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from core.kafka.group_coordinator.classic_group_coordinator.classic_group_coordinator import ClassicGroupCoordinator
from core.kafka.group_coordinator.consumer_group.classic_joins import classic_join, must_rejoin, sync_error
from core.kafka.group_coordinator.consumer_group.consumer_group import ConsumerGroup
from core.kafka.group_coordinator.consumer_group.consumer_group_member import ConsumerGroupMember
from core.kafka.group_coordinator.consumer_group_coordinator.group_changes import GroupChanges
from core.kafka.group_coordinator.consumer_group_coordinator.member_deadlines import MemberDeadlines
from core.kafka.group_coordinator.coordinator_context import GroupCoordinatorContext
from core.kafka.group_coordinator.group_metadata_manager import GroupCache, GroupMetadataManager
from core.kafka.group_coordinator.group_requests import NO_GENERATION

NO_ERROR_YET: Final = ""
"""The placeholder for the error in a failure response that is prepared before the failure occurs."""


class ClassicMembers:
    """Serves requests in the classic protocol."""

    __slots__ = ("broker", "changes", "classic", "deadlines", "groups")

    broker: Final[GroupCoordinatorContext]
    groups: Final[GroupMetadataManager]
    classic: Final[ClassicGroupCoordinator]
    changes: Final[GroupChanges]
    deadlines: Final[MemberDeadlines]

    def __init__(self, classic: ClassicGroupCoordinator, changes: GroupChanges, deadlines: MemberDeadlines) -> None:
        self.broker = classic.broker
        self.groups = classic.groups
        self.classic = classic
        self.changes = changes
        self.deadlines = deadlines
        self.broker.node.handlers.update(
            {JoinGroupRequest: self._join, SyncGroupRequest: self._sync, HeartbeatRequest: self._heartbeat, LeaveGroupRequest: self._leave}
        )

    def _find(self, name: str) -> tuple[GroupCache, ConsumerGroup] | None:
        """Return a consumer group and the cache that contains it; None if the group is a classic group, or if this broker cannot serve
        it."""
        if self.groups.error_of(name) != errors.NONE:
            return None
        cache = self.groups.cache_of(name)
        metadata = None if cache is None else cache.groups.get(name)
        if cache is None or metadata is None or metadata.consumer is None:
            return None
        return cache, metadata.consumer

    def _refuse(self, group: str, request: str, error: str) -> None:
        self.changes.emit(events.GroupRequestRefused.kind, group, request, error)

    # --- JoinGroup -------------------------------------------------------------------------------------------------

    def _join(self, request: JoinGroupRequest, sender: str) -> None:
        """Handle a JoinGroup request (`#classicGroupJoin`). A consumer group that has no members becomes a classic group."""
        found = self._find(request.group)
        if found is not None and not found[1].members:
            self.changes.drop_empty(*found)
            found = None
        if found is None:
            self.classic.joins.join(request, sender)
            return
        error = self.classic.joins.request_error(request)
        if error == errors.NONE:
            error = self._join_consumer_group(*found, request, sender)
        if error != errors.NONE:
            self._refuse(request.group, "JoinGroup", error)
            self.broker.node.reply(sender, JoinGroupResponse(request.correlation, error, request.member_id))

    def _join_consumer_group(self, cache: GroupCache, group: ConsumerGroup, request: JoinGroupRequest, sender: str) -> str:
        """Let a client join, or let a member take its next step (`#classicGroupJoinToConsumerGroup`). Return the error that the caller must
        send to the client; NONE if this method takes care of the response.
        """
        changes, joins = self.changes, self.classic.joins
        metadata = cache.group(group.name)
        member_id = request.member_id or joins.new_member_id(cache, metadata.classic, request, bare=True)
        result = classic_join(group, request, member_id, changes.rules(), self.broker.journal.now)
        if result.error != errors.NONE:
            return result.error
        if not request.member_id and not request.instance_id and self.broker.release.requires_member_id:
            changes.emit(events.MemberIdGiven.kind, group.name, member_id)
            self.broker.node.reply(sender, JoinGroupResponse(request.correlation, errors.MEMBER_ID_REQUIRED, member_id))
            return errors.NONE
        former = group.static_members.get(request.instance_id) if request.instance_id else None
        replaces_consumer = former is not None and former != member_id and group.members[former].classic is None
        if former is not None and former != member_id:
            changes.emit(events.StaticMemberReplaced.kind, group.name, request.instance_id, former, member_id)
        elif member_id not in group.members:
            joined = (group.name, member_id, request.client, request.instance_id, len(group.members) + 1)
            changes.emit(events.GroupMemberJoined.kind, *joined)
        error = changes.write(cache, group, result.records)
        if error != errors.NONE:
            return error
        if result.assigned:
            group.assigned_at = self.broker.journal.now
        member = group.members[member_id]
        self.deadlines.renew_session(cache, group, member)
        self.deadlines.joined(cache, group, member)
        name = request.protocols[0][0]
        response = JoinGroupResponse(request.correlation, errors.NONE, member_id, member.epoch, name)
        cache.deferred.respond(sender, response, JoinGroupResponse(request.correlation, NO_ERROR_YET, member_id))
        if replaces_consumer:
            changes.maybe_downgrade(cache, group)
        return errors.NONE

    # --- SyncGroup and Heartbeat -----------------------------------------------------------------------------------

    def _sync(self, request: SyncGroupRequest, sender: str) -> None:
        """Tell a member which partitions it has. The request does not wait for a leader, because the coordinator assigns the partitions."""
        found = self._find(request.group)
        if found is None:
            self.classic.syncs.sync(request, sender)
            return
        cache, group = found
        error = group.member_error(request.member_id, request.instance_id, request.generation)
        if error == errors.NONE:
            member = group.members[request.member_id]
            assert member.classic is not None, "checked"
            error = sync_error(group, member)
            if error != errors.NONE:
                self.deadlines.expect_join(cache, group, member)
            elif request.protocol not in member.classic.names():
                error = errors.INCONSISTENT_GROUP_PROTOCOL
        if error != errors.NONE:
            self._refuse(request.group, "SyncGroup", error)
            self.broker.node.reply(sender, SyncGroupResponse(request.correlation, error, ()))
            return
        self.deadlines.synced(group, member)
        self.deadlines.renew_session(cache, group, member)
        failure = SyncGroupResponse(request.correlation, NO_ERROR_YET, ())
        cache.deferred.respond(sender, failure._replace(error=errors.NONE, assignment=member.assigned), failure)

    def _heartbeat(self, request: HeartbeatRequest, sender: str) -> None:
        """Renew the session of a member, and tell the member whether to join again."""
        found = self._find(request.group)
        if found is None:
            self.classic.heartbeat(request, sender)
            return
        cache, group = found
        error = group.member_error(request.member_id, request.instance_id, request.generation)
        if error != errors.NONE:
            self._refuse(request.group, "Heartbeat", error)
            self.broker.node.reply(sender, HeartbeatResponse(request.correlation, error))
            return
        member = group.members[request.member_id]
        self.deadlines.renew_session(cache, group, member)
        if must_rejoin(group, member):
            self.deadlines.expect_join(cache, group, member)
            error = errors.REBALANCE_IN_PROGRESS
        failure = HeartbeatResponse(request.correlation, NO_ERROR_YET)
        cache.deferred.respond(sender, HeartbeatResponse(request.correlation, error), failure)

    # --- LeaveGroup ------------------------------------------------------------------------------------------------

    def _leave(self, request: LeaveGroupRequest, sender: str) -> None:
        """Remove members that leave, or that an administrator removes."""
        found = self._find(request.group)
        if found is None:
            self.classic.leave(request, sender)
            return
        cache, group = found
        leaving: dict[str, ConsumerGroupMember] = {}
        results = []
        for member_id, instance_id in request.members:
            error, member = self._leaving(group, member_id, instance_id)
            results.append(error)
            if member is not None and member.member_id not in leaving:
                leaving[member.member_id] = member
                why = "removed" if not member_id else "left"
                self.changes.emit_removal(group, member.member_id, why, len(group.members) - len(leaving))
        error = self.changes.remove(cache, group, tuple(leaving.values())) if leaving else errors.NONE
        failure = LeaveGroupResponse(request.correlation, error, ())
        if error != errors.NONE:
            self.broker.node.reply(sender, failure)
        else:
            cache.deferred.respond(sender, LeaveGroupResponse(request.correlation, errors.NONE, tuple(results)), failure)

    @staticmethod
    def _leaving(group: ConsumerGroup, member_id: str, instance_id: str) -> tuple[str, ConsumerGroupMember | None]:
        """Return two values: the error for a member that leaves (NONE if there is no error), and the member (None if it is unknown).

        A request from an administrator contains the group.instance.id of a static member, but not its member ID.
        """
        if instance_id and not member_id:
            member = group.static_member(instance_id)
            return (errors.UNKNOWN_MEMBER_ID, None) if member is None else (errors.NONE, member)
        member = group.members.get(member_id)
        error = group.member_error(member_id, instance_id, NO_GENERATION if member is None else member.epoch)
        return error, member if error == errors.NONE else None
