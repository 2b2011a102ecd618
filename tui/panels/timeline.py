"""The timeline of the whole branch, from left to right, with a mark for every notable event. A click on a mark goes to the moment of that
mark.

If there is room, the timeline has several lanes: one for acts, faults, and bookmarks, one for ISR changes and fencing, one for elections,
and one for harm. The span of the timeline is always 1, 2, or 5 times a power of ten, so that marks seldom move while time advances.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

import attrs
from rich.style import Style
from textual import events
from textual.message import Message
from textual.strip import Strip

from core.lab.history.branch import Mark
from core.sim.repr_mixin import ReprMixin
from core.sim.units import SECOND, format_clock
from tui.panels.lines import Lines
from tui.rendering.palette import Palette
from tui.rendering.rows import Row, blank

KINDS_OF: Final[Mapping[str, str]] = {
    "records-lost": "loss",
    "records-diverged": "loss",
    "partition-offline": "error",
    "log-dir-failed": "error",
    "unflushed-lost": "error",
    "records-exposed": "error",
    "records-duplicated": "error",
    "append-refused": "error",
    "alter-partition-refused": "error",
    "controller-request-refused": "error",
    "no-majority": "error",
    "consumer-reset": "error",
    "truncated": "truncation",
    "log-restarted": "truncation",
    "uncommitted-dropped": "truncation",
    "leader-elected": "election",
    "controller-elected": "election",
    "isr-shrunk": "shrink",
    "isr-expanded": "expand",
    "act": "act",
    "broker-stopped": "fault",
    "broker-paused": "fault",
    "broker-fenced": "fenced",
    "broker-unregistered": "fenced",
    "session-expired": "fenced",
    "broker-left": "fenced",
    "controller-stopped": "fault",
    "controller-paused": "fault",
    "controller-resigned": "fault",
    "link-cut": "fault",
    "link-held": "fault",
    "disk-slowed": "fault",
}
"""The type of mark for each kind of event. Events of other kinds have no mark, because they accompany an event that has a mark."""

LOOKS: Final[Mapping[str, tuple[str, str]]] = {
    "bookmark": ("◆", "you"),
    "loss": ("✖", "bad"),
    "error": ("!", "bad"),
    "truncation": ("◄", "warn"),
    "election": ("★", "leader"),
    "shrink": ("▼", "warn"),
    "expand": ("▲", "good"),
    "fenced": ("○", "warn"),
    "fault": ("✕", "bad"),
    "act": ("▸", "you"),
}
"""The glyph and the style role of each type of mark, with the most important type first.

If a cell has several marks, the cell shows the most important one.
"""

WORDS: Final[Mapping[str, str]] = {
    "bookmark": "a bookmark", "loss": "records were lost, or logs diverged", "error": "records were exposed, refused, or duplicated, or a "
        "partition went offline",
    "truncation": "a log was truncated", "election": "a leader or controller was elected", "shrink": "an ISR shrank", "expand": "an ISR grew",
    "fenced": "a broker was fenced or unregistered", "fault": "a node stopped or paused, or a link was cut", "act": "an act",
}  # fmt: skip
"""The meaning of each type of mark, for the help screen."""

_RANK: Final = {sort: number for number, sort in enumerate(LOOKS)}

LANES: Final[Mapping[int, tuple[tuple[str, frozenset[str]], ...]]] = {
    1: (("", frozenset(LOOKS)),),
    2: (("done", frozenset({"bookmark", "fault", "act"})), ("came", frozenset(LOOKS) - {"bookmark", "fault", "act"})),
    4: (
        ("done", frozenset({"bookmark", "fault", "act"})),
        ("ISR", frozenset({"shrink", "expand", "fenced"})),
        ("leaders", frozenset({"election"})),
        ("harm", frozenset({"loss", "error", "truncation"})),
    ),
}
"""The lanes to show, by the number of lanes that fit. Each lane has a name and contains marks of certain types."""

LEAST_SPAN: Final[int] = 10 * SECOND

LEAST_EVENTS: Final = 20
"""The minimum span of an axis, in events."""


HEADED: Final = 3
"""The minimum number of lines at which the timeline has a headline. The headline describes the selected mark.

