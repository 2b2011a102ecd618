"""Paints runs side by side, with a column for each: their settings, what clients felt, and a line for each partition. Differences are marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs
from rich.style import Style
from textual.strip import Strip

from core.kafka.events import KINDS
from core.lab.act_sentences import sentence
from core.lab.history.parallel_run import FirstDifference
from core.lab.views.cluster_view import ClusterView
from core.lab.views.partition_view import PartitionView
from core.sim.events import kind_of, seq_of, time_of, values_of
from core.sim.units import format_clock
from scenarios.running.client_summary import Felt, felt_rows
from tui.analysis.partition_list import in_order
from tui.panels.cluster_totals import lost_words
from tui.panels.events import colored
from tui.rendering.palette import Palette
from tui.rendering.rows import Row, blank, clip, clip_name, rule, wrap
from tui.rendering.states import broker_state, partition_status

GAP: Final = 2
"""The columns between two runs: a line and a blank."""


@attrs.frozen
class Column:
    """One of the runs that are compared.

    Attributes:
        name: the name of the run.
        view: its state.
        settings: the values that differ from those of the session, by their words.
        felt: what clients felt; None if nobody counts it.
        parted: the first event that differs from the first run; None if there is none.
    """

    name: str
    view: ClusterView
    settings: tuple[tuple[str, str], ...] = ()
    felt: Felt | None = None
    parted: FirstDifference | None = None


def facts(p: PartitionView) -> list[tuple[str, str]]:
    """Return the compared facts about a partition, as (name, text) pairs."""
    leader = next((replica for replica in p.replica_views if replica.broker == p.leader), None)
    return [
        ("leader", "none" if p.offline else f"b{p.leader}"),
        ("epoch", f"L{p.leader_epoch}"),
        ("ISR", "[" + ",".join(map(str, sorted(p.isr))) + "]"),
        ("HW", "HW -" if leader is None else f"HW {leader.hw:,}"),
        ("LEO", "LEO " + "/".join(f"{replica.leo:,}" for replica in sorted(p.replica_views, key=lambda replica: replica.broker))),
        ("lost", f"lost {lost_words(p)}" if p.lost else ""),
        ("diverged", f"≠ {p.diverged:,}" if p.diverged else ""),
    ]


def totals(view: ClusterView) -> list[tuple[str, str]]:
    """Return the compared totals of the cluster besides what clients felt, as (name, text) pairs."""
    return [
        ("exposed", f"{view.exposed:,}"), ("diverged", f"{view.diverged:,}"), ("unclean elections", f"{view.unclean_elections}"),
        ("ISR shrinks", f"{view.isr_shrinks}"), ("ISR expands", f"{view.isr_expands}"),
    ]  # fmt: skip


@attrs.frozen
class Table:
    """The places of the columns: of the labels, which a mark follows, and of the runs, which have the same width."""

    width: int
    label: int
    runs: int
    paint: Palette

    @property
    def each(self) -> int:
        """The width of a run's column."""
        return (self.width - self.label - GAP * (self.runs - 1)) // self.runs

    def line(self, head: Row, cells: Sequence[Row], *, differs: bool) -> Strip:
        """Return a line with a label and a cell for each run."""
        row = head.pad(self.label - 2).add("≠ " if differs else "  ", self.paint.warn)
        for number, cell in enumerate(cells):
            if number:
                row.pad(self.label + number * (self.each + GAP) - GAP).add("│ ", self.paint.faint)
            for segment in cell.strip(min(cell.width, self.each)):
                row.add(segment.text, segment.style or self.paint.text)
        return row.strip(self.width)

    def texts(self, name: str, texts: Sequence[str], style: Style, *, differs: bool = False) -> Strip:
        """Return a line with a label and texts."""
        label = Row().add(" " + clip_name(name, self.label - 3), self.paint.muted)
        return self.line(label, [Row().add(clip(text, self.each), style) for text in texts], differs=differs)

    def facts(self, told: Sequence[tuple[str, str]], others: Sequence[Sequence[tuple[str, str]]], plain: Style) -> Row:
        """Return the facts about a partition in one of the runs. Those that differ in another run are highlighted, and if there is no room for
        all facts, they come first.
        """
        paint = self.paint
        known = [dict(other) for other in others]
        parts = [(name, text, any(other.get(name) != text for other in known)) for name, text in told if text]
        if sum(len(text) + 1 for _, text, _ in parts) > self.each + 1:
            parts.sort(key=lambda part: not part[2])
        row = Row()
        for name, text, differs in parts:
            style = paint.bad if differs and name in ("lost", "diverged") else paint.warn if differs else plain
            row.add(clip((" " if row.width else "") + text, max(0, self.each - row.width)), style)
        return row


