"""Sets of offsets, stored as sorted half-open intervals. The sets are exact, and the memory that they use depends only on the number of
gaps."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import Final

import attrs

Interval = tuple[int, int]
"""An interval of offsets [start, end)."""


@attrs.define(slots=True)
class OffsetSet:
    """A set of offsets."""

    starts: Final[list[int]] = attrs.field(factory=list)
    ends: Final[list[int]] = attrs.field(factory=list)

    @classmethod
    def of(cls, intervals: Iterable[Interval]) -> OffsetSet:
        """Return a set that contains the given intervals."""
        made = cls()
        for start, end in intervals:
            made.add(start, end)
        return made

    def __iter__(self) -> Iterator[Interval]:
        return iter(zip(self.starts, self.ends, strict=True))

    def __bool__(self) -> bool:
        return bool(self.starts)

    def count(self) -> int:
        """Return the number of offsets in this set."""
        return sum(self.ends) - sum(self.starts)

    def add(self, start: int, end: int) -> None:
        """Add the offsets [start, end)."""
        if start >= end:
            return
        if self.ends and start == self.ends[-1]:
            self.ends[-1] = end
            return
        first = bisect_left(self.ends, start)
        last = bisect_right(self.starts, end)
        if first < last:
            start = min(start, self.starts[first])
            end = max(end, self.ends[last - 1])
        self.starts[first:last] = [start]
        self.ends[first:last] = [end]

    def minus(self, other: OffsetSet) -> OffsetSet:
        """Return the offsets in this set that are not in the other set."""
        left = OffsetSet()
        for start, end in self:
            i = bisect_right(other.ends, start)
            while start < end and i < len(other.starts) and other.starts[i] < end:
                left.add(start, other.starts[i])
                start = max(start, other.ends[i])
                i += 1
            left.add(start, end)
        return left

    def common(self, other: OffsetSet) -> OffsetSet:
        """Return the offsets that are both in this set and in the other set."""
        return self.minus(self.minus(other))

    def count_within(self, start: int, end: int) -> int:
        """Return the number of offsets in [start, end) that this set contains."""
        starts, ends = self.starts, self.ends
        first, last = bisect_right(ends, start), bisect_left(starts, end)
        if first >= last:
            return 0
        total = sum(ends[first:last]) - sum(starts[first:last])
        return total - max(0, start - starts[first]) - max(0, ends[last - 1] - end)

    def within(self, start: int, end: int) -> OffsetSet:
        """Return the offsets in [start, end) that this set contains."""
        return OffsetSet.of((max(low, start), min(high, end)) for low, high in self if low < end and high > start)

    def union(self, other: OffsetSet) -> OffsetSet:
        """Return the offsets that are in at least one of the sets."""
        both = OffsetSet(list(self.starts), list(self.ends))
        for start, end in other:
            both.add(start, end)
        return both
