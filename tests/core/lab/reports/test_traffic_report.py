"""The traffic report counts every message that has left its sender and has not been handled, and says who waits for whom."""

from __future__ import annotations

from core.kafka.release import CURRENT
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.reports.traffic_report import ReplicaFetch, UnansweredBatches, message_name
from core.lab.spec import BrokerSpec, ClusterSpec, NetworkSpec
from core.sim.units import SECOND

SPEC = ClusterSpec(
    brokers=tuple(BrokerSpec(i) for i in (1, 2, 3)),
    topics=(TopicSpec("orders", assignment=(PartitionSpec((1, 2, 3)),)),),
    network=NetworkSpec(latency=1_000),
)


def under_load(*, elide: bool = True) -> Cluster:
    cluster = Cluster(SPEC, CURRENT, 0, elide=elide)
    cluster.do(acts.Load("orders", 100, acks="all", producer="app"))
    cluster.run_until(SECOND)
    return cluster


def test_messages_wait_at_a_cut_link_and_at_a_paused_broker_and_followers_say_how_long_they_wait() -> None:
    cluster = under_load()
    cluster.do(acts.Cut(("b1", "b2")))
    cluster.do(acts.Pause(3))
    cluster.run_until(4 * SECOND)
    report = cluster.traffic_report()
    stuck = {(link.src, link.dst): link.stuck for link in report.links if link.stuck}
    assert stuck["b1", "b2"] == (("Fetch answer", 1),)
    assert stuck["b1", "b3"] == (("Fetch answer", 1),)
    assert report.paused == ("b3",)
    fetches = {(fetch.follower, fetch.leader): fetch for fetch in report.fetches}
    assert fetches[2, 1].partitions == 1
    assert 2 * SECOND < fetches[2, 1].waits_us <= 4 * SECOND
    (batches,) = report.unanswered
    assert batches == UnansweredBatches("app", 1, batches.batches, batches.oldest_us)
    assert batches.batches > 1
    assert batches.oldest_us > 2 * SECOND


def test_every_message_on_its_way_is_counted_also_if_idle_fetches_are_elided() -> None:
    clusters = [Cluster(SPEC, CURRENT, 0, elide=elide) for elide in (True, False)]
    seen = set()
    for tick in range(1, 1_200):
        for cluster in clusters:
            cluster.run_until(tick * 500)
        elided, simulated = (
            {(link.src, link.dst): link.moving for link in cluster.traffic_report().links if link.src[0] == link.dst[0] == "b"}
            for cluster in clusters
        )
        assert elided == simulated
        seen |= {name for moving in elided.values() for name, _ in moving}
    assert seen == {"Fetch", "Fetch answer"}


def test_a_healthy_follower_waits_at_most_for_the_time_of_a_long_poll() -> None:
    report = under_load().traffic_report()
    assert [(fetch.follower, fetch.leader) for fetch in report.fetches] == [(2, 1), (3, 1)]
    assert all(isinstance(fetch, ReplicaFetch) and fetch.waits_us < SECOND for fetch in report.fetches)


def test_messages_have_the_names_of_requests() -> None:
    assert message_name("ProduceRequest") == "Produce"
    assert message_name("ConsumerFetchResponse") == "Fetch answer"
    assert message_name("ConsumerGroupHeartbeatRequest") == "ConsumerGroupHeartbeat"
    assert message_name("Disconnected") == "end of the connection"
