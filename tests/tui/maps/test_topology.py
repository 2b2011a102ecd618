"""The picture of the cluster: what each node waits for, the links between nodes, and how they are drawn."""

from __future__ import annotations

import attrs
import pytest

from core.kafka.release import CURRENT
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND
from scenarios.releases import release_named
from tests.tui.app.test_playground import playing, screen_text
from tui.analysis.topology import Band, Topology, topology_of
from tui.maps.drawing import Picture, neighbour
from tui.maps.topology import paint_topology
from tui.rendering.palette import COLOR, PLAIN

SESSION = 9 * SECOND
RACKS = ("east", "north", "west")


def topology(cluster: Cluster) -> Topology:
    return topology_of(cluster.view(), cluster.traffic_report(), SESSION)


@pytest.fixture(scope="module")
def troubled() -> Topology:
    """Return a cluster of three zones in which b1 and b3 cannot reach each other, the link between b2 and b3 is slow, and b2 is paused."""
    spec = ClusterSpec(
        brokers=tuple(BrokerSpec(i, rack=RACKS[i - 1]) for i in (1, 2, 3)),
        topics=(TopicSpec("orders", assignment=(PartitionSpec((1, 2, 3)), PartitionSpec((3, 1, 2)))),),
    )
    cluster = Cluster(spec, CURRENT, 0)
    cluster.do(acts.Load("orders", 100, acks="all", producer="app"))
    cluster.do(acts.Consume("orders", consumer="reader"))
    cluster.run_until(SECOND)
    cluster.do(acts.Cut(("b1", "b3")))
    cluster.do(acts.Link(("b2", "b3"), latency=200_000))
    cluster.do(acts.Pause(2))
    cluster.run_until(5 * SECOND)
    return topology(cluster)


@pytest.fixture(scope="module")
def many() -> Topology:
    """Return a cluster of sixty brokers in three zones."""
    spec = ClusterSpec(brokers=tuple(BrokerSpec(i, rack=RACKS[i % 3]) for i in range(1, 61)), topics=(TopicSpec("orders", partitions=20),))
    return topology(Cluster(spec, CURRENT, 0))


def text(picture: Picture) -> str:
    return "\n".join(line.text for line in picture.lines)


def test_each_node_says_what_it_waits_for(troubled: Topology) -> None:
    said = {node.name: [wait.full for wait in node.waits] for node in troubled.nodes}
    assert "b1 has not answered its fetch of 1 partition for 4s." in said["b3"]
    assert "Writes with acks=all wait in 1 partition until b2 fetches or leaves the ISR: orders-0." in said["b1"]
    assert "Writes with acks=all wait in 1 partition until b3 fetches or leaves the ISR: orders-0." in said["b1"]
    assert any(sentence.startswith("Its process is paused. ") for sentence in said["b2"])
    assert any("fences it in 4.6s" in sentence for sentence in said["b2"])
    assert any("It has not heard from b2" in sentence for sentence in said["controller"])
    assert any(sentence.startswith("b1 has not answered ") for sentence in said["app"])


def test_a_link_has_its_fault_and_the_messages_that_cannot_proceed(troubled: Topology) -> None:
    cut, slow = troubled.tie("b3", "b1"), troubled.tie("b2", "b3")
    assert cut is not None
    assert cut.fault_from("b1") == ("cut", "↔", "")
    assert cut.counts_from("b1") == (0, 1, 0, 1)
    assert slow is not None
    assert slow.fault_from("b3") == ("slow", "↔", "200ms")
    assert troubled.ties_of("b3")[0] is cut


@pytest.mark.parametrize("size", [(80, 21), (120, 37), (200, 57), (72, 18), (79, 12)])
def test_every_node_is_drawn_and_no_line_is_too_wide(troubled: Topology, many: Topology, size: tuple[int, int]) -> None:
    for picture_of in (troubled, many):
        for selected in ("b1", "controller", "app"):
            picture = paint_topology(picture_of, COLOR, size, selected=selected)
            assert len(picture.lines) <= size[1]
            assert {line.cell_length for line in picture.lines} == {size[0]}
            drawn = [name for row in picture.rows for name in row]
            assert len(drawn) == len(set(drawn))
            if size != (79, 12):
                assert set(drawn) == {node.name for node in picture_of.nodes}