def hidden_difference(parted: FirstDifference | None) -> list[str]:
    """If the displayed lines of two different events are the same, return a line with the fields in which the events differ.

    For example, two events can look the same although their times differ by a microsecond.
    """
    if parted is None or parted.here is None or parted.there is None:
        return []
    one, two = parted.here, parted.there
    if kind_of(one) != kind_of(two) or format_clock(time_of(one)) != format_clock(time_of(two)) or sentence(one) != sentence(two):
        return []
    names = ("time, µs", *(name.replace("_us", ", µs").replace("_", "-") for name in KINDS[kind_of(one)].columns))
    values = zip(names, (time_of(one), *values_of(one)), (time_of(two), *values_of(two)), strict=True)
    return ["The events differ in " + "; ".join(f"{name}: {here} and {there}" for name, here, there in values if here != there) + "."]


def paint_compare(
    columns: Sequence[Column], notes: Sequence[str], paint: Palette, size: tuple[int, int], top: int
) -> tuple[list[Strip], int]:  # fmt: skip
    """Paint runs side by side. Partitions that differ come first.

    Return the lines, and the number of partitions that differ.

    Args:
        columns: the runs; the first one is the session.
        notes: further messages to show at the bottom.
        paint, size: the palette, and the width and height of the page in cells.
        top: the index of the first partition to show.
    """
    width, height = size
    views = [column.view for column in columns]
    settings = list(dict.fromkeys(word for column in columns for word, _ in column.settings))
    longest = max([12, *(len(str(p.tp)) + 3 for p in views[0].partitions), *map(len, settings)])
    table = Table(width, min(36 if width >= 120 else 22, longest + 4), len(columns), paint)
    theirs = [{p.tp: p for p in view.partitions} for view in views[1:]]
    rows = [(p, [other.get(p.tp) for other in theirs]) for p in in_order(views[0], True)]
    different = [row for row in rows if any(other is None or facts(row[0]) != facts(other) for other in row[1])]
    same = [row for row in rows if row not in different]
    note = f"{len(different)} of {len(rows)} partitions differ" if different else "no partitions differ now"
    out = [rule("Side by side", note, width, paint.title_focused, paint.faint, paint.warn if different else paint.good)]
    out += _head(columns, settings, table)
    out += _felt(columns, table)
    marked = bool(different)
    below = _first_differences(columns, paint, width, states_differ=marked)
    for words in notes:
        for line in wrap(words, width - 2):
            below.append(Row().add(f" {line}", paint.muted).strip(width))
    below = below[: max(3, height // 2)]
    room = max(0, height - len(out) - len(below))
    for number, (p, others) in enumerate([*different, *same][top : top + room]):
        differs = top + number < len(different)
        plain = paint.text if differs else paint.muted
        glyph, _, style = partition_status(p, paint)
        head = Row().add(f" {glyph} ", style).add(clip_name(str(p.tp), table.label - 6), paint.partition)
        told = [[] if one is None else facts(one) for one in (p, *others)]
        cells = [
            table.facts(told[at], told[1:] if at == 0 else told[:1], plain) if told[at] else Row().add("missing", paint.bad)
            for at in range(len(told))
        ]
        out.append(table.line(head, cells, differs=differs))
    while len(out) < height - len(below):
        out.append(blank(width))
    return [*out, *below][:height], len(different)


def _head(columns: Sequence[Column], settings: Sequence[str], table: Table) -> list[Strip]:
    """Return the names of the runs, the settings that vary, and the brokers."""
    paint = table.paint
    lines = [table.texts("", [column.name for column in columns], paint.strong)]
    for word in settings:
        values = [dict(column.settings).get(word) for column in columns]
        cells = [Row().add(clip(value or "as it is", table.each), paint.number if value else paint.muted) for value in values]
        lines.append(table.line(Row().add(" " + clip_name(word, table.label - 3), paint.muted), cells, differs=False))
    states = [[(b.id, b.state, b.fenced) for b in column.view.brokers] for column in columns]
    brokers = [_brokers(column.view, paint) for column in columns]
    return [*lines, table.line(Row().add(" brokers", paint.muted), brokers, differs=any(state != states[0] for state in states[1:]))]


def _felt(columns: Sequence[Column], table: Table) -> list[Strip]:
    """Return what clients felt, and the other totals that differ."""
    paint = table.paint
    lines = []
    felts = [column.felt for column in columns]
    for row in felt_rows([felt for felt in felts if felt is not None] if None not in felts else []):
        style = paint.number if not row.differs else paint.bad if row.harm else paint.warn
        lines.append(table.texts(row.label, row.values, style, differs=row.differs))
    for number, (name, _) in enumerate(totals(columns[0].view)):
        values = [totals(column.view)[number][1] for column in columns]
        if len(set(values)) > 1:
            style = paint.bad if name in ("diverged", "exposed") else paint.warn
            lines.append(table.texts(name, values, style, differs=True))
    return lines


def _first_differences(columns: Sequence[Column], paint: Palette, width: int, *, states_differ: bool) -> list[Strip]:
    """Return the first event that differs between the session and each other run: two events for one run, and a line for each of several."""
    title = "First difference" if len(columns) == 2 else f"First event that differs from {columns[0].name}"
    lines = [rule(title, "", width, paint.title, paint.faint, paint.muted)]
    if len(columns) == 2 and columns[1].parted is not None:
        parted = columns[1].parted
        for name, event in ((columns[0].name, parted.here), (columns[1].name, parted.there)):
            words = "no further event yet" if event is None else f"{format_clock(time_of(event))} #{seq_of(event)} {sentence(event)}"
            for number, line in enumerate(wrap(words, max(10, width - 18))):
                row = Row().add(f" {clip(name, 14):<15} " if number == 0 else " " * 17, paint.strong)
                lines.append(row.join(colored(line, paint, paint.muted if event is None else paint.text)).strip(width))
        return lines + [
            Row().add(f" {line}", paint.muted).strip(width) for words in hidden_difference(parted) for line in wrap(words, width - 2)
        ]
    label = max(8, min(width // 4, max(len(column.name) for column in columns[1:])))
    for column in columns[1:]:
        event = None if column.parted is None else column.parted.there or column.parted.here
        whole = len(columns) == 2
        if event is None:
            words = "All events so far are the same" + (", although the states differ." if whole and states_differ else ".")
            row = Row().add(" " if whole else f" {clip_name(column.name, label):<{label}}  ", paint.strong).add(words, paint.good)
        else:
            lacks = "only in the session: " if column.parted is not None and column.parted.there is None else ""
            words = f"{format_clock(time_of(event))} #{seq_of(event)} {lacks}{sentence(event)}"
            row = Row().add(f" {clip_name(column.name, label):<{label}}  ", paint.strong).join(colored(words, paint, paint.text))
        lines.append(row.strip(width))
    return lines


def _brokers(view: ClusterView, paint: Palette) -> Row:
    row = Row()
    for broker in view.brokers:
        glyph, _, style = broker_state(broker, paint)
        row.add(f"b{broker.id}", paint.broker).add(f"{glyph} ", style)
    return row
