"""Log directories of a broker on a running cluster: distribution, failure, repair, and moves (D4; RCM-20, FOL-26), and loss of power (L3)."""

from __future__ import annotations

import pytest

from core.kafka import errors, events
from core.kafka.broker.broker_state import BrokerState
from core.kafka.ids import TopicPartition
from core.kafka.messages import AssignReplicasToDirsRequest, BrokerHeartbeatRequest, BrokerHeartbeatResponse
from core.kafka.release import RELEASES
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.errors import ActRefused
from core.sim.units import SECOND, US_PER_MS
from tests.core.node_bench import ControllerBench

TP = TopicPartition("t", 0)


def cluster_of(*replicas: tuple[int, ...], dirs: int = 2, release: str = "4.1", **settings: object) -> Cluster:
    brokers = sorted({broker for placed in replicas for broker in placed})
    spec = ClusterSpec(
        tuple(BrokerSpec(broker, log_dirs=dirs) for broker in brokers),
        (TopicSpec("t", assignment=tuple(PartitionSpec(placed) for placed in replicas)),),
        settings=tuple((name.replace("_", "."), value) for name, value in settings.items()),  # type: ignore[misc]
        disk_speed=1_000_000,
    )
    cluster = Cluster(spec, RELEASES[release])
    cluster.run_until(SECOND)
    return cluster


def dirs_of(cluster: Cluster, broker: int) -> list[int]:
    return [cluster.brokers[broker].disk.dir_of(tp) for tp in cluster.controller.registry.partitions]


def test_replicas_go_where_the_fewest_are() -> None:
    cluster = cluster_of((1, 2), (2, 1), (1, 2), (1,), dirs=3)
    assert dirs_of(cluster, 1) == [1, 2, 3, 1]
    cluster.do(acts.FailDir(1, 2))
    cluster.do(acts.CreateTopic("u", replicas=((1, 2), (1, 2))))
    cluster.run_until(2 * SECOND)
    assert [cluster.brokers[1].disk.dir_of(TopicPartition("u", number)) for number in range(2)] == [3, 1]


def test_rcm_20_only_what_is_in_the_failed_directory_moves() -> None:
    bench = ControllerBench(brokers=())
    for broker in (101, 102):
        bench.network.alive[f"b{broker}"] = True
        bench.controller.boot_broker(broker, up=True, directories=(f"{broker}-1-0", f"{broker}-2-0"))
    bench.create((101, 102), (101, 102), topic="a")
    bench.create((101, 102), (101, 102), topic="b")
    epoch = bench.controller.cluster_control.brokers[101].epoch
    assigned = tuple((TopicPartition(topic, number), f"101-{number + 1}-0") for topic in "ab" for number in range(2))
    bench.controller.handle(AssignReplicasToDirsRequest(101, epoch, assigned), "b101")
    before = len(bench.metadata)
    bench.controller.handle(BrokerHeartbeatRequest(101, epoch, before, False, ("101-1-0", "7-1-0")), "b101")
    assert bench.one_sent(BrokerHeartbeatResponse, "b101").offline_dirs == ("101-1-0", "7-1-0")
    for topic in "ab":
        moved, stays = bench.partition(0, topic), bench.partition(1, topic)
        assert (moved.leader, moved.isr) == (102, (102,))
        assert (stays.leader, stays.isr, stays.partition_epoch) == (101, (101, 102), 0)
    assert bench.controller.cluster_control.brokers[101].directories == ("101-2-0",)
    assert len(bench.metadata) == before + 3, "two partitions and the registration"
    bench.controller.handle(BrokerHeartbeatRequest(101, epoch, before, False, ("101-1-0",)), "b101")
    assert len(bench.metadata) == before + 3, "known already"
    assert bench.told(events.DirectoriesOffline) == [(101, 1, 2)]


def test_directories_that_fail_together_have_the_same_cause() -> None:
    bench = ControllerBench(brokers=())
    for broker in (101, 102):
        bench.network.alive[f"b{broker}"] = True
        bench.controller.boot_broker(broker, up=True, directories=(f"{broker}-1-0", f"{broker}-2-0"))
    bench.create((101, 102), (101, 102), topic="a")
    epoch = bench.controller.cluster_control.brokers[101].epoch
    assigned = tuple((TopicPartition("a", number), f"101-{number + 1}-0") for number in range(2))
    bench.controller.handle(AssignReplicasToDirsRequest(101, epoch, assigned), "b101")
    bench.controller.handle(BrokerHeartbeatRequest(101, epoch, len(bench.metadata), False, ("101-1-0", "101-2-0")), "b101")
    first, second = (event for event in bench.events if event[3] == events.DirectoriesOffline.kind)
    assert first[2] == second[2]
    assert [event[2] for event in bench.events if event[3] == events.LeaderElected.kind][-2:] == [first[0], second[0]]


