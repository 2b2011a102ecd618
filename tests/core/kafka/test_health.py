"""What clients experience of a partition: the pure rule, and the facts about a running cluster to which the rule is applied."""

from __future__ import annotations

import pytest

from core.kafka.health import (
    STALL_BOUND,
    PartitionStatus,
    UncleanElection,
    described_at_min_isr,
    described_unavailable,
    described_under_min_isr,
    described_under_replicated,
    effective_min_isr,
    is_at_min_isr,
    is_offline,
    is_under_min_isr,
    is_under_replicated,
    spare_replicas,
    status_of,
    unclean_election,
)
from core.kafka.ids import NO_LEADER, TopicPartition
from core.kafka.partition_registration import PartitionRegistration
from core.kafka.release import Release
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.acts import Act
from core.lab.cluster import Cluster
from core.lab.metrics.observer import MetricsObserver
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND
from scenarios.describe.render import from_view, render_describe
from scenarios.readings.all_readings import READINGS
from scenarios.running.runner import LiveMoment

TP = TopicPartition("orders", 0)

OFFLINE, UNAVAILABLE, UNDER_MIN = PartitionStatus.OFFLINE, PartitionStatus.LEADER_UNAVAILABLE, PartitionStatus.UNDER_MIN_ISR
STALLED, HEALTHY = PartitionStatus.STALLED, PartitionStatus.HEALTHY


def cluster(*, min_isr: int = 2, replication_factor: int = 3, release: str = "4.1", load: bool = True) -> Cluster:
    """Build a cluster of three brokers with a partition that is led by broker 1 and, with a load, acks=all writes to it."""
    made = Cluster(
        ClusterSpec(
            brokers=tuple(BrokerSpec(i) for i in (1, 2, 3)),
            topics=(
                TopicSpec(
                    "orders",
                    partitions=1,
                    replication_factor=replication_factor,
                    assignment=(PartitionSpec((1, 2, 3)[:replication_factor]),),
                ),
            ),
            settings=(("min.insync.replicas", min_isr),),
        ),
        Release.named(release),
    )
    if load:
        made.do(acts.Load("orders", 100))
    made.run_until(2 * SECOND)
    return made


def status(made: Cluster) -> PartitionStatus:
    return made.partition_view(TP).status


@pytest.mark.parametrize(
    ("leader", "isr", "min_isr", "serves", "not_fetching", "uncommitted", "expected"),
    [
        (NO_LEADER, (), 1, False, (), 0, OFFLINE),
        (1, (1, 2, 3), 2, False, (2,), 0, UNAVAILABLE),
        (1, (1,), 2, True, (), 2 * STALL_BOUND, UNDER_MIN),
        (1, (1, 2, 3), 2, True, (3,), 0, STALLED),
        (1, (1, 2, 3), 2, True, (), STALL_BOUND + 1, STALLED),
        (1, (1, 2, 3), 2, True, (), STALL_BOUND, HEALTHY),
        (1, (1, 2), 2, True, (), 0, PartitionStatus.AT_MIN_ISR),
        (1, (1, 2), 1, True, (), 0, PartitionStatus.UNDER_REPLICATED),
    ],
)
def test_worst_first(
    leader: int,
    isr: tuple[int, ...],
    min_isr: int,
    serves: bool,
    not_fetching: tuple[int, ...],
    uncommitted: int,
    expected: PartitionStatus,
) -> None:
    registration = PartitionRegistration((1, 2, 3), isr, leader, 1, 1)
    assert status_of(registration, min_isr, leader_serves=serves, not_fetching=not_fetching, uncommitted_us=uncommitted) is expected


@pytest.mark.parametrize(("isr", "uncommitted"), [((1, 2, 3), 0), ((1, 2), 0), ((1,), 0), ((1, 2, 3), STALL_BOUND + 1)])
def test_held_reads_are_worse_than_missing_replicas_and_better_than_refused_writes(isr: tuple[int, ...], uncommitted: int) -> None:
    registration = PartitionRegistration((1, 2, 3), isr, 1, 1, 1)
    status = status_of(registration, 2, leader_serves=True, uncommitted_us=uncommitted, reads_held=True)
    assert status is (UNDER_MIN if isr == (1,) else STALLED if uncommitted else PartitionStatus.READS_HELD)
    assert status.readable
    assert status.served == (status is PartitionStatus.READS_HELD)


