"""The incremental view equals a view that is built from scratch after every step of random timelines."""

from __future__ import annotations

import contextlib
import random

import attrs
import pytest

from core.kafka.broker.broker_state import BrokerState
from core.kafka.health import PartitionStatus
from core.kafka.ids import TopicPartition
from core.kafka.release import Release
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.lab.views import incremental_view
from core.lab.views.cluster_view import ClusterView
from core.lab.views.incremental_view import IncrementalView
from core.lab.views.view_builder import lags
from core.sim.errors import ActRefused
from core.sim.units import SECOND
from scenarios import catalogue
from scenarios.running.runner import Run

SPEC = ClusterSpec(
    brokers=tuple(BrokerSpec(i) for i in (1, 2, 3, 4)),
    topics=(TopicSpec("orders", partitions=3, replication_factor=3), TopicSpec("logs", partitions=2, replication_factor=2)),
    settings=(("min.insync.replicas", 2), ("unclean.leader.election.enable", True)),
)


@pytest.fixture(autouse=True)
def _no_more_than_events_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rebuild no partitions in turn, which would hide that an event does not name what it changes."""
    monkeypatch.setattr(incremental_view, "ROUND_ROBIN", 0)


def an_act(dice: random.Random) -> acts.Act:
    broker = dice.randint(1, 4)
    return dice.choice(
        (
            acts.Kill(broker), acts.Start(broker), acts.Pause(broker), acts.Resume(broker), acts.Isolate(f"b{broker}"), acts.Heal(),
            acts.Cut((f"b{broker}", "controller")), acts.Hold((f"b{broker}", f"b{broker % 4 + 1}")), acts.Shutdown(broker), acts.PowerLoss(broker), acts.Load("orders", 40), acts.StopLoad(), acts.Load("logs", 20, producer="other"),
            acts.Set("min.insync.replicas", str(dice.randint(1, 3)), topic=dice.choice(("orders", None))), acts.Elect("preferred"),
            acts.CreateTopic(f"new{dice.randint(0, 99)}", 2, 3), acts.Produce("logs", 5), acts.Consume("orders"),
        )
    )  # fmt: skip


def without_ages(view: ClusterView) -> ClusterView:
    """Return the view without the values that change without an event, because the incremental view rebuilds them in round-robin order."""
    partitions = tuple(
        attrs.evolve(
            p,
            slowest_replicas=(),
            uncommitted_us=0,
            held_us=0,
            replica_views=tuple(attrs.evolve(replica, caught_up_us=0, fetch_state="") for replica in p.replica_views),
        )
        for p in view.partitions
    )
    return attrs.evolve(view, partitions=partitions)


def furthest_behind(view: ClusterView) -> dict[int, float]:
    """Compute the result of `lags` from the offsets of every replica."""
    found = {b.id: 0.0 for b in view.brokers if b.state is not BrokerState.STOPPED}
    for p in view.partitions:
        for replica in p.replica_views:
            if replica.broker in found:
                found[replica.broker] = max(found[replica.broker], p.committed - replica.leo)
    return found


@pytest.mark.parametrize(("release", "seed"), [("4.1", 0), ("3.6", 1), ("2.4", 2), ("4.1", 3), ("3.6", 4), ("2.4", 0)])
def test_the_incremental_view_equals_a_full_view(release: str, seed: int) -> None:
    dice = random.Random(f"{seed}:incremental")
    seen: list[tuple] = []
    incremental: IncrementalView | None = None

    def sink(event: tuple) -> None:
        seen.append(event)
        if incremental is not None:
            incremental.on_event(event)

    cluster = Cluster(SPEC, Release.named(release), seed, sink)
    incremental = IncrementalView(cluster)
    states: dict[int, tuple] = {}
    for _ in range(40):
        with contextlib.suppress(ActRefused, ValueError):
            cluster.do(an_act(dice))
        for _ in range(dice.randint(1, 40)):
            for _ in range(dice.randint(1, 6)):
                cluster.step()
            tps = list(cluster.controller.registry.partitions)
            view = incremental.view([dice.choice(tps)])
            assert without_ages(view) == without_ages(cluster.view())
            shape = tuple((p.tp, p.leader, p.isr, p.status, p.replicas, tuple(c.alive for c in p.replica_views)) for p in view.partitions)
            assert states.setdefault(view.version, shape) == shape
            assert lags(cluster) == furthest_behind(view)
    assert len(seen) > 100
    assert len(states) > 3


@pytest.mark.parametrize("name", ["a2-delete-topic", "j1-killed-member-consumer", "i2-exactly-once", "k1-crash", "t10-unclean-election"])
def test_the_incremental_view_follows_groups_transactions_and_services(name: str) -> None:
    incremental: IncrementalView | None = None

    def sink(event: tuple) -> None:
        if incremental is not None:
            incremental.on_event(event)

    run = Run(catalogue.load(name), Release.named("4.3"), sink=sink)
    incremental = IncrementalView(run.cluster)
    while not run.finished and run.cluster.now < 60 * SECOND:
        run.advance_to(run.cluster.now + SECOND // 4)
        assert without_ages(incremental.view()) == without_ages(run.cluster.view())


@pytest.mark.parametrize("release", ["3.3", "4.3"])
def test_the_incremental_view_follows_the_coordinators_of_transactions(release: str) -> None:
    seen: list[PartitionStatus] = []
    incremental: IncrementalView | None = None

    def sink(event: tuple) -> None:
        if incremental is not None:
            incremental.on_event(event)

    spec = ClusterSpec(
        brokers=tuple(BrokerSpec(i) for i in (1, 2, 3)),
        topics=(TopicSpec("orders", partitions=1, replication_factor=3),),
        settings=(("transaction.state.log.num.partitions", 1),),
    )
    cluster = Cluster(spec, Release.named(release), 0, sink)
    incremental = IncrementalView(cluster)
    timeouts = (("delivery.timeout.ms", "8000"), ("request.timeout.ms", "4000"))

    def run(until: int, *done: acts.Act) -> None:
        for act in done:
            cluster.do(act)
        while cluster.now < until:
            cluster.run_until(min(until, cluster.now + SECOND // 4))
            view = incremental.view()
            assert without_ages(view) == without_ages(cluster.view())
            seen.append(view.partitions[0].status)

    run(2 * SECOND, acts.InitTransactions("orders", "app", config=timeouts))
    run(3 * SECOND, acts.BeginTransaction(), acts.Produce("orders", 5))
    assert set(seen) == {PartitionStatus.HEALTHY}, "a transaction that its coordinator will end is no fault"
    leader = cluster.controller.registry.partitions[TopicPartition("orders", 0)].leader
    run(12 * SECOND, acts.Hold(("producer", f"b{leader}")), acts.Produce("orders", 5))
    run(15 * SECOND, acts.AbortTransaction())
    run(17 * SECOND, acts.Release(("producer", f"b{leader}")))
    assert seen[-1] is (PartitionStatus.READS_HELD if release == "3.3" else PartitionStatus.HEALTHY)


def test_lags_are_what_the_furthest_replica_lacks() -> None:
    cluster = Cluster(SPEC, Release.named("4.1"), 0, lambda event: None)
    cluster.do(acts.Load("orders", 40))
    cluster.run_until(5 * SECOND)
    cluster.do(acts.Isolate("b4"))
    cluster.run_until(60 * SECOND)
    assert lags(cluster) == furthest_behind(cluster.view())
    assert lags(cluster)[4] > 100
    assert lags(cluster)[1] < 10


@pytest.mark.parametrize("release", ["4.1", "2.4"])
@pytest.mark.parametrize("seed", range(3))
def test_a_bounded_look_sees_what_is_shown_and_later_the_rest(seed: int, release: str) -> None:
    dice = random.Random(f"{seed}:bounded")
    incremental: IncrementalView | None = None

    def sink(event: tuple) -> None:
        if incremental is not None:
            incremental.on_event(event)

    cluster = Cluster(SPEC, Release.named(release), seed, sink)
    incremental = IncrementalView(cluster)
    incremental.view()
    for _ in range(25):
        with contextlib.suppress(ActRefused, ValueError):
            cluster.do(an_act(dice))
        for _ in range(6):
            for _ in range(dice.randint(1, 30)):
                cluster.step()
            tps = list(cluster.controller.registry.partitions)
            shown = dice.sample(tps, 2)
            seen, now = without_ages(incremental.view(shown=shown, most=1)), without_ages(cluster.view())
            assert [seen.partition(tp) for tp in shown] == [now.partition(tp) for tp in shown]
            assert not incremental.any_stale(shown)
            for name in ("accepted", "acked", "lost", "lost_acknowledged", "lost_read", "duplicated"):
                assert getattr(seen, name) == getattr(now, name)
        looks = 0
        while incremental.is_stale:
            view = incremental.view(most=3)
            looks += 1
            assert looks <= len(tps)
        if looks:
            assert without_ages(view) == without_ages(cluster.view())
