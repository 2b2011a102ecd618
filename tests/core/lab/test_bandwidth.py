"""A limited bandwidth of brokers: how long a follower needs to catch up, and what else it slows down."""

from __future__ import annotations

import pytest

from core.kafka.ids import TopicPartition
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.metrics.gauges import INTERFACE, cluster_gauges
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


@pytest.mark.parametrize(("replicas", "passed"), [((1, 2), 9_900_000), ((1, 2, 3), BANDWIDTH)])
def test_the_report_of_an_interface_says_how_long_it_will_be_busy(replicas: tuple[int, ...], passed: int) -> None:
    """It is right even if another follower in sync uses the interface of the leader, too."""
    made = cluster(BANDWIDTH, replicas)
    late = replicas[-1]
    made.do(acts.Load("orders", 4_000, acks="1", bytes=1_000, every=10_000))
    made.run_until(5 * SECOND)
    assert [made.view().broker(broker).network.out_percent for broker in replicas] == [40 * (len(replicas) - 1)] + [0] * (len(replicas) - 1)
    assert [made.view().broker(broker).network.in_percent for broker in replicas] == [40] * len(replicas)
    assert made.catch_ups(1) == (), "nothing is missing"
    made.do(acts.Shutdown(late))
    made.run_until(15 * SECOND)
    made.do(acts.Start(late))
    made.run_until(20 * SECOND)
    (catch_up,) = made.catch_ups(1)
    assert (catch_up.outgoing, catch_up.others, catch_up.partitions) == (True, (late,), 1)
    assert catch_up.inflow == 4_000_000 * (len(replicas) - 1)
    assert catch_up.passed == pytest.approx(passed, rel=0.005)
    samples = {sample.name: sample.attributes for sample in cluster_gauges(made) if sample.broker == 1}
    assert samples[INTERFACE.format(name="Utilization", direction="out")] == (("Value", catch_up.passed / BANDWIDTH),)
    assert samples[INTERFACE.format(name="BytesWaiting", direction="out")] == (("Value", made.view().broker(1).network.to_send),)
    of_followers = [each for broker in replicas[1:] for each in made.catch_ups(broker)]
    assert [each.others for each in of_followers] == ([(1,)] if len(replicas) == 2 else []), "two share what the leader sends"
    began = made.now
    while made.catch_ups(1):
        made.run_until(made.now + SECOND // 10)
    less = 4_000_000 * SECOND // (catch_up.passed - catch_up.inflow)  # the last second of the backlog no longer counts
    assert (made.now - began) == pytest.approx(catch_up.takes - less, rel=0.05)


@pytest.mark.parametrize("stands_still", [acts.Pause(2), acts.Cut(("b1", "b2"))], ids=["paused", "cut off"])
def test_a_replica_that_copies_nothing_does_not_wait_for_the_interface(stands_still: acts.Act) -> None:
    made = cluster(BANDWIDTH, (1, 2, 3))
    made.do(acts.Load("orders", 4_000, acks="1", bytes=1_000, every=10_000))
    made.run_until(5 * SECOND)
    made.do(acts.Shutdown(3))
    made.do(stands_still)
    made.run_until(15 * SECOND)
    made.do(acts.Start(3))
    made.run_until(20 * SECOND)
    assert bytes_behind(made) > 10 * 4_000_000
    (catch_up,) = made.catch_ups(1)
    assert (catch_up.others, catch_up.inflow) == ((3,), 4_000_000)


def test_without_a_limit_there_is_no_utilization() -> None:
    made = cluster(0)
    assert made.view().broker(1).network is None
    assert made.catch_ups(1) == ()
    assert not [sample for sample in cluster_gauges(made) if sample.name.startswith("isrlab.network")]


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
