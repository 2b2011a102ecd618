"""Wrong clocks: what they show, and which decisions they affect and do not affect; and proxies that repeat or reorder a client's requests."""

from __future__ import annotations

import pytest

from core.kafka.broker.broker_state import BrokerState
from core.kafka.ids import TopicPartition
from core.kafka.release import RELEASES
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec, NetworkSpec
from core.sim.clock import Clock
from core.sim.errors import ActRefused
from core.sim.units import SECOND

TP = TopicPartition("t", 0)


def cluster_of(release: str = "4.1", network: NetworkSpec | None = None, **settings: int) -> Cluster:
    spec = ClusterSpec(
        tuple(BrokerSpec(broker) for broker in (1, 2, 3)),
        (TopicSpec("t", assignment=(PartitionSpec((1, 2, 3)),)),),
        tuple((name.replace("_", "."), value) for name, value in settings.items()),
        NetworkSpec() if network is None else network,
    )
    return Cluster(spec, RELEASES[release])


def test_what_a_clock_shows_and_how_long_its_durations_are() -> None:
    assert Clock().read(5) == 5
    assert Clock(skew=-3).read(2) == 0, "virtual time begins with 0"
    fast = Clock(skew=10, drift_ppm=500_000, since=100)
    assert (fast.read(100), fast.read(300)) == (110, 410)
    assert fast.true_duration(30) == 20
    assert Clock(drift_ppm=-500_000).true_duration(30) == 60


@pytest.mark.parametrize(("drift", "after"), [(0, 9), (500_000, 6), (-500_000, 18)])
def test_the_controllers_clock_decides_when_a_session_is_over(drift: int, after: int) -> None:
    """broker.session.timeout.ms is 9 s by the controller's clock: 6 s if the clock runs at 1.5 times the normal speed, and 18 s if it runs
    at half speed.

    The controller checks eight times per timeout, so it fences a broker at most an eighth later.
    """
    cluster = cluster_of()
    cluster.do(acts.SetClock("controller", drift_ppm=drift))
    cluster.run_until(10 * SECOND)
    cluster.do(acts.Kill(3))
    last = cluster.controller.last_contact[3]
    cluster.run_until(last + after * SECOND - SECOND // 2)
    assert not cluster.controller.cluster_control.brokers[3].fenced
    cluster.run_until(last + after * SECOND * 9 // 8 + 1)
    assert cluster.controller.cluster_control.brokers[3].fenced


def test_a_slow_clock_loses_its_broker_its_zookeeper_session() -> None:
    """The broker pings three times per session timeout by its own clock, and ZooKeeper measures by its own clock. At half speed, the
    session barely survives.
    """
    cluster = cluster_of("2.4")
    cluster.do(acts.SetClock("b3", drift_ppm=-500_000))
    cluster.run_until(60 * SECOND)
    assert 3 in cluster.partition_view(TP).isr
    assert cluster.brokers[3].context.settings.us("zookeeper.session.timeout.ms", broker=3) == 12 * SECOND


def test_clocks_that_are_always_right_and_clocks_too_wrong_are_refused() -> None:
    for release, node in (("2.4", "zookeeper"), ("4.1", "nobody")):
        with pytest.raises(ActRefused, match=node):
            cluster_of(release).do(acts.SetClock(node, skew=1))
    with pytest.raises(ActRefused, match="at most 50%"):
        cluster_of().do(acts.SetClock("b1", drift_ppm=500_001))
    quorum = Cluster(ClusterSpec((BrokerSpec(1),), controllers=("c1",)))
    quorum.run_until(3 * SECOND)
    for node in ("c1", "controller"):
        with pytest.raises(ActRefused, match="always right"):
            quorum.do(acts.SetClock(node, skew=1))


def test_records_bear_their_producers_time_and_lookups_bear_with_it() -> None:
    cluster = cluster_of(segment_bytes=1_048_576)
    log = cluster.brokers[1].disk.logs[TP]
    cluster.run_until(100 * SECOND)
    cluster.do(acts.Produce("t", 1, producer="app"))
    cluster.run_until(101 * SECOND)
    cluster.do(acts.SetClock("app", skew=-90 * SECOND))
    cluster.do(acts.Produce("t", 1, producer="app"))
    cluster.run_until(102 * SECOND)
    cluster.do(acts.SetClock("app"))
    cluster.do(acts.Produce("t", 1, producer="app"))
    cluster.run_until(103 * SECOND)
    stamps = [batch.timestamp // SECOND for term in log.records.terms for batch in term.batches]
    assert stamps == [100, 11, 102]


def test_a_proxys_copy_is_handled_twice_and_answered_once_for_the_client() -> None:
    events: list[tuple] = []
    spec = ClusterSpec(
        tuple(BrokerSpec(broker) for broker in (1, 2, 3)),
        (TopicSpec("t", assignment=(PartitionSpec((1, 2, 3)),)),),
        network=NetworkSpec(duplicate_ppm=1_000_000),
    )
    cluster = Cluster(spec, sink=events.append)
    cluster.do(acts.Consume("t", "reader", reset="earliest"))
    for _ in range(20):
        cluster.do(acts.Produce("t", 10, acks="all", idempotence=False))
        cluster.run_until(cluster.now + SECOND)
    producer, log = cluster.clients.producer("producer"), cluster.brokers[1].disk.logs[TP]
    assert producer is not None
    assert (producer.metrics.acked, producer.metrics.failed, producer.metrics.retries) == (200, 0, 0)
    assert (log.leo, log.high_watermark, cluster.account.duplicated, cluster.account.lost) == (400, 400, 200, 0)
    reader = cluster.clients.consumer("reader")
    assert reader is not None
    assert reader.read == 400, "the copies are records like all others"
    assert cluster.brokers[2].context.state is BrokerState.RUNNING


def test_copies_of_acks_0_are_counted_too() -> None:
    cluster = cluster_of(network=NetworkSpec(duplicate_ppm=1_000_000))
    cluster.do(acts.Produce("t", 10, acks="0"))
    cluster.run_until(SECOND)
    assert cluster.account.duplicated == 10


def test_between_brokers_tcp_delivers_once_and_in_order() -> None:
    cluster = cluster_of()
    with pytest.raises(ActRefused, match="TCP, which delivers messages once and in order"):
        cluster.do(acts.Link(("b1", "b2"), duplicate_ppm=10))
    cluster.do(acts.Produce("t", 1))
    cluster.do(acts.Link(("producer", "b1"), duplicate_ppm=10, reorder_ppm=10))
