"""A4 and RCM-13 on a running cluster: replicas are added and catch up, and only then are the old replicas removed. A move can be canceled."""

from __future__ import annotations

import pytest

from core.kafka.ids import TopicPartition
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.errors import ActRefused
from core.sim.units import SECOND

TP = TopicPartition("foo", 0)


def cluster_with(replicas: tuple[int, ...], brokers: int = 4) -> Cluster:
    spec = ClusterSpec(tuple(BrokerSpec(broker) for broker in range(brokers)), (TopicSpec("foo", assignment=(PartitionSpec(replicas),)),))
    cluster = Cluster(spec)
    cluster.do(acts.Produce("foo", 100))
    cluster.run_until(2 * SECOND)
    return cluster


def test_rcm_13_a_pure_reorder_is_done_at_once() -> None:
    cluster = cluster_with((1, 2, 3))
    cluster.do(acts.Reassign(TP, (3, 2, 1)))
    view = cluster.partition_view(TP)
    assert (view.replicas, view.adding, view.removing) == ((3, 2, 1), (), ())
    assert view.leader == 1


def test_rcm_13_a_move_adds_first_and_removes_when_the_new_replica_is_in_sync() -> None:
    cluster = cluster_with((3, 2, 1))
    cluster.do(acts.Reassign(TP, (0, 2, 1)))
    moving = cluster.partition_view(TP)
    assert (moving.replicas, moving.adding, moving.removing, moving.isr) == ((0, 2, 1, 3), (0,), (3,), (3, 2, 1))
    cluster.run_until(5 * SECOND)
    moved = cluster.partition_view(TP)
    assert (moved.replicas, moved.adding, moved.removing) == ((0, 2, 1), (), ())
    assert sorted(moved.isr) == [0, 1, 2]
    assert moved.leader == 0
    assert moved.leader_epoch == 1
    assert [replica.leo for replica in moved.replica_views] == [100, 100, 100]
    assert TP not in cluster.brokers[3].disk.logs
    assert cluster.account.lost == 0


def test_a4_growing_keeps_the_new_replica_out_of_the_isr_until_it_has_caught_up() -> None:
    cluster = cluster_with((1, 2))
    cluster.do(acts.Cut(("b0", "b1")))
    cluster.do(acts.Reassign(TP, (1, 2, 0)))
    cluster.run_until(30 * SECOND)
    waiting = cluster.partition_view(TP)
    assert (waiting.adding, waiting.isr) == ((0,), (1, 2))
    cluster.do(acts.Heal())
    cluster.run_until(60 * SECOND)
    grown = cluster.partition_view(TP)
    assert (grown.adding, sorted(grown.isr), grown.replicas) == ((), [0, 1, 2], (1, 2, 0))


def test_rcm_13_cancelling_drops_the_added_replicas() -> None:
    cluster = cluster_with((3, 2, 1))
    cluster.do(acts.Isolate("b0"))
    cluster.do(acts.Reassign(TP, (0, 2, 1)))
    cluster.run_until(3 * SECOND)
    cluster.do(acts.CancelReassignment(TP))
    view = cluster.partition_view(TP)
    assert (view.replicas, view.adding, view.removing, view.leader) == ((2, 1, 3), (), (), 3)
    assert view.leader_epoch == 1


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (acts.Reassign(TopicPartition("foo", 2), (1,)), "UNKNOWN_TOPIC_OR_PARTITION: Unable to find partition foo:2."),
        (acts.CancelReassignment(TP), "NO_REASSIGNMENT_IN_PROGRESS"),
        (acts.Reassign(TP, (1, 1)), "INVALID_REPLICA_ASSIGNMENT"),
        (acts.Reassign(TP, ()), "INVALID_REPLICA_ASSIGNMENT"),
        (acts.Reassign(TP, (1, 9)), "Unknown broker id 9"),
    ],
)
def test_rcm_13_refusals_change_nothing(act: acts.Act, message: str) -> None:
    cluster = cluster_with((1, 2, 3))
    before = cluster.journal.seq
    with pytest.raises(ActRefused, match=message):
        cluster.do(act)
    assert cluster.journal.seq == before