@pytest.mark.parametrize(
    ("leader", "isr", "adding", "min_isr", "counted", "described"),
    [
        (1, (1, 2, 3), (), 2, "", ""),
        (1, (1, 2, 3), (), 3, "at-min", "at-min"),
        (1, (1, 2), (), 2, "urp at-min", "urp at-min"),
        (1, (1,), (), 2, "urp under-min", "urp under-min"),
        (1, (1, 2), (3,), 2, "at-min", "at-min"),
        (1, (1,), (2, 3), 1, "at-min", "at-min"),
        (NO_LEADER, (1, 2, 3), (), 2, "offline", "unavailable under-min"),
        (NO_LEADER, (1, 2, 3), (), 3, "offline", "unavailable under-min at-min"),
        (NO_LEADER, (1,), (), 2, "offline", "unavailable urp under-min"),
        (NO_LEADER, (), (), 1, "offline", "unavailable urp under-min"),
        (4, (1, 2), (), 2, "urp at-min", "unavailable urp at-min"),
    ],
    ids=[
        "whole", "whole-at-min", "ISR-22-under", "ISR-21-under", "CLI-04-adding", "CLI-04-all-but-one-added", "CLI-01-nobody-leads",
        "nobody-leads-at-min", "nobody-leads-one-left", "nobody-leads-isr-empty", "leader-not-alive",
    ],
)  # fmt: skip
def test_what_brokers_count_and_what_the_tool_describes(
    leader: int, isr: tuple[int, ...], adding: tuple[int, ...], min_isr: int, counted: str, described: str
) -> None:
    """If a partition has no leader, no broker counts it; only the controller does. The tool lists the partition nevertheless (`Partition`,
    `TopicCommand`).
    """
    p = PartitionRegistration((1, 2, 3), isr, leader, 1, 1, adding=adding)
    by_broker = {
        "offline": is_offline(p), "urp": is_under_replicated(p), "under-min": is_under_min_isr(p, min_isr), "at-min": is_at_min_isr(p, min_isr),
    }  # fmt: skip
    by_tool = {
        "unavailable": described_unavailable(p, {1, 2, 3}), "urp": described_under_replicated(p),
        "under-min": described_under_min_isr(p, min_isr), "at-min": described_at_min_isr(p, min_isr),
    }  # fmt: skip
    assert {name for name, holds in by_broker.items() if holds} == set(counted.split())
    assert {name for name, holds in by_tool.items() if holds} == set(described.split())
    assert described_unavailable(p, None) is is_offline(p), "which brokers live is not known"


def test_observers_are_where_they_belong() -> None:
    p = PartitionRegistration((1, 2, 3), (1, 2), 1, 1, 1)
    assert described_under_replicated(p)
    assert not described_under_replicated(p, observing=1)


@pytest.mark.parametrize(
    ("value", "capped", "spare"), [(1, True, 2), (3, True, 0), (4, True, 0), (4, False, -1)], ids=["one", "all", "capped", "too-many"]
)
def test_how_many_replicas_may_be_out_of_the_isr(value: int, capped: bool, spare: int) -> None:
    assert spare_replicas(value, 3, capped=capped) == spare


@pytest.mark.parametrize(
    ("leader", "up", "enabled", "zookeeper", "applied", "who"),
    [
        (1, (1, 2), True, False, True, None),
        (NO_LEADER, (1, 2), False, False, True, None),
        (NO_LEADER, (4,), True, True, True, UncleanElection.NOBODY_UP),
        (NO_LEADER, (3, 4), True, True, True, UncleanElection.AT_ONCE),
        (NO_LEADER, (3, 4), True, False, True, UncleanElection.PERIODIC),
        (NO_LEADER, (3, 4), True, False, False, UncleanElection.IGNORED),
    ],
)
def test_who_elects_uncleanly(
    leader: int, up: tuple[int, ...], enabled: bool, zookeeper: bool, applied: bool, who: UncleanElection | None
) -> None:
    partition = PartitionRegistration((1, 2, 3), (1,), leader, 1, 1)
    assert unclean_election(partition, up, enabled=enabled, zookeeper=zookeeper, applied=applied) is who


def test_what_is_served() -> None:
    assert [each.name for each in PartitionStatus if each.served] == ["READS_HELD", "AT_MIN_ISR", "UNDER_REPLICATED", "HEALTHY"]
    assert [each.name for each in PartitionStatus if not each.readable] == ["OFFLINE", "LEADER_UNAVAILABLE"]


