"""Finds the least loaded subscriber of a topic for the sticky assignor (`GeneralAssignmentBuilder#sortedCurrentSubscriptions`)."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Set
from typing import Final


class LeastLoaded:
    """The members, ordered by their number of partitions and then by their IDs.

    Each topic has one heap per rack, which contains the members in that rack. When a member gets more partitions, its entries in the heaps
    are not updated until they reach the top. Therefore, each member in a heap always has an entry in which its number of partitions is
    correct or too low.

    Attributes:
        counts: the number of partitions of each participating member.
    """

    __slots__ = ("_heaps", "_racks", "_topics", "counts")

    counts: Final[dict[str, int]]
    _topics: Final[Mapping[str, list[str]]]
    _racks: Final[Mapping[str, str]]
    _heaps: Final[dict[str, dict[str, list[tuple[int, str]]]]]

    def __init__(self, topics: Mapping[str, list[str]], racks: Mapping[str, str]) -> None:
        self.counts = {}
        self._topics = topics
        self._racks = racks
        self._heaps = {}

    def has(self, member: str) -> bool:
        """Return whether a member takes part in the assignment."""
        return member in self.counts

    def put(self, member: str, count: int) -> None:
        """Set the number of partitions that a member has."""
        known = self.counts.get(member)
        self.counts[member] = count
        if known is not None and count >= known:
            return
        rack = self._racks[member]
        for topic in self._topics[member]:
            heapq.heappush(self._heaps.setdefault(topic, {}).setdefault(rack, []), (count, member))

    def remove(self, member: str) -> None:
        """Exclude a member from the rest of the assignment."""
        del self.counts[member]

    def first(self, topic: str, racks: Set[str] | None = None) -> str | None:
        """Return the least loaded subscriber of a topic; None if there is none.

        Args:
            topic: the topic that the member must subscribe to.
            racks: the racks to which to restrict the search, which also considers members that have no rack; None to consider all members.
        """
        best: tuple[int, str] | None = None
        for rack, heap in self._heaps.get(topic, {}).items():
            if racks is None or not rack or rack in racks:
                while heap:
                    entry, member = heap[0]
                    count = self.counts.get(member)
                    if count == entry:
                        break
                    if count is None or count < entry:
                        heapq.heappop(heap)
                    else:
                        heapq.heapreplace(heap, (count, member))
                if heap and (best is None or heap[0] < best):
                    best = heap[0]
        return None if best is None else best[1]
