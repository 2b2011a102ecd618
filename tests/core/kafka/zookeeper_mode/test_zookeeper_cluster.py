"""ZooKeeper clusters, by Kafka's own vectors (ControllerIntegrationTest: ZKE; the epoch acceptance tests: EDR; ISR-13), and D2, D3, D8."""

from __future__ import annotations

import attrs
import pytest

from core.kafka.broker.broker_state import BrokerState
from core.kafka.events import EventTuple
from core.kafka.ids import NO_LEADER, TopicPartition
from core.kafka.partition_registration import PartitionRegistration
from core.kafka.release import RELEASES, Release
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.kafka.zookeeper_mode.broker import ZooKeeperBroker
from core.kafka.zookeeper_mode.control_plane import ZooKeeperControlPlane
from core.kafka.zookeeper_mode.controller.requests import (
    ControlledShutdownRequest,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from core.kafka.zookeeper_mode.isr_manager import must_publish
from core.kafka.zookeeper_server import paths
from core.kafka.zookeeper_server.protocol import GetChildren
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.lab.views.partition_view import PartitionView
from core.sim.units import SECOND

TP = TopicPartition("t", 0)
SESSION_OVER = 8 * SECOND
"""A time longer than the session timeout of 2.4 and the subsequent failover."""


class Bench:
    """A cluster of brokers 0, 1, … with one partition, and its events."""

    def __init__(
        self, replicas: tuple[int, ...], brokers: int = 2, release: str = "2.4", settings: tuple[tuple[str, int | bool], ...] = ()
    ) -> None:
        self.events: list[EventTuple] = []
        spec = ClusterSpec(
            tuple(BrokerSpec(broker) for broker in range(brokers)), (TopicSpec("t", assignment=(PartitionSpec(replicas),)),), settings
        )
        self.cluster = Cluster(spec, Release.named(release), sink=self.events.append)

    def do(self, act: acts.Act, then: int = SECOND) -> None:
        """Do something, and let some time pass."""
        self.cluster.do(act)
        self.cluster.run_until(self.cluster.now + then)

    def wait(self, time: int) -> None:
        """Let time pass."""
        self.cluster.run_until(self.cluster.now + time)

    @property
    def partition(self) -> PartitionView:
        """Return the partition as ZooKeeper stores it."""
        return self.cluster.partition_view(TP)

    def epochs(self, broker: int) -> tuple[tuple[int, int], ...]:
        """Return a replica's leader-epoch cache."""
        return self.partition.replica_on(broker).epochs

    def kinds(self, kind: str) -> list[EventTuple]:
        """Return the events of a kind."""
        return [event for event in self.events if event[3] == kind]

    def broker(self, broker: int) -> ZooKeeperBroker:
        """Return a broker process."""
        found = self.cluster.brokers[broker]
        assert isinstance(found, ZooKeeperBroker)
        return found


def test_the_control_plane_is_chosen_by_release_and_can_be_chosen_otherwise() -> None:
    for name, release in RELEASES.items():
        assert release.controller == ("zookeeper" if release.order < RELEASES["3.3"].order else "kraft"), name
    assert Release.named("2.4").without(["zookeeper"]).controller == "kraft"
    spec = ClusterSpec((BrokerSpec(1),), (TopicSpec("t", 1, 1),))
    assert isinstance(Cluster(spec, Release.named("2.4")).controller, ZooKeeperControlPlane)
    assert not isinstance(Cluster(spec, Release.named("2.4").without(["zookeeper"])).controller, ZooKeeperControlPlane)


@pytest.mark.parametrize("unclean", [False, True])
def test_zke_07_the_entire_isr_offline(unclean: bool) -> None:
    bench = Bench((1,), settings=(("unclean.leader.election.enable", unclean),))
    bench.do(acts.Kill(1), SESSION_OVER)
    assert (bench.partition.leader, bench.partition.leader_epoch, bench.partition.isr) == (NO_LEADER, 1, (1,))
    assert len(bench.kinds("partition-offline")) == 1
    bench.do(acts.Start(1), 6 * SECOND)
    assert (bench.partition.leader, bench.partition.leader_epoch, bench.partition.isr) == (1, 2, (1,))


def test_zke_08_reassignment_of_the_only_replica() -> None:
    bench = Bench((0,))
    bench.do(acts.Reassign(TP, (1,)), 20 * SECOND)
    view = bench.partition
    assert (view.leader, view.leader_epoch, view.replicas, view.isr, view.adding) == (1, 3, (1,), (1,), ())
    assert TP not in bench.broker(0).disk.logs


def test_zke_08_a_target_that_is_down_halts_it_until_it_comes_online() -> None:
    bench = Bench((0,))
    bench.do(acts.Kill(1), SESSION_OVER)
    bench.cluster.controller.replication.reassign(TP, (1,))  # written to the znode; the tool and the API refuse it
    bench.wait(20 * SECOND)
    view = bench.partition
    assert (view.leader, view.leader_epoch, view.replicas, view.adding, view.removing) == (0, 1, (1, 0), (1,), (0,))
    bench.do(acts.Start(1), 30 * SECOND)
    view = bench.partition
    assert (view.leader, view.leader_epoch, view.replicas, view.isr) == (1, 4, (1,), (1,))


def test_zke_09_auto_preferred_leader_election() -> None:
    bench = Bench((1, 0), settings=(("leader.imbalance.check.interval.seconds", 40),))
    bench.do(acts.Kill(1), SESSION_OVER)
    assert (bench.partition.leader, bench.partition.leader_epoch) == (0, 1)
    bench.do(acts.Start(1), 10 * SECOND)
    assert (bench.partition.leader, sorted(bench.partition.isr)) == (0, [0, 1])
    bench.wait(40 * SECOND)
    assert (bench.partition.leader, bench.partition.leader_epoch) == (1, 2)


def test_zke_10_the_preferred_replica_is_offline() -> None:
    bench = Bench((1, 0))
    bench.do(acts.Kill(1), SESSION_OVER)
    bench.do(acts.Elect("preferred", TP))
    assert (bench.partition.leader, bench.partition.leader_epoch) == (0, 1)
    assert [event[6:] for event in bench.kinds("election-refused")] == [("preferred", "PREFERRED_LEADER_NOT_AVAILABLE")]


def _bounce(bench: Bench, broker: int) -> None:
    bench.do(acts.Shutdown(broker), 2 * SECOND)
    bench.do(acts.Start(broker), 15 * SECOND)


def test_edr_01_epochs_follow_leaders_and_isr_shrinks_by_the_controller() -> None:
    bench = Bench((0, 1))
    bench.do(acts.Produce("t", 1))
    assert (bench.epochs(0), bench.epochs(1)) == (((0, 0),), ((0, 0),))
    _bounce(bench, 1)
    assert (bench.epochs(0), bench.epochs(1)) == (((0, 0), (1, 1)), ((0, 0),))
    bench.do(acts.Produce("t", 1))
    assert (bench.epochs(0), bench.epochs(1)) == (((0, 0), (1, 1)), ((0, 0), (1, 1)))
    _bounce(bench, 0)
    assert bench.partition.leader == 1
    assert (bench.epochs(1), bench.epochs(0)) == (((0, 0), (1, 1), (2, 2)), ((0, 0), (1, 1)))
    bench.do(acts.Produce("t", 1), 3 * SECOND)
    assert bench.epochs(0) == bench.epochs(1) == ((0, 0), (1, 1), (2, 2))


def test_edr_02_logs_do_not_diverge() -> None:
    """101 stops, then 100 stops and loses five of ten records. 100 leads again and writes nine more records. When 101 returns, it truncates
    the records that only it has.
    """
    bench = Bench((0, 1), settings=(("min.insync.replicas", 1),))
    bench.do(acts.Produce("t", 10, acks="all"))
    bench.do(acts.Shutdown(1), 3 * SECOND)
    bench.do(acts.PowerLoss(0, ((TP, 5),)), SESSION_OVER)
    bench.do(acts.Start(0), 10 * SECOND)
    assert bench.partition.leader == 0
    bench.do(acts.Produce("t", 9, acks="all"))
    bench.do(acts.Start(1), 20 * SECOND)
    logs = [bench.cluster.brokers[broker].disk.logs[TP] for broker in (0, 1)]
    assert [log.leo for log in logs] == [14, 14]
    assert not logs[0].differences(logs[1])
    assert bench.epochs(0) == bench.epochs(1)


def test_edr_03_offsets_do_not_go_backwards() -> None:
    """100 was the last to stop and lost half of its log. It leads and continues to write. 101, which has the whole log, truncates to the
    end of the other log, and both logs become equal.
    """
    bench = Bench((0, 1), settings=(("min.insync.replicas", 1),))
    bench.do(acts.Produce("t", 100, acks="all"))
    bench.do(acts.Shutdown(1), 3 * SECOND)
    bench.do(acts.PowerLoss(0, ((TP, 50),)), SESSION_OVER)
    bench.do(acts.Start(0), 10 * SECOND)
    assert (bench.partition.leader, bench.partition.replica_on(0).leo, bench.cluster.brokers[1].disk.logs[TP].leo) == (0, 50, 100)
    for _ in range(2):
        bench.do(acts.Produce("t", 77, acks="all"))
    bench.do(acts.Start(1), 20 * SECOND)
    logs = [bench.cluster.brokers[broker].disk.logs[TP] for broker in (0, 1)]
    assert [log.leo for log in logs] == [204, 204]
    assert not logs[0].differences(logs[1])
    assert [event[4:] for event in bench.kinds("truncated") if event[8] == 50]
    assert bench.epochs(0) == bench.epochs(1)
    starts = [run.start for run in logs[1].runs()]
    assert starts == sorted(set(starts))
    assert sorted(bench.partition.isr) == [0, 1]


def test_edr_04_fast_leader_changes_lose_nothing() -> None:
    bench = Bench((0, 1))
    sent = 0
    for _ in range(5):
        bench.do(acts.Produce("t", 1), 3 * SECOND)
        sent += 1
        leader = bench.partition.leader
        _bounce(bench, 1 - leader)
        _bounce(bench, leader)
    bench.do(acts.Produce("t", 1), 3 * SECOND)
    assert [replica.leo for replica in bench.partition.replica_views] == [sent + 1, sent + 1]
    assert bench.cluster.account.lost == 0


def test_edr_07_records_carry_the_epoch_they_were_written_in() -> None:
    bench = Bench((0, 1, 2), brokers=3)
    bench.do(acts.Produce("t", 4))
    assert [bench.epochs(broker) for broker in range(3)] == [((0, 0),)] * 3
    bench.do(acts.Kill(2), SESSION_OVER)
    bench.do(acts.Produce("t", 2))
    assert bench.partition.leader_epoch == 1
    assert [bench.epochs(broker) for broker in range(2)] == [((0, 0), (1, 4))] * 2


@pytest.mark.parametrize("release", ["2.4", "2.7"])
def test_isr_13_the_isr_is_committed_when_the_answer_is_there(release: str) -> None:
    bench = Bench((0, 1), release=release)
    bench.do(acts.Kill(1), 20 * SECOND)
    assert bench.partition.isr == (0,)
    bench.do(acts.Start(1), 4 * SECOND)
    partition = bench.broker(0).partitions[TP]
    assert (partition.isr, partition.maximal_isr, partition.pending) == ((0, 1), (0, 1), "")
    assert partition.partition_epoch == bench.partition.partition_epoch
    assert bench.partition.leader_epoch == partition.leader_epoch == 1


@pytest.mark.parametrize(
    ("now", "last_change", "last_publish", "due"),
    [(12, 7, 0, False), (13, 7, 0, True), (61, 60, 0, True), (60, 59, 0, False)],
)
def test_c5_changes_are_published_when_they_rest_or_wait_too_long(now: int, last_change: int, last_publish: int, due: bool) -> None:
    assert must_publish(now * SECOND, last_change * SECOND, last_publish * SECOND) == due


def test_d2_a_stale_controller_epoch_is_refused_and_a_stale_leader_epoch_ignored() -> None:
    bench = Bench((0, 1))
    bench.do(acts.Kill(0), SESSION_OVER)
    broker = bench.broker(1)
    assert (bench.partition.leader, bench.partition.leader_epoch, broker.channel.epoch) == (1, 2, 2)
    old = PartitionRegistration((0, 1), (0, 1), 0, 9, 9)
    broker.handle(LeaderAndIsrRequest(0, 1, ((TP, old, 0),), (0, 1)), "b0")
    broker.handle(StopReplicaRequest(0, 1, ((TP, True, 9),)), "b0")
    assert broker.partitions[TP].is_leader
    assert [event[6] for event in bench.kinds("controller-request-refused")] == ["LeaderAndIsr", "StopReplica"]
    late = PartitionRegistration((0, 1), (0, 1), 0, 1, 1)
    broker.handle(LeaderAndIsrRequest(0, 2, ((TP, late, 0),), (0, 1)), "b0")
    assert broker.partitions[TP].is_leader
    assert [event[7:] for event in bench.kinds("leader-and-isr-ignored")] == [(1, 2)]


def test_d3_a_dead_leader_still_leaves_a_log_and_no_fetcher() -> None:
    bench = Bench((0, 1))
    broker = bench.broker(1)
    other = TopicPartition("u", 0)
    broker.handle(LeaderAndIsrRequest(0, 1, ((other, PartitionRegistration((7, 1), (7,), 7, 0, 0), 0),), (0, 1)), "b0")
    assert other in broker.disk.logs
    assert broker.fetcher_manager.fetch_state(other) == "idle"
    assert {fetcher.leader for fetcher in broker.fetcher_manager.fetchers.values()} == {0}


def test_d3_a_broker_stays_what_it_was_when_its_new_leader_does_not_live() -> None:
    """`ReplicaManager#makeFollowers` changes a partition's state only if the leader is available, in every release with ZooKeeper."""
    bench = Bench((0, 1))
    bench.do(acts.Produce("t", 5))
    leader, follower = bench.broker(0), bench.broker(1)
    nobody = PartitionRegistration((0, 1), (0,), NO_LEADER, 3, 3)
    for broker in (leader, follower):
        broker.handle(LeaderAndIsrRequest(0, 1, ((TP, nobody, 0),), (0, 1)), "b0")
    assert (leader.partitions[TP].is_leader, leader.partitions[TP].leader_epoch) == (True, 0)
    assert (follower.partitions[TP].leader, follower.partitions[TP].leader_epoch) == (0, 0)
    assert follower.fetcher_manager.fetch_state(TP) == "fetching"
    assert [event[4:] for event in bench.kinds("leader-unavailable")] == [(0, "t", 0, -1, 3, 0, 0), (1, "t", 0, -1, 3, 0, 0)]
    bench.do(acts.Produce("t", 5))
    assert bench.partition.replica_on(1).leo == 10


@pytest.mark.parametrize(
    ("release", "missed", "cut"),
    [("0.9", 1, 0), ("0.10.2", 1, 0), ("0.10.2", 2, 0), ("1.1", 2, 0), ("2.0", 1, 0), ("2.0", 2, 1), ("2.1", 1, 1), ("2.8", 1, 1)],
)
def test_s5_a_follower_truncates_anew_under_the_leader_it_has_only_since_kafka_7164(release: str, missed: int, cut: int) -> None:
    """`Partition#makeFollower` at the tags: never up to 1.1, after a missed epoch in 2.0.1, and in every epoch since then."""
    bench = Bench((0, 1), release=release)
    bench.do(acts.Produce("t", 5))
    broker = bench.broker(1)
    fetcher = broker.fetcher_manager.fetcher_of(TP)
    assert fetcher is not None
    state = fetcher.states[TP]
    again = PartitionRegistration((0, 1), (0, 1), 0, missed, missed)
    broker.handle(LeaderAndIsrRequest(0, 1, ((TP, again, 0),), (0, 1)), "b0")
    assert broker.partitions[TP].leader_epoch == missed
    fetcher = broker.fetcher_manager.fetcher_of(TP)
    assert fetcher is not None
    assert (fetcher.states[TP] is not state) == bool(cut)
    assert fetcher.states[TP].leader_epoch == missed


def test_a_follower_keeps_its_tail_when_another_leaves_the_isr_before_0_11() -> None:
    """The controller raises the leader epoch, but the leader stays the same: the follower does not truncate to a high watermark that is a
    round trip old.
    """
    bench = Bench((0, 1, 2), brokers=3, release="0.10.2")
    bench.do(acts.Load("t", 100, producer="p"), 5 * SECOND)
    bench.do(acts.Kill(2), SESSION_OVER)
    assert bench.partition.leader_epoch == 1
    assert bench.kinds("became-follower")[-1][4:][:5] == (1, "t", 0, 0, 1)
    assert not bench.kinds("truncated")
    assert bench.partition.replica_on(1).leo >= 1_000


def test_a_broker_cannot_register_while_its_former_session_lives() -> None:
    bench = Bench((0, 1), release="2.7")
    bench.do(acts.Kill(1), SECOND)
    bench.do(acts.Start(1), 10 * SECOND)
    assert bench.kinds("registration-refused")
    assert not bench.kinds("broker-joined")
    bench.wait(10 * SECOND)
    assert [event[4] for event in bench.kinds("broker-joined")] == [1]
    assert sorted(bench.partition.isr) == [0, 1]


def test_unclean_election_is_effective_at_once_when_it_is_allowed() -> None:
    bench = Bench((1, 0), settings=(("unclean.leader.election.enable", False),))
    bench.do(acts.Kill(0), SESSION_OVER)
    bench.do(acts.Start(0), 500_000)
    bench.do(acts.Kill(1), 30 * SECOND)
    if bench.partition.leader == 0:
        pytest.fail("broker 0 must be outside the ISR here")
    assert bench.partition.isr == (1,)
    bench.do(acts.Set("unclean.leader.election.enable", "true", topic="t"), 100_000)
    assert (bench.partition.leader, bench.partition.isr) == (0, (0,))
    assert bench.cluster.account.elections.get("unclean") == 1


def test_d8_one_controller_at_any_time_and_each_in_a_new_epoch() -> None:
    bench = Bench((0, 1, 2), brokers=3)
    control = bench.cluster.controller
    assert isinstance(control, ZooKeeperControlPlane)
    assert (control.active, control.active_count) == ("b0", 1)
    bench.do(acts.Cut(("b0", "zookeeper")), SESSION_OVER)
    # The old one does not know yet: two believe it, one is obeyed.
    assert (control.active_count, control.active) == (2, "b1")
    bench.do(acts.Heal(), 5 * SECOND)
    assert (control.active, control.active_count) == ("b1", 1)
    assert [event[4:6] for event in bench.kinds("controller-elected")] == [("b1", 2)]
    assert [event[4:6] for event in bench.kinds("controller-resigned")] == [("b0", 1)]
    bench.do(acts.Kill(1), SESSION_OVER)
    assert control.active_count == 1
    assert bench.kinds("controller-elected")[-1][5] == 3
    assert sorted(bench.partition.isr) == [0, 2]


def test_a_broker_that_is_down_at_the_start_has_no_broker_epoch_until_it_registers() -> None:
    spec = ClusterSpec((BrokerSpec(1), BrokerSpec(2, up=False)), (TopicSpec("t", 1, 1),))
    cluster = Cluster(spec, RELEASES["2.8"])
    assert [broker.broker_epoch >= 0 for broker in cluster.view().brokers] == [True, False]
    assert cluster.view().brokers[1].broker_epoch == -1
    cluster.do(acts.Start(2))
    cluster.run_until(5 * SECOND)
    assert cluster.view().brokers[1].broker_epoch > cluster.view().brokers[0].broker_epoch


def test_a_broker_that_starts_follows_because_of_the_last_change_that_it_has_not_seen() -> None:
    told: list[tuple] = []
    spec = ClusterSpec(tuple(BrokerSpec(each) for each in (1, 2, 3)), (TopicSpec("t", assignment=(PartitionSpec((1, 2, 3)),)),))
    run = Cluster(spec, Release.named("2.4"), sink=told.append)
    run.do(acts.Kill(3))
    run.run_until(20 * SECOND)
    run.do(acts.Start(3))
    run.run_until(30 * SECOND)
    shrunk = next(event for event in told if event[3] == "partition-changed" and event[1] > 0)
    (follows,) = (event for event in told if event[3] == "became-follower" and event[4] == 3 and event[1] > 20 * SECOND)
    assert follows[2] == shrunk[0]


def test_a_broker_that_knows_no_controller_yet_requests_its_shutdown_from_itself() -> None:
    """Without KRaft, no node is called `controller`."""
    spec = ClusterSpec((BrokerSpec(1), BrokerSpec(2, up=False)), (TopicSpec("t", 1, 1),))
    cluster = Cluster(spec, RELEASES["2.8"])
    cluster.do(acts.Start(2))
    while cluster.brokers[2].context.state is not BrokerState.RUNNING:
        cluster.step()
    cluster.do(acts.Shutdown(2))
    requests = [entry for entry in cluster.agenda.entries if isinstance(entry.message, ControlledShutdownRequest)]
    assert [(entry.sender, entry.node) for entry in requests] == [("b2", "b2")]
    cluster.run_until(cluster.now + 10 * SECOND)
    assert cluster.brokers[2].context.state is BrokerState.STOPPED, "its second request reaches the controller"


def test_a_broker_without_a_response_requests_its_shutdown_three_times_and_then_stops() -> None:
    """controlled.shutdown.max.retries and controlled.shutdown.retry.backoff.ms: 3 requests, 5 s apart."""
    bench = Bench((0, 1))
    bench.do(acts.Cut(("b0", "b1")))
    begun = bench.cluster.now
    bench.do(acts.Shutdown(1), 15 * SECOND)
    assert not bench.kinds("broker-stopped")
    bench.wait(100_000)
    ((_, stopped, *_),) = bench.kinds("broker-stopped")
    assert 0 < stopped - begun - 15 * SECOND < 10_000, "it closes its session"


def test_controlled_shutdown_of_the_controller_itself_moves_everything_first() -> None:
    bench = Bench((0, 1, 2), brokers=3)
    bench.cluster.do(acts.Load("t", 100, every=10_000))
    bench.wait(2 * SECOND)
    bench.do(acts.Shutdown(0), SECOND)
    assert (bench.partition.leader, bench.partition.isr, bench.partition.leader_epoch) == (1, (1, 2), 1)
    order = [event[3] for event in bench.events if event[3] in ("leader-elected", "broker-left", "broker-stopped", "controller-elected")]
    assert order == ["leader-elected", "broker-left", "broker-stopped", "controller-elected"]
    bench.wait(5 * SECOND)
    producer = bench.cluster.clients.producer("load")
    assert producer is not None
    assert producer.metrics.failed == 0


def test_topics_are_placed_as_adminutils_does_and_led_at_once() -> None:
    bench = Bench((0,), brokers=3)
    bench.do(acts.CreateTopic("new", 3, 2), SECOND)
    views = [view for view in bench.cluster.view().partitions if view.tp.topic == "new"]
    assert sorted(view.leader for view in views) == [0, 1, 2]
    assert all(view.isr == view.replicas and view.leader_epoch == 0 for view in views)
    bench.do(acts.Produce("new", 3, acks="all"), SECOND)
    assert bench.cluster.account.acked == 3


class _First:
    """A random stream that always draws the first element."""

    def randrange(self, _: int) -> int:
        return 0


@pytest.mark.parametrize("release", ["0.8.2", "1.1", "2.7"])
@pytest.mark.parametrize("leader", [0, 1])
def test_leader_and_isr_of_the_epoch_that_is_known_changes_nothing(release: str, leader: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """`ReplicaManager#becomeLeaderOrFollower`: "its associated leader epoch matches the current leader epoch"; answered STALE_CONTROLLER_EPOCH."""
    bench = Bench((0, 1), release=release)
    bench.do(acts.Produce("t", 4))
    follower = bench.broker(1)
    partition = follower.partitions[TP]
    before = (partition.leader, partition.leader_epoch, partition.isr, partition.partition_epoch)
    bench.events.clear()
    sent: list[object] = []
    same = PartitionRegistration((0, 1), (1,), leader, partition.leader_epoch, partition.partition_epoch + 1)
    with monkeypatch.context() as patched:
        patched.setattr(ZooKeeperBroker, "reply", lambda _broker, _node, message: sent.append(message))
        follower.handle(LeaderAndIsrRequest(0, follower.channel.epoch, ((TP, same, 0),), (0, 1)), "b0")
    assert [message.items for message in sent if isinstance(message, LeaderAndIsrResponse)] == [((TP, "STALE_CONTROLLER_EPOCH"),)]
    assert (partition.leader, partition.leader_epoch, partition.isr, partition.partition_epoch) == before
    assert bench.events == []
    bench.do(acts.Produce("t", 3))
    assert [bench.partition.replica_on(broker).leo for broker in (0, 1)] == [7, 7], "the follower fetches on"


def test_plc_08_topics_are_placed_as_adminutils_does_from_broker_0() -> None:
    bench = Bench((0,), brokers=5)
    replication = bench.cluster.controller.replication
    replication._placement = _First()  # type: ignore[assignment]
    bench.do(acts.CreateTopic("new", 10, 3), SECOND)
    assert [view.replicas for view in bench.cluster.view().partitions if view.tp.topic == "new"] == [
        (0, 1, 2), (1, 2, 3), (2, 3, 4), (3, 4, 0), (4, 0, 1), (0, 2, 3), (1, 3, 4), (2, 4, 0), (3, 0, 1), (4, 1, 2),
    ]  # fmt: skip
    for wrong in (0, 6):
        bench.do(acts.CreateTopic("wrong", 10, wrong), SECOND)
    assert [event[5] for event in bench.kinds("topic-refused")] == ["INVALID_REPLICATION_FACTOR"] * 2


def _with_directories(release: str = "2.4", **settings: bool) -> Bench:
    """Build a cluster of brokers 0, 1, and 2 with two log directories. On each broker, t-0 is in the first directory and u-0 in the second."""
    bench = Bench((1, 2), brokers=3, release=release)
    spec = attrs.evolve(
        bench.cluster.spec,
        brokers=tuple(BrokerSpec(broker, log_dirs=2) for broker in range(3)),
        topics=(TopicSpec("t", assignment=(PartitionSpec((1, 2)),)), TopicSpec("u", assignment=(PartitionSpec((1, 2)),))),
        settings=tuple((name.replace("_", "."), value) for name, value in settings.items()),
    )
    bench.events.clear()
    bench.cluster = Cluster(spec, Release.named(release), sink=bench.events.append)
    bench.wait(SECOND)
    return bench


OTHER = TopicPartition("u", 0)


def test_d4_the_controller_asks_who_is_offline_and_moves_just_that() -> None:
    bench = _with_directories()
    bench.do(acts.FailDir(1, 1), 100_000)
    assert (bench.partition.leader, bench.partition.isr, bench.partition.leader_epoch) == (2, (2,), 1)
    other = bench.cluster.partition_view(OTHER)
    assert (other.leader, other.isr, other.leader_epoch) == (1, (1, 2), 0)
    assert [event[4:] for event in bench.kinds("replicas-offline")] == [(1, 1, 1)]
    control = bench.cluster.controller
    assert isinstance(control, ZooKeeperControlPlane)
    assert control.zookeeper.apply(GetChildren(paths.LOG_DIR_EVENTS)).data == (), "the note is taken away"
    assert bench.broker(0).kafka_controller.context.offline == {1: {TP: None}}
    bench.do(acts.FailDir(2, 1), 100_000)
    assert (bench.partition.leader, bench.partition.isr) == (NO_LEADER, (2,)), "the last one stays on record"
    assert [event[9] for event in bench.kinds("partition-offline")] == ["a log directory of b2 has failed"]


@pytest.mark.parametrize("unclean", [False, True])
def test_d4_a_replica_in_a_failed_directory_leads_never_again_not_even_uncleanly_nor_under_another_controller(unclean: bool) -> None:
    bench = _with_directories(unclean_leader_election_enable=unclean)
    bench.do(acts.FailDir(1, 1))
    bench.do(acts.Kill(0), SESSION_OVER)
    assert bench.broker(1).kafka_controller.active
    assert bench.broker(1).kafka_controller.context.offline == {1: {TP: None}}, "learned anew from the answers to its first LeaderAndIsr"
    bench.do(acts.Kill(2), SESSION_OVER)
    assert (bench.partition.leader, bench.cluster.partition_view(OTHER).leader) == (NO_LEADER, 1)
    bench.do(acts.Elect("unclean", TP))
    assert bench.partition.leader == NO_LEADER
    bench.do(acts.RepairDir(1, 1))
    bench.do(acts.Kill(1), SESSION_OVER)
    bench.do(acts.Start(1), 20 * SECOND)
    assert bench.broker(1).kafka_controller.context.offline == {}
    assert bench.partition.leader == (1 if unclean else NO_LEADER)


def test_d2_every_leader_and_isr_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """KAFKA_STORAGE_ERROR for an offline replica, and STALE_CONTROLLER_EPOCH for a role that is not newer and for a request of a replaced
    controller.
    """
    bench = _with_directories()
    bench.do(acts.FailDir(1, 1))
    broker = bench.broker(1)
    sent: list[tuple[str, object]] = []
    monkeypatch.setattr(ZooKeeperBroker, "reply", lambda _broker, node, message: sent.append((node, message)) if node == "b0" else None)
    known = PartitionRegistration((1, 2), (1, 2), 1, 0, 0)
    newer = PartitionRegistration((1, 2), (1, 2), 2, 7, 7)
    broker.handle(LeaderAndIsrRequest(0, 1, ((TP, known, 0), (OTHER, known, 0)), (0, 1, 2)), "b0")
    broker.handle(LeaderAndIsrRequest(0, 1, ((OTHER, newer, 0),), (0, 1, 2)), "b0")
    broker.handle(LeaderAndIsrRequest(0, 0, ((OTHER, newer, 0),), (0, 1, 2)), "b0")
    assert sent == [
        ("b0", LeaderAndIsrResponse(1, "NONE", ((TP, "KAFKA_STORAGE_ERROR"), (OTHER, "STALE_CONTROLLER_EPOCH")))),
        ("b0", LeaderAndIsrResponse(1, "NONE", ((OTHER, "NONE"),))),
        ("b0", LeaderAndIsrResponse(0, "STALE_CONTROLLER_EPOCH", ())),
    ]


def test_a_controller_that_shuts_down_resigns_before_its_session_closes() -> None:
    """`KafkaServer#shutdown` shuts down the controller before it closes the ZooKeeper client."""
    seen: list[EventTuple] = []
    spec = ClusterSpec(tuple(BrokerSpec(broker) for broker in (1, 2)), (TopicSpec("t", 1, 2),))
    cluster = Cluster(spec, RELEASES["2.8"], 0, seen.append)
    cluster.run_until(2 * SECOND)
    cluster.do(acts.Shutdown(1))
    cluster.run_until(10 * SECOND)
    assert [event[4:7] for event in seen if event[3] == "controller-resigned"] == [("b1", 1, "it shuts down")]


def test_a_leader_that_is_not_alive_is_told_as_none() -> None:
    """`MetadataCache#getPartitionMetadata` at 0.9.0.1, `ZkMetadataCache` at 2.8.2: LEADER_NOT_AVAILABLE."""
    broker = Bench((0, 1)).broker(1)
    state = PartitionRegistration((0, 1), (0, 1), 0, 3, 3)
    broker.handle(UpdateMetadataRequest(1, broker.channel.epoch, ((TP, state),), (1,)), "b1")
    assert broker.context.metadata_cache.topic_leaders("t") == ((NO_LEADER, 3),)
    broker.handle(UpdateMetadataRequest(1, broker.channel.epoch, (), (0, 1)), "b1")
    assert broker.context.metadata_cache.topic_leaders("t") == ((0, 3),)


@pytest.mark.parametrize(
    ("release", "stays"),
    [("0.9", True), ("0.11", True), ("1.1", True), ("2.0", True), ("2.1", True), ("2.4", True), ("2.7", False), ("2.8", False)],
)
def test_a_follower_that_has_not_heard_of_a_new_epoch_stays_in_sync_before_2_5(release: str, stays: bool) -> None:
    """Before 2.1, fetches carry no epoch; before 2.5, fetch sessions forget it (KAFKA-9338, `CachedPartition#reqData` at 2.1.1 and 2.4.1)."""
    bench = Bench((0, 1), release=release)
    bench.do(acts.Produce("t", 5), 2 * SECOND)
    leader = bench.broker(0)
    leader.handle(LeaderAndIsrRequest(0, 1, ((TP, PartitionRegistration((0, 1), (0, 1), 0, 1, 1), 0),), (0, 1)), "b0")
    bench.wait(60 * SECOND)
    assert (leader.partitions[TP].leader_epoch, bench.broker(1).partitions[TP].leader_epoch) == (1, 0)
    assert [event[7] for event in bench.kinds("fetch-failed")] == ([] if stays else [0])
    assert bench.kinds("isr-shrink-proposed") == []
