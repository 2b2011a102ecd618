"""Finds the least loaded and the most loaded subscribers of a topic (`UniformHeterogeneousAssignmentBuilder.MemberAssignmentBalancer`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final


class MemberAssignmentBalancer:
    """Sorts subscribers by their number of partitions, and keeps two ranges of them: the least loaded and the most loaded subscribers.

    All members in the range of the least loaded members have the same number of partitions. When all of the least loaded members have
    received one more partition, the members that already had that many partitions join the range. When each of the most loaded members has
    given up one partition, the range of the most loaded members is extended in the same way.

    Attributes:
        imbalance: the initial difference in the number of partitions between the most loaded and the least loaded subscriber.
    """

    __slots__ = (
        "_least_count",
        "_least_end",
        "_members",
        "_most_count",
        "_most_end",
        "_most_start",
        "_next_least",
        "_next_most",
        "_sizes",
        "imbalance",
    )

    imbalance: Final[int]
    _members: Final[list[int]]
    _sizes: Final[Sequence[int]]

    def __init__(self, sizes: Sequence[int], members: Sequence[int]) -> None:
        """Start with the given members (`#initialize`).

        `sizes` contains the number of partitions of each member and changes when partitions move.
        """
        self._sizes = sizes
        self._members = sorted(members, key=lambda member: (sizes[member], member))
        least, most = sizes[self._members[0]], sizes[self._members[-1]]
        self.imbalance = most - least
        self._least_end = 0
        self._least_count = least - 1
        self._next_least = 0
        self._most_start = self._most_end = len(members)
        self._most_count = most + 1
        self._next_most = len(members) - 1

    def next_least_loaded_member(self) -> int:
        """Return the member that gets the next partition (`#nextLeastLoadedMember`)."""
        if self._next_least >= self._least_end:
            self._least_count += 1
            while self._least_end < len(self._members) and self._sizes[self._members[self._least_end]] == self._least_count:
                self._least_end += 1
            self._next_least = 0
        self._next_least += 1
        return self._members[self._next_least - 1]

    def next_most_loaded_member(self) -> int:
        """Return the member that gives up the next partition; -1 if no member can give one up (`#nextMostLoadedMember`)."""
        if self._next_most < self._most_start:
            if self._most_end <= self._most_start and self._most_start > 0:
                self._most_count = self._sizes[self._members[self._most_start - 1]]
            else:
                self._most_count -= 1
            while self._most_start > 0 and self._sizes[self._members[self._most_start - 1]] == self._most_count:
                self._most_start -= 1
            self._next_most = self._most_end - 1
        if self._next_most < 0:
            return -1
        self._next_most -= 1
        return self._members[self._next_most + 1]

    def exclude_most_loaded_member(self) -> None:
        """Exclude the last returned member from the range of the most loaded members (`#excludeMostLoadedMember`)."""
        last = self._most_end - 1
        members = self._members
        members[self._next_most + 1], members[last] = members[last], members[self._next_most + 1]
        self._most_end = last

    def is_balanced(self) -> bool:
        """Return whether the most loaded subscribers have at most one partition more than the least loaded subscribers (`#isBalanced`)."""
        return self._most_count - self._least_count <= 1
