"""The state of a real cluster as the initial state: leader epochs, LEOs and HWs of partitions, and the controller."""

from __future__ import annotations

from typing import Any

import pytest

from core.kafka import events
from core.kafka.ids import NO_LEADER, TopicPartition
from core.kafka.release import RELEASES
from core.kafka.topic_spec import LogSpec, PartitionSpec, TopicSpec
from core.lab import acts, initial_logs
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec, GroupSpec, Pace
from core.sim.units import SECOND

TP = TopicPartition("t", 0)


def staged(
    release: str, partition: PartitionSpec, *, brokers: tuple[BrokerSpec, ...] = (), **changes: object
) -> tuple[Cluster, list[tuple]]:
    told: list[tuple] = []
    spec = ClusterSpec(
        brokers or tuple(BrokerSpec(broker) for broker in (1, 2, 3)),
        (TopicSpec("t", assignment=(partition,), config=(("min.insync.replicas", "1"),)),),
        **changes,  # type: ignore[arg-type]
    )
    return Cluster(spec, RELEASES[release], sink=told.append), told


def offsets(cluster: Cluster) -> dict[int, tuple[int, int]]:
    """Return (LEO, HW) of each replica."""
    return {replica.broker: (replica.leo, replica.hw) for replica in cluster.partition_view(TP).replica_views}


def epochs(cluster: Cluster, broker: int) -> tuple[tuple[int, int], ...]:
    """Return the leader-epoch entries of a replica."""
    return cluster.brokers[broker].disk.logs[TP].epochs.entries()


ENTRIES = ((0, 0), (7, 40))

IN_SYNC = PartitionSpec(
    (1, 2, 3), (1, 2), 1, leader_epoch=7,
    logs=(LogSpec(1, 60, 58, 0, ENTRIES), LogSpec(2, 59, 57, 0, ENTRIES), LogSpec(3, 30, 30, 0, ((0, 0),))),
)  # fmt: skip


@pytest.mark.parametrize("release", ["1.1", "2.0", "2.4", "2.8", "3.9", "4.3"])
def test_a_partition_starts_as_given_and_goes_on(release: str) -> None:
    cluster, told = staged(release, IN_SYNC)
    assert cluster.brokers[1].partitions[TP].leader_epoch_start_offset == 40
    assert cluster.partition_view(TP).leader_epoch == 7
    assert offsets(cluster)[1] == (60, 58)
    assert offsets(cluster)[3] == (30, 30)
    cluster.do(acts.Produce("t", 5))
    cluster.run_until(40 * SECOND)
    assert offsets(cluster) == {1: (65, 65), 2: (65, 65), 3: (65, 65)}
    assert sorted(cluster.partition_view(TP).isr) == [1, 2, 3]
    assert {epochs(cluster, broker) for broker in (1, 2, 3)} == {ENTRIES}
    assert [each.term.epoch for each in cluster.brokers[1].disk.logs[TP].runs()] == [0, 7]
    assert (cluster.account.acked, cluster.account.lost) == (5, 0)
    assert not [event for event in told if event[3] == events.RecordsDiverged.kind]


@pytest.mark.parametrize("release", ["1.1", "2.8", "4.3"])
def test_a_restart_finds_what_was_staged(release: str) -> None:
    """A broker that is initially down also has its log, with the high watermark as its checkpoint."""
    cluster, _ = staged(release, PartitionSpec((1, 2), (1,), 1, leader_epoch=3, logs=(LogSpec(1, 20, 20, 0, ((0, 0), (3, 12))),
                        LogSpec(2, 15, 11, 0, ((0, 0), (1, 12))))), brokers=(BrokerSpec(1), BrokerSpec(2, up=False)))  # fmt: skip
    assert (offsets(cluster)[2], epochs(cluster, 2)) == ((15, 11), ((0, 0), (1, 12)))
    cluster.do(acts.Start(2))
    cluster.run_until(30 * SECOND)
    assert offsets(cluster)[2] == (20, 20)
    assert epochs(cluster, 2) == ((0, 0), (3, 12)), "what it had of leader epoch 1 is cut off"
    assert cluster.partition_view(TP).isr == (1, 2)


