"""Timelines that once broke an invariant, each with an explanation."""

from __future__ import annotations

import attrs
import pytest

from core.kafka.ids import CONTROLLER, TopicPartition
from core.kafka.release import CURRENT, RELEASES
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec, ControlPlane
from core.sim.units import SECOND, US_PER_MS
from tests.core.properties.search import watched
from tests.core.properties.timelines import Timeline


def test_a_fetch_of_the_former_epoch_that_is_fenced_is_tried_again() -> None:
    """Before 3.6, shrinking the ISR raises the leader epoch although the leader stays. A fetch that waits at the leader is fenced if its
    follower is already in the new epoch.

    A follower gives up only if the fenced request had its current epoch (`AbstractFetcherThread#onPartitionFenced`).
    """
    timeline = Timeline(3, (1,), 0, 500, ((0, acts.Kill(1)),))
    for release in ("2.1", "2.8", "3.3"):
        watched(timeline, RELEASES[release])


def test_an_answer_to_a_brokers_former_process_is_not_taken_for_its_own() -> None:
    """b1 dies while its links are cut, so the controller still holds its metadata fetch, and the response reaches the next process.

    That process is not registered. If it accepted the response, it would become a follower and send heartbeats with the former process's
    epoch.
    """
    watched(Timeline(3, (1,), 0, 500, ((0, acts.Isolate("b1")), (0, acts.Kill(1)))), CURRENT)


def test_a_broker_that_was_down_from_the_start_can_be_started() -> None:
    spec = Timeline(3, (1,), 0, 500, ()).spec()
    cluster = Cluster(attrs.evolve(spec, brokers=(*spec.brokers[:2], BrokerSpec(3, up=False))))
    cluster.do(acts.Start(3))
    cluster.run_until(10 * SECOND)
    assert cluster.partition_view(TopicPartition("t0", 0)).isr == (1, 2, 3)


def test_an_idle_follower_that_was_fenced_comes_back_into_the_isr() -> None:
    """b1 continues to fetch while the controller does not hear from it and fences it. Even if there are no new records to fetch, b1 must be
    found in sync again.
    """
    cluster = Cluster(Timeline(3, (1,), 0, 500, ()).spec())
    tp = TopicPartition("t0", 0)
    follower = next(broker for broker in cluster.brokers if broker != cluster.partition_view(tp).leader)
    link = (f"b{follower}", CONTROLLER)
    for after, deed in ((0, acts.Produce("t0", 10)), (3, acts.Cut(link)), (15, acts.Heal(link))):
        cluster.run_until(cluster.now + after * SECOND)
        if isinstance(deed, acts.Heal):
            assert follower not in cluster.partition_view(tp).isr
        cluster.do(deed)
    cluster.run_until(cluster.now + 10 * SECOND)
    assert cluster.partition_view(tp).isr == (1, 2, 3)


def test_an_idle_follower_stays_in_the_isr_by_its_fetches() -> None:
    """Before 2.1, the ISR depends only on time: a follower that returned and has nothing to fetch is caught up as of each of its fetches."""
    spec = attrs.evolve(Timeline(3, (1,), 0, 15_000, ()).spec(), settings=(("min.insync.replicas", 2), ("replica.lag.time.max.ms", 5_000)))
    tp = TopicPartition("t0", 0)
    for release in ("0.9", "2.0"):
        cluster = Cluster(spec, RELEASES[release])
        follower = next(broker for broker in cluster.brokers if broker != cluster.partition_view(tp).leader)
        for after, deed in ((0, acts.Produce("t0", 10)), (3, acts.Kill(follower)), (12, acts.Start(follower))):
            cluster.run_until(cluster.now + after * SECOND)
            cluster.do(deed)
        cluster.run_until(cluster.now + 20 * SECOND)
        before = cluster.partition_view(tp)
        cluster.run_until(cluster.now + 100 * SECOND)
        assert (cluster.partition_view(tp).isr, cluster.partition_view(tp).partition_epoch) == ((3, 2, 1), before.partition_epoch)


def test_a_batch_given_up_does_not_hold_up_the_next() -> None:
    """delivery.timeout.ms has elapsed for a batch while its leader refuses connections. The producer must still find the new leader for the
    next batch.
    """
    spec = attrs.evolve(Timeline(4, (), 0, 500, ()).spec(), topics=(TopicSpec("t", assignment=(PartitionSpec((1, 2, 3)),)),))
    for moment in range(119_000, 120_000, 50):
        cluster = Cluster(spec)
        cluster.do(acts.Kill(2))
        cluster.do(acts.Kill(3))
        cluster.run_until(20 * SECOND)
        cluster.do(acts.Produce("t", 1))
        cluster.run_until(80 * SECOND)
        cluster.do(acts.Produce("t", 1))
        cluster.run_until(20 * SECOND + moment * US_PER_MS)
        for deed in (acts.Kill(1), acts.Start(1), acts.Start(2), acts.Start(3)):
            cluster.do(deed)
        cluster.run_until(cluster.now + 40 * SECOND)
        producer = cluster.clients.producer("producer")
        assert producer is not None
        assert (producer.metrics.acked, producer.metrics.failed) == (1, 1), f"killed after {moment} ms"


