"""The view for a terminal that is too small for panels. The view shows the state in a few lines that rarely change."""

from __future__ import annotations

from collections.abc import Sequence

from textual.strip import Strip

from core.kafka.events import EventTuple
from core.kafka.health import PartitionStatus
from core.lab.act_sentences import sentence
from core.lab.views.cluster_view import ClusterView
from tui.panels.cluster_totals import Parts, total_items
from tui.panels.events import colored
from tui.panels.lines import Lines
from tui.rendering.palette import Palette
from tui.rendering.rows import Row, blank, wrap
from tui.rendering.states import broker_state, partition_status


def paint_minimal(view: ClusterView, last: EventTuple | None, selected: int | None, paint: Palette, size: tuple[int, int]) -> list[Strip]:
    """Paint the brokers, the number of partitions in each state, the most important totals, and the last notable event."""
    width, height = size
    row = Row()
    lines: list[Strip] = []
    for broker in view.brokers:
        glyph, _, style = broker_state(broker, paint)
        text = f"b{broker.id} {broker.leaders}/{broker.replicas}"
        if row.width and row.width + len(text) + 5 > width:
            lines.append(row.strip(width))
            row = Row()
        row.add("►" if broker.id == selected else " ", paint.key).add(f"{glyph} ", style).add(text, paint.broker).add("  ", paint.text)
    lines.append(row.strip(width))
    states: list[Parts] = []
    for status in PartitionStatus:
        some = [p for p in view.partitions if p.status is status]
        if some:
            glyph, word, style = partition_status(some[0], paint)
            states.append([(f"{glyph} {len(some)} {word}", style)])
    for items in (states, [item.parts for item in total_items(view, paint)[:3]]):
        lines += _rows(items, paint, width)
    if last is not None:
        for line in wrap(sentence(last), max(1, width - 2)):
            lines.append(Row().add(" ", paint.text).join(colored(line, paint, paint.text)).strip(width))
    larger = wrap("For all panels, enlarge the terminal to 80×20.", max(1, width - 2))
    if len(lines) + len(larger) < height:
        lines += [Row().add(f" {line}", paint.faint).strip(width) for line in larger]
    while len(lines) < height:
        lines.append(blank(width))
    return lines[:height]


def _rows(items: Sequence[Parts], paint: Palette, width: int) -> list[Strip]:
    """Paint items side by side, on as many lines as necessary."""
    rows = [Row().add(" ", paint.text)]
    for parts in items:
        if rows[-1].width > 1 and not rows[-1].fits("  " + "".join(text for text, _ in parts), width):
            rows.append(Row().add(" ", paint.text))
        rows[-1].add("  " if rows[-1].width > 1 else "", paint.text).join(parts)
    return [row.strip(width) for row in rows]


class Minimal(Lines):
    """The widget that shows the minimal view."""

    def update(self, view: ClusterView, last: EventTuple | None, selected: int | None) -> None:
        """Show a new view of the cluster."""
        self.show(paint_minimal(view, last, selected, self.paint, (self.box.width, self.box.height)))