def test_staged_records_below_the_high_watermark_can_be_lost() -> None:
    """The leader has 60 records, 58 of which are committed. A replica with 30 records is elected."""
    partition = PartitionSpec((1, 3), (1,), 1, leader_epoch=7, logs=(IN_SYNC.logs[0], IN_SYNC.logs[2]))
    cluster, _ = staged("4.3", partition)
    cluster.do(acts.Isolate("b3"))
    cluster.do(acts.Kill(1))
    cluster.run_until(20 * SECOND)
    cluster.do(acts.Heal(("b3", "controller")))
    cluster.run_until(40 * SECOND)
    assert cluster.partition_view(TP).leader == NO_LEADER
    cluster.do(acts.Elect("unclean"))
    cluster.run_until(60 * SECOND)
    assert cluster.partition_view(TP).leader == 3
    assert cluster.account.lost == cluster.account.lost_acknowledged == 28


def test_a_leader_epoch_alone() -> None:
    for release, leader_epoch in (("2.4", 4), ("4.3", 4)):
        cluster, _ = staged(release, PartitionSpec((1, 2), leader_epoch=leader_epoch))
        view = cluster.partition_view(TP)
        assert (view.leader, view.leader_epoch) == (1, leader_epoch)
        assert cluster.brokers[2].partitions[TP].leader_epoch == leader_epoch


def test_log_start_and_an_epoch_without_records() -> None:
    log = LogSpec(1, 60, 60, 25, ((0, 20), (2, 40), (7, 60)))
    cluster, _ = staged("4.3", PartitionSpec((1,), (1,), 1, leader_epoch=7, logs=(log,)))
    assert (cluster.brokers[1].disk.logs[TP].log_start, epochs(cluster, 1)) == (25, ((0, 25), (2, 40), (7, 60)))


def test_by_hand() -> None:
    cluster, _ = staged("4.3", IN_SYNC, pace=Pace.BY_HAND)
    assert offsets(cluster) == {1: (60, 58), 2: (59, 57), 3: (30, 30)}
    cluster.do(acts.Fetch(2))
    assert offsets(cluster)[2] == (60, 58)


@pytest.mark.parametrize("release", ["2.4", "2.8"])
def test_a_zookeeper_broker_is_controller_at_the_start(release: str) -> None:
    cluster, _ = staged(release, PartitionSpec((1, 2, 3)), controller="b3")
    assert cluster.controller_address == "b3"
    cluster.do(acts.Kill(3))
    cluster.run_until(60 * SECOND)
    assert cluster.controller_address in ("b1", "b2")
    assert cluster.partition_view(TP).isr == (1, 2)


def test_a_voter_is_the_active_controller_at_the_start() -> None:
    cluster, _ = staged("4.3", PartitionSpec((1, 2, 3)), controllers=("c1", "c2", "c3"), controller="c2")
    assert cluster.controller_address == "c2"
    cluster.run_until(20 * SECOND)
    assert cluster.controller_address == "c2"


@pytest.mark.parametrize(
    ("release", "changes", "words"),
    [
        ("4.3", {"controller": "b2"}, "this cluster has a single controller"),
        ("2.4", {"controller": "b9"}, "controller b9 is not a broker of the cluster"),
        ("4.3", {"controller": "c4", "controllers": ("c1", "c2", "c3")}, "controller c4 is not among the voters c1, c2, c3"),
        ("2.4", {"controller": "b3", "brokers": (BrokerSpec(1), BrokerSpec(2), BrokerSpec(3, up=False))}, "running brokers are b1, b2"),
    ],
)
def test_who_cannot_be_controller(release: str, changes: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        staged(release, PartitionSpec((1, 2)), **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (LogSpec(1, 5, 6, 0, ((0, 0),)), "t-0 on broker 1: log start 0, HW 6, and LEO 5 must be in ascending order"),
        (
            LogSpec(1, 5, 5, 0, ((1, 0), (0, 3))),
            "leader epoch 0 from offset 3 follows epoch 1 from offset 0; epochs and offsets must increase",
        ),
        (LogSpec(1, 5, 5, 0, ((0, 0), (8, 3))), "must be from 0 to 7"),
        (LogSpec(1, 5, 5, 0, ((0, 0), (1, 6))), "leader epoch 1 starts at 6, past the LEO 5"),
        (LogSpec(1, 5, 5, 0, ((0, 2),)), "no leader epoch covers the records from offset 0 onward"),
        (LogSpec(1, 5, 5), "no leader epoch covers the records from offset 0 onward"),
        (LogSpec(9, 0, 0), "t-0 has a log on broker 9, which is not among its replicas"),
        (LogSpec(2, 70, 5, 0, ENTRIES), "a follower has more records of leader epoch 7 than its leader, broker 1"),
    ],
)
def test_a_log_that_cannot_be_is_refused(log: LogSpec, words: str) -> None:
    logs = (log,) if log.broker == 1 else (IN_SYNC.logs[0], log)
    with pytest.raises(ValueError, match=words):
        staged("4.3", PartitionSpec((1, 2, 3), (1,), 1, leader_epoch=7, logs=logs))


