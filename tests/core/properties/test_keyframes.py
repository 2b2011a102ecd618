"""A cluster that is restored from a keyframe continues as if nothing had happened, and does not disturb the original cluster."""

from __future__ import annotations

import random

import attrs
import pytest

from core.kafka.events import Acted
from core.kafka.ids import TopicPartition
from core.kafka.release import RELEASES, Release
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.recorded_acts import act_of
from core.lab.spec import BrokerSpec, ClusterSpec, ControlPlane
from core.sim.units import SECOND, US_PER_MS
from scenarios import catalogue
from scenarios.language.script import releases_of
from scenarios.running.runner import run_scenario
from tests.core.properties.test_fetch_elision import lives, spec_of
from tests.core.properties.timelines import attempt
from tests.core.properties.whole import assert_same, same, whole

Doing = tuple[int, acts.Act | None]
"""A waiting time in µs, and the act that follows."""


def plan(seed: int) -> list[Doing]:
    """Return a plan for a cluster with producers of every kind: random faults of all kinds, idle times, and single records."""
    draw = random.Random(f"{seed}:keyframes")
    doings: list[Doing] = [
        (0, acts.Load("t0", 20, every=300 * US_PER_MS, producer="load0")),
        (0, acts.Load("t1", 5, every=900 * US_PER_MS, producer="sure", idempotence=True)),
        (0, acts.Consume("t0", reset="earliest", consumer="reader0")),
    ]
    for wait, act in lives(seed).steps:
        doings.append((wait, act))
        if draw.random() < 0.3:
            more: list[acts.Act] = [
                acts.CreateTopic(f"new{len(doings)}", 2, 3),
                acts.Elect(),
                acts.Set("min.insync.replicas", "1", topic="t0"),
                acts.FailDir(draw.randint(1, 3), 1),
                acts.MoveReplica(TopicPartition(f"t{draw.randrange(3)}", 0), draw.randint(1, 3), draw.randint(1, 2)),
                acts.StopLoad("sure"),
            ]
            doings.append((draw.randrange(2 * SECOND), draw.choice(more)))
    return doings


def go_on(cluster: Cluster, doings: list[Doing]) -> None:
    """Execute a plan."""
    for wait, act in doings:
        cluster.run_until(cluster.now + wait)
        if act is not None:
            attempt(cluster, act)


def hold(spec: ClusterSpec, release: Release, seed: int, doings: list[Doing], moments: int = 3) -> None:
    """Take keyframes at random moments of a timeline, also in the middle of an act, restore each, and continue both clusters until their
    states are equal again.

    Clusters with the same state continue in the same way, so a copy does not need to continue beyond the next moment.
    """
    draw = random.Random(f"{seed}:moments")
    lived: list[tuple] = []
    undisturbed = Cluster(spec, release, seed, lived.append)
    go_on(undisturbed, doings)
    events: list[tuple] = []
    cluster = Cluster(spec, release, seed, events.append)
    go_on(cluster, doings[: (chosen := sorted(draw.sample(range(len(doings)), min(moments, len(doings)))))[0]])
    for at, following in zip(chosen, [*chosen[1:], len(doings)], strict=True):
        wait, act = doings[at]
        due = cluster.now + wait
        for _ in range(draw.randrange(40)):
            soon = cluster.next_time()
            if soon is None or soon > due:
                break
            cluster.step()
        rest = [(due - cluster.now, act), *doings[at + 1 : following]]
        taken = cluster.snapshot()
        told: list[tuple] = []
        copy = Cluster.restore(taken, told.append)
        stood = whole(copy)
        assert_same(stood, whole(cluster))
        before = len(events)
        go_on(copy, rest)
        assert len(events) == before, "the original hears of the copy"
        go_on(cluster, rest)
        assert told == events[before:]
        same(copy, cluster)
        assert whole(Cluster.restore(taken)) == stood, "a keyframe changes"
    assert events == lived
    same(cluster, undisturbed)


