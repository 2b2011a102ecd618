"""The members and the state of one classic group (Kafka: `ClassicGroup`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from core.kafka import errors
from core.kafka.group_coordinator.classic_group.classic_group_member import ClassicGroupMember
from core.kafka.group_coordinator.classic_group.classic_group_messages import JoinedMember, Partitions
from core.kafka.group_coordinator.classic_group.group_state import VALID_PREVIOUS_STATES, GroupState
from core.kafka.group_coordinator.group_requests import NO_GENERATION, GroupMembership


class ClassicGroup:
    """The members and the state of a group. If the clients assign their partitions themselves, the group has no members and stays Empty.

    Attributes:
        name: the group ID.
        state: the current state.
        previous_state: the state before the current one.
        state_timestamp: the time when the group entered its current state, in µs.
        protocol_type: `consumer`, or empty if the group never had a member.
        generation: the number of the generation; 0 before the first generation.
        protocol: the name of the chosen assignor; empty if there is none.
        leader: the member ID of the leader; empty if there is none.
        members: the members by their IDs, in the order in which they joined.
        static_members: the member ID of each group.instance.id.
        pending_members: the member IDs of clients that have received an ID but have not joined with it yet.
        pending_syncs: the members in the current generation that have not sent SyncGroup yet.
        in_initial_delay: whether the group, which was empty before, is waiting for more members to join (group.initial.rebalance.delay.ms).
        new_member_added: whether a member has joined since the initial delay was last checked.
        next_id: the number of the next member ID.
        phase: the number of the group's last delayed operation. A timer that was set for an earlier operation of the group has no effect.
    """

    __slots__ = (
        "generation", "in_initial_delay", "leader", "members", "name", "new_member_added", "next_id", "pending_members", "pending_syncs", "phase",
        "previous_state", "protocol", "protocol_type", "state", "state_timestamp", "static_members",
    )  # fmt: skip

    name: Final[str]
    members: Final[dict[str, ClassicGroupMember]]
    static_members: Final[dict[str, str]]
    pending_members: Final[dict[str, None]]
    pending_syncs: Final[dict[str, None]]

    def __init__(self, name: str) -> None:
        self.name = name
        self.state = GroupState.EMPTY
        self.previous_state = GroupState.EMPTY
        self.state_timestamp = 0
        self.protocol_type = ""
        self.generation = 0
        self.protocol = ""
        self.leader = ""
        self.members = {}
        self.static_members = {}
        self.pending_members = {}
        self.pending_syncs = {}
        self.in_initial_delay = False
        self.new_member_added = False
        self.next_id = 1
        self.phase = 0

    # --- state -----------------------------------------------------------------------------------------------------

    def can_transition_to(self, state: GroupState) -> bool:
        """Return whether the group can enter a state (`#assertValidTransition`)."""
        return self.state in VALID_PREVIOUS_STATES[state]

    def transition_to(self, state: GroupState, now: int) -> None:
        """Enter a new state.

        Raises:
            ValueError: the transition is not possible.
        """
        if not self.can_transition_to(state):
            raise ValueError(f"Group {self.name} should be in one of the previous states of {state.value}, but it is {self.state.value}")
        self.previous_state, self.state, self.state_timestamp = self.state, state, now

    @property
    def can_rebalance(self) -> bool:
        """Return whether a rebalance can begin (`#canRebalance`)."""
        return self.can_transition_to(GroupState.PREPARING_REBALANCE)

    def rebalance_timeout(self) -> int:
        """Return how long the group waits for its members during a rebalance, in µs (`#rebalanceTimeoutMs`)."""
        return max((member.rebalance_timeout for member in self.members.values()), default=0)

    # --- members ---------------------------------------------------------------------------------------------------

    def add(self, member: ClassicGroupMember) -> None:
        """Add a member. The first member becomes the leader (`#add`)."""
        if not self.members:
            self.protocol_type = "consumer"
        if not self.leader:
            self.leader = member.member_id
        self.members[member.member_id] = member
        self.pending_members.pop(member.member_id, None)
        if member.is_static:
            self.static_members[member.instance_id] = member.member_id

    def remove(self, member_id: str) -> None:
        """Remove a member or a pending member. If the member is the leader, another member becomes the leader (`#remove`)."""
        member = self.members.pop(member_id, None)
        self.pending_members.pop(member_id, None)
        self.pending_syncs.pop(member_id, None)
        if member is not None and self.static_members.get(member.instance_id) == member_id:
            del self.static_members[member.instance_id]
        if self.leader == member_id:
            self.leader = next(iter(self.members), "")

    def replace_static_member(self, old_id: str, new_id: str) -> ClassicGroupMember:
        """Give a static member a new member ID (`#replaceStaticMember`)."""
        member = self.members.pop(old_id)
        member.member_id = new_id
        self.members[new_id] = member
        self.static_members[member.instance_id] = new_id
        if old_id in self.pending_syncs:
            del self.pending_syncs[old_id]
        if self.leader == old_id:
            self.leader = new_id
        return member

    def awaiting_join(self) -> Iterator[ClassicGroupMember]:
        """Yield the members whose JoinGroup request is waiting for a response."""
        return (member for member in self.members.values() if member.join is not None)

    def has_all_members_joined(self) -> bool:
        """Return whether all members have joined, including the clients that have received a new member ID (`#hasAllMembersJoined`)."""
        return not self.pending_members and all(member.join is not None for member in self.members.values())

    def accepts(self, member_id: str, most: int) -> bool:
        """Return whether the group is small enough for a client to join (`#acceptJoiningMember`)."""
        member = self.members.get(member_id)
        if self.state in (GroupState.EMPTY, GroupState.DEAD):
            return True
        if self.state is GroupState.PREPARING_REBALANCE:
            return (member is not None and member.join is not None) or sum(1 for _ in self.awaiting_join()) < most
        return member is not None or len(self.members) < most

    def elect_joined_leader(self) -> bool:
        """If the leader has not joined, elect a member that has joined. Return False if no member has joined
        (`#maybeElectNewJoinedLeader`)."""
        leader = self.members.get(self.leader)
        if leader is not None and leader.join is not None:
            return True
        joined = next((member.member_id for member in self.awaiting_join()), "")
        if joined:
            self.leader = joined
        return bool(joined)

    # --- the choice of the assignor --------------------------------------------------------------------------------

    def candidates(self) -> frozenset[str]:
        """Return the assignors that all members support (`#candidateProtocols`)."""
        known = [frozenset(name for name, _ in member.protocols) for member in self.members.values()]
        return frozenset.intersection(*known) if known else frozenset()

    def supports_protocols(self, names: frozenset[str]) -> bool:
        """Return whether a client supports an assignor that all members support (`#supportsProtocols`)."""
        if not names:
            return False
        return not self.members or self.state is GroupState.EMPTY or not names.isdisjoint(self.candidates())

    def select_protocol(self) -> str:
        """Return the assignor with the most votes. Kafka does not define which assignor wins a tie; in isrlab, the first assignor wins
        (`#selectProtocol`).

        Raises:
            ValueError: the group has no members.
        """
        if not self.members:
            raise ValueError("Cannot select protocol for empty group")
        candidates = self.candidates()
        votes: dict[str, int] = {}
        for member in self.members.values():
            choice = member.vote(candidates)
            votes[choice] = votes.get(choice, 0) + 1
        return max(votes, key=lambda name: votes[name])

    def init_next_generation(self, now: int) -> None:
        """Begin the next generation, which consists of the members that have joined (`#initNextGeneration`)."""
        self.generation += 1
        self.pending_syncs.clear()
        if self.members:
            self.protocol = self.select_protocol()
            self.transition_to(GroupState.COMPLETING_REBALANCE, now)
        else:
            self.protocol = ""
            self.transition_to(GroupState.EMPTY, now)

    def joined_members(self) -> tuple[JoinedMember, ...]:
        """Return the members as the leader receives them (`#currentClassicGroupMembers`)."""
        return tuple(
            JoinedMember(member.member_id, member.instance_id, member.subscription(self.protocol)) for member in self.members.values()
        )

    def assignments(self) -> tuple[tuple[str, Partitions], ...]:
        """Return the partitions of each member."""
        return tuple((member.member_id, member.assignment) for member in self.members.values())

    def subscribed_topics(self) -> frozenset[str] | None:
        """Return the topics that members subscribe to; None if the members are not known to be consumers (`#subscribedTopics`)."""
        if self.protocol_type != "consumer" or (self.members and not self.protocol):
            return None
        return frozenset(topic for member in self.members.values() for topic in member.subscription(self.protocol).topics)

    # --- checks of requests ----------------------------------------------------------------------------------------

    def member_error(self, member_id: str, instance_id: str) -> str:
        """Return the error for a member ID, or NONE (`#validateMember`)."""
        if instance_id:
            known = self.static_members.get(instance_id)
            if known is None:
                return errors.UNKNOWN_MEMBER_ID
            return errors.NONE if known == member_id else errors.FENCED_INSTANCE_ID
        return errors.NONE if member_id in self.members else errors.UNKNOWN_MEMBER_ID

    def commit_error(self, membership: GroupMembership, *, transactional: bool) -> str:
        """Check a request to commit offsets, and return the error, or NONE (`#validateOffsetCommit`)."""
        if self.state is GroupState.DEAD:
            return errors.COORDINATOR_NOT_AVAILABLE
        member_id, generation, instance_id = membership
        if generation == NO_GENERATION and self.state is GroupState.EMPTY:
            return errors.NONE
        if generation != NO_GENERATION or member_id or instance_id:
            if (error := self.member_error(member_id, instance_id)) != errors.NONE:
                return error
            if generation != self.generation:
                return errors.ILLEGAL_GENERATION
        elif self.state is not GroupState.EMPTY and not transactional:
            return errors.UNKNOWN_MEMBER_ID
        if self.state is GroupState.COMPLETING_REBALANCE and not transactional:
            return errors.REBALANCE_IN_PROGRESS
        return errors.NONE
