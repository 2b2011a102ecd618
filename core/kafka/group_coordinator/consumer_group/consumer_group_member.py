"""A member of a group that uses the consumer protocol (Kafka: `ConsumerGroupMember`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from core.kafka.group_coordinator.classic_group.classic_group_messages import Protocols
from core.kafka.group_coordinator.consumer_group.member_state import MemberState
from core.kafka.ids import TopicPartition

LEAVE_GROUP_MEMBER_EPOCH: Final = -1
"""The member epoch of a member that is leaving its group."""

LEAVE_GROUP_STATIC_MEMBER_EPOCH: Final = -2
"""The member epoch of a static member that leaves temporarily. The member's partitions stay reserved until its session ends."""

Partitions = tuple[TopicPartition, ...]
"""Partitions in ascending order."""


def partitions(tps: Iterable[TopicPartition]) -> Partitions:
    """Return partitions in ascending order."""
    return tuple(sorted(tps))


class ClassicMemberMetadata(NamedTuple):
    """What a consumer group knows about a member that uses the classic protocol: its assignors with its subscriptions, and its session
    timeout, in µs."""

    session_timeout: int
    protocols: Protocols

    def names(self) -> tuple[str, ...]:
        """Return the names of the assignors that the member supports, in its order of preference."""
        return tuple(name for name, _ in self.protocols)


class ConsumerGroupMember(NamedTuple):
    """A member of a consumer group. Members are immutable: each step creates a new object.

    Attributes:
        member_id: the ID of the member.
        client: the client.id.
        topics: the topics that the member subscribes to, in ascending order.
        rebalance_timeout: the time within which the member must give up partitions (its max.poll.interval.ms), in µs.
        instance_id: the group.instance.id of a static member; empty for a dynamic member.
        rack: the client.rack; empty if the member has none.
        assignor: the server-side assignor that the member prefers; empty if it has no preference.
        epoch: the member epoch, which is the epoch of the last target assignment that the member has reached.
        previous_epoch: the member epoch before the current one.
        state: the state of the member's reconciliation.
        assigned: the partitions that the member has and keeps.
        pending_revocation: the partitions that the member must give up, which still count as owned.
        classic: what is known about a member that uses the classic protocol; None for other members.
    """

    member_id: str
    client: str = ""
    topics: tuple[str, ...] = ()
    rebalance_timeout: int = -1
    instance_id: str = ""
    rack: str = ""
    assignor: str = ""
    epoch: int = 0
    previous_epoch: int = -1
    state: MemberState = MemberState.STABLE
    assigned: Partitions = ()
    pending_revocation: Partitions = ()
    classic: ClassicMemberMetadata | None = None

    def with_epoch(self, epoch: int) -> ConsumerGroupMember:
        """Return a copy of the member with the given epoch. The member's current epoch becomes its previous epoch
        (`Builder#updateMemberEpoch`)."""
        return self._replace(epoch=epoch, previous_epoch=self.epoch)

    def is_reconciled_to(self, target_epoch: int) -> bool:
        """Return whether the member has reached a target assignment (`#isReconciledTo`)."""
        return self.state is MemberState.STABLE and self.epoch == target_epoch

    def owned(self) -> Partitions:
        """Return the partitions that no other member can take: those that the member keeps, and those that it has not given up yet."""
        return self.assigned + self.pending_revocation
