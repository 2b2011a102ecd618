"""The runner: the events are the same at any speed and under any hash seed, and failures name the values."""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from core.kafka.ids import TopicPartition
from core.kafka.release import CURRENT, Release
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab.acts import Kill
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import format_duration
from scenarios import catalogue
from scenarios.conditions.conditions import Condition
from scenarios.errors import ScriptError
from scenarios.language.script import read_script, releases_of
from scenarios.readings.partition_readings import PARTITION_READINGS
from scenarios.readings.reading import Moment
from scenarios.running import results
from scenarios.running.runner import LiveMoment, Run, State, run_scenario

ROOT = Path(__file__).resolve().parents[3]

SMALL = """
cluster:
  brokers: 3
  topics: {orders: {replicas: [[1, 2, 3]]}}
timeline:
  - load: {topic: orders, rate: 100, producer: app}
  - at: 1s
    kill: 3
    note: a broker dies
  - until: isr(orders-0) == [1, 2]
    within: 12s
    expect: {urp: 1}
  - wait: 500ms
    expect: {lost: 0, app: {failed: 0}}
expect:
  - order [broker-stopped, broker-fenced, partition-changed {isr=[1, 2]}]
  - never records-lost
"""


def test_a_run_in_any_pieces_has_the_same_events() -> None:
    scenario = read_script(SMALL, "small.yaml")
    whole: list[tuple[Any, ...]] = []
    result = run_scenario(scenario, CURRENT, sink=whole.append)
    assert result.held, list(results.lines(result))
    assert len(whole) == result.events
    dice = random.Random(5)
    for _ in range(4):
        pieces: list[tuple[Any, ...]] = []
        run = Run(scenario, CURRENT, None, pieces.append)
        while not run.finished:
            run.advance_to(run.cluster.now + dice.choice((0, 1, 999, 33_000, 1_700_000)))
        assert pieces[: len(whole)] == whole
        assert all(check.state is State.HELD for check in run.expectations)


def test_stepping_event_by_event_has_the_same_events() -> None:
    scenario = read_script(SMALL, "small.yaml")
    whole: list[tuple[Any, ...]] = []
    run_scenario(scenario, CURRENT, sink=whole.append)
    pieces: list[tuple[Any, ...]] = []
    run = Run(scenario, CURRENT, None, pieces.append)
    while not run.finished:
        due = run.next_due()
        assert due is not None
        run.advance_to(due)
    assert pieces == whole


def test_by_hand_one_step_at_a_time() -> None:
    scenario = catalogue.load("b2-high-watermark")
    run = Run(scenario, CURRENT)
    states = []
    while run.next_step is not None:
        assert run.advance_to(run.cluster.now, steps=1) == 1
        states.append(sum(check.state is State.HELD for check in run.expectations))
    assert states == sorted(states)
    assert not run.finished
    run.advance_to(run.cluster.now)
    assert run.finished
    assert run.held
    assert run.notes[0][1] == "the producer sends 10 records"


def test_expectations_go_from_pending_to_held() -> None:
    run = Run(read_script(SMALL, "small.yaml"), CURRENT)
    assert {check.state for check in run.expectations} == {State.PENDING}
    assert [check.text for check in run.expectations][:2] == ["until isr(orders-0) == [1, 2]", "urp == 1"]
    run.advance_to(2_000_000)
    assert {check.state for check in run.expectations} == {State.PENDING}
    assert run.notes == [(1_000_000, "a broker dies")]
    assert run.cluster.now == 2_000_000
    run.advance_to(60_000_000)
    assert {check.state for check in run.expectations} == {State.HELD}
    assert run.cluster.now == 60_000_000


def test_somebody_may_interfere_between_two_pieces() -> None:
    seen: list[tuple[Any, ...]] = []
    run = Run(read_script(SMALL, "small.yaml"), CURRENT, None, seen.append)
    run.advance_to(1_500_000)
    run.cluster.do(Kill(2))
    run.advance_to(60_000_000)
    assert run.finished
    assert [(event[4], event[5]) for event in seen if event[3] == "act"][-1] == ("kill", '{"broker":2}')
    assert run.cluster.partition_view(TopicPartition("orders", 0)).isr == (1,)


def failures(script: str) -> list[tuple[str, str, str]]:
    result = run_scenario(read_script(script, "s.yaml"), CURRENT)
    return [(str(check.place), check.expected, check.got) for check in result.failures]