If the timeline has fewer lines, the footer describes the selected mark.
"""


def height_for(height: int) -> int:
    """Return the number of lines that the timeline has on a screen of a given height."""
    return 1 if height < 36 else 3 if height < 50 else 5


def span_for(end: int, by_events: bool = False) -> int:
    """Return the span of an axis that reaches to `end` or beyond, in µs or, if `by_events` is set, in events.

    The span is 1, 2, or 5 times a power of ten, in seconds or in events, and at least ten seconds or 20 events.
    """
    power: int = LEAST_EVENTS // 2 if by_events else LEAST_SPAN
    end = max(end, LEAST_EVENTS) if by_events else end
    while True:
        for step in (1, 2, 5):
            if step * power >= end:
                return step * power
        power *= 10


@attrs.define(repr=False)
class Buckets(ReprMixin):
    """The marks, grouped by cell. Each mark is added only once, but if the scale or the branch changes, all marks are added again.

    Attributes:
        cells, span: the number of cells, and the span of the axis in µs or in events.
        by_events: whether the axis counts events, because virtual time does not advance.
        sorts: for each cell, the latest mark of each type.
        used: the cells that contain marks.
    """

    cells: int = 0
    span: int = 0
    by_events: bool = False
    _source: Sequence[Mark] | None = None
    _taken: int = 0
    sorts: list[dict[str, Mark]] = attrs.field(factory=list)
    used: dict[int, None] = attrs.field(factory=dict)

    def take(self, marks: Sequence[Mark], cells: int, span: int, by_events: bool = False) -> None:
        """Add the new marks to their cells. If the scale or the branch has changed, add all marks again."""
        self.by_events = by_events
        if (cells, span) != (self.cells, self.span) or marks is not self._source or len(marks) < self._taken:
            self.cells, self.span, self._source, self._taken = cells, span, marks, 0
            self.sorts, self.used = [{} for _ in range(cells)], {}
        if cells <= 0:
            return
        for mark in marks[self._taken :]:
            sort = KINDS_OF.get(mark.kind)
            if sort is not None:
                cell = min(cells - 1, (mark.seq if by_events else mark.time) * cells // span)
                self.sorts[cell][sort] = mark
                self.used[cell] = None
        self._taken = len(marks)


def paint_timeline(
    buckets: Buckets,
    bookmarks: Sequence[tuple[int, str]],
    now: int,
    end: int,
    paint: Palette,
    size: tuple[int, int],
    *,
    focused: bool,
    told: str,
    chosen: Mark | None = None,
) -> list[Strip]:
    """Paint the timeline.

    Args:
        buckets: the marks, grouped by the cells of `axis_of(size)`.
        bookmarks: the position and note of each bookmark.
        now, end: the current position, and the end of the branch. All positions are in µs. If `buckets.by_events` is set, they are in
            events instead.
        paint, size, focused: the palette, the width and height of the timeline in cells, and whether the timeline has the keyboard focus.
        told: the description of the selected mark; empty if no mark is selected.
        chosen: the selected mark, or None if no mark is selected.
    """
    width, height = size
    left, cells = axis_of(size)
    span = buckets.span
    lanes = LANES[4 if height >= 5 else 2 if height >= HEADED else 1]
    at = min(cells - 1, now * cells // span) if cells > 0 else 0
    lived = min(cells - 1, end * cells // span) if cells > 0 else 0
    under = at
    if chosen is not None and cells > 0:
        under = min(cells - 1, (chosen.seq if buckets.by_events else chosen.time) * cells // span)
    noted = {min(cells - 1, time * cells // span) for time, _ in bookmarks} if cells > 0 else set()
    lines: list[Strip] = []
    if height >= HEADED:
        lines.append(_axis(span, cells, left, buckets.by_events, paint, width, focused, told))
    for name, sorts in lanes:
        here_is = f" #{now:,}" if buckets.by_events else f" {format_clock(now)}"
        row = Row().add(f" {name}".ljust(left) if height >= HEADED else here_is.ljust(left), paint.muted)
        marked = {cell for cell in buckets.used if cell < cells and not sorts.isdisjoint(buckets.sorts[cell])} | {at}
        if "bookmark" in sorts:
            marked |= noted
        begin = 0
        for cell in sorted(marked):
            _line(row, begin, cell, lived, paint)
            begin = cell + 1
            here = [sort for sort in buckets.sorts[cell] if sort in sorts] if cell < len(buckets.sorts) else []
            if cell in noted and "bookmark" in sorts:
                here.append("bookmark")
            if here:
                glyph, role = LOOKS[min(here, key=_RANK.__getitem__)]
                style: Style = getattr(paint, role) if cell <= at else paint.faint
            else:
                glyph, style = "│", paint.key
            if cell == under and focused and (chosen is None or KINDS_OF.get(chosen.kind) in here):
                style = style + paint.cursor
            row.add(glyph, style)
        _line(row, begin, cells, lived, paint)
        row.add((f" #{span:,}" if buckets.by_events else f" {format_clock(span)}") if height < HEADED else " ", paint.faint)
        lines.append(row.strip(width))
    while len(lines) < height:
        lines.append(blank(width))
    return lines[:height]


def _line(row: Row, begin: int, end: int, lived: int, paint: Palette) -> None:
    """Paint the part of the axis between two cells. The part of the axis up to the end of the branch is a solid line."""
    solid = max(0, min(end, lived + 1) - begin)
    row.add("─" * solid, paint.faint).add("·" * (end - begin - solid), paint.faint)


def axis_of(size: tuple[int, int]) -> tuple[int, int]:
    """Return the number of cells before the axis, and the number of cells of the axis."""
    width, height = size
    left = 10 if height >= HEADED else 11
    return left, max(1, width - left - (1 if height >= HEADED else 11))


@lru_cache(maxsize=8)
def _axis(span: int, cells: int, left: int, by_events: bool, paint: Palette, width: int, focused: bool, told: str) -> Strip:
    """Paint the headline, which contains the panel's name and either the times along the axis or the description of the selected mark."""
    row = Row().add(" Timeline".ljust(left), paint.title_focused if focused else paint.title)
    if told:
        return row.add(" " + told, paint.text).strip(width)
    marks = 10 if cells >= 150 else 5

    def said(at: int) -> str:
        return f"#{at:,}" if by_events else format_clock(at)[:-4]

    for number in range(marks):
        at = left + number * cells // marks
        row.pad(at).add(said(number * span // marks) + " ", paint.muted)
        stop = left + (number + 1) * cells // marks
        row.add("─" * max(0, stop - row.width - (0 if number < marks - 1 else 10)), paint.faint)
    return row.pad(width - 10).add(" " + said(span), paint.muted).strip(width)


class Timeline(Lines, can_focus=True):
    """The widget that shows the timeline.

    When the timeline has the focus, ← and → select a mark, and Enter goes to the moment of the mark. A click jumps to the mark or the time
    under the pointer.
    """

    class Wanted(Message):
        """The message that asks to go to an event (`seq`) or, if `seq` is -1, to a time in µs."""

        def __init__(self, time: int, seq: int = -1) -> None:
            super().__init__()
            self.at = time
            self.seq = seq

    def __init__(self, paint: Palette, *, id: str) -> None:
        super().__init__(paint, id=id)
        self.buckets = Buckets()
        self.marks: Sequence[Mark] = ()
        self.chosen: int | None = None
        self._end = 0
        self._painted: object = None
        self._sorts: object = None

    @property
    def mark(self) -> Mark | None:
        """The selected mark, or None."""
        return self.marks[self.chosen] if self.chosen is not None and self.chosen < len(self.marks) else None

    def move(self, by: int, now_seq: int) -> None:
        """Select the nearest mark before or after the selected mark. If no mark is selected, start from the current moment."""
        step = 1 if by > 0 else -1
        at = self.chosen
        if at is None:
            at = next((n for n in range(len(self.marks) - 1, -1, -1) if self.marks[n].seq <= now_seq), -1) + (1 if step < 0 else 0)
        at += step
        while 0 <= at < len(self.marks) and self.marks[at].kind not in KINDS_OF:
            at += step
        if 0 <= at < len(self.marks):
            self.chosen = at

    def update(
        self, marks: Sequence[Mark], bookmarks: Sequence[tuple[int, str]], now: int, end: int, told: str, *, by_events: bool = False
    ) -> None:
        """Show new marks, bookmarks, and positions. If `by_events` is set, all positions are event numbers, because virtual time does not
        advance."""
        size = (self.box.width, self.box.height)
        self.marks, self._end = marks, end
        if self.chosen is not None and (self.chosen >= len(marks) or not self.has_focus):
            self.chosen = None
        _, cells = axis_of(size)
        span = span_for(max(end, now), by_events)
        self.buckets.take(marks, cells, span, by_events)
        clock = "" if size[1] >= HEADED else str(now) if by_events else format_clock(now)
        scale = (now * cells // span, end * cells // span, self.buckets.span, len(marks), self.buckets.sorts is self._sorts)
        painted = (size, scale, tuple(bookmarks), clock, told, self.chosen, self.has_focus, id(self.paint))
        if painted == self._painted:
            return
        self._painted, self._sorts = painted, self.buckets.sorts
        self.show(paint_timeline(self.buckets, bookmarks, now, end, self.paint, size, focused=self.has_focus, told=told, chosen=self.mark))

    def on_click(self, event: events.Click) -> None:
        """Go to the mark under the mouse. If there is no mark, go to the time at the position of the mouse."""
        left, cells = axis_of((self.box.width, self.box.height))
        cell = event.x - left
        if not 0 <= cell < cells or not self.buckets.span:
            return
        here = self.buckets.sorts[cell] if cell < len(self.buckets.sorts) else {}
        lanes = LANES[4 if self.box.height >= 5 else 2 if self.box.height >= HEADED else 1]
        lane = event.y - 1 if self.box.height >= HEADED else 0
        wanted = lanes[lane][1] if 0 <= lane < len(lanes) else frozenset(LOOKS)
        sorts = [sort for sort in here if sort in wanted]
        if sorts:
            mark = here[min(sorts, key=_RANK.__getitem__)]
            self.post_message(self.Wanted(mark.time, mark.seq))
        else:
            place = min((2 * cell + 1) * self.buckets.span // (2 * cells), self._end)
            self.post_message(self.Wanted(0, max(1, place)) if self.buckets.by_events else self.Wanted(place))
