"""The grid of partitions and replicas: which replicas lead, which are in sync, and how far each log extends.

If there are few brokers, each broker has its own column. If there are many brokers, the replicas of a partition appear in their assigned
order, each with the id of its broker. A row is painted again only if something visible in the row has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, overload

import attrs
from rich.style import Style
from textual import events
from textual.message import Message
from textual.strip import Strip

from core.kafka.health import described_under_replicated
from core.kafka.ids import TopicPartition
from core.lab.views.cluster_view import ClusterView
from core.lab.views.partition_view import PartitionView, ReplicaView
from core.sim.repr_mixin import ReprMixin
from tui.analysis.partition_list import in_order
from tui.panels.lines import RIGHT, Lines
from tui.rendering.bars import Window, bar, held_back_cells
from tui.rendering.palette import Palette
from tui.rendering.rows import ELLIPSIS, Part, Row, blank, clip, clip_name, fit, rule, wrap
from tui.rendering.states import (
    COMMITTED,
    HELD_BACK,
    LEGENDS,
    MISSING,
    PENDING,
    TRANSACTION_LEGEND,
    broker_state,
    partition_status,
    replica_marks,
    short_state,
)

LEAST_CELL: Final = 15
"""The minimum width, in cells, of a replica with its marks, a bar, and a number."""

LEAST_BAR: Final = 4
"""The preferred minimum length of a bar, in cells. If bars would be shorter than this minimum, less important columns are left out."""

SHORTEST_BAR: Final = 2
"""The length, in cells, below which a bar is too short to show a gap."""

WIDEST_BAR: Final = 40
"""The maximum length of a bar in cells."""

SHORT_END: Final = 4
"""The width, in cells, of a shortened log end offset, for example `…460` or `123k`."""

SHORTEST_END: Final = 3
"""The width, in cells, of a log end offset in its shortest form, which is used only if the grid has no bars."""


def shown_offsets(hw: int, leo: int, width: int) -> tuple[str, str]:
    """Return a high watermark and a log end offset as text. The returned texts, with a `/` between them, fit into the given number of
    cells.

    If the full numbers do not fit, the log end offset is shown without the leading digits that it shares with the high watermark, or is
    rounded down.
    """
    first, second = str(hw), str(leo)
    room = width - len(first) - 1
    if len(second) <= room:
        return first, second
    left_out = len(second) - room + 1
    if room > 1 and len(first) == len(second) and first[:left_out] == second[:left_out]:
        return first, ELLIPSIS + second[left_out:]
    return first, _rounded_down(leo, room)


def _rounded_down(number: int, room: int) -> str:
    """Round a number down so that it fits into the given number of cells, for example `123k`.

    If even the rounded number does not fit, return an ellipsis.
    """
    for unit in ("k", "M", "G", "T"):
        number //= 1_000
        if len(text := f"{number}{unit}") <= room and number:
            return text
    return ELLIPSIS


@attrs.frozen(repr=False)
class Columns(ReprMixin):
    """The widths of the columns in a row of the grid. All widths are in cells. A column of width 0 is not shown."""

    name: int
    status: int
    leader: int
    epochs: int
    isr: int
    cell: int
    bar: int
    digits: int
    """The number of digits of the largest offset."""
    numbers: int
    """The width of a replica's offsets in cells; 0 if only marks are shown."""
    both: bool
    """Whether the HW is shown in addition to the LEO."""
    brokers: tuple[int, ...]
    """The brokers that have their own columns; empty if replicas appear in their assigned order."""
    places: int
    """The number of replica columns."""
    label: int
    """The width, in cells, of the broker ID in front of each replica; 0 if each broker has its own column."""

    @property
    def cells_at(self) -> int:
        """The cell at which the replica columns start."""
        return 2 + self.name + self.status + self.leader + self.epochs + self.isr

    @property
    def offsets(self) -> str:
        """The heading of a replica's offsets."""
        return "HW".rjust(min(self.digits, self.numbers - 4)) + "/LEO" if self.both else "LEO" if self.numbers else ""

    def numbers_at(self, place: int) -> int:
        """Return the cell at which the offsets of a replica column start."""
        return self.cells_at + place * self.cell + self.label + 4 + self.bar

    @staticmethod
    def plan(view: ClusterView, width: int) -> Columns:
        """Return the columns for a cluster and a screen width.

        If the screen is too narrow, columns are left out, the least important first and the offsets last.
        """
        name = min(max(9, *(len(str(p.tp)) for p in view.partitions), 0) + 1, 15 if width < 100 else 28)
        largest = max((replica.leo for p in view.partitions for replica in p.replica_views), default=0)
        digits = max(3, len(str(largest)))
        replicas = max((len(p.replica_views) for p in view.partitions), default=0)
        isr = max((len(",".join(map(str, p.replicas))) for p in view.partitions), default=1) + 5
        ids = tuple(broker.id for broker in view.brokers)
        wide = width >= 100
        named = max(4, *(len(str(i)) + 1 for i in ids), 0) + 1
        status, leader, epochs = (13, max(7, named), 9 if width >= 140 else 0) if wide else (_GLYPH, named, 0)
        room = width - 3 - name - status - isr
        each = (room if not wide else room - leader - epochs) // max(1, len(ids))
        brokers = ids if ids and (each >= LEAST_CELL or replicas >= len(ids)) else ()
        places = len(brokers) if brokers else max(1, replicas)
        label = 0 if brokers else max(len(str(i)) for i in (*ids, 0)) + 2
        full = 2 * digits + 1
        short = min(full, digits + 1 + SHORT_END)
        steps = (
            (status, leader, epochs, isr, full, LEAST_BAR),
            (status, leader, 0, isr, full, LEAST_BAR),
            (status, 0, 0, isr, full, LEAST_BAR),  # the star already marks the leader
            (status, 0, 0, isr, full, SHORTEST_BAR),
            (_GLYPH, 0, 0, isr, full, SHORTEST_BAR),
            (_GLYPH, 0, 0, isr, short, SHORTEST_BAR),
            (_GLYPH, 0, 0, 0, full, SHORTEST_BAR),
            (_GLYPH, 0, 0, 0, short, SHORTEST_BAR),
            (_GLYPH, 0, 0, 0, full, 0),
            (_GLYPH, 0, 0, 0, short, 0),
            (_GLYPH, 0, 0, 0, min(short, digits + 1 + SHORTEST_END), 0),
            (_GLYPH, 0, 0, 0, digits, 0),
            (_GLYPH, 0, 0, 0, 0, 0),
        )
        for status, leader, epochs, isr, numbers, least in steps:  # choose the first combination that fits, or the last one
            cell = max(1, (width - 3 - name - status - leader - epochs - isr) // places)
            length = min(WIDEST_BAR, cell - label - 5 - numbers)
            if length >= least:
                break
        length = length if length >= SHORTEST_BAR else 0
        return Columns(
            name, status, leader, epochs, isr, min(cell, label + 5 + length + numbers), length, digits, numbers, numbers > digits, brokers, places, label
        )  # fmt: skip


_GLYPH: Final = 2
"""The width, in cells, of a status that consists only of a glyph."""


class PartitionsInOrder(Sequence[PartitionView]):
    """The partitions of a view, in a precomputed order."""

    __slots__ = ("_places", "_views")

    def __init__(self, views: Sequence[PartitionView], places: Sequence[int]) -> None:
        self._views = views
        self._places = places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, at: int) -> PartitionView: ...
    @overload
    def __getitem__(self, at: slice) -> list[PartitionView]: ...
    def __getitem__(self, at: int | slice) -> PartitionView | list[PartitionView]:
        if isinstance(at, slice):
            return [self._views[place] for place in self._places[at]]
        return self._views[self._places[at]]