def test_what_fails_without_being_expected() -> None:
    head = "cluster: {brokers: 3, topics: {orders: {replicas: [[1, 2, 3]]}}}\ntimeline:\n"
    ((place, expected, got),) = failures(head + "  - start: 2\n")
    assert (place, expected) == ("s.yaml:3:5", "start is possible")
    assert got.startswith("refused: ")
    assert failures(head + "  - until: lost > 0\n    within: 2s\n") == [("s.yaml:3:5", "lost > 0 within 2s", "0")]
    late = head + "  - until: lost > 0\n    within: 2s\n  - at: 1s\n    kill: 2\n"
    assert failures(late)[1] == ("s.yaml:6:5", "at 1s", "the previous steps ended later, at 2s")


def test_a_step_under_other_releases_is_left_out() -> None:
    script = "cluster: {brokers: 1}\ntimeline:\n  - wait: 1s\n    expect: lost == 1\n    under: {before: '0.11'}\nexpect: lost == 0\n"
    scenario = read_script(script, "s.yaml")
    assert run_scenario(scenario, CURRENT).held
    assert [check.text for check in run_scenario(scenario, Release.named("0.9")).failures] == ["lost == 1"]


def test_a_cluster_that_kafka_refuses() -> None:
    with pytest.raises(ScriptError, match=r"^s\.yaml:1:10: cluster: .*INVALID_REPLICATION_FACTOR"):
        Run(read_script("cluster: {brokers: 2, topics: {t: {replication-factor: 3}}}\n", "s.yaml"), CURRENT)


