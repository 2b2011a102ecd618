"""JoinGroup: how clients become and stay members of a classic group (`GroupMetadataManager#classicGroupJoin`)."""

from __future__ import annotations

import zlib
from typing import Final

from core.kafka import errors, events
from core.kafka.group_coordinator.classic_group.classic_group import ClassicGroup
from core.kafka.group_coordinator.classic_group.classic_group_member import ClassicGroupMember, Parked
from core.kafka.group_coordinator.classic_group.classic_group_messages import JoinGroupRequest, JoinGroupResponse
from core.kafka.group_coordinator.classic_group.group_state import GroupState
from core.kafka.group_coordinator.classic_group_coordinator.member_deadlines import NEW_MEMBER_JOIN_TIMEOUT
from core.kafka.group_coordinator.classic_group_coordinator.rebalances import Rebalances
from core.kafka.group_coordinator.classic_group_coordinator.static_members import StaticMembers
from core.kafka.group_coordinator.consumer_group.member_ids import new_member_id
from core.kafka.group_coordinator.coordinator_context import GroupCoordinatorContext
from core.kafka.group_coordinator.group_metadata_manager import GroupCache


class NewGroup:
    """A response that carries a new member ID. Since 4.0, a response with a new member ID waits until the new group is in the log."""

    __slots__ = ("broker", "parked", "response")

    broker: Final[GroupCoordinatorContext]
    parked: Final[Parked]
    response: Final[JoinGroupResponse]

    def __init__(self, broker: GroupCoordinatorContext, parked: Parked, response: JoinGroupResponse) -> None:
        self.broker = broker
        self.parked = parked
        self.response = response

    def group_stored(self, cache: GroupCache, group: ClassicGroup, error: str) -> None:
        """Send the response or, if the write failed, the error."""
        response = self.response if error == errors.NONE else JoinGroupResponse(self.parked.correlation, error, "")
        self.broker.node.reply(self.parked.sender, response)