def _said(p: PartitionView) -> tuple[object, ...]:
    """Return all values of a partition that its row shows."""
    return (
        p.status, p.diverged, p.held_back_at, p.leader, p.leader_epoch, p.partition_epoch, p.isr, p.replicas, p.min_isr,
        [(replica.leo, replica.hw, replica.role, replica.in_isr, replica.alive, replica.broker) for replica in p.replica_views],
    )  # fmt: skip


class GridPainter:
    """An object that paints the grid and caches painted rows."""

    def __init__(self, paint: Palette) -> None:
        self.paint = paint
        self._rows: dict[TopicPartition, tuple[tuple[object, ...], PartitionView, Strip]] = {}
        self._beginnings: dict[TopicPartition, tuple[tuple[object, ...], Part]] = {}
        self._heads: dict[tuple[object, ...], Part] = {}

    def use(self, paint: Palette) -> None:
        """Switch to another palette."""
        if paint is not self.paint:
            self.paint, self._rows, self._beginnings, self._heads = paint, {}, {}, {}

    def lines(
        self,
        view: ClusterView,
        order: Sequence[PartitionView],
        size: tuple[int, int],
        *,
        top: int = 0,
        partition: TopicPartition | None = None,
        broker: int | None = None,
        focused: bool = False,
        note: str = "",
        columns: Columns | None = None,
        nothing: Callable[[], str] = str,
    ) -> list[Strip]:
        """Paint the panel.

        Args:
            view: the frozen state of the cluster.
            order: the partitions in the order in which the grid lists them.
            size: the width and height of the panel in cells.
            top: the index of the first partition shown.
            partition, broker: the selected partition and broker.
            focused: whether the panel has the keyboard focus.
            note: the text on the right of the headline; if empty, the legend is shown instead.
            columns: the columns of the grid; None to compute them.
            nothing: a function that returns what to say if there are partitions, but none is listed.
        """
        width, height = size
        paint = self.paint
        columns = columns or Columns.plan(view, width)
        shown = order[top : top + max(0, height - 2)]
        rest = len(order) - len(shown)
        more = f"{top + 1}–{top + len(shown)} of {len(order)}" if rest else f"{len(order)}"
        title = f"Partitions {more}"
        legends = (TRANSACTION_LEGEND, *LEGENDS) if any(p.held_back_at is not None for p in shown) else LEGENDS
        right = note or next((legend for legend in legends if len(title) + len(legend) + 6 <= width), "")
        lines = [rule(title, right, width, paint.title_focused if focused else paint.title, paint.faint, paint.muted)]
        if height >= 2:
            lines.append(self._head(view, columns, width, broker))
        common, rows = (columns, width, broker, focused, id(paint)), self._rows
        for row in shown:
            how = (row.tp == partition, common)
            known = rows.get(row.tp)
            if known is not None and known[0] == how and (known[1] is row or _said(known[1]) == _said(row)):
                strip = known[2]
            else:
                strip = self._row(row, columns, width, how[0], broker, focused)
            rows[row.tp] = (how, row, strip)
            lines.append(strip)
        if len(self._rows) > 4 * max(16, height):
            keep = {row.tp for row in shown}
            self._rows = {tp: kept for tp, kept in self._rows.items() if tp in keep}
        if view.partitions and not order and len(lines) < height:
            lines += [Row().add(f"  {line}", paint.warn).strip(width) for line in wrap(nothing(), width - 3)]
        while len(lines) < height:
            lines.append(blank(width))
        return lines[:height]

    def _head(self, view: ClusterView, columns: Columns, width: int, broker: int | None) -> Strip:
        paint = self.paint
        row = Row().add(fit("  partition", columns.name + 2), paint.muted)
        if columns.status > 4:
            row.add(fit("status", columns.status), paint.muted).add(fit("leader" if columns.leader else "", columns.leader), paint.muted)
        else:
            row.add(fit("leader" if columns.leader else "", columns.status + columns.leader), paint.muted)
        if columns.epochs:
            row.add(fit("epochs", columns.epochs), paint.muted)
        if columns.isr:
            row.add(fit("ISR/min", columns.isr), paint.muted)
        offsets = columns.offsets
        if columns.brokers:
            for number, view_of in enumerate(view.brokers):
                row.pad(columns.cells_at + number * columns.cell)
                glyph, _, style = broker_state(view_of, paint)
                chosen = view_of.id == broker
                name = f"b{view_of.id}"
                end = row.width + columns.cell - 1
                row.add(" " + glyph + " ", style).add(name, paint.broker + Style(underline=True) if chosen else paint.broker)
                numbers = min(end - len(offsets), columns.numbers_at(number))
                if numbers - row.width > 3:
                    row.add(clip(f" {short_state(view_of)}", numbers - row.width - 1), paint.muted)
                row.pad(numbers).add(offsets, paint.muted)
        else:
            for place in range(columns.places):
                row.pad(columns.cells_at + place * columns.cell)
                numbers = min(row.width + columns.cell - 1 - len(offsets), columns.numbers_at(place))
                room = numbers - row.width - 1
                whole, brief = (f"replica {place + 1}", f"no. {place + 1}") if place else ("preferred", "pref.")
                row.add(whole if len(whole) <= room else clip(brief, room), paint.muted)
                row.pad(numbers).add(offsets, paint.muted)
        return row.strip(width)

    def _row(self, p: PartitionView, columns: Columns, width: int, selected: bool, broker: int | None, focused: bool) -> Strip:
        row = Row().put(*self._beginning(p, columns, selected))
        window = Window.of(p)
        by_broker = {replica.broker: replica for replica in p.replica_views}
        for place in range(columns.places):
            row.pad(columns.cells_at + place * columns.cell)
            if columns.brokers:
                replica = by_broker.get(columns.brokers[place])
            else:
                replica = p.replica_views[place] if place < len(p.replica_views) else None
            if replica is not None:
                self._cell(row, p, replica, columns, window, selected and replica.broker == broker)
        return row.strip(width, (self.paint.cursor if focused else self.paint.row) if selected else None)

    def _beginning(self, p: PartitionView, columns: Columns, selected: bool) -> Part:
        """Return the beginning of a row, which precedes the replicas and does not depend on offsets."""
        paint = self.paint
        glyph, word, style = partition_status(p, paint)
        key = (columns, selected, id(paint), word, p.leader, p.leader_epoch, p.partition_epoch, p.isr, len(p.replicas), p.min_isr)
        known = self._beginnings.get(p.tp)
        if known is not None and known[0] == key:
            return known[1]
        row = Row().add("► " if selected else "  ", paint.key)
        row.add(fit(clip_name(str(p.tp), columns.name - 1), columns.name), paint.strong if selected else paint.partition)
        if columns.status > 4:
            row.add(fit(f"{glyph} {word}", columns.status), style)
        elif columns.status:
            row.add(fit(glyph, columns.status), style)
        if columns.leader:
            row.add(fit("none" if p.offline else f"b{p.leader}", columns.leader), paint.bad if p.offline else paint.leader)
        if columns.epochs:
            row.add(fit(f"L{p.leader_epoch} P{p.partition_epoch}", columns.epochs), paint.muted)
        if columns.isr:
            members = "[" + ",".join(map(str, p.isr)) + "]"
            row.add(members, style if described_under_replicated(p) else paint.text).add(f"/{p.min_isr}", paint.muted)
        if len(self._beginnings) > 1_024:
            self._beginnings.clear()
        self._beginnings[p.tp] = (key, row.part)
        return row.part

    def _cell(self, row: Row, p: PartitionView, replica: ReplicaView, columns: Columns, window: Window, chosen: bool) -> None:
        paint = self.paint
        alive = replica.alive
        marks, style = replica_marks(p, replica, paint)
        committed, pending, missing = bar(window, replica.hw, replica.leo, columns.bar)
        held = 0
        if p.held_back_at is not None and replica.broker == p.leader:
            held = held_back_cells(window, p.held_back_at, replica.hw, committed, columns.bar)
        key = (
            replica.broker if columns.label else -1,
            columns.label,
            marks,
            id(style),
            chosen,
            committed,
            held,
            pending,
            missing,
            alive,
            window.end > 0,
        )
        head = self._heads.get(key)
        if head is None:
            begin = Row()
            if columns.label:
                begin.add(fit(f"b{replica.broker}", columns.label), paint.broker)
            begin.add(marks, style).add("▸" if chosen else " ", paint.key)
            begin.add(COMMITTED * (committed - held), paint.committed if alive else paint.faint)
            begin.add(HELD_BACK * held, paint.warn if alive else paint.faint)
            begin.add(PENDING * pending, paint.pending if alive else paint.faint)
            begin.add((MISSING if window.end else " ") * missing, paint.missing)
            begin.add(" ", paint.text)
            if len(self._heads) > 4_096:
                self._heads.clear()
            head = self._heads[key] = begin.part
        row.put(*head)
        if not columns.numbers:
            return
        log_end = str(replica.leo)
        if columns.both:
            high_watermark, log_end = shown_offsets(replica.hw, replica.leo, columns.numbers)
            before = min(columns.digits, columns.numbers - len(log_end) - 1)
            row.add(high_watermark.rjust(before), paint.number if alive else paint.muted).add("/", paint.muted)
            log_end = log_end.ljust(columns.numbers - before - 1)
        row.add(log_end, (paint.warn if replica.leo < window.end else paint.text) if alive else paint.muted)


