"""Rebalances of classic groups: the join phase, its delays and timeouts, and the beginning of a generation.

Kafka: `GroupMetadataManager#prepareRebalance`, `#completeClassicGroupJoin`.
"""

from __future__ import annotations

from typing import Final

from core.kafka import errors, events
from core.kafka.group_coordinator.classic_group.classic_group import ClassicGroup
from core.kafka.group_coordinator.classic_group.classic_group_member import ClassicGroupMember
from core.kafka.group_coordinator.classic_group.classic_group_messages import JoinGroupResponse, Partitions, SyncGroupResponse
from core.kafka.group_coordinator.classic_group.group_state import GroupState
from core.kafka.group_coordinator.classic_group_coordinator.group_write import GroupWrite, Nothing, Stored
from core.kafka.group_coordinator.classic_group_coordinator.member_deadlines import NEW_MEMBER_JOIN_TIMEOUT, MemberDeadlines
from core.kafka.group_coordinator.coordinator_context import GroupCoordinatorContext
from core.kafka.group_coordinator.group_metadata_manager import GroupCache, GroupMetadataManager
from core.kafka.release import Release

Found = tuple[GroupCache, ClassicGroup, object]
"""The group that a timer belongs to, the cache that contains the group, and the timer-specific argument."""


class Rebalances:
    """The rebalances of the groups that one broker coordinates."""

    __slots__ = ("broker", "deadlines", "groups", "nothing")

    broker: Final[GroupCoordinatorContext]
    groups: Final[GroupMetadataManager]
    deadlines: Final[MemberDeadlines]
    nothing: Final[Nothing]

    def __init__(self, broker: GroupCoordinatorContext, groups: GroupMetadataManager) -> None:
        self.broker = broker
        self.groups = groups
        self.deadlines = MemberDeadlines(broker)
        self.nothing = Nothing()
        broker.node.timers.update(
            {
                "group-initial-delay": self._initial_delay_over,
                "group-rebalance": self._rebalance_timeout_over,
                "group-sync": self._sync_timeout_over,
                "member-session": self._session_timer_due,
                "pending-member": self._pending_timer_due,
            }
        )

    @property
    def release(self) -> Release:
        """The rules of the simulated Kafka release."""
        return self.broker.release

    def emit(self, kind: str, *columns: object) -> None:
        """Record an event of this coordinator, and make it the cause of the events that follow."""
        journal = self.broker.journal
        journal.cause = journal.emit(kind, self.broker.id, *columns)

    def write(self, cache: GroupCache, group: ClassicGroup, assignments: dict[str, Partitions], then: Stored) -> None:
        """Write the record of a group to the log."""
        GroupWrite(self.broker, self.groups, cache, group, assignments, then).start()

    def _find(self, about: object) -> Found | None:
        """Return the group that a timer belongs to; None if this broker no longer coordinates the group in the coordinator epoch in which
        the timer was set."""
        assert isinstance(about, tuple)
        partition, coordinator_epoch, name, detail = about
        cache = self.groups.caches.get(partition)
        if cache is None or cache.coordinator_epoch != coordinator_epoch or name not in cache.groups:
            return None
        return cache, cache.groups[name].classic, detail

    def dissolve(self, group: ClassicGroup) -> None:
        """Fail the waiting requests so that the members join again, because the group is becoming a consumer group."""
        for member in group.members.values():
            self.answer_join(member, JoinGroupResponse(0, errors.REBALANCE_IN_PROGRESS, member.member_id))
            parked, member.sync = member.sync, None
            if parked is not None:
                self.broker.node.reply(parked.sender, SyncGroupResponse(parked.correlation, errors.REBALANCE_IN_PROGRESS, ()))

    # --- the join phase --------------------------------------------------------------------------------------------

    def maybe_prepare(self, cache: GroupCache, group: ClassicGroup, reason: str) -> None:
        """Begin a rebalance, or end the join phase if all members have joined (`#maybePrepareRebalanceOrCompleteJoin`)."""
        if group.can_rebalance:
            self.prepare(cache, group, reason)
        else:
            self.maybe_complete(cache, group)

    def prepare(self, cache: GroupCache, group: ClassicGroup, reason: str) -> None:
        """Begin a rebalance (`#prepareRebalance`)."""
        if group.state is GroupState.COMPLETING_REBALANCE:
            self.fail_syncs(cache, group, errors.REBALANCE_IN_PROGRESS)
        broker = self.broker
        was_empty = group.state is GroupState.EMPTY
        group.transition_to(GroupState.PREPARING_REBALANCE, broker.journal.now)
        self.emit(events.GroupRebalancing.kind, group.name, group.generation, len(group.members), reason)
        group.phase += 1
        if was_empty and self.release.delays_first_rebalance:
            delay = broker.settings.us("group.initial.rebalance.delay.ms", broker=broker.id)
            group.in_initial_delay, group.new_member_added = True, False
            self._delay_completion(cache, group, delay, max(group.rebalance_timeout() - delay, 0))
        else:
            self.deadlines.arm(cache, group, group.rebalance_timeout(), "group-rebalance", group.phase)
            self.maybe_complete(cache, group)

    def _delay_completion(self, cache: GroupCache, group: ClassicGroup, delay: int, remaining: int) -> None:
        self.deadlines.arm(cache, group, delay, "group-initial-delay", (group.phase, delay, remaining))

    def _initial_delay_over(self, about: object) -> None:
        """When the initial delay ends, wait longer if other members have joined since the last check
        (`#tryCompleteInitialRebalanceElseSchedule`)."""
        found = self._find(about)
        if found is None:
            return
        cache, group, detail = found
        assert isinstance(detail, tuple)
        phase, delay, remaining = detail
        if phase != group.phase or not group.in_initial_delay:
            return
        if group.new_member_added and remaining:
            group.new_member_added = False
            again = min(self.broker.settings.us("group.initial.rebalance.delay.ms", broker=self.broker.id), remaining)
            self._delay_completion(cache, group, again, max(remaining - delay, 0))
        else:
            self.complete(cache, group)

    def _rebalance_timeout_over(self, about: object) -> None:
        found = self._find(about)
        if found is not None and found[2] == found[1].phase:
            self.complete(found[0], found[1])

    def maybe_complete(self, cache: GroupCache, group: ClassicGroup) -> None:
        """End the join phase if all members have joined (`#maybeCompleteJoinPhase`)."""
        if group.state is GroupState.PREPARING_REBALANCE and not group.in_initial_delay and group.has_all_members_joined():
            self.complete(cache, group)

    def complete(self, cache: GroupCache, group: ClassicGroup) -> None:
        """End the join phase: remove the dynamic members that have not rejoined, and begin a generation (`#completeClassicGroupJoin`)."""
        group.in_initial_delay = False
        group.phase += 1
        for member in [each for each in group.members.values() if each.join is None and not each.is_static]:
            group.remove(member.member_id)
            self._blame(member, group.rebalance_timeout())
            self.emit_removal(group, member.member_id, "rebalance-timeout")
        if group.state is GroupState.DEAD:
            return
        if group.members and not group.elect_joined_leader():
            self.deadlines.arm(cache, group, group.rebalance_timeout(), "group-rebalance", group.phase)
            return
        group.init_next_generation(self.broker.journal.now)
        if group.state is GroupState.EMPTY:
            self.emit(events.GroupEmptied.kind, group.name, group.generation)
            self.write(cache, group, {}, self.nothing)
        else:
            self._begin_generation(cache, group)

    def _begin_generation(self, cache: GroupCache, group: ClassicGroup) -> None:
        """Answer the JoinGroup requests. The leader receives the subscriptions of all members."""
        self.emit(events.GroupGeneration.kind, group.name, group.generation, group.protocol, group.leader, ", ".join(group.members))
        for member in group.members.values():
            self.answer_join(member, self.join_response(group, member))
            self.deadlines.renew(cache, group, member)
            member.is_new = False
            group.pending_syncs[member.member_id] = None
        if self.release.syncs_expire:
            self.deadlines.arm(cache, group, group.rebalance_timeout(), "group-sync", group.generation)

    def join_response(self, group: ClassicGroup, member: ClassicGroupMember) -> JoinGroupResponse:
        """Return the JoinGroup response for a member of the current generation. The caller fills in the correlation ID."""
        members = group.joined_members() if member.member_id == group.leader else ()
        return JoinGroupResponse(0, errors.NONE, member.member_id, group.generation, group.protocol, group.leader, members)

    def answer_join(self, member: ClassicGroupMember, response: JoinGroupResponse) -> None:
        """Answer a member's JoinGroup request, if one is waiting (`ClassicGroup#completeJoinFuture`)."""
        parked, member.join = member.join, None
        if parked is not None:
            self.broker.node.reply(parked.sender, response._replace(correlation=parked.correlation))

    # --- the sync phase --------------------------------------------------------------------------------------------

    def answer_sync(self, cache: GroupCache, group: ClassicGroup, member: ClassicGroupMember, error: str) -> None:
        """Answer a member's SyncGroup request, if one is waiting (`#propagateAssignment`)."""
        parked, member.sync = member.sync, None
        if parked is not None:
            assignment = member.assignment if error == errors.NONE else ()
            self.broker.node.reply(parked.sender, SyncGroupResponse(parked.correlation, error, assignment))
            self.deadlines.renew(cache, group, member)

    def fail_syncs(self, cache: GroupCache, group: ClassicGroup, error: str) -> None:
        """Drop the assignments, and answer all SyncGroup requests with an error (`#resetAndPropagateAssignmentWithError`)."""
        for member in group.members.values():
            member.assignment = ()
            self.answer_sync(cache, group, member, error)

    def _sync_timeout_over(self, about: object) -> None:
        """Remove the members that have not sent SyncGroup (KAFKA-12890; `#expirePendingSync`)."""
        found = self._find(about)
        if found is None:
            return
        cache, group, generation = found
        silent = list(group.pending_syncs)
        if generation == group.generation and silent and group.state in (GroupState.COMPLETING_REBALANCE, GroupState.STABLE):
            for member_id in silent:
                self._blame(group.members[member_id], group.rebalance_timeout())
                group.remove(member_id)
                self.emit_removal(group, member_id, "sync-timeout")
            self.prepare(
                cache, group, f"{len(silent)} members did not sync in time" if len(silent) > 1 else f"{silent[0]} did not sync in time"
            )

    # --- members that leave ----------------------------------------------------------------------------------------

    def _blame(self, member: ClassicGroupMember, timeout: int) -> None:
        """Blame what kept a member silent for a timeout in µs."""
        self.broker.journal.blame(self.broker.node.why_silent(member.client, self.broker.journal.now - timeout))

    def emit_removal(self, group: ClassicGroup, member_id: str, reason: str) -> None:
        """Record that a member was removed. `reason` is the value of the event's column `reason`."""
        self.emit(events.GroupMemberRemoved.kind, group.name, member_id, reason, len(group.members))

    def remove(self, cache: GroupCache, group: ClassicGroup, member: ClassicGroupMember, reason: str, rebalance_reason: str) -> None:
        """Remove a member, and begin a rebalance (`#removeMemberAndUpdateClassicGroup`)."""
        self.answer_join(member, JoinGroupResponse(0, errors.UNKNOWN_MEMBER_ID, ""))
        group.remove(member.member_id)
        self.emit_removal(group, member.member_id, reason)
        self.after_removal(cache, group, rebalance_reason)

    def after_removal(self, cache: GroupCache, group: ClassicGroup, reason: str) -> None:
        """After members were removed, begin a rebalance, or end the join phase if it was waiting only for the removed members."""
        if group.state in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
            self.maybe_prepare(cache, group, reason)
        elif group.state is GroupState.PREPARING_REBALANCE:
            self.maybe_complete(cache, group)

    def _session_timer_due(self, about: object) -> None:
        found = self._find(about)
        if found is None:
            return
        cache, group, member_id = found
        member = group.members.get(str(member_id))
        if member is not None and self.deadlines.has_expired(cache, group, member):
            reason = "join-timeout" if member.is_new else "session-timeout"
            self._blame(member, NEW_MEMBER_JOIN_TIMEOUT if member.is_new else member.session_timeout)
            self.remove(cache, group, member, reason, f"the session of {member.member_id} ended")

    def _pending_timer_due(self, about: object) -> None:
        found = self._find(about)
        if found is None:
            return
        cache, group, member_id = found
        if member_id in group.pending_members:
            group.remove(str(member_id))
            self.maybe_complete(cache, group)
