"""The durability account: lost records, records that readers missed, committed records at risk, and the events that caused the harm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Final

import attrs
from textual.strip import Strip

from core.kafka.events import NOTABLE, EventTuple, RecordsExposed
from core.kafka.ids import TopicPartition
from core.lab.act_sentences import sentence
from core.lab.history.event_buffer import EventBuffer
from core.lab.reports.durability_report import DurabilityReport, ExposedRecords, LostRecords, MissedRecords
from core.lab.views.cluster_view import ClusterView
from core.sim.events import kind_of, seq_of
from tui.pages.page import Page
from tui.pages.standing import standing_lines
from tui.panels.cluster_totals import lost_words, sent
from tui.panels.inspector import paint_event_detail
from tui.rendering.palette import Palette
from tui.rendering.rows import Row, blank, rule, wrap
from tui.rendering.tables import Cell, Column, paint_table

MOST_LISTED: Final = 200
"""The maximum number of offset ranges that are listed in full."""


@attrs.frozen
class HarmEntry:
    """A line of the account: lost, missed, or exposed records, and the sequence number of the event that caused the harm, or 0 if the event
    is unknown.
    """

    harm: LostRecords | MissedRecords | ExposedRecords
    event: int


def entries_of(harm: DurabilityReport, exposed_by: Callable[[TopicPartition], int]) -> list[HarmEntry]:
    """Return all lines of the account: lost records, then missed records, and then exposed records. `exposed_by` returns the event that
    reported a partition's exposure."""
    return [
        *(HarmEntry(each, each.event) for each in harm.lost),
        *(HarmEntry(each, each.event) for each in harm.missed),
        *(HarmEntry(each, exposed_by(each.tp)) for each in harm.exposed),
    ]


def exposure_events(event_buffer: EventBuffer) -> dict[TopicPartition, int]:
    """For each partition, return the last event in memory that reported exposed records."""
    found: dict[TopicPartition, int] = {}
    ring = event_buffer.ring(NOTABLE)
    for index in range(ring.first, ring.total):
        event = ring.at(index)
        if kind_of(event) == RecordsExposed.kind:
            exposed = RecordsExposed(event)
            found[TopicPartition(exposed.topic, exposed.partition)] = seq_of(event)
    return found


def offset_ranges(ranges: Sequence[tuple[int, int]], most: int = MOST_LISTED) -> str:
    """Format offset ranges with both ends included, for example `3, 5–7, 9`.

    If there are more than `most` ranges, the rest are only counted.
    """
    told = ", ".join(f"{start:,}–{end - 1:,}" if end > start + 1 else f"{start:,}" for start, end in ranges[:most])
    left = ranges[most:]
    return told + (f" and {sum(end - start for start, end in left):,} more in {len(left):,} ranges" if left else "")


def _span(ranges: Sequence[tuple[int, int]]) -> str:
    """Format the ranges in full if there are at most two.

    If there are more than two ranges, return the number of ranges with the first and the last offset.
    """
    if len(ranges) <= 2:
        return offset_ranges(ranges)
    return f"{len(ranges):,} ranges in {ranges[0][0]:,}–{ranges[-1][1] - 1:,}"


def _totals(view: ClusterView, paint: Palette, width: int) -> Row:
    """Return a row with the numbers of sent, accepted, and acknowledged records, and a count for each type of harm.

    If the row is too wide, types of harm whose count is 0 are left out.
    """
    totals = [
        ("sent", f"{sent(view):,}", paint.number),
        ("accepted", f"{view.accepted:,}", paint.number),
        ("acked", f"{view.acked:,}", paint.number),
    ]
    harms = [
        ("lost", view.lost, lost_words(view), paint.bad),
        ("exposed", view.exposed, f"{view.exposed:,}", paint.warn),
        ("duplicated", view.duplicated, f"{view.duplicated:,}", paint.warn),
        ("diverged", view.diverged, f"{view.diverged:,}", paint.bad),
    ]
    readers = [
        ("skipped", view.skipped, f"{view.skipped:,}", paint.bad),
        ("unfinished", view.unfinished, f"{view.unfinished:,}", paint.bad),
        ("done twice", view.done_twice, f"{view.done_twice:,}", paint.warn),
    ]
    harms += [each for each in readers if each[1]]
    shown = [label for label, *_ in harms]
    while True:
        row = Row()
        for label, words, style in totals + [
            (label, words, style if n else paint.number) for label, n, words, style in harms if label in shown
        ]:
            row.add(f"{'  ' if row.width else ' '}{label} ", paint.muted).add(words, style)
        none = [label for label, n, *_ in harms if not n and label in shown]
        if row.width <= width or not none:
            return row
        shown.remove(none[-1])


