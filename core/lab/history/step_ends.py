"""Where the steps of a course end in its events: what tells of an event with which step it came.

Whoever goes back and forth comes by the same steps again and again: all moments of a course share one list, up to where they stand.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right


class StepEnds:
    """The seq of the last event of every step or act that recorded any, up to a moment."""

    __slots__ = ("_all", "_count")

    def __init__(self, seq: int = 0) -> None:
        """Begin; with the last event that was recorded before the first step, if there was any."""
        self._all = array("q", [seq] if seq else [])
        self._count = len(self._all)

    def __len__(self) -> int:
        return self._count

    def append(self, seq: int) -> None:
        """One more step ended there. Others that stand further on are not concerned, even if it ended elsewhere for them."""
        shared, count = self._all, self._count
        if count == len(shared):
            shared.append(seq)
        elif shared[count] != seq:
            self._all = shared[:count]
            self._all.append(seq)
        self._count = count + 1

    def first(self, count: int) -> StepEnds:
        """Those of so many steps."""
        other = StepEnds()
        other._all, other._count = self._all, count
        return other

    def upto(self, seq: int) -> StepEnds:
        """Those up to an event."""
        return self.first(bisect_right(self._all, seq, 0, self._count))

    def before(self, seq: int) -> int:
        """The last event of what happened just before the step that recorded that event; 0 when nothing did."""
        index = bisect_left(self._all, seq, 0, self._count)
        return self._all[index - 1] if index > 0 else 0

    @property
    def last(self) -> int:
        """The last event; 0 when there is none."""
        return self._all[self._count - 1] if self._count else 0
