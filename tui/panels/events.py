"""The event log panel: the time, kind, and reason of each event. The panel follows the newest event until the user moves the selection."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from rich.cells import cell_len
from rich.style import Style
from textual import events
from textual.message import Message
from textual.strip import Strip

from core.kafka.events import DETAIL, NORMAL, NOTABLE, EventTuple
from core.lab.act_sentences import sentence
from core.lab.history.event_buffer import LEVEL, EventRing
from core.sim.events import kind_of, seq_of, time_of
from core.sim.units import format_clock
from tui.panels.event_rows import AllRows, EventRows, FoldedRows, MatchingRows
from tui.panels.lines import Lines
from tui.rendering.palette import Palette
from tui.rendering.rows import LEAST_TEXT, Row, blank, clip, rule, wrap

LEVEL_NAMES: Final = {NOTABLE: "notable events", NORMAL: "without fetches", DETAIL: "every event"}
"""The names of the levels, in the order in which the filter key selects them."""

_GLYPHS: Final = {
    "act": ("▸", "you"),
    "setting-changed": ("▸", "you"),
    "feature-level-changed": ("▸", "you"),
    "clock-set": ("▸", "you"),
    "cluster-observed": ("◉", "muted"),
    "controller-candidate": ("?", "muted"),
    "controller-elected": ("★", "leader"),
    "controller-resigned": ("○", "warn"),
    "uncommitted-dropped": ("◄", "warn"),
    "no-majority": ("✕", "bad"),
    "controller-stopped": ("✕", "bad"),
    "controller-started": ("◌", "good"),
    "controller-paused": ("‖", "warn"),
    "controller-resumed": ("●", "good"),
    "broker-stopped": ("✕", "bad"),
    "unflushed-lost": ("✖", "bad"),
    "broker-started": ("◌", "good"),
    "broker-paused": ("‖", "warn"),
    "broker-resumed": ("●", "good"),
    "broker-registered": ("◌", "text"),
    "broker-unregistered": ("○", "bad"),
    "registration-refused": ("✕", "warn"),
    "broker-fenced": ("○", "bad"),
    "broker-unfenced": ("●", "good"),
    "groups-loaded": ("★", "text"),
    "groups-unloaded": ("○", "text"),
    "offset-committed": ("✓", "text"),
    "offset-pending": ("◇", "text"),
    "offset-materialized": ("✓", "good"),
    "offset-dropped": ("✕", "warn"),
    "group-refused": ("✕", "warn"),
    "member-id-given": ("◇", "muted"),
    "member-joined": ("●", "good"),
    "static-member-replaced": ("⇄", "warn"),
    "group-rebalancing": ("⇄", "warn"),
    "group-generation": ("◆", "good"),
    "group-stable": ("✓", "good"),
    "group-epoch": ("⇄", "text"),
    "group-converted": ("⇋", "warn"),
    "target-assigned": ("◆", "good"),
    "member-reconciled": ("◇", "text"),
    "group-state": ("◆", "text"),
    "group-emptied": ("○", "warn"),
    "member-removed": ("○", "bad"),
    "offset-expired": ("✕", "warn"),
    "group-deleted": ("✕", "warn"),
    "offset-removed": ("✕", "warn"),
    "group-administered": ("⚙", "text"),
    "member-started": ("▷", "good"),
    "member-ended": ("✕", "warn"),
    "poll-failed": ("✕", "bad"),
    "member-frozen": ("‖", "warn"),
    "member-thawed": ("▷", "good"),
    "coordinator-found": ("◇", "muted"),
    "coordinator-lost": ("◇", "warn"),
    "rejoin-needed": ("◄", "muted"),
    "partitions-assigned": ("▲", "good"),
    "partitions-revoked": ("▼", "warn"),
    "partitions-lost": ("▼", "bad"),
    "poll-interval-exceeded": ("✕", "bad"),
    "commit-failed": ("✕", "warn"),
    "position-set": ("▪", "muted"),
    "records-processed": ("▪", "muted"),
    "processed-again": ("✖", "bad"),
    "records-skipped": ("✖", "bad"),
    "records-out-of-order": ("≈", "warn"),
    "processed-out-of-order": ("≈", "warn"),
    "records-left-out": ("=", "muted"),
    "process-started": ("▷", "good"),
    "process-step": ("▪", "muted"),
    "process-rewound": ("◄", "warn"),
    "process-ended": ("✕", "warn"),
    "processed-twice": ("✖", "bad"),
    "never-processed": ("✖", "bad"),
    "half-visible": ("✖", "bad"),
    "service-started": ("▷", "good"),
    "service-ended": ("✕", "warn"),
    "service-rewound": ("◄", "warn"),
    "records-held": ("▪", "muted"),
    "service-paused": ("▪", "muted"),
    "service-resumed": ("▪", "muted"),
    "delayed-forwarded": ("▪", "good"),
    "records-tried": ("▪", "muted"),
    "dead-lettered": ("†", "warn"),
    "succeeded-twice": ("✖", "bad"),
    "retry-dropped": ("✖", "bad"),
    "session-expired": ("○", "bad"),
    "broker-joined": ("●", "good"),
    "broker-left": ("○", "bad"),
    "controller-request-refused": ("✕", "warn"),
    "leader-and-isr-ignored": ("✕", "muted"),
    "leader-unavailable": ("✕", "muted"),
    "fetcher-awaited": ("‖", "muted"),
    "isr-changes-published": ("◇", "text"),
    "isr-shrink-by-count": ("▽", "warn"),
    "shutdown-begun": ("◌", "warn"),
    "logs-recovered": ("◌", "text"),
    "log-checkpoint": ("▪", "muted"),
    "log-flushed": ("▪", "muted"),
    "segments-deleted": ("◄", "text"),
    "log-cleaned": ("▽", "text"),
    "log-start": ("◄", "text"),
    "delete-records-refused": ("✕", "warn"),
    "log-restarted": ("◄", "bad"),
    "log-dir-failed": ("✖", "bad"),
    "directories-offline": ("○", "bad"),
    "offline-replica-found": ("○", "bad"),
    "offline-replica-dropped": ("◌", "text"),
    "offset-deleted": ("✕", "warn"),
    "replica-deleted": ("✕", "text"),
    "replicas-offline": ("○", "bad"),
    "log-dir-repaired": ("◌", "good"),
    "replica-move-begun": ("→", "text"),
    "replica-moved": ("→", "good"),
    "disk-slowed": ("‖", "warn"),
    "disk-behind": ("‖", "muted"),
    "link-cut": ("✕", "bad"),
    "link-healed": ("↔", "good"),
    "link-changed": ("↔", "warn"),
    "link-proxied": ("↔", "warn"),
    "link-held": ("‖", "warn"),
    "link-released": ("↔", "good"),
    "topic-created": ("◇", "text"),
    "partitions-created": ("◇", "text"),
    "topic-deleted": ("✕", "warn"),
    "topic-deletion-delayed": ("◌", "warn"),
    "topic-refused": ("✕", "warn"),
    "partition-changed": ("◇", "text"),
    "leader-elected": ("★", "leader"),
    "partition-offline": ("✖", "bad"),
    "election-refused": ("✕", "warn"),
    "alter-partition-refused": ("✕", "warn"),
    "became-leader": ("☆", "text"),
    "became-follower": ("·", "text"),
    "append": ("+", "text"),
    "append-refused": ("✕", "bad"),
    "follower-fetched": ("←", "muted"),
    "follower-append": ("+", "muted"),
    "fetcher-lags": ("≤", "muted"),
    "follower-high-watermark": ("↑", "muted"),
    "high-watermark": ("↑", "committed"),
    "epoch-answered": ("◂", "text"),
    "truncated": ("◄", "bad"),
    "fetch-failed": ("✕", "warn"),
    "fetcher-disconnected": ("✕", "muted"),
    "isr-shrink-proposed": ("▽", "warn"),
    "isr-expand-proposed": ("△", "text"),
    "isr-shrunk": ("▼", "warn"),
    "isr-expanded": ("▲", "good"),
    "isr-change-failed": ("✕", "warn"),
    "produce-acked": ("✓", "good"),
    "produce-failed": ("✕", "warn"),
    "produce-waiting": ("…", "warn"),
    "produce-given-up": ("✕", "bad"),
    "batch-completed": ("▪", "muted"),
    "producer-blocked": ("‖", "bad"),
    "send-timed-out": ("✕", "bad"),
    "consumed": ("→", "muted"),
    "read-replica": ("→", "text"),
    "consumer-reset": ("◄", "warn"),
    "client-rebootstrapped": ("↺", "warn"),
    "consumer-truncated": ("◄", "warn"),
    "records-lost": ("✖", "alarm"),
    "producer-id-given": ("▪", "muted"),
    "duplicate-dropped": ("=", "good"),
    "producer-epoch-bumped": ("↻", "warn"),
    "records-exposed": ("◬", "warn"),
    "records-safe": ("✓", "good"),
    "lost-records-seen": ("✖", "bad"),
    "records-recovered": ("✓", "good"),
    "records-diverged": ("≠", "alarm"),
    "records-duplicated": ("≠", "warn"),
    "checkpoint": ("■", "muted"),
    "coordinator-loaded": ("☆", "text"),
    "coordinator-unloaded": ("◌", "muted"),
    "transaction-begun": ("▷", "text"),
    "transaction-call-timed-out": ("✕", "bad"),
    "transaction-state": ("◆", "leader"),
    "transaction-ended": ("✓", "good"),
    "transaction-refused": ("✕", "warn"),
    "transaction-timed-out": ("✖", "warn"),
    "marker-appended": ("■", "committed"),
    "marker-refused": ("✕", "warn"),
    "marker-skipped": ("✖", "bad"),
    "last-stable-offset": ("↑", "committed"),
    "verification-failed": ("✕", "warn"),
    "producer-state": ("!", "warn"),
    "aborted-skipped": ("=", "muted"),
}

CLOCK: Final = len(format_clock(0))
"""The width of a time in cells."""

MOST_LINES: Final = 4
"""The maximum number of lines of an event. Enter shows an event in full, however long it is."""

LOW: Final = 8
"""The height of the log below which only the selected event, or the newest one, takes more than one line."""

_WORDS: Final = re.compile(
    r"(?P<broker>\bb\d+\b)|(?P<partition>\b[A-Za-z][\w.-]*-\d+\b)|(?P<loss>\b(?:LOST|DIVERGED)\b)"
    r"|(?P<setting>\b[a-z]+(?:\.[a-z]+){2,}\b)|(?P<number>\b\d[\d,.]*\b)"
)


def glyph_of(kind: str) -> tuple[str, str]:
    """Return the glyph and the style role of an event kind."""
    return _GLYPHS.get(kind, ("·", "text"))


def colored(text: str, paint: Palette, base: Style) -> list[tuple[str, Style]]:
    """Split a sentence into styled parts, with brokers, partitions, settings, and numbers highlighted."""
    styles = {"broker": paint.broker, "partition": paint.partition, "loss": paint.alarm, "setting": paint.text, "number": paint.number}
    parts: list[tuple[str, Style]] = []
    at = 0
    for match in _WORDS.finditer(text):
        parts.append((text[at : match.start()], base))
        parts.append((match[0], styles[match.lastgroup or "number"]))
        at = match.end()
    parts.append((text[at:], base))
    return [part for part in parts if part[0]]


@lru_cache(maxsize=2_048)
def paint_event(
    event: EventTuple,
    paint: Palette,
    width: int,
    selected: bool,
    focused: bool,
    folded: str = "",
    opened: bool = False,
    inside: bool = False,
    repeats: bool = False,
    most: int = 1,
) -> tuple[Strip, ...]:
    """Paint the time, the glyph, and the sentence of an event.

    Args:
        event, paint, width: the event, the palette, and the width of a line in cells.
        selected, focused: whether the event is selected, and whether the panel has the focus.
        folded: the text that replaces the sentence, if consequences are folded into the line.
        opened: whether the folded consequences are listed below the line.
        inside: whether the line is below an opened line.
        repeats: whether the event above has the same time. Then, the event's number stands in place of the time, so that the order is clear.
        most: the maximum number of lines. The sentence continues on the next line, and is cut only at the end of the last one.
    """
    glyph, role = glyph_of(kind_of(event))
    style: Style = getattr(paint, role)
    level = LEVEL[kind_of(event)]
    base = paint.text if level >= NOTABLE else paint.muted
    if kind_of(event) == "act":
        base = paint.you
    row = (
        Row()
        .add("►" if selected else " ", paint.key)
        .add(f"{f'#{seq_of(event)}':>{CLOCK}}" if repeats else format_clock(time_of(event)), paint.faint if repeats else paint.muted)
        .add("  └ " if inside else " ", paint.faint)
        .add(glyph, style)
        .add(" ", base)
    )
    if folded:
        folded = clip(folded, width - row.width - 2)
    under = (paint.cursor if focused else paint.row) if selected else None
    indent, said = row.width, folded or sentence(event)
    parts = [said]
    if most > 1 and not folded and indent + cell_len(said) > width and width - indent >= LEAST_TEXT:
        parts = wrap(said, width - indent)
        parts = [*parts[: most - 1], " ".join(parts[most - 1 :])] if len(parts) > most else parts
    strips = []
    for number, part in enumerate(parts):
        row = row if number == 0 else Row().pad(indent)
        row.join(colored(part, paint, base))
        if folded:
            row.add(" ▾" if opened else " ▸", paint.key)
        strips.append(row.strip(width, under))
    return tuple(strips)


class EventLog(Lines, can_focus=True):
    """The widget that shows the event log.

    Attributes:
        cursor: the index of the selected line of `rows`; None while the log follows the newest event.
        words: the words of the filter; empty for no filter.
    """

    class Picked(Message):
        """The message that is sent when the user moves the selection. `event` is None if the log follows the newest event again."""

        def __init__(self, event: EventTuple | None) -> None:
            super().__init__()
            self.event = event

    def __init__(self, paint: Palette, ring: EventRing, *, id: str) -> None:
        super().__init__(paint, id=id)
        self.level = NOTABLE
        self.ring = ring
        self.words = ""
        self.cursor: int | None = None
        self.kill_key, self.search_key, self.back_key, self.level_key = "k", "/", "Esc", "f"
        self.rows: EventRows = self._listing()
        self._top = 0
        self._lines_of: list[int] = []
        """The index of the event on each line below the headline."""
        self._moved = 0
        self._painted: object = None

    def _listing(self) -> EventRows:
        """Return the lines for the current event buffer, level, and filter. Several lines are folded into one only if the level is that of
        notable events and there is no filter."""
        if self.words:
            return MatchingRows(self.ring, self.words)
        return FoldedRows(self.ring) if self.level == NOTABLE else AllRows(self.ring)

    @property
    def selected(self) -> EventTuple | None:
        """The selected event, or None while the log follows the newest event."""
        at = self._line
        return None if at is None else self.rows.at(at)[0]

    @property
    def _line(self) -> int | None:
        """The index of the selected line, or None."""
        rows = self.rows
        if self.cursor is None or rows.total <= rows.first:
            return None
        return max(rows.first, min(self.cursor, rows.total - 1))

    def _update_rows(self) -> None:
        """Add lines for new events. The event that was selected remains selected."""
        chosen, inside = self.selected, self._line is not None and self.rows.at(self._line)[2]
        if self.rows.update():
            self._moved += 1
            if chosen is not None and (inside or self.selected is not chosen):
                self.cursor = self.rows.index_of(seq_of(chosen))

    def use(self, ring: EventRing, level: int) -> None:
        """Show the events of another event buffer. If the new buffer contains the selected event, that event remains selected."""
        self._list(ring, level, self.words)

    def filter_by(self, words: str) -> None:
        """List only events that contain all words. If `words` is empty, list all events."""
        self._list(self.ring, self.level, words)

    def _list(self, ring: EventRing, level: int, words: str) -> None:
        chosen = self.selected
        self.ring, self.level, self.words = ring, level, words
        self.rows = self._listing()
        self.rows.update()
        if chosen is not None:
            self.cursor = self.rows.index_of(seq_of(chosen))

    def move(self, by: int) -> None:
        """Move the selection. If the selection moves past the newest event, follow the newest event again."""
        self._update_rows()
        rows = self.rows
        if rows.total <= rows.first:
            return
        at = rows.total if self.cursor is None else max(rows.first, self.cursor)
        at += by
        self.cursor = None if at >= rows.total else max(rows.first, at)
        self.post_message(self.Picked(self.selected))

    def go_to(self, seq: int) -> bool:
        """Select the event with the given sequence number. Return False if the event is not listed."""
        self._update_rows()
        index = self.rows.index_of(seq)
        if index is None:
            return False
        self._moved += 1
        self.cursor = index
        self.post_message(self.Picked(self.selected))
        return True

    def toggle(self) -> bool:
        """Open or close the selected line. Return False if nothing is folded into the line."""
        at = self._line
        if at is None or not self.rows.toggle(at):
            return False
        self._moved += 1
        return True

    def follow(self) -> None:
        """Follow the newest event again."""
        self.cursor = None
        self.post_message(self.Picked(None))

    def update(self, note: str = "") -> None:
        """Show the events that have been added to the event buffer."""
        width, height = self.box
        lines_for = max(0, height - 1)
        self._update_rows()
        rows = self.rows
        first, total = rows.first, rows.total
        if self.cursor is not None:
            self.cursor = max(first, min(self.cursor, total - 1))
        focused = self.has_focus
        paint = self.paint
        # The total of the ring is also compared, because a new event can be folded into an existing line.
        painted = (
            rows,
            self._moved,
            self.ring.total,
            first,
            total,
            self._top,
            self.cursor,
            width,
            height,
            focused,
            paint,
            note,
            self.level,
        )
        if painted == self._painted:
            return
        self._painted = painted
        right = note or f"{LEVEL_NAMES[self.level]} · {'following' if self.cursor is None else f'{total - 1 - self.cursor:,} later'}"
        title = f"Events {total:,} of {self.ring.total:,} with '{self.words}'" if self.words else f"Events {self.ring.total:,}"
        lines = [rule(title, right, width, paint.title_focused if focused else paint.title, paint.faint, paint.muted)]
        lines += self._window(width, lines_for)
        if total <= first and lines_for:
            style = paint.warn if self.words else paint.muted
            lines += [Row().add(f" {line}", style).strip(width) for line in wrap(self._nothing(), width - 2)]
        while len(lines) < height:
            lines.append(blank(width))
        self.show(lines[:height])

    def _window(self, width: int, height: int) -> list[Strip]:
        """Return the lines of the events in sight, and remember which event each line belongs to.

        While the log follows the newest event, that event is at the bottom. Otherwise, the selected event is in sight with all its lines.
        """
        rows, paint, focused = self.rows, self.paint, self.has_focus
        first, total = rows.first, rows.total
        self._lines_of = []
        if total <= first:
            return []
        chosen = total - 1 if self.cursor is None else self.cursor

        def painted(index: int, top: bool = False, too_many: int = 0) -> tuple[Strip, ...]:
            event, group, inside = rows.at(index)
            folded, opened = ("", False) if group is None else (group.words, group.opened)
            most = MOST_LINES if height >= LOW else min(MOST_LINES, max(1, height - 1)) if index == chosen else 1
            repeats = not top and index > first and time_of(rows.at(index - 1)[0]) == time_of(event)
            most = len(painted(index, top)) - too_many if too_many else most
            return paint_event(event, paint, width, index == self.cursor, focused, folded, opened, inside, repeats, most)

        top, left = chosen + 1, height
        known: dict[int, tuple[Strip, ...]] = {}
        while top > first and left > 0:
            top -= 1
            known[top] = strips = painted(top)
            left -= len(strips)
        too_many = max(0, -left)
        if self.cursor is not None:
            top, too_many = min(max(top + (left < 0), self._top), chosen), 0
        self._top = top
        shown: list[Strip] = []
        for index in range(top, total):
            if len(shown) >= height:
                break
            # The first event ends with an ellipsis if the following events leave too few lines for it.
            strips = painted(index, True, too_many) if index == top else known.get(index) or painted(index)
            shown += strips
            self._lines_of += [index] * len(strips)
        return shown[:height]

    def _nothing(self) -> str:
        """Return the reason why no event is listed."""
        if self.ring.total:
            ways = f"To change the filter, press {self.search_key}. To clear it, press {self.back_key}."
            more = "" if self.level == DETAIL else f" To search more kinds of events, press {self.level_key}."
            return f"No event matches '{self.words}'. {ways}{more}"
        return f"Nothing has happened yet. To see what follows a failure, press {self.kill_key} to kill a broker."

    def on_click(self, event: events.Click) -> None:
        """Select the event under the mouse. A click on a selected line with folded events opens or closes the line."""
        if 1 <= event.y <= len(self._lines_of):
            index = self._lines_of[event.y - 1]
            if index == self.cursor and self.toggle():
                self.update()
            self.cursor = index
            self.post_message(self.Picked(self.selected))

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Move the selection up by three lines."""
        self.move(-3)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Move the selection down by three lines."""
        self.move(3)
