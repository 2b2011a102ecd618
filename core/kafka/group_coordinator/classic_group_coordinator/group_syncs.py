"""SyncGroup: the leader sends the assignment, and every member gets its part of it (`GroupMetadataManager#classicGroupSync`)."""

from __future__ import annotations

from typing import Final

from core.kafka import errors, events
from core.kafka.group_coordinator.classic_group.classic_group import ClassicGroup
from core.kafka.group_coordinator.classic_group.classic_group_member import Parked
from core.kafka.group_coordinator.classic_group.classic_group_messages import Partitions, SyncGroupRequest, SyncGroupResponse
from core.kafka.group_coordinator.classic_group.group_state import GroupState
from core.kafka.group_coordinator.classic_group_coordinator.rebalances import Rebalances
from core.kafka.group_coordinator.coordinator_context import GroupCoordinatorContext
from core.kafka.group_coordinator.group_metadata_manager import GroupCache


class AssignmentStored:
    """An assignment that is being written to the log.

    Attributes:
        generation: the generation to which the assignment belongs.
        assignments: the partitions of each member.
    """

    __slots__ = ("assignments", "generation", "rebalances")

    rebalances: Final[Rebalances]
    generation: Final[int]
    assignments: Final[dict[str, Partitions]]

    def __init__(self, rebalances: Rebalances, generation: int, assignments: dict[str, Partitions]) -> None:
        self.rebalances = rebalances
        self.generation = generation
        self.assignments = assignments

    def group_stored(self, cache: GroupCache, group: ClassicGroup, error: str) -> None:
        """If the write succeeded, answer all SyncGroup requests. If it failed, begin another rebalance."""
        if group.state is not GroupState.COMPLETING_REBALANCE or group.generation != self.generation:
            return
        rebalances = self.rebalances
        if error != errors.NONE:
            rebalances.fail_syncs(cache, group, error)
            rebalances.maybe_prepare(cache, group, f"the assignment could not be stored: {error}")
            return
        group.transition_to(GroupState.STABLE, rebalances.broker.journal.now)
        for member in group.members.values():
            member.assignment = self.assignments.get(member.member_id, ())
        rebalances.emit(events.GroupStable.kind, group.name, group.generation, group.protocol, described(group))
        for member in group.members.values():
            rebalances.answer_sync(cache, group, member, errors.NONE)


class GroupSyncs:
    """Serves SyncGroup."""

    __slots__ = ("broker", "rebalances")

    broker: Final[GroupCoordinatorContext]
    rebalances: Final[Rebalances]

    def __init__(self, rebalances: Rebalances) -> None:
        self.broker = rebalances.broker
        self.rebalances = rebalances

    def sync(self, request: SyncGroupRequest, sender: str) -> None:
        """Handle a SyncGroup request: refuse it, answer it, or let it wait for the assignment from the leader."""
        error = self.rebalances.groups.error_of(request.group)
        cache = self.rebalances.groups.cache_of(request.group)
        known = None if cache is None else cache.groups.get(request.group)
        if error == errors.NONE:
            error = errors.UNKNOWN_MEMBER_ID if known is None else self._error(known.classic, request)
        if error != errors.NONE:
            self.rebalances.emit(events.GroupRequestRefused.kind, request.group, "SyncGroup", error)
            self.broker.node.reply(sender, SyncGroupResponse(request.correlation, error, ()))
            return
        assert cache is not None, "checked"
        assert known is not None, "checked"
        group = known.classic
        member = group.members[request.member_id]
        group.pending_syncs.pop(member.member_id, None)
        if group.state is GroupState.STABLE:
            self.broker.node.reply(sender, SyncGroupResponse(request.correlation, errors.NONE, member.assignment))
            return
        member.sync = Parked(sender, request.correlation)
        cache.deferred.limit(sender, SyncGroupResponse(request.correlation, errors.NONE, ()), member)
        if member.member_id == group.leader:
            assignments = dict.fromkeys(group.members, ()) | {name: tps for name, tps in request.assignments if name in group.members}
            self.rebalances.write(cache, group, assignments, AssignmentStored(self.rebalances, group.generation, assignments))

    def _error(self, group: ClassicGroup, request: SyncGroupRequest) -> str:
        """Return the error for a SyncGroup request, or NONE (`#validateSyncGroup`)."""
        if group.state is GroupState.DEAD:
            return errors.COORDINATOR_NOT_AVAILABLE
        instance_id = request.instance_id if self.rebalances.release.static_members else ""
        if (error := group.member_error(request.member_id, instance_id)) != errors.NONE:
            return error
        if request.generation != group.generation:
            return errors.ILLEGAL_GENERATION
        if self.rebalances.release.checks_protocol_of_sync and request.protocol != group.protocol:
            return errors.INCONSISTENT_GROUP_PROTOCOL
        if group.state is GroupState.EMPTY:
            return errors.UNKNOWN_MEMBER_ID
        return errors.REBALANCE_IN_PROGRESS if group.state is GroupState.PREPARING_REBALANCE else errors.NONE


def described(group: ClassicGroup) -> str:
    """Return the assignment of a group as text, for example `c1-3f: t-0, t-1; c2-a0: t-2`."""
    return "; ".join(f"{name}: {', '.join(map(str, tps)) or 'nothing'}" for name, tps in group.assignments())