def test_a_replica_in_a_failed_directory_may_not_lead() -> None:
    cluster = cluster_of((1, 2), (2, 1), unclean_leader_election_enable="true")
    cluster.do(acts.FailDir(1, 1))
    cluster.run_until(2 * SECOND)
    cluster.do(acts.Kill(2))
    cluster.run_until(15 * SECOND)
    first, second = (cluster.partition_view(TopicPartition("t", number)) for number in range(2))
    assert first.leader == -1, "not even uncleanly"
    assert second.leader == 1
    assert first.replica_on(1).role == "offline"
    assert (first.replica_on(1).dir, first.replica_on(1).dir_online, second.replica_on(1).dir_online) == (1, False, True)
    assert cluster.view().broker(1).failed_dirs == (1,)


def test_an_unrepaired_directory_stays_offline_over_a_restart() -> None:
    cluster = cluster_of((1, 2), (2, 1))
    cluster.do(acts.FailDir(2, 1))
    cluster.run_until(2 * SECOND)
    cluster.do(acts.Kill(2))
    cluster.run_until(12 * SECOND)
    cluster.do(acts.Start(2))
    cluster.run_until(30 * SECOND)
    assert [cluster.partition_view(TopicPartition("t", number)).isr for number in range(2)] == [(1,), (1, 2)]


@pytest.mark.parametrize("empty", [True, False])
def test_a_repaired_directory_is_taken_up_at_the_next_start(empty: bool) -> None:
    cluster = cluster_of((1, 2), (2, 1))
    cluster.do(acts.Produce("t", 500, partition=0))
    cluster.run_until(2 * SECOND)
    cluster.do(acts.FailDir(2, 1))
    with pytest.raises(ActRefused, match="log directory 2 of broker 2 has not failed"):
        cluster.do(acts.RepairDir(2, 2))
    cluster.do(acts.RepairDir(2, 1, empty))
    cluster.run_until(5 * SECOND)
    assert cluster.partition_view(TP).isr == (1,), "the running process does not look"
    cluster.do(acts.Kill(2))
    cluster.run_until(20 * SECOND)
    cluster.do(acts.Start(2))
    assert cluster.brokers[2].disk.dirs[0].directory_id == ("2-1-1" if empty else "2-1-0")
    assert (TP in cluster.brokers[2].disk.logs) is not empty
    cluster.run_until(40 * SECOND)
    assert cluster.partition_view(TP).isr == (1, 2)
    assert cluster.brokers[2].disk.logs[TP].leo == 500
    assert cluster.account.lost == 0


def test_clients_of_a_failed_directory_get_a_storage_error_until_they_hear_of_the_new_leader() -> None:
    told: list[tuple] = []
    cluster = Cluster(
        ClusterSpec(
            tuple(BrokerSpec(broker, log_dirs=2) for broker in (1, 2, 3)), (TopicSpec("t", assignment=(PartitionSpec((1, 2, 3)),)),)
        ),
        sink=told.append,
    )
    cluster.do(acts.Load("t", 100, producer="p"))
    cluster.do(acts.Consume("t", consumer="c"))
    cluster.run_until(2 * SECOND)
    cluster.do(acts.FailDir(1, 1))
    cluster.run_until(10 * SECOND)
    failed = [event[10] for event in told if event[3] == events.ProduceFailed.kind]
    assert failed
    assert set(failed) <= {errors.KAFKA_STORAGE_ERROR, errors.NOT_LEADER_OR_FOLLOWER}
    assert errors.KAFKA_STORAGE_ERROR in failed
    view = cluster.view()
    assert view.producers[0].failed == 0
    assert view.producers[0].acked > 900
    assert view.consumers[0].read > 900


def test_a_broker_that_cannot_tell_of_a_failed_directory_halts() -> None:
    cluster = cluster_of((1, 2), (2, 1))
    cluster.do(acts.Cut(("b1", "controller")))
    cluster.do(acts.FailDir(1, 1))
    cluster.run_until(cluster.now + 29 * SECOND)
    assert cluster.brokers[1].context.state is BrokerState.RUNNING
    cluster.run_until(cluster.now + 2 * SECOND)
    assert cluster.brokers[1].context.state is BrokerState.STOPPED


@pytest.mark.parametrize(
    ("release", "survives"), [("0.11", False), ("1.1", True), ("2.8", True), ("3.6", False), ("3.7", True), ("4.1", True)]
)
def test_whether_a_broker_survives_a_failed_directory_depends_on_the_release(release: str, survives: bool) -> None:
    cluster = cluster_of((1, 2), (2, 1), release=release)
    cluster.do(acts.FailDir(1, 1))
    assert (cluster.brokers[1].context.state is BrokerState.RUNNING) is survives


def test_fol_26_a_future_replica_takes_over_when_both_logs_end_at_the_same_offset() -> None:
    cluster = cluster_of((1, 2))
    cluster.do(acts.Produce("t", 20_000))
    cluster.run_until(3 * SECOND)
    cluster.do(acts.MoveReplica(TP, 1, 2))
    with pytest.raises(ActRefused, match="is already moving on broker 1"):
        cluster.do(acts.MoveReplica(TP, 1, 2))
    cluster.do(acts.Load("t", 100, producer="p"))
    cluster.run_until(cluster.now + SECOND)
    replica = cluster.partition_view(TP).replica_on(1)
    assert (replica.dir, replica.moving_to) == (1, 2)
    assert 0 < replica.future_leo < replica.leo
    cluster.run_until(cluster.now + 4 * SECOND)
    replica = cluster.partition_view(TP).replica_on(1)
    assert (replica.dir, replica.moving_to, replica.future_leo) == (2, 0, -1)
    assert cluster.controller.replication.directories.assigned[1][TP] == "1-2-0"
    with pytest.raises(ActRefused, match="is already in log directory 2 of broker 1"):
        cluster.do(acts.MoveReplica(TP, 1, 2))