@pytest.mark.parametrize("name", list(RELEASES)[1::3])
def test_a_restored_cluster_goes_on_byte_for_byte(name: str) -> None:
    release = RELEASES[name]
    seed = list(RELEASES).index(name) // 3
    timeline = lives(seed)
    control_plane = ControlPlane.KRAFT if seed % 3 == 2 else ControlPlane.BY_RELEASE
    spec = spec_of(timeline, control_plane)
    if seed % 2:
        spec = attrs.evolve(spec, brokers=tuple(attrs.evolve(broker, log_dirs=2) for broker in spec.brokers))
    hold(spec, release, seed, plan(seed))


@pytest.mark.parametrize("combined", [False, True])
def test_a_quorum_goes_on_byte_for_byte(combined: bool) -> None:
    names = tuple(f"{'b' if combined else 'c'}{number}" for number in (1, 2, 3))
    topic = TopicSpec("t0", assignment=(PartitionSpec((1, 2, 3)), PartitionSpec((2, 3, 1))))
    spec = ClusterSpec(tuple(BrokerSpec(broker) for broker in (1, 2, 3)), (topic,), controllers=names)
    draw = random.Random(f"{combined}:quorum")
    doings: list[Doing] = [(0, acts.Load("t0", 5, every=400 * US_PER_MS)), (0, acts.Consume("t0"))]
    for _ in range(40):
        name = draw.choice(names)
        broker = draw.randint(1, 3)
        of_voters = [acts.KillController(name), acts.StartController(name), acts.PauseController(name), acts.ResumeController(name)]
        of_brokers = [acts.Kill(broker), acts.Start(broker), acts.Pause(broker), acts.Resume(broker), acts.Isolate(name), acts.Heal()]
        asked = [acts.Set("min.insync.replicas", "1"), acts.CreateTopic(f"n{len(doings)}", 1, 3), acts.Elect()]
        doings.append((draw.randrange(4 * SECOND), draw.choice(of_brokers + asked + ([] if combined else of_voters))))
        if draw.random() < 0.5:
            doings.append((0, draw.choice(asked)))
    hold(spec, RELEASES["4.1"], 1, doings, moments=8)


@pytest.mark.parametrize("name", [name for name in catalogue.names() if name[0] in "bcde"])
def test_a_script_can_be_put_aside_after_every_act(name: str) -> None:
    """In by-hand and other scripts, each act is executed on a copy, which is restored from the keyframe that was taken after the previous
    act.
    """
    scenario = catalogue.load(name)
    release = releases_of(scenario, ())[0]
    events: list[tuple] = []
    run_scenario(scenario, release, sink=events.append)
    again: list[tuple] = []
    cluster = Cluster(scenario.spec, release, scenario.seed, again.append)
    for event in events:
        if event[3] == Acted.kind:
            cluster.run_until(event[1])
            cluster.do(act_of(event))
            cluster = Cluster.restore(cluster.snapshot(), again.append)
    if events[-1][1] > cluster.now:
        cluster.run_until(events[-1][1])
    assert again[: len(events)] == events


@pytest.mark.parametrize("act", [acts.Shutdown(1), acts.Reassign(TopicPartition("t0", 0), (2, 3))])
def test_a_keyframe_can_be_taken_in_the_middle_of_what_a_zookeeper_controller_does(act: acts.Act) -> None:
    """Between reading states and writing them, the controller has an unfinished decision."""
    spec = ClusterSpec(tuple(BrokerSpec(broker) for broker in (1, 2, 3)), (TopicSpec("t0", assignment=(PartitionSpec((2, 1, 3)),)),))
    cluster = Cluster(spec, RELEASES["2.0"])
    cluster.run_until(SECOND)
    cluster.do(act)
    while cluster.now < 3 * SECOND:
        cluster = Cluster.restore(cluster.snapshot())
        cluster.step()
    assert cluster.partition_view(TopicPartition("t0", 0)).isr == (2, 3)


def test_what_cannot_be_kept_is_refused() -> None:
    cluster = Cluster(spec_of(lives(1), ControlPlane.KRAFT))
    held = 1
    cluster.controller.timers["trouble"] = lambda about: held and None
    with pytest.raises(TypeError, match=r"closure.*test_what_cannot_be_kept"):
        cluster.snapshot()
    cluster.controller.timers["trouble"] = cluster.controller._periodic_due
    cluster.page_cache = object()  # type: ignore[assignment]
    with pytest.raises(TypeError, match=r"builtins\.object"):
        cluster.snapshot()
