"""Switching a running cluster to steps by hand and back: by hand, nothing happens by itself, and afterwards everything continues as before."""

from __future__ import annotations

import pytest

from core.kafka.events import EventTuple
from core.kafka.ids import TopicPartition
from core.kafka.release import CURRENT
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.errors import ActRefused
from core.sim.kernel_messages import Timer
from core.sim.units import SECOND
from scenarios.releases import release_named

SPEC = ClusterSpec(tuple(BrokerSpec(number) for number in (1, 2, 3)), (TopicSpec("orders", 6, 3),))
BY_HAND, BY_ITSELF = acts.SetPace("by-hand"), acts.SetPace("timeline")

B2 = [
    (10, None, ["10/0", "0/0", "0/0"]),
    (0, (4, 5), ["10/0", "4/0", "5/0"]),
    (5, None, ["15/0", "4/0", "5/0"]),
    (0, (4, 5), ["15/4", "8/4", "10/4"]),
    (5, None, ["20/4", "8/4", "10/4"]),
    (0, (10, 8), ["20/8", "18/8", "18/8"]),
]
"""Worked example B2: the records produced, the records that each follower receives in a round, and then LEO/HW of the replicas."""


def running(until: int = 3 * SECOND) -> tuple[Cluster, list[EventTuple]]:
    """Return a cluster under load."""
    events: list[EventTuple] = []
    cluster = Cluster(SPEC, CURRENT, 7, events.append)
    cluster.do(acts.Load("orders", 300))
    cluster.do(acts.Consume("orders"))
    cluster.run_until(until)
    return cluster, events


def ends(cluster: Cluster, tp: TopicPartition) -> list[str]:
    """Return LEO/HW of the replicas in order."""
    view = cluster.partition_view(tp)
    return [f"{view.replica_on(broker).leo}/{view.replica_on(broker).hw}" for broker in view.replicas]


def hand(cluster: Cluster, tp: TopicPartition, counts: tuple[int, int]) -> None:
    """Execute a round: the fetches of both followers arrive, and then both are answered."""
    leader, *followers = cluster.partition_view(tp).replicas
    for follower in followers:
        cluster.do(acts.Arrive(follower, leader))
    for follower, count in zip(followers, counts, strict=True):
        cluster.do(acts.Answer(follower, leader, count))


@pytest.mark.parametrize("until", [1, 500_250, 3 * SECOND, 3 * SECOND + 77])
def test_the_table_of_b2_can_be_done_in_a_running_cluster(until: int) -> None:
    cluster, _ = running(until)
    cluster.do(BY_HAND)
    cluster.do(acts.CreateTopic("t", 1, 3))
    tp = TopicPartition("t", 0)
    for produced, handed, expected in B2:
        if handed is None:
            cluster.do(acts.Produce("t", produced, partition=0))
        else:
            hand(cluster, tp, handed)
        assert ends(cluster, tp) == expected
    assert cluster.now == until


def test_by_hand_no_time_passes_and_nobody_fetches_or_produces() -> None:
    cluster, events = running()
    cluster.do(BY_HAND)
    count, before = len(events), [ends(cluster, partition.tp) for partition in cluster.view().partitions]
    cluster.deliver_pending()
    assert len(events) == count
    cluster.run_until(cluster.now + 5 * SECOND)
    assert [ends(cluster, partition.tp) for partition in cluster.view().partitions] == before
    assert not any(broker.fenced for broker in cluster.view().brokers), "brokers go on telling that they live"


