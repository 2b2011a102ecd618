"""The map of all partitions beside the other panels of a wide screen, for clusters with too many brokers for a picture."""

from __future__ import annotations

from textual import events
from textual.message import Message

from core.kafka.ids import TopicPartition
from core.lab.views.cluster_view import ClusterView
from tui.analysis.partition_map import PartitionMap
from tui.maps.map_page import Listed, MapPainter, legend_lines
from tui.maps.map_plan import MapPlan, plan_map
from tui.panels.lines import Lines
from tui.rendering.palette import Palette
from tui.rendering.rows import blank, rule


class MapPanel(Lines):
    """The widget that shows the map. A click selects the worst partition of a cell."""

    class Picked(Message):
        """The message that is sent when the user clicks a cell."""

        def __init__(self, partition: TopicPartition) -> None:
            super().__init__()
            self.partition = partition

    def __init__(self, paint: Palette, *, id: str) -> None:
        super().__init__(paint, id=id)
        self._states = PartitionMap()
        self._painter = MapPainter(paint)
        self._planned: tuple[object, Listed, MapPlan] | None = None
        self._above = 0

    def update(self, view: ClusterView, partition: TopicPartition | None) -> None:
        """Show a new view of the cluster, with the selected partition."""
        width, height = self.box
        states, paint = self._states, self.paint
        states.update(view)
        self._painter.use(paint)
        lines = [rule(f"Map  {len(states):,} partitions", "# walks into it", width, paint.title, paint.faint, paint.muted)]
        lines += legend_lines(states.counts, paint, width)
        self._above = len(lines)
        key = (states.generation, width, height - len(lines))
        if self._planned is None or self._planned[0] != key:
            listed = Listed.of(states, range(len(states)))
            self._planned = (key, listed, plan_map(listed.groups, width, height - len(lines)))
        _, listed, plan = self._planned
        cursor = plan.place(states.place_of(partition)) if partition is not None and len(states) else (-1, -1)
        lines += self._painter.lines(states, listed, plan, width, cursor, states.at)
        self.show([*lines, *[blank(width)] * height][:height])

    def forget(self) -> None:
        """Release the views of the partitions, because the session has ended."""
        self._states, self._planned = PartitionMap(), None

    def on_click(self, event: events.Click) -> None:
        """Select the worst partition of the cell under the mouse."""
        if self._planned is None or not 0 <= event.y - self._above < len(self._planned[2].rows):
            return
        _, listed, plan = self._planned
        start, stop = plan.cell_at(event.y - self._above, (event.x - plan.label) // plan.cell)
        cell = listed.states(self._states, start, stop)
        self.post_message(self.Picked(self._states.at(listed.places[start + cell.index(min(cell))]).tp))