def logged(name: str, release: str, seed: str, path: Path, hash_seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        [sys.executable, "-m", "tui", "run", name, "--release", release, "--seed", seed, "--log", str(path)],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize(("name", "release"), [("captures-kill-9", "4.3"), ("e2-divergence", "0.10.2")])
def test_two_processes_write_the_same_log(name: str, release: str, tmp_path: Path) -> None:
    first = logged(name, release, "11", tmp_path / "a.jsonl", "0")
    assert logged(name, release, "11", tmp_path / "b.jsonl", "4242") == first


def test_json_and_junit_say_the_same() -> None:
    good = run_scenario(read_script("cluster: {brokers: 1}\nexpect: lost == 0\n", "good.yaml"), CURRENT)
    bad = run_scenario(read_script('cluster: {brokers: 1}\nexpect: {lost: "> 3"}\n', "b<&d.yaml"), CURRENT)
    data = json.loads(json.dumps(results.as_data([good, bad])))
    assert data["held"] is False
    assert [run["held"] for run in data["runs"]] == [True, False]
    assert data["runs"][1]["expectations"] == [
        {
            "file": "b<&d.yaml", "line": 2, "column": 18, "expectation": "lost > 3", "state": "failed", "held": False, "time_us": 0,
            "expected": "> 3", "got": "0",
        }
    ]  # fmt: skip
    suites = ElementTree.fromstring(results.as_junit([good, bad]))
    assert (suites.get("tests"), suites.get("failures")) == ("2", "1")
    (failure,) = suites.iter("failure")
    assert failure.get("message") == "expected > 3, got 0"


def test_releases_of_a_scenario() -> None:
    scenario = catalogue.load("e1-data-loss")
    assert [release.name for release in releases_of(scenario, ())] == ["0.10.2", "4.3"]
    assert releases_of(scenario, (Release.named("2.0"),)) == (Release.named("2.0"),)


# --- until ---------------------------------------------------------------------------------------------------------

FENCED = """
cluster:
  brokers: 3
  topics: {{orders: {{replicas: [[1, 2, 3]]}}}}
timeline:
  - at: 3s
    kill: 3
  - until: fenced(3)
    within: {within}us
  - wait: 1s
    note: after it
"""

KILLED = 3_000_000


def fenced_after() -> int:
    """Return the time from the kill until the controller fences the broker, in µs."""
    result = run_scenario(read_script(FENCED.format(within=60_000_000), "s.yaml"), CURRENT)
    assert result.held
    return result.checks[0].time - KILLED


@pytest.mark.parametrize(("early", "state"), [(-1, State.HELD), (0, State.HELD), (1, State.FAILED)], ids=["before", "at", "after"])
def test_what_happens_at_the_deadline_is_in_time(early: int, state: State) -> None:
    """The deadline counts from the end of the previous step. The event that makes the condition true can occur exactly at the deadline."""
    took = fenced_after()
    run = Run(read_script(FENCED.format(within=took - early), "s.yaml"), CURRENT)
    run.run()
    (check,) = run.expectations
    at = KILLED + took - max(early, 0)
    assert (check.state, check.time) == (state, at)
    if state is State.FAILED:
        assert (check.expected, check.got) == (f"fenced(3) within {format_duration(took - early)}", "fenced(3) is false")
    assert run.notes == [(at + 1_000_000, "after it")], "either way the timeline goes on from there"


def test_a_deadline_is_no_sooner_than_it_is_said_in_pieces_too() -> None:
    took = fenced_after()
    for within, end in ((took, State.HELD), (took - 1, State.FAILED)):
        run = Run(read_script(FENCED.format(within=within), "s.yaml"), CURRENT)
        (check,) = run.expectations
        for time in (KILLED - 1, KILLED, KILLED + within - 1):
            run.advance_to(time)
            assert (check.state, run.cluster.now) == (State.PENDING, time)
        assert run.next_due() == KILLED + within
        run.advance_to(KILLED + within)
        assert (check.state, check.time) == (end, KILLED + within)


def asked(run: Run, step: int) -> list[tuple[int, int]]:
    """Finish the run, and return (time, events so far) of each evaluation of a step's condition."""
    found: list[tuple[int, int]] = []
    (until,) = run.steps[step].until
    condition = until.condition

    @attrs.frozen(repr=False)
    class Asked(Condition):
        def holds(self, moment: Moment) -> bool:
            found.append((run.cluster.now, run.cluster.journal.seq))
            return condition.holds(moment)

        def got(self, moment: Moment) -> str:
            return condition.got(moment)

        def parts(self) -> Iterator[Condition]:
            return condition.parts()

    steps = list(run.steps)
    steps[step] = attrs.evolve(steps[step], until=(attrs.evolve(until, condition=Asked(condition.text)),))
    run._until[id(steps[step])] = run._until[id(run.steps[step])]
    run._checks[id(steps[step])] = run._checks[id(run.steps[step])]
    run.steps = tuple(steps)
    run.run()
    return found


def test_a_condition_is_asked_again_after_events_only() -> None:
    times = asked(run := Run(read_script(FENCED.format(within=60_000_000), "s.yaml"), CURRENT), 1)
    assert run.held
    seqs = [seq for _, seq in times]
    assert times[0][0] == KILLED, "at once"
    assert len(seqs) > 1
    assert len(set(seqs)) == len(seqs), "nothing had happened since"
    assert times[-1][0] == run.expectations[0].time, "as soon as it holds"


def test_the_next_condition_is_asked_though_nothing_has_happened_since() -> None:
    script = FENCED.format(within=60_000_000).replace("  - wait: 1s\n", "  - until: not fenced(1)\n    within: 10s\n  - wait: 1s\n")
    run = Run(read_script(script, "s.yaml"), CURRENT)
    run.run()
    first, second = run.expectations
    assert (first.state, second.state) == (State.HELD, State.HELD)
    assert second.time == first.time


def test_a_condition_that_ages_is_asked_without_events() -> None:
    """A wait becomes long merely because time passes. The condition is evaluated at the next moment at which anything happens, even if
    there is no event.
    """
    script = """
cluster:
  brokers: 3
  topics: {orders: {replicas: [[1, 2, 3]]}}
timeline:
  - at: 1s
    cut: [b1, b2]
  - produce: {topic: orders, records: 1, producer: app, acks: all}
  - until: longest-wait(app) >= 1500ms
    within: 10s
"""
    events: list[tuple[Any, ...]] = []
    run = Run(read_script(script, "s.yaml"), CURRENT, None, events.append)
    times = asked(run, 2)
    assert run.held
    check = run.expectations[0]
    assert 2_500_000 <= check.time < 3_100_000
    assert len({seq for _, seq in times}) < len(times), "asked anew although nothing was recorded"
    assert all(time < 2_500_000 for time, _ in times[:-1])


def test_what_can_be_read_of_a_partition() -> None:
    """Before the partition exists, its readings have no value. A view is kept until something happens."""
    cluster = Cluster(ClusterSpec((BrokerSpec(1), BrokerSpec(2)), (TopicSpec("t", assignment=(PartitionSpec((2, 1)),)),)))
    moment = LiveMoment(cluster, {})
    known, unknown = TopicPartition("t", 0), TopicPartition("u", 0)
    readings = {
        each.name: each.read
        for each in PARTITION_READINGS
        if each.arguments[0] == "partition" and all(argument.endswith("?") for argument in each.arguments[1:])
    }
    assert {name: read(moment, unknown) for name, read in readings.items()} == dict.fromkeys(readings)
    found = {name: read(moment, known) for name, read in readings.items()}
    assert found == {
        "leader": 2, "leader-epoch": 0, "partition-epoch": 0, "isr": (2, 1), "isr-row": (2, 1), "elr": (), "replicas": (2, 1), "min-isr": 1,
        "leo": 0, "lso": 0, "ongoing": 0, "hw": 0, "log-start": 0, "records": None, "epochs": ((0, 0),),
    }  # fmt: skip
    before = moment.partition(known)
    assert moment.partition(known) is before
    cluster.do(Kill(1))
    assert moment.partition(known) is not before
