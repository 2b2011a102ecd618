"""Lays out the map of all partitions: the largest cells with which all listed partitions fit."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from math import ceil
from typing import Final

import attrs

from core.sim.repr_mixin import ReprMixin

CHIP: Final = 22
"""The minimum width of a cell that shows the name of its partition, in cells of the terminal."""

NUMBERED: Final = 6
"""The width of a cell that shows the number of its partition."""

LABEL: Final = 20
"""The maximum width of the topic's name on the left."""


@attrs.frozen(repr=False)
class MapRow(ReprMixin):
    """A line of the map: the topic at its start, and its cells as ranges of indices of the listed places."""

    topic: str
    start: int
    stop: int


@attrs.frozen(repr=False)
class MapPlan(ReprMixin):
    """How the listed partitions are laid out.

    Attributes:
        rows: the lines.
        across: the maximum number of cells in a line.
        per_cell: the number of partitions in a cell.
        cell: the width of a cell, in cells of the terminal.
        label: the width of the topic's name on the left.
        named: whether each cell shows the name of its partition.
    """

    rows: tuple[MapRow, ...]
    across: int
    per_cell: int
    cell: int
    label: int
    named: bool

    def cells_of(self, row: MapRow) -> int:
        """Return the number of cells in a line."""
        return -(-(row.stop - row.start) // self.per_cell)

    def place(self, index: int) -> tuple[int, int]:
        """Return the line and the column of the cell that contains a listed partition."""
        line = max(0, next((number for number, row in enumerate(self.rows) if index < row.stop), len(self.rows) - 1))
        return line, max(0, index - self.rows[line].start) // self.per_cell if self.rows else 0

    def cell_at(self, line: int, column: int) -> tuple[int, int]:
        """Return the indices [start, stop) of the listed partitions in a cell. The nearest cell is taken if there is none."""
        row = self.rows[max(0, min(line, len(self.rows) - 1))]
        column = max(0, min(column, self.cells_of(row) - 1))
        start = row.start + column * self.per_cell
        return start, min(row.stop, start + self.per_cell)


def plan_map(groups: Sequence[tuple[str, int]], width: int, height: int) -> MapPlan:
    """Lay out partitions in the largest cells with which all of them fit.

    Args:
        groups: each topic with its number of listed partitions, in order.
        width, height: the size of the map, in cells of the terminal.
    """
    total = sum(count for _, count in groups)
    height = max(1, height)
    across = max(1, (width - 1) // CHIP)
    if total <= across * height:
        return MapPlan(_flow(groups, total, across, 1), across, 1, (width - 1) // across, 0, True)
    label = min(LABEL, max((len(topic) for topic, _ in groups), default=0)) + 3
    for cell in (NUMBERED, 2, 1):
        across = max(1, (width - label - 1) // cell)
        if len(groups) <= height and sum(-(-count // across) for _, count in groups) <= height:
            return MapPlan(_by_topic(groups, across, 1), across, 1, cell, label, False)
        if total <= across * height and cell < NUMBERED:
            return MapPlan(_flow(groups, total, across, 1), across, 1, cell, label, False)
    least = -(-total // (across * height))
    for per_cell in range(least, least * 2 + 1) if len(groups) <= height else ():
        if sum(ceil(ceil(count / per_cell) / across) for _, count in groups) <= height:
            return MapPlan(_by_topic(groups, across, per_cell), across, per_cell, 1, label, False)
    return MapPlan(_flow(groups, total, across, least), across, least, 1, label, False)


def _by_topic(groups: Sequence[tuple[str, int]], across: int, per_cell: int) -> tuple[MapRow, ...]:
    """Return lines in which each topic begins on a new line."""
    rows, at, each = [], 0, across * per_cell
    for topic, count in groups:
        rows += [MapRow(topic, start, min(start + each, at + count)) for start in range(at, at + count, each)]
        at += count
    return tuple(rows)


def _flow(groups: Sequence[tuple[str, int]], total: int, across: int, per_cell: int) -> tuple[MapRow, ...]:
    """Return lines in which a topic follows the topic before it on the same line."""
    ends, end = [], 0
    for _, count in groups:
        end += count
        ends.append(end)
    each = across * per_cell
    return tuple(MapRow(groups[bisect_left(ends, start + 1)][0], start, min(start + each, total)) for start in range(0, total, each))