def test_afterwards_all_goes_on() -> None:
    cluster, events = running()
    cluster.do(BY_HAND)
    cluster.do(acts.Produce("orders", 1_000, partition=0))
    sent = cluster.clients.producer("load").metrics.sent  # type: ignore[union-attr]
    cluster.do(BY_ITSELF)
    cluster.run_until(cluster.now + 10 * SECOND)
    view = cluster.view()
    assert all(replica.leo >= partition.replica_views[0].hw for partition in view.partitions for replica in partition.replica_views)
    assert all(len(partition.isr) == 3 for partition in view.partitions)
    assert cluster.clients.producer("load").metrics.sent >= sent + 2_900  # type: ignore[union-attr]
    assert cluster.clients.producer("producer").metrics.acked == 1_000  # type: ignore[union-attr]
    assert not any(event[3] in ("isr-shrunk", "broker-fenced", "produce-failed", "fetcher-disconnected") for event in events)


def test_a_broker_that_died_and_came_back_by_hand_lives_afterwards() -> None:
    cluster, _ = running()
    cluster.do(BY_HAND)
    cluster.do(acts.Kill(2))
    cluster.do(acts.Fence(2))
    assert not any(2 in partition.isr for partition in cluster.view().partitions)
    cluster.do(acts.Start(2))
    assert not cluster.view().brokers[1].fenced, "by hand a start takes no time"
    cluster.do(BY_ITSELF)
    cluster.run_until(cluster.now + 60 * SECOND)
    assert not any(broker.fenced for broker in cluster.view().brokers)
    assert all(len(partition.isr) == 3 for partition in cluster.view().partitions)
    heartbeats = [entry.node for entry in cluster.agenda.entries if isinstance(entry.message, Timer) and entry.message.name == "heartbeat"]
    assert sorted(heartbeats) == ["b1", "b2", "b3"], "a broker that came back has one timer for heartbeats, too"


def test_a_broker_that_is_starting_or_frozen_meanwhile_goes_on_afterwards() -> None:
    cluster, _ = running()
    cluster.do(acts.Kill(2))
    cluster.run_until(15 * SECOND)
    cluster.do(acts.Start(2))
    cluster.do(acts.Pause(3))
    cluster.do(BY_HAND)
    cluster.do(BY_ITSELF)
    cluster.run_until(cluster.now + SECOND)
    cluster.do(acts.Resume(3))
    cluster.run_until(cluster.now + 60 * SECOND)
    assert all(len(partition.isr) == 3 for partition in cluster.view().partitions)
    assert not any(broker.fenced for broker in cluster.view().brokers)


def test_the_same_acts_make_the_same_events_also_from_a_snapshot_in_between() -> None:
    def play(cluster: Cluster) -> None:
        cluster.do(acts.Produce("orders", 20, partition=0))
        hand(cluster, TopicPartition("orders", 0), (3, 7))
        cluster.do(BY_ITSELF)
        cluster.run_until(cluster.now + 3 * SECOND)

    cluster, events = running()
    cluster.do(BY_HAND)
    kept, count = cluster.snapshot(), len(events)
    play(cluster)
    once = events[count:]
    again, seen = running()
    again.do(BY_HAND)
    play(again)
    assert seen == events
    restored: list[EventTuple] = []
    play(Cluster.restore(kept, restored.append))
    assert restored == once
    events.clear()
    cluster.restore_in_place(kept, events.append)
    play(cluster)
    assert events == once


@pytest.mark.parametrize("act", [acts.Fetch(2), acts.Arrive(2), acts.Answer(2), acts.Fence(2)])
def test_steps_by_hand_are_for_a_cluster_that_is_moved_by_hand(act: acts.Act) -> None:
    cluster, _ = running()
    with pytest.raises(ActRefused, match="switch the cluster to 'pace: by-hand' first"):
        cluster.do(act)


def test_the_pace_is_changed_once_and_where_it_can_be() -> None:
    cluster, _ = running()
    with pytest.raises(ActRefused, match="already running on its own"):
        cluster.do(BY_ITSELF)
    cluster.do(BY_HAND)
    with pytest.raises(ActRefused, match="already in by-hand mode"):
        cluster.do(BY_HAND)
    with pytest.raises(ActRefused, match="through ZooKeeper"):
        Cluster(SPEC, release_named("2.8")).do(BY_HAND)
