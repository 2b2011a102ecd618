"""When the KRaft controller periodically looks for leaders to change, and the effect of a new min.insync.replicas on ELRs: semantics 3.4,
3.5, 3.9.
"""

from __future__ import annotations

import pytest

from core.kafka import events
from core.kafka.admin_requests import AlterConfig, ElectionMode
from core.kafka.controller.admin_request_handler import handle_admin_request
from core.kafka.health import PartitionStatus
from core.kafka.ids import NO_LEADER, TopicPartition
from core.kafka.messages import AlterPartitionItem, AlterPartitionRequest
from core.kafka.release import CURRENT, RELEASES, Release
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.errors import ActRefused
from core.sim.units import SECOND
from tests.core.node_bench import ControllerBench

T0 = TopicPartition("t", 0)


def live(bench: ControllerBench, seconds: int, *brokers: int) -> None:
    """Let time pass while the given brokers are alive."""
    for _ in range(seconds // 2):
        bench.run(2_000)
        for broker in brokers:
            bench.heartbeat(broker)


def expand(bench: ControllerBench, isr: tuple[int, ...], tp: TopicPartition = T0) -> None:
    """Let the leader propose an ISR, which is then committed."""
    now = bench.partition(tp.partition)
    epochs = tuple(bench.controller.cluster_control.brokers[broker].epoch for broker in isr)
    item = AlterPartitionItem(tp, now.leader_epoch, now.partition_epoch, isr, epochs, 0)
    bench.controller.handle(
        AlterPartitionRequest(1, now.leader, bench.controller.cluster_control.brokers[now.leader].epoch, (item,)), f"b{now.leader}"
    )
    assert bench.partition(tp.partition).isr == isr


# 3.9: balancing


def test_3_9_the_balance_check_comes_an_interval_after_the_imbalance() -> None:
    """The check does not run at fixed times after the controller's start. It is scheduled when a leader is not the preferred one."""
    bench = ControllerBench(brokers=(1, 2))
    bench.create((1, 2))
    live(bench, 200, 1, 2)
    bench.fence(1)
    bench.controller.publish()
    bench.heartbeat(1)
    expand(bench, (1, 2))
    live(bench, 298, 1, 2)
    assert bench.partition().leader == 2, "a grid would have had it at 300 s"
    live(bench, 2, 1, 2)
    assert bench.partition().leader == 1


def test_3_9_each_imbalance_is_followed_by_a_check() -> None:
    bench = ControllerBench(brokers=(1, 2), settings={"leader.imbalance.check.interval.seconds": 10})
    bench.create((1, 2))
    for _ in range(2):
        bench.fence(1)
        bench.controller.publish()
        bench.heartbeat(1)
        expand(bench, (1, 2))
        live(bench, 8, 1, 2)
        assert bench.partition().leader == 2
        live(bench, 2, 1, 2)
        assert bench.partition().leader == 1


def test_3_9_no_check_is_scheduled_while_all_is_balanced() -> None:
    bench = ControllerBench(brokers=(1, 2))
    bench.create((1, 2))
    bench.controller.publish()
    names = [entry.message.name for entry in bench.agenda.entries if hasattr(entry.message, "name")]
    assert "periodic" not in names


# 3.5: unclean election allowed later


def leaderless(release: Release, at: int) -> ControllerBench:
    """Build a bench in which, from the given second on, 1 is outside the ISR, and 2, the last member, is gone."""
    bench = ControllerBench(release, brokers=(1, 2))
    bench.create((2, 1), unclean_leader_election_enable="false")
    live(bench, at, 1, 2)
    bench.fence(1)
    bench.heartbeat(1)
    bench.fence(2)
    bench.controller.publish()
    assert (bench.partition().leader, bench.partition().leader_epoch) == (NO_LEADER, 1)
    handle_admin_request(bench.controller, AlterConfig("unclean.leader.election.enable", "true", "t", None))
    bench.controller.publish()
    return bench


@pytest.mark.parametrize(("release", "leader"), [("3.7", NO_LEADER), ("3.9", 1)])
def test_3_5_the_controller_looks_for_it_since_3_9(release: str, leader: int) -> None:
    """Before KAFKA-12670, a KRaft controller did not notice the change, and kafka-leader-election was needed."""
    bench = leaderless(RELEASES[release], at=100)
    live(bench, 298, 1)
    assert bench.partition().leader == NO_LEADER, "300 s after the partition lost its leader, not 300 s after the start"
    live(bench, 400, 1)
    assert bench.partition().leader == leader


@pytest.mark.parametrize(("release", "leader"), [("3.3", NO_LEADER), ("3.6", NO_LEADER), ("3.7", NO_LEADER), ("3.9", 1), ("4.3", 1)])
def test_3_5_the_setting_is_ignored_before_3_9(release: str, leader: int) -> None:
    """KAFKA-12670: `ConfigurationControlManager#uncleanLeaderElectionEnabledForTopic` returned false. An administrator could still request
    an unclean election.
    """
    bench = ControllerBench(RELEASES[release], brokers=(1, 2))
    bench.create((2, 1), unclean_leader_election_enable="true")
    bench.fence(1)
    bench.heartbeat(1)
    bench.fence(2)
    assert bench.partition().leader == leader
    bench.replication.elect_leaders(T0, ElectionMode.UNCLEAN)
    assert (bench.partition().leader, bench.partition().isr) == (1, (1,))


def test_3_9_a_quorum_schedules_as_one_controller_does() -> None:
    topic = TopicSpec("t", assignment=(PartitionSpec((1, 2, 3)),))
    controllers = ("c1", "c2", "c3")
    times = []
    for spec in (
        ClusterSpec(tuple(BrokerSpec(each) for each in (1, 2, 3)), (topic,)),
        ClusterSpec(tuple(BrokerSpec(each) for each in (1, 2, 3)), (topic,), controllers=controllers),
    ):
        told: list[tuple] = []
        run = Cluster(spec, sink=told.append)
        run.run_until(100 * SECOND)
        run.do(acts.Shutdown(1))
        run.run_until(110 * SECOND)
        run.do(acts.Start(1))
        run.run_until(500 * SECOND)
        moved, back = (event[1] for event in told if event[3] == events.LeaderElected.kind)
        times.append((back - moved) // SECOND)
    assert times == [300, 300]


# 3.4: min.insync.replicas


def eligible(release: Release = CURRENT) -> ControllerBench:
    """Build a bench in which 1 left the ISR below min.insync.replicas 2 and is eligible."""
    bench = ControllerBench(release, brokers=(1, 2, 3))
    bench.create((1, 2, 3), min_insync_replicas="2")
    bench.fence(3)
    bench.fence(1)
    return bench


@pytest.mark.parametrize("topic", ["t", None])
@pytest.mark.parametrize("value", ["1", "2", "3"])
def test_3_4_setting_min_insync_replicas_clears_the_elrs(topic: str | None, value: str) -> None:
    """KIP-966: setting any value, even the same one, writes a `ClearElrRecord` for the topic or for all topics."""
    bench = eligible()
    before = bench.partition()
    assert (before.isr, before.elr) == ((2,), (1,))
    handle_admin_request(bench.controller, AlterConfig("min.insync.replicas", value, topic, None))
    after = bench.partition()
    assert (after.isr, after.elr, after.last_known_elr) == ((2,), (), ())
    assert (after.leader_epoch, after.partition_epoch) == (before.leader_epoch, before.partition_epoch + 1)


def test_3_4_another_topic_keeps_its_elrs() -> None:
    bench = eligible()
    bench.create((2, 1, 3), topic="other")
    handle_admin_request(bench.controller, AlterConfig("min.insync.replicas", "1", "other", None))
    assert bench.partition().elr == (1,)


def test_3_4_nobody_is_left_to_lead_once_the_elr_of_an_empty_isr_is_cleared() -> None:
    bench = eligible()
    bench.fence(2)
    assert (bench.partition().isr, bench.partition().elr, bench.partition().last_known_elr) == ((), (1, 2), (2,))
    handle_admin_request(bench.controller, AlterConfig("min.insync.replicas", "1", "t", None))
    bench.heartbeat(2)
    now = bench.partition()
    assert (now.leader, now.isr, now.elr, now.last_known_elr) == (NO_LEADER, (), (), ())


@pytest.mark.parametrize(("release", "refused"), [("4.1", True), ("4.0", False), ("3.9", False)])
def test_3_4_min_insync_replicas_of_one_broker_is_refused_while_elrs_are_kept(release: str, refused: bool) -> None:
    """KAFKA-16540: brokers that judge the same partition differently would break the promise of an ELR."""
    cluster = Cluster(ClusterSpec((BrokerSpec(1), BrokerSpec(2))), RELEASES[release])
    if refused:
        with pytest.raises(ActRefused, match="while ELR is enabled"):
            cluster.do(acts.Set("min.insync.replicas", "2", broker=1))
    else:
        cluster.do(acts.Set("min.insync.replicas", "2", broker=1))


@pytest.mark.parametrize(("release", "min_isr"), [("2.4", 3), ("3.6", 3), ("3.7", 1), ("4.1", 1)])
def test_1_1_min_isr_is_capped_since_3_7(release: str, min_isr: int) -> None:
    """Before KAFKA-15583, a partition with one replica was below a min.insync.replicas of three, and was shown as such."""
    topic = TopicSpec("t", assignment=(PartitionSpec((1,)),), config=(("min.insync.replicas", "3"),))
    view = Cluster(ClusterSpec((BrokerSpec(1),), (topic,)), RELEASES[release]).partition_view(TopicPartition("t", 0))
    assert view.min_isr == min_isr
    assert (view.status is PartitionStatus.UNDER_MIN_ISR) == (min_isr > 1)


def test_3_4_min_isr_is_capped_by_the_first_partitions_replicas() -> None:
    """`RCM#getTopicEffectiveMinIsr` looks at partition 0 for all partitions. Here, the result is 1, so no replica of partition 1 becomes
    eligible.
    """
    bench = ControllerBench(brokers=(1, 2, 3))
    bench.create((1,), (1, 2, 3), min_insync_replicas="3")
    bench.fence(2)
    assert (bench.partition(1).isr, bench.partition(1).elr) == ((1, 3), ())