def paint_durability(
    view: ClusterView,
    entries: list[HarmEntry],
    find: Callable[[int], EventTuple | None],
    paint: Palette,
    size: tuple[int, int],
    selected: int,
) -> list[Strip]:
    """Paint the durability account: totals, a line for each loss or exposure, and below them the cause of the selected line."""
    width, height = size
    lost = sum(e.harm.records for e in entries if isinstance(e.harm, LostRecords))
    exposed = sum(e.harm.records for e in entries if isinstance(e.harm, ExposedRecords))
    missed = sum(e.harm.records for e in entries if isinstance(e.harm, MissedRecords))
    also = f", {missed:,} missed by readers" if missed else ""
    note = f"{lost:,} lost{also}, {exposed:,} exposed" if entries else "nothing lost, nothing missed, nothing exposed"
    out = [rule("Durability account", note, width, paint.title_focused, paint.faint, paint.bad if entries else paint.good)]
    head = _totals(view, paint, width)
    out.append(head.strip(width))
    if not entries:
        words = (
            "Every record that was acknowledged or read is in the log of the current leader, every electable replica has "
            "all committed records, and no group, process, or service missed a record. To lose records, set acks=1 and kill the leader (press a, 1, k). Or force an unclean election: "
            "press u, kill every member of the ISR, and start an old replica."
        )
        for line in wrap(words, width - 2):
            out.append(Row().add(f" {line}", paint.text).strip(width))
        return [*out, *standing_lines(view, paint, width, height - len(out))]
    chosen = entries[selected]
    event = find(chosen.event) if chosen.event else None
    why = []
    if len(chosen.harm.ranges) > 2:
        whose = f"{chosen.harm.producer} in {chosen.harm.tp}" if isinstance(chosen.harm, LostRecords) else f"{chosen.harm.tp}"
        if isinstance(chosen.harm, MissedRecords):
            whose = f"{chosen.harm.tp}, missed by {chosen.harm.reader}"
        why.append(rule(f"Offsets of {whose}", f"{chosen.harm.records:,} records", width, paint.title, paint.faint, paint.muted))
        listed = wrap(offset_ranges(chosen.harm.ranges), width - 2)
        most = max(1, height // 5)
        if len(listed) > most:
            listed = [*listed[: most - 1], listed[most - 1][: width - 3] + "…"]
        why += [Row().add(f" {line}", paint.number).strip(width) for line in listed]
    why.append(rule("Cause", "⏎ shows the event", width, paint.title, paint.faint, paint.muted))
    if event is not None:
        why += paint_event_detail(event, find, paint, width)
    elif chosen.event:
        why.append(Row().add(f" event {chosen.event} is no longer in memory; to go back to it, press ⏎", paint.muted).strip(width))
    why = why[: max(4, height * 3 // 5)]
    rows = max(1, height - len(out) - len(why) - 1)
    top = max(0, min(selected - rows // 2, len(entries) - rows))
    columns = (
        Column(""), Column("partition"), Column("whose", rank=2), Column("offsets"), Column("records", right=True),
        Column("epoch", right=True, rank=3), Column("state", rank=1), Column("cause", rest=True, least=16),
    )  # fmt: skip
    table: list[list[Cell]] = []
    for entry in entries[top : top + rows]:
        harm = entry.harm
        behind = find(entry.event) if entry.event else None
        words = f"#{entry.event} " + (sentence(behind) if behind is not None else "")
        span = _span(harm.ranges)
        if isinstance(harm, LostRecords):
            table.append(
                [
                    ("✖", paint.bad), (str(harm.tp), paint.partition), (harm.producer, paint.broker), (span, paint.number),
                    (f"{harm.records:,}", paint.bad), (f"{harm.epoch}", paint.muted), (f"LOST, {harm.loss_kind}", paint.bad), (words, paint.muted),
                ]
            )  # fmt: skip
        elif isinstance(harm, MissedRecords):
            state = f"{harm.what}: {harm.why}" if harm.why else harm.what
            words = f"{harm.reader}, {words}"
            table.append(
                [
                    ("✖", paint.bad), (str(harm.tp), paint.partition), (harm.reader, paint.broker), (span, paint.number),
                    (f"{harm.records:,}", paint.bad), ("", paint.muted), (state, paint.bad), (words, paint.muted),
                ]
            )  # fmt: skip
        else:
            lacking = " ".join(f"b{broker}" for broker in harm.brokers)
            table.append(
                [
                    ("◬", paint.warn), (str(harm.tp), paint.partition), ("", paint.muted), (span, paint.number),
                    (f"{harm.records:,}", paint.warn), ("", paint.muted), (f"exposed by {lacking}", paint.warn), (words, paint.muted),
                ]
            )  # fmt: skip
    out += paint_table(columns, table, paint, width, selected=selected - top, marks=True)
    while len(out) < height - len(why):
        out.append(blank(width))
    return [*out, *why][:height]


class DurabilityPage(Page):
    """The page with the durability account. The keys ↑ and ↓ select a loss or an exposure, and Enter shows the event that caused it."""

    name: ClassVar[str] = "durability"
    wide: ClassVar[bool] = True

    _selected = 0
    _entries: list[HarmEntry] = []  # noqa: RUF012
    _known: tuple[object, ...] = ()

    def _gather(self) -> list[HarmEntry]:
        """Return the lines of the durability account. The lines are rebuilt only if a loss or an exposure might have changed."""
        screen = self.screen
        view = screen.view
        missed = (view.skipped, view.unfinished, sum(process.half_visible for process in view.processes))
        key = (screen.session.history.event_buffer, view.lost, missed, view.exposed, view.seq if view.exposed else 0)
        if key != self._known:
            events = exposure_events(screen.session.history.event_buffer) if view.exposed else {}
            self._known, self._entries = key, entries_of(screen.session.reports.durability_report(), lambda tp: events.get(tp, 0))
        self._selected = max(0, min(self._selected, len(self._entries) - 1))
        return self._entries

    def lines(self, width: int, height: int) -> list[Strip]:
        """Return the lines of the page."""
        entries = self._gather()
        return paint_durability(
            self.screen.view, entries, self.screen.session.history.event_buffer.find, self.paint, (width, height), self._selected
        )

    @property
    def event(self) -> EventTuple | None:
        """The event that caused the selected loss or exposure, if it is still in memory."""
        if not self._entries:
            return None
        seq = self._entries[self._selected].event
        return self.screen.session.history.event_buffer.find(seq) if seq else None

    def move(self, key: str) -> bool:
        """Select another loss or exposure, and its partition."""
        by = {"up": -1, "down": 1, "pageup": -8, "pagedown": 8, "home": -len(self._entries)}.get(key)
        if by is None:
            return False
        self._selected = max(0, min(len(self._entries) - 1, self._selected + by))
        if self._entries:
            self.screen.selection.choose(partition=self._entries[self._selected].harm.tp)
        return True

    def enter(self) -> bool:
        """Show the event that caused the selected loss or exposure in the event log.

        If the event is no longer in memory, travel back to the moment of the event.
        """
        if self._entries:
            seq = self._entries[self._selected].event
            if seq and self.screen.session.history.event_buffer.find(seq) is None:
                self.screen.go_to_event(seq)
            elif seq:
                self.screen.show_event(seq)
        return True
