"""Bars of logs: how far each replica of a partition reaches, on a scale of that partition's own.

Offsets grow without end while gaps are a handful of records, so a bar does not start at offset 0: it shows the last
records up to the longest replica, on a window that is just large enough for the shortest one, in steps of 1, 2, 5 so
that it does not jump about. A gap of a single record always shows.
"""

from __future__ import annotations

from typing import Final

import attrs

from core.lab.views.view import PartitionView
from core.sim.repr_mixin import ReprMixin

LEAST_WINDOW: Final = 10
"""Records a bar spans at least."""


@attrs.frozen(repr=False)
class Window(ReprMixin):
    """The offsets a partition's bars span: `start` inclusive to `end` exclusive."""

    start: int
    end: int

    @staticmethod
    def of(partition: PartitionView) -> Window:
        """The window in which all gaps of the partition show."""
        end = max((copy.leo for copy in partition.copies), default=0)
        least = min((min(copy.leo, copy.hw) for copy in partition.copies), default=0)
        span = _nice(max(LEAST_WINDOW, (end - least) * 3 // 2))
        if span >= end:
            return Window(0, end)
        return Window(end - span, end)


def _nice(number: int) -> int:
    """The smallest 1, 2 or 5 times a power of ten that is not less."""
    power = 1
    while True:
        for step in (1, 2, 5):
            if step * power >= number:
                return step * power
        power *= 10


def bar(window: Window, hw: int, leo: int, width: int) -> tuple[int, int, int]:
    """Cells of a bar: committed, not yet committed, missing; they sum up to `width`.

    Args:
        window: the partition's.
        hw: the replica's own high watermark.
        leo: its log end offset.
        width: cells of the whole bar.
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
