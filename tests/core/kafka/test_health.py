"""What clients experience of a partition: the pure rule, and the facts of a running cluster that it is asked with."""

from __future__ import annotations

import pytest

from core.kafka.health import STALL_BOUND, PartitionStatus, effective_min_isr, status_of
from core.kafka.ids import NO_LEADER, TopicPartition
from core.kafka.release import Release
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.acts import Act
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND

TP = TopicPartition("orders", 0)

OFFLINE, UNAVAILABLE, UNDER_MIN = PartitionStatus.OFFLINE, PartitionStatus.LEADER_UNAVAILABLE, PartitionStatus.UNDER_MIN_ISR
STALLED, HEALTHY = PartitionStatus.STALLED, PartitionStatus.HEALTHY


def cluster(*, min_isr: int = 2, replication_factor: int = 3, release: str = "4.1", load: bool = True) -> Cluster:
    """Three brokers, a partition led by broker 1, and (with a load) acks=all writes to it."""
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
    ("leader", "isr", "min_isr", "serves", "stuck", "uncommitted", "expected"),
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
    leader: int, isr: tuple[int, ...], min_isr: int, serves: bool, stuck: tuple[int, ...], uncommitted: int, expected: PartitionStatus
) -> None:
    assert status_of(leader, isr, 3, min_isr, leader_serves=serves, stuck=stuck, uncommitted_us=uncommitted) is expected


def test_what_is_served() -> None:
    assert [each.name for each in PartitionStatus if each.served] == ["AT_MIN_ISR", "UNDER_REPLICATED", "HEALTHY"]
    assert [each.name for each in PartitionStatus if not each.readable] == ["OFFLINE", "LEADER_UNAVAILABLE"]


@pytest.mark.parametrize("load", [True, False], ids=["busy", "idle"])
@pytest.mark.parametrize("fault", [acts.Kill(3), acts.Pause(3), acts.Cut(("b3", "b1")), acts.Cut(("b1", "b3"), one_way=True)], ids=str)
def test_a_follower_that_cannot_fetch_stalls_until_it_leaves_the_isr(fault: Act, load: bool) -> None:
    made = cluster(load=load)
    assert status(made) is HEALTHY
    made.do(fault)
    view = made.partition_view(TP)
    assert (view.status, view.stuck, view.isr) == (STALLED, (3,), (1, 2, 3)), "the ISR is whole on paper only"
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
        assert not view.stuck
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


@pytest.mark.parametrize(("release", "expected"), [("4.1", HEALTHY), ("3.6", UNDER_MIN)])
def test_one_replica_and_min_isr_2_come_out_the_same_everywhere(release: str, expected: PartitionStatus) -> None:
    made = cluster(replication_factor=1, release=release)
    view = made.partition_view(TP)
    assert view.status is expected
    under = expected is UNDER_MIN
    assert view.min_isr == effective_min_isr(2, 1, capped=made.release.capped_min_isr) == (2 if under else 1)
    leading = made.brokers[1].partitions[TP]
    assert leading.under_min_isr is under
    assert leading.effective_min_isr() == made.controller.replication.min_isr(TP) == view.min_isr
    assert (view.acked == 0) is under


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
    assert made.brokers[1].directories.write_wait() > STALL_BOUND
    assert status(made) is STALLED


def test_events_tell_from_when_to_when_a_disk_stalls_writes() -> None:
    """`disk-behind` says how long a write waits; that passes with time, unless a single write takes longer than the bound."""
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
            assert (made.brokers[1].directories.write_wait() > STALL_BOUND) is expected
            seen.add((delay, expected))
    assert len(seen) == 5


def test_a_slow_disk_of_a_broker_that_does_not_lead_stalls_nothing_by_itself() -> None:
    made = cluster(load=False)
    made.do(acts.SlowDisk(2, 5 * SECOND))
    assert status(made) is HEALTHY
