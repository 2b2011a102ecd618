"""The messages of a partition as a swim-lane diagram.

The diagram has a column for each node, and an arrow from each cause to its effect.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar, Final

from rich.cells import cell_len
from rich.style import Style
from textual.strip import Strip

from core.kafka.events import DETAIL, NORMAL, NOTABLE, EventTuple
from core.kafka.ids import CONTROLLER, broker_address
from core.lab.history.event_buffer import LEVEL
from core.sim.events import first_cause, kind_of, seq_of, time_of
from core.sim.units import format_clock
from tui.analysis.message_lanes import CLIENTS, Lane, LaneStep
from tui.pages.page import Page
from tui.panels.events import glyph_of
from tui.panels.inspector import paint_event_detail
from tui.rendering.canvas import CanvasLine
from tui.rendering.palette import Palette
from tui.rendering.rows import Row, blank, clip, rule
from tui.rendering.states import replica_marks

TIME: Final = 11
"""The width, in cells, of the time on the left, including the cursor's mark."""

PAUSE: Final = 500_000
"""If at least this much time, in µs, passes between two events, a separate line shows the length of the pause."""

_SEPARATOR: Final = re.compile(r"(?<=\d),(?=\d)")

LEVELS: Final = (DETAIL, NORMAL, NOTABLE)
_NAMES: Final = {DETAIL: "with fetches", NORMAL: "without fetches", NOTABLE: "notable only"}


def columns_of(brokers: Sequence[int]) -> list[str]:
    """Return the names of the columns: the clients, the brokers of the replicas, and the controller."""
    return [CLIENTS, *(broker_address(broker) for broker in sorted(brokers)), CONTROLLER]


