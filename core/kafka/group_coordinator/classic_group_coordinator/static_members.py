"""How static members return: a client with a known group.instance.id takes the place of its former process (KIP-345).

Kafka: `GroupMetadataManager#updateStaticMemberThenRebalanceOrCompleteJoin`.
"""

from __future__ import annotations

from typing import Final

from core.kafka import errors, events
from core.kafka.group_coordinator.classic_group.classic_group import ClassicGroup
from core.kafka.group_coordinator.classic_group.classic_group_member import NO_DEADLINE, Parked
from core.kafka.group_coordinator.classic_group.classic_group_messages import (
    JoinGroupRequest,
    JoinGroupResponse,
    Protocols,
    SyncGroupResponse,
)
from core.kafka.group_coordinator.classic_group.group_state import GroupState
from core.kafka.group_coordinator.classic_group_coordinator.rebalances import Rebalances
from core.kafka.group_coordinator.coordinator_context import GroupCoordinatorContext
from core.kafka.group_coordinator.group_metadata_manager import GroupCache


class Replacement:
    """A static member that has received a new member ID. The response to the member waits until the new ID is in the log.

    Attributes:
        parked: the JoinGroup request that is waiting.
        instance_id: the group.instance.id.
        old_id: the former member ID.
        new_id: the new member ID.
        old_protocols: the assignors that the former process supported.
        old_leader: the member ID of the leader before the replacement.
    """

    __slots__ = ("instance_id", "new_id", "old_id", "old_leader", "old_protocols", "parked", "rebalances")

    rebalances: Final[Rebalances]
    parked: Final[Parked]
    instance_id: Final[str]
    old_id: Final[str]
    new_id: Final[str]
    old_protocols: Final[Protocols]
    old_leader: Final[str]

    def __init__(
        self,
        rebalances: Rebalances,
        parked: Parked,
        instance_id: str,
        old_id: str,
        new_id: str,
        old_protocols: Protocols,
        old_leader: str,
    ) -> None:
        self.rebalances = rebalances
        self.parked = parked
        self.instance_id = instance_id
        self.old_id = old_id
        self.new_id = new_id
        self.old_protocols = old_protocols
        self.old_leader = old_leader

    def group_stored(self, cache: GroupCache, group: ClassicGroup, error: str) -> None:
        """Answer the JoinGroup request without a rebalance. If the write failed, restore the old member ID."""
        rebalances, (sender, correlation) = self.rebalances, self.parked
        if error != errors.NONE:
            if self.new_id in group.members:
                group.replace_static_member(self.new_id, self.old_id).protocols = self.old_protocols
            rebalances.broker.node.reply(sender, JoinGroupResponse(correlation, error, ""))
            return
        member = group.members.get(self.new_id)
        if member is None:
            rebalances.broker.node.reply(sender, JoinGroupResponse(correlation, errors.UNKNOWN_MEMBER_ID, ""))
        elif rebalances.release.skips_assignment:
            leads = member.member_id == group.leader
            response = rebalances.join_response(group, member)
            rebalances.broker.node.reply(sender, response._replace(correlation=correlation, skip_assignment=leads))
        else:
            # The former leader's ID makes a returning leader behave as a follower.
            response = JoinGroupResponse(correlation, errors.NONE, self.new_id, group.generation, group.protocol, self.old_leader)
            rebalances.broker.node.reply(sender, response)


class StaticMembers:
    """Serves JoinGroup requests from returning static members."""

    __slots__ = ("broker", "rebalances")

    broker: Final[GroupCoordinatorContext]
    rebalances: Final[Rebalances]

    def __init__(self, rebalances: Rebalances) -> None:
        self.broker = rebalances.broker
        self.rebalances = rebalances

    def rejoin(self, cache: GroupCache, group: ClassicGroup, request: JoinGroupRequest, sender: str, new_id: str) -> None:
        """Give a static member's place to a new process, and fence the old process."""
        rebalances = self.rebalances
        old_id, old_leader = group.static_members[request.instance_id], group.leader
        member = group.members[old_id]
        old_protocols = member.protocols
        rebalances.answer_join(member, JoinGroupResponse(0, errors.FENCED_INSTANCE_ID, old_id))
        parked, member.sync = member.sync, None
        if parked is not None:
            self.broker.node.reply(parked.sender, SyncGroupResponse(parked.correlation, errors.FENCED_INSTANCE_ID, ()))
        group.replace_static_member(old_id, new_id)
        member.timer_due = NO_DEADLINE  # the timer names the old ID
        member.client, member.protocols = request.client, request.protocols
        member.session_timeout, member.rebalance_timeout = request.session_timeout, request.rebalance_timeout
        rebalances.deadlines.renew(cache, group, member)
        rebalances.emit(events.StaticMemberReplaced.kind, group.name, request.instance_id, old_id, new_id)
        if group.state is GroupState.STABLE and group.select_protocol() == group.protocol:
            replacement = Replacement(
                rebalances, Parked(sender, request.correlation), request.instance_id, old_id, new_id, old_protocols, old_leader
            )
            rebalances.write(cache, group, dict(group.assignments()), replacement)
            return
        member.join = Parked(sender, request.correlation)
        if group.state is GroupState.PREPARING_REBALANCE:
            rebalances.maybe_complete(cache, group)
        else:
            rebalances.prepare(cache, group, f"static member {request.instance_id} returned as {new_id}")