class GroupJoins:
    """Serves JoinGroup requests."""

    __slots__ = ("broker", "rebalances", "statics")

    broker: Final[GroupCoordinatorContext]
    rebalances: Final[Rebalances]
    statics: Final[StaticMembers]

    def __init__(self, rebalances: Rebalances) -> None:
        self.broker = rebalances.broker
        self.rebalances = rebalances
        self.statics = StaticMembers(rebalances)

    def join(self, request: JoinGroupRequest, sender: str) -> None:
        """Handle a JoinGroup request: refuse it, answer it, or let it wait for the end of the join phase."""
        error = self.request_error(request)
        groups = self.rebalances.groups
        cache = groups.cache_of(request.group)
        known = None if cache is None else cache.groups.get(request.group)
        if error == errors.NONE and known is None and request.member_id:
            error = errors.UNKNOWN_MEMBER_ID
        if error != errors.NONE:
            self._refuse(request, sender, error)
            return
        assert cache is not None, "checked"
        group = cache.group(request.group).classic
        most = self.broker.settings.integer("group.max.size", broker=self.broker.id)
        if self.rebalances.release.limits_group_size and not group.accepts(request.member_id, most):
            if request.member_id:
                group.remove(request.member_id)
            self._refuse(request, sender, errors.GROUP_MAX_SIZE_REACHED)
            self.rebalances.maybe_complete(cache, group)
        elif group.state is GroupState.DEAD:
            self._refuse(request, sender, errors.COORDINATOR_NOT_AVAILABLE)
        elif not group.supports_protocols(frozenset(name for name, _ in request.protocols)):
            self._refuse(request, sender, errors.INCONSISTENT_GROUP_PROTOCOL)
        elif request.member_id:
            self._join_existing(cache, group, request, sender)
            member = group.members.get(request.member_id)
            if member is not None and member.join is not None:
                cache.deferred.limit(sender, JoinGroupResponse(request.correlation, errors.NONE, request.member_id), member)
        else:
            self._join_new(cache, group, request, sender, is_new_group=known is None)

    def request_error(self, request: JoinGroupRequest) -> str:
        """Return the error that a request gets regardless of the state of its group; NONE if there is none."""
        if (error := self.rebalances.groups.error_of(request.group)) != errors.NONE:
            return error
        settings, broker = self.broker.settings, self.broker.id
        least, most = (settings.us(f"group.{bound}.session.timeout.ms", broker=broker) for bound in ("min", "max"))
        return errors.NONE if least <= request.session_timeout <= most else errors.INVALID_SESSION_TIMEOUT

    def _refuse(self, request: JoinGroupRequest, sender: str, error: str) -> None:
        self.rebalances.emit(events.GroupRequestRefused.kind, request.group, "JoinGroup", error)
        self.broker.node.reply(sender, JoinGroupResponse(request.correlation, error, request.member_id))

    # --- a client without a member ID ------------------------------------------------------------------------------

    def _join_new(self, cache: GroupCache, group: ClassicGroup, request: JoinGroupRequest, sender: str, *, is_new_group: bool) -> None:
        """Give a client a member ID (`#classicGroupJoinNewMember`)."""
        member_id = self.new_member_id(cache, group, request)
        static = bool(request.instance_id) and self.rebalances.release.static_members
        if static and request.instance_id in group.static_members:
            self.statics.rejoin(cache, group, request, sender, member_id)
        elif static or not self.rebalances.release.requires_member_id:
            self._add(cache, group, request, sender, member_id)
        else:
            response = JoinGroupResponse(request.correlation, errors.MEMBER_ID_REQUIRED, member_id)
            self.rebalances.emit(events.MemberIdGiven.kind, group.name, member_id)
            self.rebalances.deadlines.add_pending(cache, group, member_id, request.session_timeout)
            if is_new_group and self.rebalances.release.stores_new_groups:
                then = NewGroup(self.broker, Parked(sender, request.correlation), response)
                self.rebalances.write(cache, group, {}, then)
            else:
                self.broker.node.reply(sender, response)

    def new_member_id(self, cache: GroupCache, group: ClassicGroup, request: JoinGroupRequest, *, bare: bool = False) -> str:
        """Return a new member ID. Kafka appends a random UUID; in isrlab, the suffix is a number that is computed from the state of the
        group.

        In a consumer group, the ID consists only of a UUID in Kafka's format (`bare`).
        """
        seed = f"{group.name}/{cache.coordinator_epoch}/{self.broker.journal.now}/{group.next_id}/{request.client}"
        group.next_id += 1
        if bare:
            return new_member_id(seed)
        return f"{request.instance_id or request.client}-{zlib.crc32(seed.encode('utf-8', 'surrogatepass')):08x}"

    def _add(self, cache: GroupCache, group: ClassicGroup, request: JoinGroupRequest, sender: str, member_id: str) -> None:
        """Add a member, and begin a rebalance (`#addMemberThenRebalanceOrCompleteJoin`)."""
        release, deadlines = self.rebalances.release, self.rebalances.deadlines
        instance_id = request.instance_id if release.static_members else ""
        member = ClassicGroupMember(
            member_id, instance_id, request.client, request.session_timeout, request.rebalance_timeout, request.protocols
        )
        member.is_new = release.new_members_expire
        member.join = Parked(sender, request.correlation)
        group.new_member_added |= group.in_initial_delay
        group.add(member)
        self.rebalances.emit(events.GroupMemberJoined.kind, group.name, member_id, request.client, instance_id, len(group.members))
        deadlines.renew(cache, group, member, NEW_MEMBER_JOIN_TIMEOUT if release.new_members_expire else 0)
        self.rebalances.maybe_prepare(cache, group, f"{member_id} joined")

    # --- a client with a member ID ---------------------------------------------------------------------------------

    def _join_existing(self, cache: GroupCache, group: ClassicGroup, request: JoinGroupRequest, sender: str) -> None:
        """Handle a client that has a member ID (`#classicGroupJoinExistingMember`)."""
        if request.member_id in group.pending_members:
            self._add(cache, group, request, sender, request.member_id)
            return
        instance_id = request.instance_id if self.rebalances.release.static_members else ""
        if (error := group.member_error(request.member_id, instance_id)) != errors.NONE:
            self._refuse(request, sender, error)
            return
        member = group.members[request.member_id]
        same = member.protocols == request.protocols
        if group.state is GroupState.PREPARING_REBALANCE:
            self._update(member, request, sender)
            self.rebalances.maybe_complete(cache, group)
        elif group.state not in (GroupState.COMPLETING_REBALANCE, GroupState.STABLE):
            self._refuse(request, sender, errors.UNKNOWN_MEMBER_ID)
        elif same and (group.state is GroupState.COMPLETING_REBALANCE or member.member_id != group.leader):
            self._answer_again(group, member, request, sender)
        else:
            self._update(member, request, sender)
            what = "has another subscription" if not same else "is the leader and joined again"
            self.rebalances.prepare(cache, group, f"{member.member_id} {what}")

    def _answer_again(self, group: ClassicGroup, member: ClassicGroupMember, request: JoinGroupRequest, sender: str) -> None:
        """Send the response for the current generation again, because nothing has changed."""
        self.broker.node.reply(sender, self.rebalances.join_response(group, member)._replace(correlation=request.correlation))

    @staticmethod
    def _update(member: ClassicGroupMember, request: JoinGroupRequest, sender: str) -> None:
        """Update a member from its JoinGroup request, and let the request wait (`ClassicGroup#updateMember`)."""
        member.protocols = request.protocols
        member.session_timeout, member.rebalance_timeout = request.session_timeout, request.rebalance_timeout
        member.join = Parked(sender, request.correlation)
