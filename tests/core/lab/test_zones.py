"""Zones: the latency of links between them, and the acts on all nodes of a zone."""

from __future__ import annotations

import pytest

from core.kafka.events import Acted, BrokerStopped, ControllerStopped, EventTuple, ProduceAcked
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec, NetworkSpec, ZoneSpec
from core.sim.errors import ActRefused
from core.sim.events import first_cause, kind_of, seq_of
from core.sim.units import SECOND

SAME_LATENCY = NetworkSpec()
ZONES = (ZoneSpec("a", ("b1", "c1", "app")), ZoneSpec("b", ("b2", "c2")), ZoneSpec("c", ("b3", "c3")))


def spec(network: NetworkSpec = SAME_LATENCY, zones: tuple[ZoneSpec, ...] = ZONES) -> ClusterSpec:
    return ClusterSpec(
        tuple(BrokerSpec(broker) for broker in (1, 2, 3)),
        (TopicSpec("orders", assignment=(PartitionSpec((1, 2, 3)),)),),
        network=network,
        controllers=("c1", "c2", "c3"),
        zones=zones,
    )


def played(of: ClusterSpec, *, elide: bool = True) -> tuple[Cluster, list[EventTuple]]:
    """Produce ten records with acks=all, one every second."""
    events: list[EventTuple] = []
    cluster = Cluster(of, sink=events.append, elide=elide)
    cluster.run_until(5 * SECOND)
    for _ in range(10):
        cluster.do(acts.Produce("orders", 1, producer="app"))
        cluster.run_until(cluster.now + SECOND)
    return cluster, events


def ack_latency(events: list[EventTuple]) -> int:
    """Return the latency of the last acknowledgment, when the client knows the leader."""
    return [ProduceAcked(event).latency_us for event in events if kind_of(event) == ProduceAcked.kind][-1]


def test_acknowledgments_wait_for_the_zones_of_the_isr() -> None:
    """The leader answers a waiting fetch, which arrives after 10 ms. The next fetch, which says that the follower has the record, takes
    another 10 ms. The request and the response of the producer, which is in the leader's zone, take 0.5 ms each.
    """
    near, far = (("a", "b", 2_000), ("a", "c", 10_000)), (("a", "b", 2_000), ("a", "c", 1_000))
    assert ack_latency(played(spec(NetworkSpec(between_zones=near)))[1]) == 500 + 2 * 10_000 + 500
    assert ack_latency(played(spec(NetworkSpec(between_zones=far)))[1]) == 500 + 2 * 2_000 + 500
    assert ack_latency(played(spec())[1]) == 500 + 2 * 500 + 500


def test_elided_fetches_between_zones_change_no_event() -> None:
    network = NetworkSpec(between_zones=(("a", "b", 2_000), ("b", "c", 3_000), ("a", "c", 10_000)))
    assert played(spec(network))[1] == played(spec(network), elide=False)[1]


def test_a_changed_link_keeps_its_own_latency_until_it_is_restored() -> None:
    cluster, events = played(spec(NetworkSpec(between_zones=(("a", "b", 2_000), ("a", "c", 10_000)))))
    cluster.do(acts.Cut(("b1", "b3")))
    cluster.do(acts.Heal())
    assert not cluster.view().changed_links, "a healed link has the latency between its zones again"
    cluster.do(acts.Link(("b1", "b3"), latency=4_000))
    (there, _) = cluster.view().changed_links
    assert (there.src, there.dst, there.usual_latency_us) == ("b1", "b3", 10_000)
    cluster.do(acts.Produce("orders", 1, producer="app"))
    cluster.run_until(cluster.now + SECOND)
    assert ack_latency(events) == 500 + 2 * 4_000 + 500
    cluster.do(acts.Link(("b1", "b3"), latency=there.usual_latency_us))
    assert not cluster.view().changed_links


def running(cluster: Cluster) -> list[str]:
    return [node for node, alive in cluster.network.alive.items() if alive]


def test_a_zone_fails_and_comes_back_with_its_brokers_and_controllers() -> None:
    cluster, events = played(spec())
    cluster.do(acts.FailZone("b", unflushed="lost"))
    assert {"b1", "c1", "b3", "c3"} <= set(running(cluster))
    assert not {"b2", "c2"} & set(running(cluster))
    assert cluster.network.off == {"b2", "c2"}, "nobody is told that the connections ended"
    acted = next(event for event in events if kind_of(event) == Acted.kind and Acted(event).act == "fail-zone")
    stopped = [event for event in events if kind_of(event) in (BrokerStopped.kind, ControllerStopped.kind)]
    assert [BrokerStopped(stopped[0]).how, ControllerStopped(stopped[1]).controller] == ["power-loss", "c2"]
    assert {first_cause(event) for event in stopped} == {seq_of(acted)}, "the act caused both"
    with pytest.raises(ActRefused, match="no broker or controller of zone b is running"):
        cluster.do(acts.FailZone("b"))
    cluster.do(acts.RestoreZone("b"))
    cluster.run_until(cluster.now + 10 * SECOND)
    assert {"b1", "b2", "b3", "c1", "c2", "c3"} <= set(running(cluster))
    with pytest.raises(ActRefused, match="no broker or controller of zone b can be started"):
        cluster.do(acts.RestoreZone("b"))


def cut_links(cluster: Cluster) -> set[tuple[str, str]]:
    return {pair for pair in cluster.view().cut_links if pair[0] < pair[1]}


def test_a_zone_is_cut_from_everything_or_from_another_zone() -> None:
    cluster, _ = played(spec())
    cluster.do(acts.CutZone("a", "b"))
    between = {("app", "b2"), ("app", "c2"), ("b1", "b2"), ("b1", "c2"), ("b2", "c1"), ("c1", "c2")}
    assert cut_links(cluster) == between
    with pytest.raises(ActRefused, match="no link between zone a and zone c is cut"):
        cluster.do(acts.HealZone("a", "c"))
    cluster.do(acts.CutZone("a"))
    assert cut_links(cluster) == between | {
        tuple(sorted((a, b))) for a in ("app", "b1", "c1") for b in ("b3", "c3", "controller") if b in cluster.nodes
    }
    cluster.do(acts.HealZone("b", "a"))
    assert not cut_links(cluster) & between
    cluster.do(acts.HealZone("a"))
    assert not cut_links(cluster)
    with pytest.raises(ActRefused, match="there is no zone d; the zones are a, b, c"):
        cluster.do(acts.CutZone("d"))
    with pytest.raises(ActRefused, match="zone a has no links to itself"):
        cluster.do(acts.CutZone("a", "a"))


@pytest.mark.parametrize(
    ("zones", "network", "error"),
    [
        ((ZoneSpec("a", ("b1",)), ZoneSpec("b", ("b1",))), NetworkSpec(), "node in the zones: b1 appears twice"),
        ((ZoneSpec("a", ("b4",)),), NetworkSpec(), "zone a has broker 4, which the cluster does not have"),
        ((ZoneSpec("a", ("c4",)),), NetworkSpec(), "zone a has controller c4, which the cluster does not have"),
        ((ZoneSpec("a", ("zookeeper",)),), NetworkSpec(), "zookeeper never fails"),
        (ZONES, NetworkSpec(between_zones=(("a", "d", 1),)), "there is no zone d; the zones are a, b, c"),
        (ZONES, NetworkSpec(between_zones=(("a", "b", 1), ("b", "a", 2))), "latency between zones a and b appears twice"),
    ],
)
def test_impossible_zones_are_refused(zones: tuple[ZoneSpec, ...], network: NetworkSpec, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        spec(network, zones).check()
