"""What the coordinator knows about a member of a classic group (Kafka: `ClassicGroupMember`)."""

from __future__ import annotations

from typing import Final, NamedTuple

from core.kafka.group_coordinator.classic_group.classic_group_messages import Partitions, Protocols, Subscription

NO_DEADLINE: Final = -1
"""The session deadline of a member that has no running timer."""


class Parked(NamedTuple):
    """A request that is waiting for its response: the address of the client, and the correlation ID."""

    sender: str
    correlation: int


class ClassicGroupMember:
    """A member of a classic group.

    Attributes:
        member_id: the member ID.
        instance_id: the group.instance.id; empty for a dynamic member.
        client: the client.id.
        session_timeout: session.timeout.ms, in µs.
        rebalance_timeout: the time within which the member must rejoin when the group rebalances, in µs.
        protocols: the assignors that the member supports, in its order of preference.
        assignment: the partitions that the member is assigned.
        join: the JoinGroup request that is waiting for its response; None if there is none.
        sync: the SyncGroup request that is waiting for its response; None if there is none.
        is_new: whether the member has not been in a generation yet.
        deadline: the time when the member's session ends unless the coordinator hears from the member, in µs; NO_DEADLINE if it does not
            end.
        timer_due: the time when the timer that checks the deadline is due, in µs; NO_DEADLINE if there is no timer.
    """

    __slots__ = (
        "assignment", "client", "deadline", "instance_id", "is_new", "join", "member_id", "protocols", "rebalance_timeout", "session_timeout",
        "sync", "timer_due",
    )  # fmt: skip

    instance_id: Final[str]

    def __init__(
        self, member_id: str, instance_id: str, client: str, session_timeout: int, rebalance_timeout: int, protocols: Protocols
    ) -> None:
        self.member_id = member_id
        self.instance_id = instance_id
        self.client = client
        self.session_timeout = session_timeout
        self.rebalance_timeout = rebalance_timeout
        self.protocols = protocols
        self.assignment: Partitions = ()
        self.join: Parked | None = None
        self.sync: Parked | None = None
        self.is_new = False
        self.deadline = NO_DEADLINE
        self.timer_due = NO_DEADLINE

    @property
    def is_static(self) -> bool:
        """Whether the member has a group.instance.id (KIP-345)."""
        return bool(self.instance_id)

    def supports(self, protocol: str) -> bool:
        """Return whether the member supports an assignor."""
        return any(name == protocol for name, _ in self.protocols)

    def subscription(self, protocol: str) -> Subscription:
        """Return the member's subscription for an assignor (`#metadata`)."""
        return next(each for name, each in self.protocols if name == protocol)

    def vote(self, candidates: frozenset[str]) -> str:
        """Return the candidate assignor that the member prefers (`#vote`)."""
        return next(name for name, _ in self.protocols if name in candidates)

    def has_satisfied_heartbeat(self, now: int) -> bool:
        """Return whether the member counts as alive when its session timer fires (`#hasSatisfiedHeartbeat`).

        A member that is waiting for a response counts as alive, except for a new member whose deadline has passed.
        """
        if not self.is_new and (self.join is not None or self.sync is not None):
            return True
        return now < self.deadline
