"""Draws the picture of the cluster: controllers above, brokers by zone in the middle, links below them, and clients at the bottom.

If the boxes of all brokers fit side by side, the links between brokers are drawn as arcs below the boxes. Otherwise, each broker is a cell
in a grid, and the links with a problem are listed. In both cases, each node shows its link to the selected node.
"""

from __future__ import annotations

from textual import events
from textual.message import Message
from textual.strip import Strip

from tui.analysis.topology import Band, Topology
from tui.maps.broker_grid import draw_as_grid, least_grid
from tui.maps.drawing import Picture
from tui.maps.side_by_side import box_width, draw_side_by_side
from tui.maps.topology_details import detail_lines, trouble_lines, wait_lines
from tui.panels.lines import Lines
from tui.rendering.palette import Palette
from tui.rendering.rows import blank, rule


def _headline(topology: Topology, paint: Palette, width: int, focused: bool) -> Strip:
    brokers, clients = topology.in_band(Band.BROKERS), topology.in_band(Band.CLIENTS)
    up = sum(node.role == "good" for node in brokers)
    title = f"Topology  {up} of {len(brokers)} brokers up"
    if topology.zones:
        title += f" in {len(topology.zones)} zone{'s' if len(topology.zones) > 1 else ''}"
    cut = sum(bool(tie.faults) for tie in topology.ties.values())
    notes = [
        f"{len(clients)} client{'s' if len(clients) != 1 else ''}",
        f"{cut} faulty link{'s' if cut != 1 else ''}" if cut else "",
        f"{topology.moving} message{'s' if topology.moving != 1 else ''} under way",
        f"{topology.stuck} stuck" if topology.stuck else "",
    ]
    note = " · ".join(filter(None, notes))
    return rule(
        title,
        note,
        width,
        paint.title_focused if focused else paint.title,
        paint.faint,
        paint.warn if cut or topology.stuck else paint.muted,
    )


def paint_topology(
    topology: Topology, paint: Palette, size: tuple[int, int], *, selected: str, focused: bool = True, detail: bool = True
) -> Picture:
    """Draw the picture of a cluster.

    Args:
        topology: the nodes and links.
        paint, size: the palette, and the width and height in cells, including the headline.
        selected: the address of the selected node.
        focused: whether the picture has the keyboard focus.
        detail: whether the details of the selected node are shown below the picture.
    """
    width, height = size
    head = _headline(topology, paint, width, focused)
    body = max(0, height - 1)
    room = body - ((7 if body >= 30 else 4) if detail else 0)
    each = box_width(topology, width)
    drawing = draw_side_by_side(topology, paint, (width, room), selected, focused, each) if each else None
    troubles: list[Strip] = []
    if drawing is None:
        troubles = trouble_lines(topology, paint, width, max(0, min(6 if room >= 30 else 3, room - 2 - least_grid(topology, width))))
        drawing = draw_as_grid(topology, paint, (width, room - len(troubles)), selected, focused)
    below = troubles
    if detail:
        rest = body - drawing.canvas.height - len(troubles)
        below = [*troubles, *detail_lines(topology, selected, paint, width, rest)]
        below += wait_lines(topology, selected, paint, width, body - drawing.canvas.height - len(below))
    return drawing.picture(head, below)


class TopologyPanel(Lines):
    """The widget that shows the picture of the cluster beside the other panels on wide screens. A click selects a broker."""

    class Picked(Message):
        """The message that is sent when the user clicks a broker."""

        def __init__(self, broker: int) -> None:
            super().__init__()
            self.broker = broker

    def __init__(self, paint: Palette, *, id: str) -> None:
        super().__init__(paint, id=id)
        self._picture: Picture | None = None
        self._topology: Topology | None = None

    def update(self, topology: Topology, selected: str) -> None:
        """Show a new picture."""
        width, height = self.box
        self._topology = topology
        self._picture = paint_topology(topology, self.paint, (width, height), selected=selected, focused=False, detail=False)
        self.show(([*self._picture.lines, *[blank(width)] * height])[:height])

    def forget(self) -> None:
        """Release the picture, because the session has ended."""
        self._picture = self._topology = None

    def on_click(self, event: events.Click) -> None:
        """Select the broker under the mouse."""
        if self._picture is None or self._topology is None:
            return
        node = self._topology.node(self._picture.node_at(event.x, event.y))
        if node is not None and node.broker >= 0:
            self.post_message(self.Picked(node.broker))
