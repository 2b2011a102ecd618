"""The report on transactions: which transaction holds back the last stable offset, whether it will be ended, and the act that ends it."""

from __future__ import annotations

import pytest

from core.kafka.health import PartitionStatus
from core.kafka.ids import TopicPartition
from core.kafka.release import RELEASES
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.errors import ActRefused
from core.sim.units import SECOND

TP = TopicPartition("orders", 0)


def cluster_with_an_open_transaction(release: str) -> Cluster:
    """Return a cluster at 5 s: app has written 5 records in a transaction that is open, and another producer has written 10 records after
    them.
    """
    spec = ClusterSpec(
        tuple(BrokerSpec(broker) for broker in (1, 2, 3)),
        (TopicSpec("orders", assignment=(PartitionSpec((1, 2, 3)),)),),
        settings=(("transaction.state.log.num.partitions", "1"),),
    )
    cluster = Cluster(spec, RELEASES[release])
    cluster.do(acts.InitTransactions("orders", "app", "app"))
    cluster.run_until(2 * SECOND)
    cluster.do(acts.BeginTransaction("app"))
    cluster.do(acts.Produce("orders", 5, producer="app"))
    cluster.run_until(3 * SECOND)
    cluster.do(acts.Produce("orders", 10, producer="plain", acks="1"))
    cluster.run_until(5 * SECOND)
    return cluster


@pytest.mark.parametrize("release", ["0.11", "2.7", "3.3", "3.6", "4.3"])
def test_an_open_transaction_holds_the_last_stable_offset_and_does_not_hang(release: str) -> None:
    cluster = cluster_with_an_open_transaction(release)
    report = cluster.transaction_report()
    (held,) = report.held
    assert (held.tp, held.last_stable_offset, held.high_watermark, held.first_offset) == (TP, 0, 15, 0)
    assert (held.transactional_id, held.hanging) == ("app", False)
    (app,) = report.transactions
    assert (app.transactional_id, app.state, app.partitions) == ("app", "Ongoing", (TP,))
    assert cluster.partition_view(TP).held_back_at == 0
    cluster.do(acts.CommitTransaction("app"))
    cluster.run_until(8 * SECOND)
    report = cluster.transaction_report()
    assert report.held == ()
    assert (report.transactions[0].state, report.transactions[0].partitions) == ("CompleteCommit", ())
    assert cluster.partition_view(TP).held_back_at is None


def test_a_transaction_that_a_coordinator_knows_is_aborted_by_its_start_offset_only() -> None:
    cluster = cluster_with_an_open_transaction("3.3")
    with pytest.raises(ActRefused, match="Could not find any open transactions starting at offset 3 on partition orders-0"):
        cluster.do(acts.AbortHanging(TP, 3))
    with pytest.raises(ActRefused, match="there is no partition orders-7"):
        cluster.do(acts.AbortHanging(TopicPartition("orders", 7), 0))
    cluster.do(acts.AbortHanging(TP, 0))
    cluster.run_until(8 * SECOND)
    assert cluster.transaction_report().held == ()
    assert cluster.partition_view(TP).committed == 16, "the marker takes an offset"


def test_the_abort_of_a_hanging_transaction_waits_for_a_paused_leader() -> None:
    """The tool sends a request to the leader, which handles it when its process goes on."""
    cluster = cluster_with_an_open_transaction("4.3")
    cluster.do(acts.Pause(1))
    cluster.do(acts.AbortHanging(TP, 0))
    cluster.run_until(cluster.now + SECOND)
    assert cluster.transaction_report().held
    cluster.do(acts.Resume(1))
    cluster.run_until(cluster.now + SECOND)
    assert cluster.transaction_report().held == ()


@pytest.mark.parametrize("release", ["0.11", "2.7", "4.3"])
def test_a_new_leader_knows_at_once_which_transaction_holds_the_last_stable_offset(release: str) -> None:
    cluster = cluster_with_an_open_transaction(release)
    leader = cluster.partition_view(TP).leader
    cluster.do(acts.Kill(leader))
    cluster.run_until(40 * SECOND)
    view = cluster.partition_view(TP)
    assert view.leader not in (leader, -1)
    assert view.held_back_at == 0
    assert [(held.tp, held.last_stable_offset) for held in cluster.transaction_report().held] == [(TP, 0)]


@pytest.mark.parametrize("release", ["2.7", "4.3"])
def test_a_transaction_does_not_hang_because_its_coordinator_is_away(release: str) -> None:
    """Consumers with read_committed wait, but the coordinator ends the transaction when it is back."""
    state = TopicSpec("__transaction_state", assignment=(PartitionSpec((2,)),), config=(("min.insync.replicas", "1"),))
    topics = (TopicSpec("orders", assignment=(PartitionSpec((1, 3)),)), state)
    cluster = Cluster(ClusterSpec(tuple(BrokerSpec(broker) for broker in (1, 2, 3)), topics), RELEASES[release])
    cluster.do(acts.InitTransactions("orders", "app", "app", (("transaction.timeout.ms", "10000"),)))
    cluster.run_until(2 * SECOND)
    cluster.do(acts.BeginTransaction("app"))
    cluster.do(acts.Produce("orders", 5, producer="app"))
    cluster.run_until(3 * SECOND)
    cluster.do(acts.Kill(2))
    for until in (4, 20):
        cluster.run_until(until * SECOND)
        (held,) = cluster.transaction_report().held
        assert (held.hanging, held.missing_coordinators, held.transactional_id) == (False, (0,), "")
        assert cluster.partition_view(TP).status is PartitionStatus.HEALTHY
    cluster.do(acts.Start(2))
    cluster.run_until(45 * SECOND if release == "4.3" else 95 * SECOND)
    assert cluster.transaction_report().held == (), "the transaction has timed out"