@pytest.mark.parametrize("load", [True, False], ids=["busy", "idle"])
@pytest.mark.parametrize("fault", [acts.Kill(3), acts.Pause(3), acts.Cut(("b3", "b1")), acts.Cut(("b1", "b3"), one_way=True)], ids=str)
def test_a_follower_that_cannot_fetch_stalls_until_it_leaves_the_isr(fault: Act, load: bool) -> None:
    made = cluster(load=load)
    assert status(made) is HEALTHY
    made.do(fault)
    view = made.partition_view(TP)
    assert (view.status, view.not_fetching, view.isr) == (STALLED, (3,), (1, 2, 3)), "the ISR is whole on paper only"
    if isinstance(fault, acts.Cut) and not load:  # it lacks nothing, so it stays in the ISR: the first write will wait
        made.run_until(60 * SECOND)
        assert status(made) is STALLED
        made.do(acts.Heal())
        assert status(made) is HEALTHY
        return
    while 3 in made.partition_view(TP).isr:
        assert status(made) is STALLED
        assert made.now < 60 * SECOND, "it leaves the ISR"
        made.run_until(made.now + 100_000)
    assert status(made) is PartitionStatus.AT_MIN_ISR


def test_a_follower_that_fetches_too_slowly_stalls_by_its_progress() -> None:
    made = cluster()
    made.do(acts.Hold(("b3", "b1")))  # nothing is cut and every process runs: only the high watermark shows it
    seen = []
    for _ in range(40):
        made.run_until(made.now + 50_000)
        view = made.partition_view(TP)
        seen.append((view.uncommitted_us > STALL_BOUND, view.status))
        assert not view.not_fetching
    assert (True, STALLED) in seen
    assert (False, HEALTHY) in seen
    assert all(late == (state is STALLED) for late, state in seen)
    made.do(acts.Release(("b3", "b1")))
    made.run_until(made.now + SECOND)
    assert status(made) is HEALTHY


@pytest.mark.parametrize("fault", [acts.Kill(1), acts.Pause(1), acts.Cut(("load", "b1"))], ids=str)
def test_a_leader_that_clients_cannot_reach_is_not_healthy(fault: Act) -> None:
    made = cluster()
    made.do(fault)
    view = made.partition_view(TP)
    assert (view.leader, view.status) == (1, UNAVAILABLE), "the controller has not noticed"


def test_a_client_of_another_topic_does_not_matter() -> None:
    made = cluster()
    made.do(acts.CreateTopic("other", 1, 1))
    made.do(acts.Load("other", 10, producer="app"))
    made.run_until(made.now + SECOND)
    made.do(acts.Cut(("app", "b1")))
    assert status(made) is HEALTHY


def test_nobody_leads() -> None:
    made = cluster(replication_factor=1, min_isr=1)
    made.do(acts.Kill(1))
    made.run_until(made.now + 30 * SECOND)
    assert status(made) is OFFLINE


def counts_of(made: Cluster, observer: MetricsObserver) -> tuple[list[int], list[int], list[int]]:
    """Return the counts of offline, under-replicated, under-min-ISR, and at-min-ISR partitions by the metrics, by the readings of
    conditions, and by the tool's filters.
    """
    manager = "kafka.server:type=ReplicaManager,name="
    names = (
        "kafka.controller:type=KafkaController,name=OfflinePartitionsCount",
        manager + "UnderReplicatedPartitions", manager + "UnderMinIsrPartitionCount", manager + "AtMinIsrPartitionCount",
    )  # fmt: skip
    samples = observer.samples(made.now)
    metrics = [int(sum(dict(sample.attributes)["Value"] for sample in samples if sample.name == name)) for name in names]
    moment = LiveMoment(made, {})
    readings = [READINGS[name].read(moment) for name in ("offline", "urp", "under-min-isr", "at-min-isr")]
    topics = from_view(made.view())
    filters = ("unavailable", "under_replicated", "under_min_isr", "at_min_isr")
    described = [render_describe(topics, made.release, **{name: True}).count("\n") for name in filters]  # type: ignore[arg-type]
    return metrics, readings, described


@pytest.mark.parametrize(
    ("release", "expected", "counted", "described"),
    [("4.1", HEALTHY, [0, 0, 0, 1], [0, 0, 1, 0]), ("3.6", UNDER_MIN, [0, 0, 1, 0], [0, 0, 1, 0])],
)
def test_one_replica_and_min_isr_2_come_out_the_same_everywhere(
    release: str, expected: PartitionStatus, counted: list[int], described: list[int]
) -> None:
    """Since 3.7, the broker caps the setting at the replication factor (KAFKA-15583) and uses the capped value for its counts. The tool
    does not know the cap.
    """
    made, observer = observed(cluster(replication_factor=1, release=release).spec, release)
    made.do(acts.Load("orders", 100))
    made.run_until(2 * SECOND)
    view = made.partition_view(TP)
    assert view.status is expected
    under = expected is UNDER_MIN
    assert view.min_isr == effective_min_isr(2, 1, capped=made.release.capped_min_isr) == (2 if under else 1)
    leading = made.brokers[1].partitions[TP]
    assert leading.under_min_isr is under
    assert leading.effective_min_isr() == made.controller.configuration_control.min_isr(TP.topic, 1) == view.min_isr
    assert (view.acked == 0) is under
    assert counts_of(made, observer) == (counted, counted, described)