def test_links_are_arcs_if_the_boxes_fit_side_by_side(troubled: Topology) -> None:
    shown = text(paint_topology(troubled, COLOR, (120, 37), selected="b1"))
    assert "✕ cut →1 stuck ←1 stuck" in shown
    assert "≈ 200ms ←1" in shown
    assert "east" in shown
    assert "Fetch answer stuck" in shown


def test_brokers_that_do_not_fit_are_counted(many: Topology) -> None:
    shown = text(paint_topology(many, COLOR, (80, 10), selected="b1"))
    assert "more brokers do not fit" in shown


def test_the_selected_node_and_every_state_are_visible_without_colors(troubled: Topology) -> None:
    shown = text(paint_topology(troubled, PLAIN, (120, 37), selected="b3"))
    assert "┏━ ● b3 ━" in shown
    assert "‖ b2" in shown


def test_arrow_keys_stay_in_a_row_or_go_to_the_next_one() -> None:
    rows = [["controller"], ["b1", "b2", "b3"], ["app", "reader"]]
    assert neighbour(rows, "b3", "right") == "b1"
    assert neighbour(rows, "b1", "left") == "b3"
    assert neighbour(rows, "controller", "down") == "b2"
    assert neighbour(rows, "b3", "down") == "reader"
    assert neighbour(rows, "app", "down") == "app"
    assert neighbour(rows, "gone", "up") == "controller"


def test_zookeeper_keeps_the_sessions_and_a_broker_is_the_controller() -> None:
    spec = ClusterSpec(brokers=tuple(BrokerSpec(i) for i in (1, 2, 3)), topics=(TopicSpec("orders", partitions=2),))
    cluster = Cluster(spec, release_named("2.4"), 0)
    cluster.run_until(SECOND)
    cluster.do(acts.Kill(3))
    cluster.run_until(5 * SECOND)
    found = topology(cluster)
    silent = found.node("b3")
    assert silent is not None
    assert silent.waits[0].full.startswith("ZooKeeper last heard from it 4")
    assert "its session expires in" in silent.waits[0].full
    assert [node.name for node in found.in_band(Band.CONTROL)] == ["zookeeper"]
    assert [node.name for node in found.in_band(Band.BROKERS) if "controller" in node.does] == ["b1"]


def test_without_a_majority_no_broker_is_fenced() -> None:
    cluster = Cluster(ClusterSpec(brokers=tuple(BrokerSpec(i) for i in (1, 2))), CURRENT, 0)
    cluster.do(acts.Kill(2))
    cluster.run_until(5 * SECOND)
    found = topology_of(attrs.evolve(cluster.view(), majority=False), cluster.traffic_report(), SESSION)
    said = {node.name: [wait.full for wait in node.waits] for node in found.nodes}
    assert any(sentence.endswith("without a majority, nobody fences it.") for sentence in said["b2"])
    assert any(sentence.startswith("It waits for a majority of the voters") for sentence in said["controller"])


async def test_the_topology_and_the_map_follow_the_selection_and_open_the_screen_of_what_is_selected() -> None:
    async with playing(size=(120, 40), until=3 * SECOND) as (app, main_screen, pilot):
        await pilot.press("*")
        assert "Topology  3 of 3 brokers up" in screen_text(app)
        await pilot.press("right")
        assert main_screen.selection.broker == 2
        assert "┏━ ● b2 ━" in screen_text(app)
        await pilot.press("down", "enter")
        assert main_screen.pages.page is not None
        assert main_screen.pages.page.name == "partition"
        await pilot.press("#")
        assert "Map  9 partitions" in screen_text(app)
        await pilot.press("right", "enter")
        assert (main_screen.pages.page.name, str(main_screen.selection.partition)) == ("partition", "payments-1")
        await pilot.press("*", "up", "left", "enter")
        assert main_screen.pages.page is None
        assert main_screen.selection.broker in (1, 2, 3)
