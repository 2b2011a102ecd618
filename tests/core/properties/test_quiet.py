"""Fetch rounds that are not played out leave no trace: with and without them every event and every view are the same."""

from __future__ import annotations

import random
from typing import Any

import attrs
import pytest

from core.kafka.broker.fetch_session import FetchSession
from core.kafka.broker.partition import Partition
from core.kafka.broker.quiet import QuietRounds
from core.kafka.broker.replica_manager import ReplicaManager
from core.kafka.ids import TopicPartition
from core.kafka.release import Release
from core.kafka.settings import MAX_LONG
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import ClusterSpec, ControlPlane
from core.sim.messages import Timer
from core.sim.units import SECOND, US_PER_MS
from scenarios.releases import release_named
from tests.core.properties.swarm import swarm
from tests.core.properties.timelines import Timeline, attempt

SEEDS = range(3)


def lives(seed: int) -> Timeline:
    """A swarm's faults, between them long quiet, and single records that come at round times, as ends of waits do."""
    draw = random.Random(f"{seed}:quiet")
    timeline = swarm(seed, harsh=True)
    steps: list[tuple[int, acts.Act]] = []
    for wait, act in timeline.steps:
        steps.append((wait // 500 * 500 if draw.random() < 0.5 else wait, act))
        topic = f"t{draw.randrange(3)}"
        more: list[acts.Act] = [
            acts.Produce(topic, draw.choice((1, 20)), producer="now-and-then", acks=draw.choice(("0", "1", "all"))),
            acts.DeleteRecords(TopicPartition(topic, 0), -1),
            acts.Set("replica.fetch.wait.max.ms", str(draw.choice((100, 500, 700))), force=True),
            acts.Set("follower.replication.throttled.rate", str(draw.choice((1_000, MAX_LONG))), broker=draw.randint(1, 3)),
            acts.SlowDisk(draw.randint(1, 3), draw.choice((0, 30 * US_PER_MS))),
            acts.Reassign(TopicPartition(topic, 0), tuple(draw.sample(range(1, timeline.brokers + 1), 3))),
        ]
        weights = (10, 1, 1, 1, 1, 2)
        for _ in range(draw.randint(0, 3)):
            steps.append((draw.choice((500, 1_000, 20 * US_PER_MS, 3 * SECOND)) * draw.randint(0, 4), draw.choices(more, weights)[0]))
    return attrs.evolve(timeline, partitions=(2, 1, 2), steps=tuple(steps))


def spec_of(timeline: Timeline, control_plane: ControlPlane) -> ClusterSpec:
    """The timeline's cluster with one more topic that nobody writes to."""
    spec = timeline.spec()
    return attrs.evolve(spec, topics=(*spec.topics, TopicSpec("idle", 4, 3)), control_plane=control_plane)


def play(timeline: Timeline, release: Release, control_plane: ControlPlane, *, elide: bool) -> tuple[list[tuple], list[object]]:
    """Its events, and what there was to see between its steps."""
    events: list[tuple] = []
    views: list[object] = []
    cluster = Cluster(spec_of(timeline, control_plane), release, timeline.seed, events.append, elide=elide)
    cluster.do(acts.Load("t0", 5, every=2 * SECOND, producer="load0"))
    cluster.do(acts.Consume("t0", reset="earliest", consumer="reader0"))
    for wait, act in timeline.steps:
        cluster.run_until(cluster.now + wait)
        views.append(cluster.view())
        attempt(cluster, act)
        views.append(cluster.view())
    cluster.run_until(cluster.now + 40 * SECOND)
    views.append(cluster.view())
    return events, views


@pytest.mark.parametrize("name", ["0.8.2", "0.10.2", "1.1", "2.4", "3.3", "4.1", "4.1 without request-time-leo"])
def test_rounds_not_played_leave_no_trace(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    release = release_named(name)
    begun = [0]
    begin = QuietRounds.begin

    def counted(self: QuietRounds, *args: Any, sent: bool) -> bool:
        begun[0] += (quiet := begin(self, *args, sent=sent))
        return quiet

    monkeypatch.setattr(QuietRounds, "begin", counted)
    for seed in SEEDS:
        for control_plane in (ControlPlane.BY_RELEASE, ControlPlane.KRAFT)[: 2 if release.zookeeper and seed % 2 else 1]:
            timeline = lives(seed)
            played = play(timeline, release, control_plane, elide=False)
            quiet = play(timeline, release, control_plane, elide=True)
            for one, other in zip(played[1], quiet[1], strict=True):
                assert one == other, seed
            assert played[0] == quiet[0], seed
    assert begun[0] > 100


@pytest.mark.parametrize(("name", "seed"), [("3.3", 40), ("4.1", 62)])
def test_lives_in_which_a_timer_of_a_round_mattered(name: str, seed: int) -> None:
    """40: replica.fetch.wait.max.ms falls while a fetch waits. 62: a follower stands still while its request is out for too long."""
    release = release_named(name)
    timeline = lives(seed)
    assert play(timeline, release, ControlPlane.BY_RELEASE, elide=False) == play(timeline, release, ControlPlane.BY_RELEASE, elide=True)


def test_a_check_of_the_isr_finds_what_a_look_at_all_partitions_would(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [0, 0]
    narrow = ReplicaManager.out_of_sync_partitions

    def compared(self: ReplicaManager) -> list[Partition]:
        looked_at = narrow(self)
        assert looked_at == [each for each in self.partitions.values() if each.is_leader and each.out_of_sync_replicas()]
        found[bool(looked_at)] += 1
        return looked_at

    monkeypatch.setattr(ReplicaManager, "out_of_sync_partitions", compared)
    for name in ("0.8.2", "0.11", "4.1"):
        for seed in SEEDS:
            play(lives(seed), release_named(name), ControlPlane.BY_RELEASE, elide=True)
    assert min(found) > 10


def test_an_idle_cluster_has_next_to_nothing_to_do() -> None:
    cluster = Cluster(spec_of(lives(1), ControlPlane.KRAFT))
    cluster.run_until(2 * SECOND)
    sessions = [session for broker in cluster.brokers.values() for session in broker.fetch_manager.sessions.values()]
    assert sessions
    assert all(session.quiet is not None for session in sessions)
    cluster.run_until(32 * SECOND)
    assert not any(type(entry.message) is Timer and entry.message.name == "fetcher-watch" for entry in cluster.agenda.entries)
    steps = 0
    while (due := cluster.next_time()) is not None and due <= 42 * SECOND:
        cluster.step()
        steps += 1
    assert steps < 40 * len(cluster.brokers)


def test_a_quiet_follower_is_caught_up_as_of_its_last_round() -> None:
    """Rounds take the wait and two ways; in between the time since the last fetch grows, as it does when they are played."""
    played, quiet = (Cluster(spec_of(lives(1), ControlPlane.KRAFT), elide=elide) for elide in (False, True))
    for time in range(5 * SECOND, 7 * SECOND, 13_500):
        played.run_until(time)
        quiet.run_until(time)
        assert fetch_times(played) == fetch_times(quiet)


def fetch_times(cluster: Cluster) -> list[tuple[int, int]]:
    """When each session's last fetch arrived, and when the one that waits expires."""
    sessions: list[FetchSession] = [session for broker in cluster.brokers.values() for session in broker.fetch_manager.sessions.values()]
    return [(session.fetched_at(), session.expires_at()) for session in sessions]