def observed(spec: ClusterSpec, release: str) -> tuple[Cluster, MetricsObserver]:
    """Return a cluster, and an object that counts its events."""
    observer = MetricsObserver(spec, Release.named(release))
    return Cluster(spec, Release.named(release), sink=observer.on_event), observer


def test_a_brokers_own_min_isr_holds_where_it_leads() -> None:
    made, observer = observed(cluster().spec, "3.9")  # with ELR a broker may not have its own (KIP-966)
    made.run_until(SECOND)
    made.do(acts.Set("min.insync.replicas", "3", broker=1))
    made.run_until(2 * SECOND)
    assert made.brokers[1].partitions[TP].effective_min_isr() == made.partition_view(TP).min_isr == 3
    metrics, readings, _ = counts_of(made, observer)
    assert metrics == readings == [0, 0, 0, 1]


@pytest.mark.parametrize("release", ["2.8", "3.6", "4.1"])
def test_metrics_and_readings_count_the_same_after_any_failure(release: str) -> None:
    topics = tuple(
        TopicSpec(f"t{factor}{least}", 3, factor, config=(("min.insync.replicas", str(least)),))
        for factor in (1, 2, 3)
        for least in (1, 2, 3)
    )
    made, observer = observed(ClusterSpec(tuple(BrokerSpec(i) for i in (1, 2, 3)), topics), release)
    seen = set()
    for act in (acts.Kill(3), acts.Kill(2), acts.Start(3), acts.Set("min.insync.replicas", "1", topic="t33"), acts.Start(2)):
        made.run_until(made.now + 60 * SECOND)
        made.do(act)
        made.run_until(made.now + 60 * SECOND)
        metrics, readings, described = counts_of(made, observer)
        assert metrics == readings
        assert described[0] == metrics[0]
        assert described[1] >= metrics[1]
        assert described[2] >= metrics[2] + metrics[0]
        seen.add(tuple(metrics))
    assert len(seen) >= 4, "these states differ"


def test_writes_that_wait_for_the_leaders_disk_are_stalled() -> None:
    made = cluster()
    made.do(acts.SlowDisk(1, 5 * SECOND))
    assert status(made) is STALLED
    made.do(acts.SlowDisk(1, 0))
    made.run_until(made.now + 10 * SECOND)
    assert status(made) is HEALTHY


def test_a_queue_at_the_leaders_disk_stalls_writes() -> None:
    made = cluster()
    made.do(acts.SlowDisk(1, SECOND // 2))
    assert status(made) is HEALTHY
    made.run_until(made.now + 2 * SECOND)
    assert made.brokers[1].log_directories.write_wait() > STALL_BOUND
    assert status(made) is STALLED


def test_events_tell_from_when_to_when_a_disk_stalls_writes() -> None:
    """`disk-behind` contains how long a write waits. This time decreases as time passes, unless a single write takes longer than the bound."""
    made = cluster()
    events = list[tuple]()
    made.journal.sink = events.append
    each, told, seen = 0, (0, 0), set()
    for delay, lasts in ((SECOND // 2, 6), (2 * SECOND, 6), (0, 90)):
        made.do(acts.SlowDisk(1, delay))
        end = made.now + lasts * SECOND
        while made.now < end:
            made.run_until(made.now + SECOND // 50)
            for event in events:
                if event[3] in ("disk-slowed", "disk-behind") and event[4] == 1:
                    each, told = (event[5], (0, 0)) if event[3] == "disk-slowed" else (each, (event[1], event[5]))
            events.clear()
            expected = each > STALL_BOUND or told[0] + told[1] - made.now > STALL_BOUND
            assert (made.brokers[1].log_directories.write_wait() > STALL_BOUND) is expected
            seen.add((delay, expected))
    assert len(seen) == 5


def test_a_slow_disk_of_a_broker_that_does_not_lead_stalls_nothing_by_itself() -> None:
    made = cluster(load=False)
    made.do(acts.SlowDisk(2, 5 * SECOND))
    assert status(made) is HEALTHY
