"""Bars of logs. They show how far each replica of a partition reaches, on a scale for that partition.

Offsets grow without limit, but gaps are only a few records. A bar therefore does not start at offset 0. It shows the last
records up to the end of the longest replica, in a window large enough for the shortest one. The window's size changes only
in steps of 1, 2, and 5 times a power of ten, so that the bar stays steady. Even a gap of a single record is visible.
"""

from __future__ import annotations

from typing import Final

import attrs

from core.lab.views.view import PartitionView
from core.sim.repr_mixin import ReprMixin

LEAST_WINDOW: Final = 10
"""The minimum number of records in a window that does not start at offset 0."""


@attrs.frozen(repr=False)
class Window(ReprMixin):
    """The offsets that the bars of a partition span, from `start` (inclusive) to `end` (exclusive)."""

    start: int
    end: int

    @staticmethod
    def of(partition: PartitionView) -> Window:
        """Return the window in which all gaps of a partition are visible."""
        end = max((replica.leo for replica in partition.replica_views), default=0)
        least = min((min(replica.leo, replica.hw) for replica in partition.replica_views), default=0)
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
    """Returns the number of cells for committed, uncommitted, and missing records. Their sum is `width`.

    Args:
        window: the window of the partition.
        hw: the replica's own high watermark.
        leo: the replica's log end offset.
        width: width of the whole bar, in cells.
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
