"""A limited bandwidth of brokers: how long a follower needs to catch up, and what else it slows down."""

from __future__ import annotations

import pytest

from core.kafka.ids import TopicPartition
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec, NetworkSpec
from core.sim.errors import ActRefused
from core.sim.units import SECOND

TP = TopicPartition("orders", 0)
BANDWIDTH = 10_000_000
FETCH = 1_048_576


def cluster(bandwidth: int, replicas: tuple[int, ...] = (1, 2)) -> Cluster:
    topic = TopicSpec("orders", assignment=(PartitionSpec(replicas),))
    return Cluster(ClusterSpec(tuple(map(BrokerSpec, replicas)), (topic,), network=NetworkSpec(bandwidth=bandwidth)))


def bytes_behind(made: Cluster) -> int:
    leader, follower = (made.brokers[broker].disk.logs[TP] for broker in (1, 2))
    return leader.records.bytes_between(follower.leo, leader.leo)


def catch_up(made: Cluster, rate: int) -> tuple[int, float]:
    """Let the follower be down for 20 s under a load of records of 1,000 bytes. Return its backlog when it begins to copy, and the time that
    it then needs, in seconds.
    """
    made.do(acts.Load("orders", rate, acks="1", bytes=1_000, every=10_000))
    made.run_until(5 * SECOND)
    made.do(acts.Shutdown(2))
    made.run_until(25 * SECOND)
    made.do(acts.Start(2))
    before = made.brokers[2].disk.logs[TP].leo
    while made.brokers[2].disk.logs[TP].leo == before:
        made.step()
    backlog, since = bytes_behind(made) + FETCH, made.now - FETCH * SECOND // BANDWIDTH
    while bytes_behind(made) >= FETCH:
        made.run_until(made.now + 20_000)
    return backlog - bytes_behind(made), (made.now - since) / SECOND


@pytest.mark.parametrize("rate", [1_000, 6_000])
def test_a_follower_catches_up_as_the_closed_form_says(rate: int) -> None:
    """It needs backlog / (bandwidth - inflow). Between two responses of 1 MiB, a round trip passes in which nothing is copied."""
    backlog, took = catch_up(cluster(BANDWIDTH), rate)
    copied = FETCH / (FETCH / BANDWIDTH + 0.001)
    assert took == pytest.approx(backlog / (copied - rate * 1_000), rel=0.03)
    assert backlog > 20 * rate * 1_000


def test_without_a_limit_it_takes_round_trips_only() -> None:
    backlog, took = catch_up(cluster(0), 4_000)
    assert backlog > 80_000_000
    assert took < 1


def test_a_follower_that_catches_up_slows_the_acknowledgments_of_others() -> None:
    made = cluster(BANDWIDTH, (1, 2, 3))
    made.do(acts.Load("orders", 3_000, acks="all", bytes=1_000))
    made.run_until(5 * SECOND)
    (quick,) = made.view().producers
    made.do(acts.Shutdown(3))
    made.run_until(25 * SECOND)
    made.do(acts.Start(3))
    made.run_until(40 * SECOND)
    (slow,) = made.view().producers
    assert quick.last_latency_us < 60_000
    assert slow.last_latency_us > 200_000


def test_a_session_with_a_limit_goes_on_from_a_snapshot_and_has_no_by_hand_mode() -> None:
    ends = []
    for copies in (False, True):
        made = cluster(BANDWIDTH)
        made.do(acts.Load("orders", 12_000, acks="1", bytes=1_000))
        made.run_until(3 * SECOND)
        assert made.network.backlogs(made.now), "the leader receives more than it can send"
        if copies:
            made = Cluster.restore(made.snapshot())
        with pytest.raises(ActRefused, match="limited bandwidth"):
            made.do(acts.SetPace("by-hand"))
        made.run_until(8 * SECOND)
        ends.append((made.brokers[2].disk.logs[TP].leo, made.network.backlogs(made.now)))
    assert ends[0] == ends[1]
