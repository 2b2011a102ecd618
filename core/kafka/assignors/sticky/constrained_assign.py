"""Sticky assignment for members that all subscribe to the same topics, in 2.6 to 2.8 (`AbstractStickyAssignor#constrainedAssign`, KAFKA-9987).

At first, each member keeps up to `max_quota` of its partitions. At the end of the assignment, a member that has kept `max_quota` partitions
might have to give up one of them to a member that has too few.
"""

from __future__ import annotations

from collections import deque

from core.kafka.assignors.sticky.owned_partitions import OwnedPartitions
from core.kafka.assignors.subscription import Assignment, Topics
from core.kafka.ids import TopicPartition


def constrained_assign(topics: Topics, owned: OwnedPartitions) -> tuple[Assignment, dict[TopicPartition, str]]:
    """Return the assignment, and the new owner of each partition that moves from one member to another."""
    every = [TopicPartition(topic, number) for topic in sorted(topics) for number in range(topics[topic].partitions)]
    min_quota, extra = divmod(len(every), len(owned.by_member))
    max_quota = min_quota + (extra > 0)
    transferring: dict[TopicPartition, str] = {}
    revoked = set(owned.doubly_claimed)
    assignment: Assignment = {}
    unfilled: list[str] = []
    at_maximum: deque[str] = deque()
    at_minimum: deque[str] = deque()
    for member, tps in owned.by_member.items():
        mine = [tp for tp in tps if tp not in owned.doubly_claimed]
        assignment[member] = mine[:max_quota]
        revoked.update(mine[max_quota:])
        if len(mine) < min_quota:
            unfilled.append(member)
        else:
            if len(assignment[member]) == min_quota:
                at_minimum.append(member)
            if len(assignment[member]) == max_quota:
                at_maximum.append(member)
    assigned = {tp for tps in assignment.values() for tp in tps}
    unassigned = deque(tp for tp in every if tp not in assigned)

    def assign_new_partition(tp: TopicPartition, member: str) -> None:
        assignment[member].append(tp)
        if tp in revoked:
            transferring[tp] = member

    unfilled.sort()
    while unfilled and unassigned:
        for member in list(unfilled):
            if not unassigned:
                break
            assign_new_partition(unassigned.popleft(), member)
            if len(assignment[member]) == min_quota:
                at_minimum.append(member)
                unfilled.remove(member)
    for member in unfilled:
        while len(assignment[member]) < min_quota:
            taken = assignment[at_maximum.popleft()].pop(0)
            assignment[member].append(taken)
            transferring[taken] = member
        at_minimum.append(member)
    for tp in unassigned:
        assign_new_partition(tp, at_minimum.popleft())
    return assignment, transferring