def test_a_leader_that_missed_anothers_term_trusts_what_it_knew_of_its_followers() -> None:
    """Kafka has this flaw: a broker that is elected again keeps its followers' LEOs (`Replica#resetReplicaState`), although a follower may
    have truncated.

    b1 leads. b3 has fetched offsets 100 to 109 from it, and b2 has not. b2 leads for a moment, and b3 truncates these offsets. Then b1
    leads again and learns of both changes at once, so it was never anything but leader. It believes that b3 still has the records, commits
    them with an ISR of [1, 3], acknowledges them, and dies before b3 fetches.
    """
    tp = TopicPartition("t", 0)
    spec = ClusterSpec(
        brokers=tuple(BrokerSpec(broker) for broker in (1, 2, 3)),
        topics=(TopicSpec("t", assignment=(PartitionSpec((2, 1, 3), isr=(1, 2, 3), leader=1),)),),
        settings=(("min.insync.replicas", 2),),
    )
    cluster = Cluster(spec)
    logs = {broker.id: broker.disk.logs[tp] for broker in cluster.brokers.values()}

    def then(after: int, *deeds: acts.Act) -> None:
        cluster.run_until(cluster.now + after)
        for deed in deeds:
            cluster.do(deed)

    then(0, acts.Produce("t", 100, partition=0))
    then(2 * SECOND, acts.Cut(("b2", "b1")), acts.Produce("t", 10, partition=0))
    then(SECOND, acts.Hold((CONTROLLER, "b1")), acts.Set("num.partitions", "2", force=True))
    then(10_000, acts.Elect())
    then(SECOND, acts.Shutdown(2))
    assert (logs[1].leo, logs[3].leo, cluster.account.elections) == (110, 100, {"preferred": 1})
    then(3 * SECOND, acts.Release((CONTROLLER, "b1")))
    then(2_100, acts.Kill(1))
    assert (logs[1].high_watermark, logs[3].leo, cluster.account.acked) == (110, 100, 110)
    then(30 * SECOND)
    assert cluster.account.lost == 10


def _zookeeper_cluster(release: str) -> Cluster:
    """Build a cluster in which broker 1 is the controller and follows 2 in `u`. In `t`, 3 leads and 2 is preferred."""
    spec = ClusterSpec(
        brokers=tuple(BrokerSpec(broker) for broker in (1, 2, 3)),
        topics=(TopicSpec("t", assignment=(PartitionSpec((2, 3), leader=3),)), TopicSpec("u", assignment=(PartitionSpec((2, 1)),))),
    )
    return Cluster(spec, RELEASES[release])


@pytest.mark.parametrize("release", ["0.8.2", "2.4", "2.8"])
def test_a_controllers_request_is_sent_again_until_it_is_answered(release: str) -> None:
    """The connection is closed with a LeaderAndIsr request on it. The leader must learn its epoch, or its followers are refused forever
    (UNKNOWN_LEADER_EPOCH).
    """
    cluster = _zookeeper_cluster(release)
    cluster.do(acts.Cut(("b1", "b2")))
    cluster.do(acts.Elect("preferred", TopicPartition("t", 0)))
    cluster.run_until(35 * SECOND)
    assert cluster.partition_view(TopicPartition("t", 0)).replica_on(2).role == "follower"
    assert cluster.network.connections["b1", "b2"].number == 1, "the fetcher of broker 1 had no answer for replica.socket.timeout.ms"
    cluster.do(acts.Heal())
    cluster.run_until(80 * SECOND)
    view = cluster.partition_view(TopicPartition("t", 0))
    assert (view.leader, view.replica_on(2).role, sorted(view.isr)) == (2, "leader", [2, 3])


@pytest.mark.parametrize("release", ["2.7", "2.8"])
def test_a_proposal_whose_answer_was_lost_is_answered_when_it_comes_again(release: str) -> None:
    """Otherwise, INVALID_UPDATE_VERSION makes the leader wait forever for news that a ZooKeeper controller never sends."""
    cluster = _zookeeper_cluster(release)
    tp = TopicPartition("t", 0)
    cluster.do(acts.Hold(("b2", "b3")))
    cluster.do(acts.Produce("t", 10, acks="1"))
    cluster.run_until(2 * SECOND)
    cluster.do(acts.Hold(("b1", "b3")))
    cluster.run_until(50 * SECOND)
    assert cluster.partition_view(tp).isr == (3,), "the controller has taken the proposal; its leader does not know"
    assert cluster.brokers[3].partitions[tp].isr == (2, 3)
    cluster.run_until(100 * SECOND)
    cluster.do(acts.Release(("b1", "b3")))
    cluster.do(acts.Release(("b2", "b3")))
    cluster.run_until(180 * SECOND)
    assert cluster.partition_view(tp).isr == cluster.brokers[3].partitions[tp].isr == (3, 2)


def test_a_broker_that_ends_rather_than_cut_its_log_ends_again_after_every_start() -> None:
    """Up to 1.1 (KAFKA-3410): the log of a leader that restarted from its checkpoint is shorter than the high watermark of a follower,
    which must not be truncated.
    """
    steps = (
        *((0, act) for act in (acts.Elect(), acts.Start(1), acts.Elect(), acts.Elect())),
        (20_000, acts.Kill(2)),
        (0, acts.Shutdown(1)),
        (SECOND, acts.Kill(1)),
        (0, acts.Set("min.insync.replicas", "3")),
    )
    timeline = Timeline(brokers=4, partitions=(1, 1), seed=0, latency=500, steps=steps, control_plane=ControlPlane.BY_RELEASE)
    cluster = watched(timeline, RELEASES["0.10.2"])
    registration = cluster.controller.registry.partitions[TopicPartition("t1", 0)]
    assert (registration.leader, 1 in registration.isr) == (3, False)
    assert cluster.brokers[1].disk.logs[TopicPartition("t1", 0)].leo > cluster.brokers[3].disk.logs[TopicPartition("t1", 0)].leo
    watched(timeline, RELEASES["2.0"], lossless=False)