def test_the_largest_offset_is_a_million_millions() -> None:
    LogSpec(1, 10**12, 10**12, 10**12).check("t-0", 0)
    with pytest.raises(ValueError, match="each from 0 to 1000000000000"):
        LogSpec(1, 10**12 + 1, 10**12, 10**12).check("t-0", 0)


@pytest.mark.parametrize("release", ["0.9", "2.8", "4.3"])
def test_groups_start_with_committed_offsets(release: str) -> None:
    offsets_topic = TopicSpec("__consumer_offsets", 5, 3)
    orders = TopicSpec("t", assignment=(PartitionSpec((1, 2, 3), logs=(LogSpec(1, 50, 50, 0, ((0, 0),)),)),))
    group = GroupSpec("g", ((TP, 40, 0),))
    spec = ClusterSpec(tuple(BrokerSpec(broker) for broker in (1, 2, 3)), (orders, offsets_topic), groups=(group,))
    cluster = Cluster(spec, RELEASES[release])
    (report,) = cluster.group_report()
    assert [(owned.tp, owned.committed, owned.log_end) for owned in report.partitions] == [(TP, 40, 50)]
    assert report.state == "Empty"
    coordinator = report.coordinator
    cluster.do(acts.Kill(coordinator))
    cluster.run_until(30 * SECOND)
    (report,) = cluster.group_report()
    assert report.coordinator != coordinator
    assert [owned.committed for owned in report.partitions] == [40], "the other replicas have the record, too"


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"topics": ()}, "groups keep their offsets in __consumer_offsets"),
        ({"groups": (GroupSpec("g", ((TopicPartition("t", 7), 1, -1),)),)}, "group g has an offset for t-7"),
        ({"groups": (GroupSpec("g", ((TP, -1, -1),)),)}, "group g has offset -1 for t-0"),
        ({"groups": (GroupSpec("g", ((TP, 1, -1), (TP, 2, -1))),)}, "offset of group g for t-0 appears twice"),
        ({"groups": (GroupSpec("", ()),)}, "the name of a group is empty"),
    ],
)
def test_groups_that_a_cluster_cannot_have(changes: dict[str, Any], problem: str) -> None:
    fields = {"topics": (TopicSpec("t", 1, 1), TopicSpec("__consumer_offsets", 5, 1)), "groups": (GroupSpec("g", ()),), **changes}
    with pytest.raises(ValueError, match=problem):
        ClusterSpec((BrokerSpec(1),), **fields).check()


def test_partitions_share_the_number_of_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(initial_logs, "MOST_BATCHES", 100)
    filled = PartitionSpec((1,), logs=(LogSpec(1, 10**9, 10**9, 0, ((0, 0),)),))
    cluster = Cluster(ClusterSpec((BrokerSpec(1),), (TopicSpec("t", assignment=(filled, filled)),)))
    terms = [log.records.tail for log in cluster.brokers[1].disk.logs.values() if log.records.tail is not None]
    assert [term.count for term in terms] == [50, 50]
    assert offsets(cluster) == {1: (10**9, 10**9)}
