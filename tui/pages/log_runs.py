"""Paints the logs of a partition's replicas side by side, as runs of leader epochs. The lines show where the logs agree, where they
diverge, and where they lack records.

Only the end of each log is drawn, but enough of it to show the latest differences. Each run of records starts with its leader epoch.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import attrs
from rich.style import Style
from textual.strip import Strip

from core.lab.reports.partition_detail import PartitionDetail, ReplicaDetail
from core.lab.views.partition_view import ReplicaView
from tui.rendering.palette import Palette
from tui.rendering.rows import Row, clip
from tui.rendering.states import replica_marks

LABEL: Final = 8
"""The width, in cells, of the text to the left of each log. The text contains the replica's marks and its broker."""

COMMITTED: Final = "━"
"""The glyph for records below the replica's own high watermark."""
PENDING: Final = "╌"
"""The glyph for records between the replica's high watermark and its LEO."""
DIVERGED: Final = "≠"
"""The glyph for records that differ from the log of the latest elected leader."""
LOST: Final = "✖"
EXPOSED: Final = "◬"

MOST_CELLS: Final = 6
"""The maximum width of an offset, in terminal cells. If there are few records, every offset has this width."""


@attrs.frozen
class Scale:
    """A scale that maps the offsets [start, end) to cells."""

    start: int
    end: int
    cells: int

    def at(self, offset: int) -> int:
        """Return the index of the cell in which the given offset is drawn."""
        span = max(1, self.end - self.start)
        return max(0, min(self.cells, (offset - self.start) * self.cells // span))

    @staticmethod
    def of(detail: PartitionDetail, cells: int) -> Scale:
        """Return the scale for the end of the logs, which includes the latest differences and some records before them."""
        replica_views = detail.view.replica_views
        end = max(
            [0, *(replica.leo for replica in replica_views), *(end for _, _, end in detail.lost), *(end for _, end in detail.exposed)]
        )
        first = min((replica.log_start for replica in replica_views), default=0)
        told = [replica.leo for replica in replica_views if replica.leo] + [replica.hw for replica in replica_views if replica.hw]
        told += [run.start for each in detail.replicas for run in each.runs[-2:]]
        told += [start for each in detail.replicas for start, _ in each.diverged]
        told += [start for _, start, _ in detail.lost[-4:]] + [start for start, _ in detail.exposed[-4:]]
        low = min((offset for offset in told if offset > 0), default=first)
        start = max(first, low - max(4, (end - low) // 3))
        if end - first <= cells:
            start = first
        span = max(1, end - start)
        return Scale(start, max(end, start + 1), min(cells, span * MOST_CELLS))


def _styles(paint: Palette) -> tuple[Style, ...]:
    return (paint.committed, paint.good, paint.partition, paint.leader)


def paint_logs(detail: PartitionDetail, paint: Palette, width: int) -> list[Strip]:
    """Paint a line of offsets and a line for each replica. If records are exposed or lost, also paint a line for those records."""
    scale = Scale.of(detail, max(10, width - LABEL - 12))
    leader = next((replica for replica in detail.view.replica_views if replica.broker == detail.view.leader), None)
    lines = [_offsets(scale, None if leader is None else leader.hw, paint, width)]
    for each in detail.replicas:
        lines.append(_log(detail, each, detail.view.replica_on(each.broker), scale, paint, width))
    for word, glyph, style, ranges in (
        ("exposed", EXPOSED, paint.warn, detail.exposed),
        ("lost", LOST, paint.bad, tuple((start, end) for _, start, end in detail.lost)),
    ):
        if ranges:
            count = sum(end - start for start, end in ranges)
            cells = _marked(ranges, scale)
            row = Row().add(f" {word:<{LABEL - 1}}", style).add("".join(glyph if cell else " " for cell in cells), style)
            lines.append(row.add(f" {count:,}", style).strip(width))
    return lines


def _offsets(scale: Scale, high_watermark: int | None, paint: Palette, width: int) -> Strip:
    """Paint the offsets at both ends of the line, and the position of the leader's high watermark."""
    cells = [" "] * (scale.cells + 12)

    def put(at: int, text: str) -> None:
        if not any(cell != " " for cell in cells[max(0, at - 1) : at + len(text) + 1]):
            cells[at : at + len(text)] = text

    put(0, f"{scale.start:,}")
    put(scale.cells, f"{scale.end:,}")
    if high_watermark is not None and high_watermark >= scale.start:
        put(scale.at(high_watermark), f"▼HW {high_watermark:,}")
    return Row().add(" " * LABEL, paint.muted).add("".join(cells).rstrip(), paint.muted).strip(width)


def _log(detail: PartitionDetail, disk: ReplicaDetail, replica: ReplicaView, scale: Scale, paint: Palette, width: int) -> Strip:
    marks, style = replica_marks(detail.view, replica, paint)
    row = Row().add(f" {marks}", style).add(f"b{replica.broker}".ljust(LABEL - 3), paint.broker)
    glyphs = ["·"] * scale.cells
    styles = [paint.missing] * scale.cells
    palette = _styles(paint)
    for run in disk.runs:
        if run.end <= scale.start:
            continue
        begin, stop = scale.at(max(run.start, scale.start)), scale.at(run.end)
        if run.end == replica.leo and stop == begin and begin < scale.cells:
            stop = begin + 1
        committed = scale.at(replica.hw)
        for cell in range(begin, stop):
            glyphs[cell] = COMMITTED if cell < committed or replica.hw >= run.end else PENDING
            styles[cell] = palette[run.epoch % len(palette)] if replica.alive else paint.faint
        for cell, char in zip(range(begin, stop), str(run.epoch), strict=False):
            glyphs[cell] = char
            styles[cell] = paint.strong if replica.alive else paint.muted
    for cell, differs in enumerate(_marked(disk.diverged, scale)):
        if differs:
            glyphs[cell], styles[cell] = DIVERGED, paint.bad
    at = 0
    while at < scale.cells:
        stop = at
        while stop < scale.cells and styles[stop] is styles[at]:
            stop += 1
        row.add("".join(glyphs[at:stop]), styles[at])
        at = stop
    return row.add(clip(f" {replica.leo:,}", 12), paint.number if replica.alive else paint.muted).strip(width)


def _marked(ranges: Iterable[tuple[int, int]], scale: Scale) -> list[bool]:
    """For each cell, return whether the cell contains a part of at least one offset range."""
    cells = [False] * scale.cells
    for start, end in ranges:
        if end <= scale.start:
            continue
        first, last = scale.at(max(start, scale.start)), max(scale.at(max(start, scale.start)) + 1, scale.at(end))
        for cell in range(first, min(last, scale.cells)):
            cells[cell] = True
    return cells
