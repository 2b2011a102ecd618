"""The picture of the cluster: nodes, zones, links with the messages under way, and what each node waits for."""

from __future__ import annotations

from typing import ClassVar

from textual.strip import Strip

from core.kafka.ids import TopicPartition, broker_address, broker_at
from tui.analysis.topology import Topology, session_timeout_us, topology_of
from tui.maps.drawing import Picture, neighbour
from tui.maps.topology import paint_topology
from tui.pages.page import OVERVIEW, Page


class TopologyPage(Page):
    """The page with the picture of the cluster.

    The arrow keys select a node, which is also the selected broker of the other screens. Enter opens the screen of the selected node.
    """

    name: ClassVar[str] = "topology"
    wide: ClassVar[bool] = True

    _node = ""
    _picture: Picture | None = None
    _topology: Topology | None = None

    def lines(self, width: int, height: int) -> list[Strip]:
        """Return the lines of the page."""
        screen = self.screen
        view, chosen = screen.view, screen.selection.broker
        topology = topology_of(view, screen.session.reports.traffic_report(), session_timeout_us(view, screen.session.settings()))
        at = broker_at(self._node)
        if chosen is not None and (not self._node or topology.node(self._node) is None or (at is not None and at != chosen)):
            self._node = broker_address(chosen)
        self._topology = topology
        self._picture = paint_topology(topology, self.paint, (width, height), selected=self._node)
        return self._picture.lines

    def _choose(self, node: str) -> None:
        """Select a node and, if it is a broker, also the broker."""
        self._node = node
        broker = broker_at(node)
        if broker is not None:
            self.screen.selection.choose(broker=broker)

    def move(self, key: str) -> bool:
        """Select the node that an arrow key reaches."""
        if self._picture is None or key in ("pageup", "pagedown"):
            return False
        self._choose(neighbour(self._picture.rows, self._node, key))
        return True

    def click(self, x: int, y: int, meta: dict[str, object]) -> None:
        """Select the node that was clicked."""
        if self._picture is not None and (node := self._picture.node_at(x, y)):
            self._choose(node)

    def enter(self) -> bool:
        """Open the screen of the selected node.

        For a broker, the overview; for a group member, the groups; for a process, the transactions; for a controller, the metrics; for
        another client, the worst partition of its topic.
        """
        node = None if self._topology is None else self._topology.node(self._node)
        if node is None:
            return False
        match node.kind:
            case "broker":
                self.screen.open_page(OVERVIEW)
            case "member":
                self.screen.open_page("groups")
            case "process":
                self.screen.open_page("transactions")
            case "producer" | "consumer":
                partition = self._worst_of(node.topic)
                if partition is None:
                    return False
                self.screen.selection.choose(partition=partition)
                self.screen.open_page("partition")
            case _:
                self.screen.open_page("metrics")
        return False

    def _worst_of(self, topic: str) -> TopicPartition | None:
        """Return the partition of a topic with the worst status; the selected partition if it belongs to the topic and none is worse."""
        chosen = self.screen.selection.partition
        views = [p for p in self.screen.view.partitions if p.tp.topic == topic]
        worst = min(views, key=lambda p: (p.status, p.tp != chosen, p.tp), default=None)
        return None if worst is None else worst.tp
