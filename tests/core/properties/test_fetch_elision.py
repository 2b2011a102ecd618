"""Elided fetches leave no trace: every event and every view is the same with and without elision."""

from __future__ import annotations

import random

import attrs
import pytest

from core.kafka.broker.follower.fetcher import Fetcher
from core.kafka.broker.partition import Partition
from core.kafka.broker.replica_manager import ReplicaManager
from core.kafka.broker.requests.fetch_session import FetchSession
from core.kafka.events import IsrShrinkProposed
from core.kafka.ids import TopicPartition
from core.kafka.messages import FetchRequest
from core.kafka.release import Release
from core.kafka.settings.setting import MAX_LONG
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import ClusterSpec, ControlPlane
from core.sim.kernel_messages import Timer
from core.sim.long_polling import LongPoll
from core.sim.units import SECOND, US_PER_MS
from scenarios.releases import release_named
from tests.core.properties.swarm import swarm
from tests.core.properties.timelines import Timeline, attempt

SEEDS = range(3)
RELEASES = ["0.8.2", "0.10.2", "1.1", "2.4", "3.3", "4.1", "4.1 without request-time-leo"]


def lives(seed: int) -> Timeline:
    """Return timelines of a swarm's faults with long idle times between them, and with single records at round times, at which waits also
    end.
    """
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
    """Return the timeline's cluster with an additional topic that nobody writes to."""
    spec = timeline.spec()
    return attrs.evolve(spec, topics=(*spec.topics, TopicSpec("idle", 4, 3)), control_plane=control_plane)


def play(timeline: Timeline, release: Release, control_plane: ControlPlane, *, elide: bool) -> tuple[list[tuple], list[object]]:
    """Return the events of a timeline, and the views between its steps."""
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
        assert_statements_are_true(cluster)
    cluster.run_until(cluster.now + 40 * SECOND)
    views.append(cluster.view())
    return events, views


def assert_statements_are_true(cluster: Cluster) -> None:
    """Assert that everything that a broker told the network about its fetches is true until the broker withdraws it."""
    for poll in cluster.network.polls:
        fetcher, session, request = poll.client_end, poll.server_end, poll.request
        if poll.silent:
            assert isinstance(session, FetchSession)
            assert not session.to_send
            assert not (poll.elided and session.parked)
        if isinstance(fetcher, Fetcher) and isinstance(request, FetchRequest) and fetcher.in_flight == request.correlation:
            assert fetcher.is_idle()


@pytest.mark.parametrize("name", RELEASES)
def test_elided_fetches_leave_no_trace(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    release = release_named(name)
    begun = [0]
    resume = LongPoll.resume

    def counted(self: LongPoll) -> None:
        begun[0] += self.elided
        resume(self)

    monkeypatch.setattr(LongPoll, "resume", counted)
    place = RELEASES.index(name)
    # Lives differ in how often a fetch has nothing to do.
    for seed in (place % len(SEEDS), (place + 1) % len(SEEDS)):
        for control_plane in (ControlPlane.BY_RELEASE, ControlPlane.KRAFT)[: 2 if release.zookeeper and seed % 2 else 1]:
            timeline = lives(seed)
            played = play(timeline, release, control_plane, elide=False)
            elided = play(timeline, release, control_plane, elide=True)
            for one, other in zip(played[1], elided[1], strict=True):
                assert one == other, seed
            assert played[0] == elided[0], seed
        if begun[0] > 100:
            break
    assert begun[0] > 100


@pytest.mark.parametrize(("name", "seed"), [("3.3", 40), ("4.1", 62)])
def test_lives_in_which_a_timer_of_a_fetch_mattered(name: str, seed: int) -> None:
    """40: replica.fetch.wait.max.ms decreases while a fetch waits. 62: a follower is paused while its request is in flight for too long."""
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
    for seed, name in zip(SEEDS, ("0.8.2", "0.11", "4.1"), strict=True):
        play(lives(seed), release_named(name), ControlPlane.BY_RELEASE, elide=True)
    assert min(found) > 10


def test_an_idle_cluster_has_next_to_nothing_to_do() -> None:
    cluster = Cluster(spec_of(lives(1), ControlPlane.KRAFT))
    cluster.run_until(2 * SECOND)
    sessions = [session for broker in cluster.brokers.values() for session in broker.fetch_manager.sessions.values()]
    assert sessions
    assert all(session.poll.elided for session in sessions)
    cluster.run_until(32 * SECOND)
    assert not any(type(entry.message) is Timer and entry.message.name == "fetcher-watch" for entry in cluster.agenda.entries)
    steps = 0
    while (due := cluster.next_time()) is not None and due <= 42 * SECOND:
        cluster.step()
        steps += 1
    assert steps < 40 * len(cluster.brokers)


@pytest.mark.parametrize(("min_bytes", "elided"), [(0, False), (1, True), (2, True)])
def test_only_fetches_that_wait_for_records_are_elided(min_bytes: int, elided: bool) -> None:
    """With `replica.fetch.min.bytes=0`, a leader need not let a fetch wait, so the time of the next fetch is not known in advance."""
    spec = attrs.evolve(spec_of(lives(1), ControlPlane.KRAFT), settings=(("replica.fetch.min.bytes", min_bytes),))
    cluster = Cluster(spec)
    cluster.run_until(2 * SECOND)
    assert cluster.network.polls
    assert {poll.elided for poll in cluster.network.polls} == {elided}


def test_a_follower_is_caught_up_as_of_its_last_elided_fetch() -> None:
    """The time from one fetch to the next is the wait plus the latencies of both directions. In between, the time since the last fetch
    grows, as it does without elision.
    """
    played, elided = (Cluster(spec_of(lives(1), ControlPlane.KRAFT), elide=elide) for elide in (False, True))
    for time in range(5 * SECOND, 7 * SECOND, 13_500):
        played.run_until(time)
        elided.run_until(time)
        assert fetch_times(played) == fetch_times(elided)


@pytest.mark.parametrize("name", ["0.9", "1.1", "2.0"])
def test_a_follower_whose_elided_fetches_wait_for_too_long_leaves_the_isr(name: str) -> None:
    """Before 2.1, the ISR depends only on time: if the wait is longer than replica.lag.time.max.ms, a check between two fetches finds the
    follower out of sync.
    """
    lag = (("replica.lag.time.max.ms", 650), ("replica.fetch.wait.max.ms", 600))
    spec = attrs.evolve(spec_of(lives(1), ControlPlane.BY_RELEASE), settings=lag)
    logs = []
    for elide in (False, True):
        events: list[tuple] = []
        cluster = Cluster(spec, release_named(name), 1, events.append, elide=elide)
        cluster.run_until(3 * SECOND)
        cluster.do(acts.Set("replica.fetch.wait.max.ms", "5000", force=True))
        cluster.run_until(3 * SECOND + 650 * US_PER_MS)
        assert any(poll.elided for poll in cluster.network.polls) == elide
        cluster.run_until(60 * SECOND)
        logs.append(events)
    assert logs[0] == logs[1]
    assert any(event[3] == IsrShrinkProposed.kind for event in logs[0])


def fetch_times(cluster: Cluster) -> list[tuple[int, int]]:
    """Return the arrival time of each session's last fetch, and the expiry time of the waiting fetch."""
    sessions: list[FetchSession] = [session for broker in cluster.brokers.values() for session in broker.fetch_manager.sessions.values()]
    return [(session.fetched_at(), session.expires_at()) for session in sessions]
