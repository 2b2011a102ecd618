"""The faults of a scenario run under several replication models, and the command line shows the difference."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from core.lab import acts as kafka_acts
from core.lab.model_comparison.script import script_of
from core.models import acts
from core.sim.units import SECOND
from scenarios.errors import InputError
from scenarios.running import models

ROOT = Path(__file__).parents[3]

SCRIPT = """
scenario: leader-pauses
about: The leader pauses for a second.
cluster:
  brokers: 3
  topics: {orders: {replicas: [[1, 2, 3]]}}
timeline:
  - load: {topic: orders, rate: 100}
  - at: 1s
    pause: 1
  - wait: 1s
    resume: 1
  - note: only Kafka has settings of this name
    set: {name: replica.lag.time.max.ms, value: 10000}
"""


def test_a_scenario_runs_under_other_models(tmp_path: Path) -> None:
    path = tmp_path / "script.yaml"
    path.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "-m", "tui", "run", str(path), "--model", "quorum", "--model", "mysql"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert lines[0] == "leader-pauses: The leader pauses for a second."
    assert "  1s: pause the process of n1" in lines
    assert "  2s: resume the process of n1" in lines
    assert "  left out: set: only Kafka has this act" in lines
    harms = lines[lines.index("") + 1 :]
    rows = {line.split()[0]: line.split() for line in harms[: harms.index("")]}
    assert {name: row[2] for name, row in rows.items() if name != "acked"} == {"quorum": "0", "mysql": "0"}
    assert any(line.startswith("the first difference that a client sees: at 1") for line in lines)
    assert all(len(line) <= 100 for line in lines)


def test_what_cannot_run_is_refused_with_the_reason() -> None:
    for name, model, reason in (
        ("primary-dies", "mysqll", "did you mean mysql?"),
        ("b2-high-watermark", "mysql", "none of its acts applies to other models, .* its acts are "),
    ):
        with pytest.raises(InputError, match=reason):
            list(models.lines(name, [model], 0))


def test_acts_on_brokers_and_links_are_translated() -> None:
    timeline = (
        (SECOND, kafka_acts.Kill(1)), (2 * SECOND, kafka_acts.Isolate("b2")), (3 * SECOND, kafka_acts.Cut(("b1", "controller"))),
        (4 * SECOND, kafka_acts.Link(("b1", "b3"), latency=5)), (5 * SECOND, kafka_acts.Heal()), (6 * SECOND, kafka_acts.Load("t", 1)),
    )  # fmt: skip
    script = script_of("x", "x", timeline)
    assert [act for _, act in script.fault.steps] == [acts.Kill("n1"), acts.Isolate("n2"), acts.SlowLink("n1", "n3", 5), acts.HealAll()]
    assert script.left_out == ("cut: only Kafka has this act",)


def ran(script: str, tmp_path: Path, *names: str) -> list[str]:
    path = tmp_path / "script.yaml"
    path.write_text(script)
    return list(models.lines(str(path), names, 0))


FIVE = """
scenario: five-brokers
cluster:
  brokers: 5
  topics: {orders: {replicas: [[4, 2]]}}
timeline:
  - load: {topic: orders, rate: 100}
  - at: 1s
    kill: 4
  - until: leader(orders-0) == 2
    within: 20s
    start: 4
  - wait: 1s
    kill: 5
"""


def test_copies_are_the_replicas_and_conditions_become_true_when_they_do_under_kafka(tmp_path: Path) -> None:
    lines = ran(FIVE, tmp_path, "kafka", "mysql", "elasticsearch", "quorum")
    assert lines[1] == "  1s: kill the process of n1"
    time, what = lines[2].strip().split(": ")
    assert 7 < float(time.removesuffix("s")) < 12
    assert what == "start n1 again"
    assert "  left out: kill: the broker has no copy of the first partition" in lines
    harms = lines[lines.index("") + 2 :][:4]
    assert [line.split()[2] for line in harms] == ["0", "0", "0", "0"]


BY_HAND = """
scenario: by-hand
cluster:
  brokers: 3
  pace: by-hand
  topics: {orders: {replicas: [[1, 2, 3]]}}
steps:
  - produce: {topic: orders, records: 4}
  - fetch: 2
  - kill: 1
"""


def test_a_second_passes_between_steps_that_are_done_by_hand(tmp_path: Path) -> None:
    lines = ran(BY_HAND, tmp_path, "mysql", "quorum")
    assert lines[1] == "  3s: kill the process of n1"
    assert "  left out: fetch: only Kafka has this act" in lines


@pytest.mark.parametrize(("change", "reason"), [
    (("[[4, 2]]", "[[4]]"), "the first partition has one replica; a comparison needs at least two copies"),
    (("within: 20s", "within: 1s"), "under Kafka, the condition 'until leader.orders-0. == 2"),
    (("kill: 4", "kill: 5"), "none of its acts applies to other models"),
])  # fmt: skip
def test_a_script_that_makes_no_sense_elsewhere_is_refused(change: tuple[str, str], reason: str, tmp_path: Path) -> None:
    script = FIVE.replace(*change)
    if change[1] == "kill: 5":
        script = script[: script.index("  - until")]
    with pytest.raises(InputError, match=reason):
        ran(script, tmp_path, "quorum")


def test_without_an_assignment_the_first_brokers_have_the_replicas(tmp_path: Path) -> None:
    spread = "{partitions: 1, replication-factor: 2}"
    script = FIVE[: FIVE.index("  - until")].replace("{replicas: [[4, 2]]}", spread) + "  - at: 2s\n    kill: 2\n"
    lines = ran(script, tmp_path, "mysql")
    assert lines[1] == "  2s: kill the process of n2"
    assert "  left out: kill: the broker has no copy of the first partition" in lines