@pytest.mark.parametrize("power", [False, True])
def test_a_move_goes_on_after_a_restart(power: bool) -> None:
    cluster = cluster_of((1, 2))
    cluster.do(acts.Produce("t", 20_000))
    cluster.run_until(3 * SECOND)
    cluster.do(acts.MoveReplica(TP, 2, 2))
    cluster.run_until(cluster.now + 1_500 * US_PER_MS)
    cluster.do(acts.PowerLoss(2) if power else acts.Kill(2))
    copied = cluster.brokers[2].disk.futures[TP].leo
    assert (copied == 0) is power, "what was copied into the page cache is gone with it"
    cluster.run_until(cluster.now + 12 * SECOND)
    cluster.do(acts.Start(2))
    cluster.run_until(cluster.now + 30 * SECOND)
    assert cluster.partition_view(TP).replica_on(2).dir == 2
    assert cluster.partition_view(TP).isr == (1, 2)


def test_the_draw_of_a_power_loss_keeps_whole_batches_above_the_recovery_point() -> None:
    ends = []
    for seed in range(12):
        spec = ClusterSpec(
            (BrokerSpec(1), BrokerSpec(2)),
            (TopicSpec("t", assignment=(PartitionSpec((1, 2)),), config=(("segment.bytes", "100000"),)),),
        )
        cluster = Cluster(spec, seed=seed)
        cluster.do(acts.Load("t", 1_000, every=100 * US_PER_MS, producer="p"))
        cluster.run_until(3_550 * US_PER_MS)
        before = cluster.brokers[2].disk.logs[TP].leo
        cluster.do(acts.PowerLoss(2))
        ends.append(cluster.brokers[2].disk.logs[TP].leo)
        assert before == 3_500
        assert 3_000 <= ends[-1] <= 3_500, "segments of 1,000 records are flushed when they are closed"
        assert ends[-1] % 100 == 0, "a torn batch is cut off whole"
    assert len(set(ends)) > 2
    assert min(ends) < 3_500


def test_recovery_reads_from_the_checkpointed_recovery_point_on() -> None:
    cluster = cluster_of((1, 2), dirs=1, log_segment_bytes=100_000)
    cluster.do(acts.Produce("t", 10, partition=0))
    for _ in range(9):
        cluster.do(acts.Produce("t", 400, partition=0))
    cluster.run_until(5 * SECOND)
    disk = cluster.brokers[2].disk
    (first,) = disk.recovery(1, 1_000_000)
    assert (first.segments, first.bytes) == (5, 361_000), "nothing is checkpointed before 30 s"
    cluster.run_until(40 * SECOND)
    (later,) = disk.recovery(1, 1_000_000)
    assert (later.segments, later.bytes, later.duration) == (1, 40_000, 40 * US_PER_MS)
    cluster.do(acts.Shutdown(2))
    cluster.run_until(50 * SECOND)
    assert disk.recovery_points[TP] == disk.logs[TP].leo == disk.logs[TP].recovery_point


def test_a_power_loss_does_not_bring_deleted_records_back() -> None:
    """The log start offset is checkpointed, but the records above it are not flushed (`LogLoader#load`)."""
    cluster = cluster_of((1, 2))
    cluster.do(acts.Produce("t", 10))
    cluster.run_until(2 * SECOND)
    cluster.do(acts.DeleteRecords(TP, 5))
    cluster.run_until(100 * SECOND)
    disk = cluster.brokers[2].disk
    assert (disk.log_starts[TP], disk.logs[TP].recovery_point, disk.logs[TP].leo) == (5, 0, 10)
    cluster.do(acts.PowerLoss(2, unflushed="lost"))
    assert (disk.logs[TP].log_start, disk.logs[TP].leo) == (5, 5)


def test_a_power_loss_of_a_log_whose_records_were_all_deleted_loses_nothing() -> None:
    """The log start offset is not checkpointed yet, so the log is empty from its first offset on."""
    told: list[tuple] = []
    cluster = cluster_of((1, 2))
    cluster.journal.sink = told.append
    cluster.do(acts.Produce("t", 10))
    cluster.run_until(2 * SECOND)
    cluster.do(acts.DeleteRecords(TP, 10))
    cluster.run_until(3 * SECOND)
    disk = cluster.brokers[2].disk
    assert (disk.logs[TP].log_start, disk.logs[TP].leo, disk.log_starts) == (10, 10, {})
    cluster.do(acts.PowerLoss(2, unflushed="lost"))
    assert (disk.logs[TP].log_start, disk.logs[TP].leo) == (0, 0)
    assert events.UnflushedLost.kind not in {event[3] for event in told}
