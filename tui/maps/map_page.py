"""The map of all partitions, colored by state. A cell is a partition or, in a large cluster, several partitions and their worst state."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import ClassVar, Final

import attrs
from rich.style import Style
from textual.strip import Strip

from core.lab.views.cluster_view import ClusterView
from core.lab.views.partition_view import PartitionView
from core.sim.repr_mixin import ReprMixin
from tui.analysis.partition_map import HEALTHY, LOOKS, PartitionMap, counts_in
from tui.maps.map_plan import NUMBERED, MapPlan, MapRow, plan_map
from tui.pages.page import FilteredPage, has_words
from tui.panels.inspector import high_watermark_sentence, ids
from tui.rendering.palette import Palette
from tui.rendering.rows import Row, clip, clip_name, rule, wrap

DETAIL: Final = 4
"""The number of lines below the map that describe the selected cell."""

ALWAYS: Final = (1, 3, 7, HEALTHY)
"""The states whose number is always shown: offline, under min ISR, under-replicated, and healthy."""

HEALTHY_CELL: Final = "▪"
"""The glyph of a healthy partition, which is smaller than the others so that problems stand out."""


@attrs.frozen(repr=False, eq=False)
class Listed(ReprMixin):
    """The partitions that the map lists: their places in the whole map, and their topics.

    Attributes:
        places: the places, in order.
        groups: each topic with its number of listed partitions, in order.
    """

    places: Sequence[int]
    groups: tuple[tuple[str, int], ...]

    @staticmethod
    def of(states: PartitionMap, places: Sequence[int]) -> Listed:
        """Return the given places, grouped by topic."""
        groups = []
        for span in states.spans:
            count = bisect_left(places, span.stop) - bisect_left(places, span.start)
            if count:
                groups.append((span.topic, count))
        return Listed(places, tuple(groups))

    def states(self, states: PartitionMap, start: int, stop: int) -> bytes:
        """Return the states of the listed partitions [start, stop)."""
        if isinstance(self.places, range):
            return bytes(states.states[self.places[start] : self.places[start] + stop - start]) if stop > start else b""
        return bytes([states.states[place] for place in self.places[start:stop]])


class MapPainter:
    """Paints the lines of the map. A line is painted again only if a state in it, the plan, or the cursor in it has changed."""

    def __init__(self, paint: Palette) -> None:
        self.paint = paint
        self.painted = 0
        self._rows: dict[int, tuple[object, Strip]] = {}
        self._styles: tuple[Style, ...] = ()
        self.use(paint)

    def use(self, paint: Palette) -> None:
        """Switch to a palette."""
        if paint is not self.paint or not self._styles:
            self.paint, self._rows = paint, {}
            blocks = {
                "bad": paint.bad + Style(reverse=True),
                "warn": paint.warn + Style(reverse=True),
                "leader": paint.leader + Style(reverse=True),
            }
            self._styles = tuple(blocks.get(role, getattr(paint, role)) for _, _, role in LOOKS)

    def lines(
        self,
        states: PartitionMap,
        listed: Listed,
        plan: MapPlan,
        width: int,
        cursor: tuple[int, int],
        view_at: Callable[[int], PartitionView],
    ) -> list[Strip]:
        """Return the lines of the map.

        Args:
            states: the states of all partitions.
            listed, plan: the listed partitions, and how they are laid out.
            width: the width of the map.
            cursor: the line and the column of the selected cell.
            view_at: the function that returns the partition at a place.
        """
        lines = []
        for number, row in enumerate(plan.rows):
            here = cursor[1] if number == cursor[0] else -1
            now = listed.states(states, row.start, row.stop)
            key = (now, here, plan, width, states.generation, number and plan.rows[number - 1].topic == row.topic)
            known = self._rows.get(number)
            if known is None or known[0] != key:
                strip = (
                    self._named(listed, row, plan, now, here, width, view_at)
                    if plan.named or plan.cell >= NUMBERED
                    else self._cells(row, plan, now, here, width, bool(key[-1]))
                )
                known = self._rows[number] = (key, strip)
                self.painted += 1
            lines.append(known[1])
        return lines

    def _cells(self, row: MapRow, plan: MapPlan, now: bytes, here: int, width: int, same: bool) -> Strip:
        paint, each = self.paint, plan.per_cell
        line = Row().add(" ►" if here >= 0 else "  ", paint.key)
        line.add(
            clip("" if same and here < 0 else row.topic, plan.label - 3).ljust(plan.label - 2),
            paint.partition if here >= 0 else paint.muted,
        )
        worst = now if each == 1 else bytes([min(now[at : at + each]) for at in range(0, len(now), each)])
        for first, stop in ((0, here), (here + 1, len(worst))) if here >= 0 else ((0, len(worst)),):
            if first and here >= 0:
                line.add(("◆" + " " * (plan.cell - 1)), paint.key + paint.cursor)
            for state, run in groupby(worst[first:stop]):
                glyph = HEALTHY_CELL if state == HEALTHY else LOOKS[state][0]
                count = sum(1 for _ in run)
                if plan.cell == 1:
                    line.add(glyph * count, self._styles[state])
                else:
                    for _ in range(count):
                        line.add(glyph, self._styles[state]).add(" ", paint.text)
        return line.strip(width)

    def _named(
        self, listed: Listed, row: MapRow, plan: MapPlan, now: bytes, here: int, width: int, view_at: Callable[[int], PartitionView]
    ) -> Strip:
        """Paint cells with the names of their partitions or, in lines that begin with the topic, with their numbers."""
        paint = self.paint
        line = Row()
        if not plan.named:
            line.add(" ►" if here >= 0 else "  ", paint.key)
            line.add(clip(row.topic, plan.label - 3).ljust(plan.label - 2), paint.partition if here >= 0 else paint.muted)
        for number, state in enumerate(now):
            p = view_at(listed.places[row.start + number])
            chosen = number == here
            under = paint.cursor if chosen else Style()
            start = line.width
            glyph = HEALTHY_CELL if state == HEALTHY else LOOKS[state][0]
            if not plan.named:
                line.add(glyph, self._styles[state]).add(
                    clip(f"{p.tp.partition}", plan.cell - 2), (paint.strong if chosen else paint.muted) + under
                )
                line.pad(start + plan.cell)
                continue
            line.add("►" if chosen else " ", paint.key + under).add(f" {glyph} ", self._styles[state])
            line.add(f" {clip_name(str(p.tp), plan.cell - 9)}", (paint.strong if chosen else paint.partition) + under)
            leader = " none" if p.offline else f" b{p.leader}"
            if line.width - start + len(leader) < plan.cell:
                line.add(leader, (paint.bad if p.offline else paint.muted) + under)
            line.pad(start + plan.cell)
        return line.strip(width)


def legend_lines(counts: Sequence[int], paint: Palette, width: int) -> list[Strip]:
    """Return the number of partitions in each state, with its glyph, in one or more lines."""
    rows = [Row()]
    for state, (glyph, word, role) in enumerate(LOOKS):
        if not counts[state] and state not in ALWAYS:
            continue
        style: Style = getattr(paint, role) if counts[state] else paint.muted
        text = f" {HEALTHY_CELL if state == HEALTHY else glyph} {word} {counts[state]:,} "
        if rows[-1].width and rows[-1].width + len(text) > width:
            rows.append(Row())
        rows[-1].add(text, style)
    return [row.strip(width) for row in rows]


def detail_lines(
    cell: bytes, first: PartitionView, last: PartitionView, worst: PartitionView, view: ClusterView, paint: Palette, width: int
) -> list[Strip]:
    """Describe the selected cell: its partitions by state, and its worst partition."""
    if len(cell) > 1:
        said = ", ".join(f"{number:,} {LOOKS[state][1]}" for state, number in counts_in(cell))
        title = f"{first.tp} … {last.tp}  {len(cell):,} partitions: {said}"
        lines = [rule(clip(title, width - 20), "⏎ looks closer", width, paint.title, paint.faint, paint.key)]
    else:
        lines = [rule(f"{first.tp}", "⏎ opens the partition", width, paint.title, paint.faint, paint.key)]
    glyph, word, role = LOOKS[min(cell)] if cell else LOOKS[HEALTHY]
    row = Row().add(f" {glyph} {worst.tp} {word}", getattr(paint, role))
    row.add("  leader ", paint.muted).add("none" if worst.offline else f"b{worst.leader}", paint.leader)
    row.add("  ISR ", paint.muted).add(f"{ids(worst.isr)}/{worst.min_isr} of {ids(worst.replicas)}", paint.text)
    if worst.adding or worst.removing:
        row.add(f"  adding {ids(worst.adding)} removing {ids(worst.removing)}", paint.leader)
    lines.append(row.strip(width))
    lines += [Row().add(f" {line}", paint.muted).strip(width) for line in wrap(high_watermark_sentence(worst, view), width - 2)]
    return lines


class MapPage(FilteredPage):
    """The page with the map of all partitions.

    The arrow keys select a cell, and Enter looks closer: at the partitions of a cell, and finally at a single partition on its own screen. Esc
    goes one step back. The key f lists only the partitions that are not healthy.
    """

    name: ClassVar[str] = "map"
    what: ClassVar[str] = "topics"
    words: ClassVar[str] = "Enter words that the topic's name must contain, for example orders"

    _listed = Listed(range(0), ())
    _plan = MapPlan((), 1, 1, 1, 0, True)
    _listed_for: object = None
    _planned_for: object = None
    _index = 0
    _only_problems = False
    _size = (80, 20)

    def opened(self) -> None:
        """Start with the selected partition."""
        self._states = PartitionMap()
        self._painter = MapPainter(self.paint)
        self._zoomed: list[tuple[int, int, int]] = []
        self._listed_for = None
        self._to_selection = True

    def _list(self) -> Listed:
        """Return the listed partitions. They are listed anew only if the partitions, the filter or the zoom has changed, or if a partition
        became healthy or ceased to be while only problems are listed."""
        states = self._states
        changing = bytes(states.states) if self._only_problems else None
        key = (states.generation, self.wanted, tuple(self._zoomed), changing)
        if key == self._listed_for:
            return self._listed
        self._listed_for = key
        start, stop = self._zoomed[-1][:2] if self._zoomed else (0, len(states))
        places: Sequence[int] = range(start, min(stop, len(states)))
        if self._only_problems:
            places = [place for place in states.not_healthy() if start <= place < stop]
        if self.wanted:
            spans = [span for span in states.spans if has_words(span.topic, self.wanted)]
            places = [place for span in spans for place in places[bisect_left(places, span.start) : bisect_left(places, span.stop)]]
        self._listed = Listed.of(states, places)
        return self._listed

    def lines(self, width: int, height: int) -> list[Strip]:
        """Return the lines of the page."""
        paint, screen, states = self.paint, self.screen, self._states
        states.update(screen.view)
        self._painter.use(paint)
        listed = self._list()
        note = [f"{len(listed.places):,} shown"] if len(listed.places) < len(states) else []
        if self._only_problems:
            note.append("only those with a problem, f shows all")
        if self.wanted:
            note.append(f"'{self.wanted}', Esc shows all")
        if self._zoomed:
            note.append("Esc goes back")
        head = rule(
            f"Map  {len(states):,} partitions",
            " · ".join(note) or "f lists only problems, / finds topics",
            width,
            paint.title_focused,
            paint.faint,
            paint.muted,
        )
        lines = [head, *legend_lines(states.counts, paint, width)]
        room = height - len(lines) - DETAIL - 1
        if self._planned_for != (listed, width, room):
            self._planned_for, self._plan = (listed, width, room), plan_map(listed.groups, width, room)
        plan = self._plan
        self._size = (width, len(lines))
        if not listed.places:
            words = "Every partition is healthy." if self._only_problems and not self.wanted else "No partition is listed."
            return [*lines, Row().add(f" {words}", paint.good if self._only_problems else paint.muted).strip(width)]
        if self._to_selection and screen.selection.partition is not None:
            place = states.place_of(screen.selection.partition)
            self._index = max(0, min(bisect_left(listed.places, place), len(listed.places) - 1))
        self._to_selection = False
        self._index = max(0, min(self._index, len(listed.places) - 1))
        cursor = plan.place(self._index)
        lines += self._painter.lines(states, listed, plan, width, cursor, states.at)
        start, stop = plan.cell_at(*cursor)
        cell = listed.states(states, start, stop)
        worst = start + cell.index(min(cell))
        first, last = states.at(listed.places[start]), states.at(listed.places[stop - 1])
        return [*lines, *detail_lines(cell, first, last, states.at(listed.places[worst]), screen.view, paint, width)[: DETAIL + 1]]

    # --- keys ------------------------------------------------------------------------------------------------------

    def _select(self, line: int, column: int) -> None:
        """Select a cell, and its worst partition."""
        if not self._listed.places:
            return
        start, stop = self._plan.cell_at(line, column)
        cell = self._listed.states(self._states, start, stop)
        self._index = start
        self.screen.selection.choose(partition=self._states.at(self._listed.places[start + cell.index(min(cell))]).tp)

    def move(self, key: str) -> bool:
        """Select another cell."""
        line, column = self._plan.place(self._index)
        by = {
            "up": (-1, 0),
            "down": (1, 0),
            "left": (0, -1),
            "right": (0, 1),
            "pageup": (-10, 0),
            "pagedown": (10, 0),
            "home": (-len(self._plan.rows), 0),
        }.get(key)
        if by is None or not self._plan.rows:
            return by is not None
        line, column = line + by[0], column + by[1]
        if key == "home":
            column = 0
        if key == "left" and column < 0 and line > 0:
            line, column = line - 1, self._plan.across
        elif key == "right" and column >= self._plan.cells_of(self._plan.rows[line]) and line + 1 < len(self._plan.rows):
            line, column = line + 1, 0
        self._select(line, column)
        return True

    def enter(self) -> bool:
        """Look closer at the selected cell, or open the screen of its partition."""
        if not self._listed.places:
            return False
        start, stop = self._plan.cell_at(*self._plan.place(self._index))
        if stop - start == 1:
            self.screen.selection.choose(partition=self._states.at(self._listed.places[start]).tp)
            self.screen.open_page("partition")
            return False
        cell = self._listed.states(self._states, start, stop)
        self._zoomed.append((self._listed.places[start], self._listed.places[stop - 1] + 1, self._listed.places[self._index]))
        self._index = cell.index(min(cell))
        return True

    def back(self) -> bool:
        """Go back to the larger part of the map, or clear the filter. Return False if there is neither."""
        if self._zoomed:
            _, _, place = self._zoomed.pop()
            self._index = bisect_left(self._list().places, place)
            return True
        return super().back()

    def filter(self) -> bool:
        """List only the partitions that are not healthy, or all partitions again."""
        self._only_problems = not self._only_problems
        self._to_selection = True
        return True

    def click(self, x: int, y: int, meta: dict[str, object]) -> None:
        """Select the cell under the mouse."""
        line = y - self._size[1]
        if 0 <= line < len(self._plan.rows):
            self._select(line, (x - self._plan.label) // self._plan.cell)
