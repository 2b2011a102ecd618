"""Determines a member's next step toward its target assignment (Kafka: `CurrentAssignmentBuilder`).

A member first gives up the partitions that are not in its target assignment, and then takes those partitions in the assignment that no
other member owns. Therefore, a partition never has two owners, although the group does not rebalance as a whole.
"""

from __future__ import annotations

from collections.abc import Callable

from core.kafka.group_coordinator.consumer_group.consumer_group_member import ConsumerGroupMember, Partitions, partitions
from core.kafka.group_coordinator.consumer_group.member_state import MemberState
from core.kafka.ids import TopicPartition


def next_assignment(
    member: ConsumerGroupMember,
    target_epoch: int,
    target: Partitions,
    current_partition_epoch: Callable[[TopicPartition], int],
    owned: Partitions | None,
) -> ConsumerGroupMember:
    """Return the member after its next step (`#build`).

    Args:
        member: the member before its next step.
        target_epoch: the epoch of the target assignment.
        target: the partitions in the member's target assignment.
        current_partition_epoch: a function that returns the epoch of a partition's owner; -1 if the partition has no owner.
        owned: the partitions that the member reports as its own; None if the member reports nothing.
    """
    if member.state is MemberState.STABLE:
        if member.epoch == target_epoch:
            return member
        return _compute_next_assignment(member, member.epoch, target_epoch, target, current_partition_epoch, owned)
    if member.state is MemberState.UNREVOKED_PARTITIONS:
        if _owns_revoked_partitions(member.pending_revocation, owned):
            return member
        return _compute_next_assignment(member, member.epoch + 1, target_epoch, target, current_partition_epoch, owned)
    return _compute_next_assignment(member, member.epoch, target_epoch, target, current_partition_epoch, owned)


def _owns_revoked_partitions(revoked: Partitions, owned: Partitions | None) -> bool:
    """Return whether a member has not yet reported that it gave up the revoked partitions (`#ownsRevokedPartitions`)."""
    return owned is None or not frozenset(revoked).isdisjoint(owned)


def _compute_next_assignment(
    member: ConsumerGroupMember,
    epoch: int,
    target_epoch: int,
    target: Partitions,
    current_partition_epoch: Callable[[TopicPartition], int],
    owned: Partitions | None,
) -> ConsumerGroupMember:
    """Return the member with its next epoch, state, and partitions (`#computeNextAssignment`)."""
    wanted, had = frozenset(target), frozenset(member.assigned)
    kept = tuple(tp for tp in member.assigned if tp in wanted)
    revoked = tuple(tp for tp in member.assigned if tp not in wanted)
    if revoked and _owns_revoked_partitions(revoked, owned):
        unrevoked = member.with_epoch(epoch)
        return unrevoked._replace(state=MemberState.UNREVOKED_PARTITIONS, assigned=kept, pending_revocation=revoked)
    missing = [tp for tp in target if tp not in had]
    free = [tp for tp in missing if current_partition_epoch(tp) == -1]
    state = MemberState.STABLE if len(free) == len(missing) else MemberState.UNRELEASED_PARTITIONS
    return member.with_epoch(target_epoch)._replace(state=state, assigned=partitions((*kept, *free)), pending_revocation=())
