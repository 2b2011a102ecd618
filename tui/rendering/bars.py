"""Bars that show how far the log of each replica extends. All bars of a partition have the same scale.

Offsets grow without limit, but replicas are usually only a few records apart. A bar therefore does not start at offset 0. A bar shows a
window that ends at the end of the longest log and is large enough to show how far the shortest log is behind. The size of the window is
always 1, 2, or 5 times a power of ten, so that the bar seldom jumps. Even a gap of a single record is visible.
"""

from __future__ import annotations

from typing import Final

import attrs

from core.lab.views.partition_view import PartitionView
from core.sim.repr_mixin import ReprMixin

LEAST_WINDOW: Final = 10
"""The minimum number of records in a window that does not start at offset 0."""


@attrs.frozen(repr=False)
class Window(ReprMixin):
    """The range of offsets that the bars of a partition show, from `start` (inclusive) to `end` (exclusive)."""

    start: int
    end: int

    @staticmethod
    def of(partition: PartitionView) -> Window:
        """Return the window in which all gaps of a partition are visible."""
        end = max((replica.leo for replica in partition.replica_views), default=0)
        least = min((min(replica.leo, replica.hw) for replica in partition.replica_views), default=0)
        if partition.held_back_at is not None:
            least = min(least, partition.held_back_at)
        span = _nice(max(LEAST_WINDOW, (end - least) * 3 // 2))
        if span >= end:
            return Window(0, end)
        return Window(end - span, end)


def _nice(number: int) -> int:
    """Return the smallest number of the form 1, 2, or 5 times a power of ten that is not less than `number`."""
    power = 1
    while True:
        for step in (1, 2, 5):
            if step * power >= number:
                return step * power
        power *= 10


def bar(window: Window, hw: int, leo: int, width: int) -> tuple[int, int, int]:
    """Return the numbers of cells for committed, uncommitted, and missing records. The sum of the three numbers is `width`.

    Args:
        window: the range of offsets that the bars of the partition show.
        hw: the replica's own high watermark.
        leo: the replica's log end offset.
        width: the width of the whole bar, in cells.
    """
    span = window.end - window.start
    if span <= 0 or width <= 0:
        return 0, 0, max(0, width)
    hw = min(hw, leo)
    end = width if leo >= window.end else min(width - 1, max(0, leo - window.start) * width // span)
    if leo > window.start and end == 0 and width > 1:
        end = 1
    committed = end if hw >= leo else min(end - 1, max(0, hw - window.start) * width // span)
    committed = max(0, committed)
    return committed, end - committed, width - end


def held_back_cells(window: Window, held_back_at: int, hw: int, committed: int, width: int) -> int:
    """Return the number of cells for committed records above the last stable offset. If there are records above the last stable offset and
    the bar has a cell for committed records, the number is at least 1.

    Args:
        window: the range of offsets that the bars of the partition show.
        held_back_at: the last stable offset.
        hw: the leader's high watermark.
        committed: the number of cells for committed records.
        width: the width of the whole bar, in cells.
    """
    span = window.end - window.start
    if span <= 0 or held_back_at >= hw:
        return 0
    stable = max(0, held_back_at - window.start) * width // span
    return min(committed, max(1, committed - stable))