class PartitionGrid(Lines, can_focus=True):
    """The widget that shows the grid.

    The grid scrolls to the selected partition. A click selects a cell. A right click also opens a menu of actions.
    """

    class Picked(Message):
        """The message that is sent when the user clicks a cell. `menu` is True for the right button."""

        def __init__(self, partition: TopicPartition, broker: int | None, menu: bool = False) -> None:
            super().__init__()
            self.partition = partition
            self.broker = broker
            self.menu = menu

    def __init__(self, paint: Palette, *, id: str) -> None:
        super().__init__(paint, id=id)
        self.painter = GridPainter(paint)
        self.order: Sequence[PartitionView] = ()
        self._sorted: tuple[object, list[int], dict[TopicPartition, int]] = (None, [], {})
        self._planned: tuple[object, Columns] | None = None
        self.top = 0
        self._columns: Columns | None = None

    def update(
        self,
        view: ClusterView,
        *,
        worst_first: bool,
        which: str = "",
        words: str = "",
        partition: TopicPartition | None,
        broker: int | None,
        note: str,
        nothing: Callable[[], str],
    ) -> None:
        """Show a new view of the cluster. `nothing` returns what to say if the filter leaves no partition."""
        shown = self.bring_into_sight(view, worst_first=worst_first, which=which, words=words, partition=partition)
        self.painter.use(self.paint)
        width, height = self.box
        self._columns = self._plan(view, width, shown)
        self.show(
            self.painter.lines(
                view, self.order, (width, height), top=self.top, partition=partition, broker=broker, focused=self.has_focus, note=note,
                columns=self._columns, nothing=nothing,
            )
        )  # fmt: skip

    def bring_into_sight(
        self, view: ClusterView, *, worst_first: bool, which: str = "", words: str = "", partition: TopicPartition | None
    ) -> Sequence[PartitionView]:
        """Scroll so that a partition is visible, and return the visible partitions."""
        self.order, at_of = self._in_order(view, worst_first, which, words)
        rows = max(1, self.box.height - 2)
        at = at_of.get(partition, 0) if partition is not None else 0
        self.top = max(0, min(max(self.top, at - rows + 1), at, len(self.order) - rows if len(self.order) > rows else 0))
        return self.order[self.top : self.top + rows]

    def _in_order(
        self, view: ClusterView, worst_first: bool, which: str, words: str
    ) -> tuple[Sequence[PartitionView], dict[TopicPartition, int]]:
        """Return the partitions in order, and the index of each.

        The partitions are sorted again only if something other than offsets has changed.
        """
        key = (view.version, worst_first, which, words)
        if view.version < 0 or self._sorted[0] != key:
            ordered = in_order(view, worst_first, which, words)
            places = {p.tp: at for at, p in enumerate(view.partitions)}
            self._sorted = (key, [places[p.tp] for p in ordered], {p.tp: at for at, p in enumerate(ordered)})
        return PartitionsInOrder(view.partitions, self._sorted[1]), self._sorted[2]

    def _plan(self, view: ClusterView, width: int, shown: Sequence[PartitionView]) -> Columns:
        """Return the columns of the grid.

        The columns are computed again only if something other than offsets has changed, or if a visible offset needs another digit.
        """
        key = (view.version, width)
        if view.version >= 0 and self._planned is not None and self._planned[0] == key:
            columns = self._planned[1]
            if len(str(max((replica.leo for p in shown for replica in p.replica_views), default=0))) <= columns.digits:
                return columns
        columns = Columns.plan(view, width)
        self._planned = (key, columns)
        return columns

    def on_click(self, event: events.Click) -> None:
        """Select the cell under the mouse."""
        row = self.top + event.y - 2
        if event.y < 2 or row >= len(self.order) or self._columns is None:
            return
        columns, partition = self._columns, self.order[row]
        place = (event.x - columns.cells_at) // max(1, columns.cell)
        broker = None
        if event.x >= columns.cells_at and 0 <= place < columns.places:
            if columns.brokers:
                broker = columns.brokers[place]
            elif place < len(partition.replica_views):
                broker = partition.replica_views[place].broker
        self.post_message(self.Picked(partition.tp, broker, event.button == RIGHT))