def centres(count: int, width: int) -> list[int]:
    """Return the position of the vertical line of each column, in cells."""
    each = max(4, (width - TIME) // count)
    return [TIME + number * each + (each // 2 if number == 0 else each // 2 - 1) for number in range(count)]


def paint_lane(
    steps: Sequence[LaneStep], columns: Sequence[str], before: int, paint: Palette, width: int, *,
    cursor: int = -1, chain: frozenset[int] = frozenset(), dead: frozenset[str] = frozenset(),
) -> list[tuple[Strip, int]]:  # fmt: skip
    """Return a line for each step, with the index of the step, and for each long pause, with the index -1.

    Args:
        steps: the steps to draw.
        columns: the nodes, one for each column.
        before: the virtual time in µs of the step before the first step; -1 if there is no earlier step.
        paint, width: the palette, and the width of the diagram in cells.
        cursor: the index of the selected step.
        chain: the sequence numbers of the events that led to the selected event.
        dead: the nodes that have no running process at the first step.
    """
    at = dict(zip(columns, centres(len(columns), width), strict=True))
    gone = set(dead)
    lines: list[tuple[Strip, int]] = []
    for number, step in enumerate(steps):
        time = time_of(step.event)
        if before >= 0 and time - before >= PAUSE:
            canvas = _lifelines(at, gone, paint, width)
            canvas.put(1, clip(f"… {(time - before) / 1_000_000:.1f} s", TIME - 2), paint.faint)
            lines.append((canvas.strip(width, None), -1))
        lines.append((_line(step, at, gone, time != before, paint, width, number == cursor, seq_of(step.event) in chain), number))
        before = time
        if kind_of(step.event) == "broker-stopped":
            gone.add(step.node)
        elif kind_of(step.event) == "broker-started":
            gone.discard(step.node)
    return lines


def _lifelines(at: dict[str, int], gone: set[str], paint: Palette, width: int) -> CanvasLine:
    canvas = CanvasLine(width, paint.text)
    for node, cell in at.items():
        canvas.put(cell, "·" if node in gone else "│", paint.faint)
    return canvas


def _line(
    step: LaneStep, at: dict[str, int], gone: set[str], new_time: bool, paint: Palette, width: int, chosen: bool, cause: bool
) -> Strip:
    canvas = _lifelines(at, gone, paint, width)
    event = step.event
    glyph, role = glyph_of(kind_of(event))
    style: Style = getattr(paint, role)
    words = paint.strong if LEVEL[kind_of(event)] >= NOTABLE else paint.text
    if kind_of(event) == "act":
        words = paint.you
    canvas.put(0, "►" if chosen else "◂" if cause else " ", paint.key)
    if new_time or chosen:
        canvas.put(1, format_clock(time_of(event))[-9:], paint.muted)
    here = at.get(step.node, -1)
    if here < 0:
        canvas.put(TIME, f" {glyph} ", style)
        canvas.put(TIME + 3, clip(step.label, width - TIME - 3), words)
        return canvas.strip(width, paint.cursor if chosen else None)
    source = at.get(step.source, -1)
    if source >= 0:
        _arrow(canvas, source, here, step.label, style, words, paint)
        return canvas.strip(width, paint.cursor if chosen else None)
    canvas.put(here, glyph, style)
    label, room = step.label, width - here - 3
    if cell_len(label) <= room:
        canvas.put(here + 1, f" {label} ", words)
    else:
        label = clip(label, here - TIME - 2)
        canvas.put(here - len(label) - 2, f" {label} ", words)
    return canvas.strip(width, paint.cursor if chosen else None)


def squeezed(label: str, room: int) -> str:
    """Return a label that fits into a number of cells. Numbers lose their separators, and `fetch` stands for itself as an arrow to the leader,
    before a number is cut.
    """
    shorter = _SEPARATOR.sub("", label)
    return next((text for text in (label, shorter, shorter.removeprefix("fetch ")) if cell_len(text) <= room), clip(shorter, room))


def _arrow(canvas: CanvasLine, source: int, here: int, label: str, style: Style, words: Style, paint: Palette) -> None:
    """Draw an arrow from one column to another, with its label in the middle."""
    low, high = min(source, here), max(source, here)
    for cell in range(low, high + 1):
        canvas.put(cell, "┼" if canvas.cells[cell] == "│" else "─", paint.muted)
    canvas.put(source, "├" if source < here else "┤", paint.muted)
    canvas.put(here, "▶" if source < here else "◄", style)
    room = high - low - 3
    if room >= 3:
        text = squeezed(label, room)
        text = f" {text} " if cell_len(text) + 4 <= room else text
        start = low + 1 + (high - low - 1 - cell_len(text)) // 2
        canvas.put(start, text, words)


class MessagesPage(Page):
    """The page with the messages. The keys ↑ and ↓ select an event, f switches the level of events, and G follows the newest event."""

    name: ClassVar[str] = "lane"

    _lane: Lane | None = None
    _level = DETAIL
    _cursor: EventTuple | None = None
    _first = 0
    _shown: tuple[int, ...] = ()

    def _update(self) -> Lane | None:
        tp = self.screen.selection.partition
        view = next((p for p in self.screen.view.partitions if p.tp == tp), None)
        if tp is None or view is None:
            return None
        brokers = frozenset(view.replicas)
        lane = self._lane
        if lane is None or lane.tp != tp or lane.brokers != brokers or lane.level != self._level:
            lane = self._lane = Lane(tp, brokers, self._level)
        lane.update(self.screen.session.history.event_buffer)
        return lane

    def lines(self, width: int, height: int) -> list[Strip]:
        """Return the lines of the page."""
        paint, lane = self.paint, self._update()
        if lane is None:
            return [Row().add(" There are no partitions.", paint.muted).strip(width)]
        steps = list(lane.steps)
        cursor = self._place(steps)
        chosen = steps[cursor].event if steps and self._cursor is not None else steps[-1].event if steps else None
        why = (
            [] if height < 12 or chosen is None else paint_event_detail(chosen, self.screen.session.history.event_buffer.find, paint, width)
        )
        below = min(len(why) + 1, 7 if height < 30 else 14, height // 3) if why else 0
        rows = height - 2 - below
        note = f"{_NAMES[self._level]} · " + ("following" if self._cursor is None else f"{len(steps) - 1 - cursor} later")
        columns = columns_of(sorted(lane.brokers))
        lines = [
            rule(f"Messages of {lane.tp}", note, width, paint.title_focused, paint.faint, paint.muted),
            _head(columns, self._marks(lane), paint, width),
        ]
        lines += self._body(steps, columns, cursor, rows, width)
        while len(lines) < height - below:
            lines.append(blank(width))
        if below and chosen is not None:
            lines.append(rule("Why", "< goes to its cause" if first_cause(chosen) else "", width, paint.title, paint.faint, paint.muted))
            lines += why[: below - 1]
        return lines

    def _marks(self, lane: Lane) -> dict[str, str]:
        view = self.screen.view
        p = view.partition(lane.tp)
        return {broker_address(c.broker): replica_marks(p, c, self.paint)[0].strip()[0] for c in p.replica_views}

    def _place(self, steps: list[LaneStep]) -> int:
        """Return the index of the selected step, or of the last step while the page follows the newest event."""
        if self._cursor is not None:
            seq = seq_of(self._cursor)
            found = next((n for n in range(len(steps) - 1, -1, -1) if seq_of(steps[n].event) <= seq), -1)
            if found >= 0:
                return found
            self._cursor = None
        return len(steps) - 1

    def _body(self, steps: list[LaneStep], columns: list[str], cursor: int, rows: int, width: int) -> list[Strip]:
        if not steps or rows <= 0:
            return [Row().add(" Nothing has happened yet.", self.paint.muted).strip(width)] if rows > 0 else []
        if self._cursor is None:
            first = max(0, len(steps) - rows)
        else:
            first = max(0, min(max(self._first, cursor - rows * 3 // 4), cursor - rows // 4, len(steps) - rows))
        self._first = first
        drawn = steps[first : first + rows]
        painted = paint_lane(
            drawn,
            columns,
            time_of(steps[first - 1].event) if first else -1,
            self.paint,
            width,
            cursor=cursor - first if self._cursor is not None else -1,
            chain=self._chain(),
            dead=_dead(steps[:first]),
        )
        last = next((n for n, (_, index) in enumerate(painted) if index == cursor - first), len(painted) - 1)
        start = len(painted) - rows if self._cursor is None else last - rows + 1
        painted = painted[max(0, start) :][:rows]
        self._shown = tuple(-1 if index < 0 else seq_of(drawn[index].event) for _, index in painted)
        return [line for line, _ in painted]

    def _chain(self) -> frozenset[int]:
        """Return the sequence numbers of the events that led to the selected event."""
        found: list[int] = []
        event, find = self._cursor, self.screen.session.history.event_buffer.find
        while event is not None and (cause := first_cause(event)) and len(found) < 20:
            found.append(cause)
            event = find(cause)
        return frozenset(found)

    @property
    def event(self) -> EventTuple | None:
        """The selected event, or None while the page follows the newest event."""
        return self._cursor

    def select(self, seq: int) -> bool:
        """Select an event if the diagram contains it. If only the most detailed level contains the event, switch to that level."""
        for level in dict.fromkeys((self._level, DETAIL)):
            self._level = level
            lane = self._update()
            found = None if lane is None else next((step.event for step in reversed(lane.steps) if seq_of(step.event) == seq), None)
            if found is not None:
                self._cursor = found
                return True
        return False

    def move(self, key: str) -> bool:
        """Select another event. Moving down from the last event makes the page follow the newest event again."""
        lane = self._update()
        if key in ("left", "right") or lane is None:
            return False
        steps = list(lane.steps)
        page = max(1, len(self._shown) - 2)
        at = len(steps) if self._cursor is None else self._place(steps)
        at += {"up": -1, "down": 1, "pageup": -page, "pagedown": page, "home": -len(steps)}[key]
        self._cursor = None if at >= len(steps) else steps[max(0, at)].event if steps else None
        return True

    def filter(self) -> bool:
        """Switch to the next level: with fetches, without fetches, or only notable events."""
        self._level = LEVELS[(LEVELS.index(self._level) + 1) % len(LEVELS)]
        return True

    def follow(self) -> bool:
        """Follow the newest event again."""
        self._cursor = None
        return True

    def enter(self) -> bool:
        """Go to the moment of the selected event."""
        if self._cursor is not None:
            self.screen.go_to_event(seq_of(self._cursor))
        return True

    def click(self, x: int, y: int, meta: dict[str, object]) -> None:
        """Select the event of the clicked line."""
        if 2 <= y < 2 + len(self._shown) and self._shown[y - 2] >= 0:
            self.select(self._shown[y - 2])


def _dead(steps: Sequence[LaneStep]) -> frozenset[str]:
    """Return the brokers that have no process after the given steps."""
    gone = set()
    for step in steps:
        if kind_of(step.event) == "broker-stopped":
            gone.add(step.node)
        elif kind_of(step.event) == "broker-started":
            gone.discard(step.node)
    return frozenset(gone)


def _head(columns: Sequence[str], marks: dict[str, str], paint: Palette, width: int) -> Strip:
    canvas = CanvasLine(width, paint.text)
    canvas.put(1, "time", paint.muted)
    for name, cell in zip(columns, centres(len(columns), width), strict=True):
        text = f"{marks[name]} {name}" if name in marks else name
        canvas.put(max(TIME, min(cell - len(text) // 2, width - len(text))), text, paint.leader if "★" in text else paint.broker)
    return canvas.strip(width, None)
