"""The library of scenarios for other models: each holds in all its systems, and a changed number is reported.

The comparisons take most of the time, so each fault runs in two of its six systems here. `isrlab run` runs them all.
"""

from __future__ import annotations

import json
from pathlib import Path

import attrs
import pytest

from core.lab.model_comparison.faults import FAULTS
from core.lab.model_comparison.systems import VARIANTS
from scenarios import catalogue
from scenarios.models.script import ModelScenario
from scenarios.running import results
from scenarios.running.model_runner import ModelRun
from tui.cli import main

EXAMPLES = {
    "mysql": [f"m{number:02}" for number in range(1, 14)],
    "elasticsearch": [f"e{number:02}" for number in range(1, 15)],
    "kafka": ["k01", "k02", "k03", "k04"],
    "raft": ["q01", "q03", "q05", "q06", "q07", "q10"],
}
"""The worked examples. Q-02 is a part of Q-01, and `tests.core.models.test_quorum_examples` has Q-04."""

ARGUMENTS = ["semi-sync-never-loses", "elasticsearch-keeps-what-it-acknowledged", "isr-with-f-plus-1-copies", "majority-needs-2f-plus-1"]


def load(name: str) -> ModelScenario:
    scenario = catalogue.load_any(name)
    assert isinstance(scenario, ModelScenario)
    return scenario


def assert_holds(scenario: ModelScenario, systems: list[str]) -> None:
    for system in scenario.systems:
        if system.name in systems:
            result = ModelRun(scenario, system).run()
            assert result.checks
            assert result.held, "\n".join(results.lines(result))


@pytest.mark.parametrize("name", [name for name in catalogue.model_names() if not name.startswith("compare-")])
def test_it_holds_in_all_systems(name: str) -> None:
    scenario = load(name)
    assert scenario.name == name
    assert scenario.about
    assert_holds(scenario, [system.name for system in scenario.systems])


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_comparison_has_all_counts_of_all_systems(fault: object) -> None:
    number = FAULTS.index(fault)  # type: ignore[arg-type]
    scenario = load(f"compare-{FAULTS[number].name}")
    names = [variant.name for variant in VARIANTS]
    assert [system.name for system in scenario.systems] == names
    counted = {one.condition.name for one in scenario.expects}
    assert {"acked", "lost", "dirty", "stale", "backward", "no-writes", "no-reads", "median", "longest", "divergence", "phantom"} <= counted
    assert all(any(one.under.systems == (name,) for one in scenario.expects) for name in names)
    if scenario.fault is not None and scenario.fault.name in ("primary-dies", "replica-dies", "power-loss"):
        assert_holds(scenario, [names[number % 6], names[(number + 3) % 6]])


def test_the_data_of_a_run_have_the_median_the_99th_percentile_and_the_maximum_of_the_latencies() -> None:
    scenario = load("mysql-m01-a-replica-is-behind")
    result = ModelRun(scenario, scenario.systems[0]).run()
    result = attrs.evolve(result, counts=attrs.evolve(result.counts, latencies=tuple(range(1, 151))))
    (run,) = results.as_data([result])["runs"]
    latencies = {name: value for name, value in run["counts"].items() if name.startswith("latency_")}
    assert latencies == {"latency_p50_us": 76, "latency_p99_us": 149, "latency_max_us": 150}


def test_the_worked_examples_and_the_arguments_are_there() -> None:
    names = catalogue.model_names()
    for model, examples in EXAMPLES.items():
        for example in examples:
            assert sum(name.startswith(f"{model}-{example}-") for name in names) == 1, example
    assert [name.removeprefix("argument-") for name in names if name.startswith("argument-")] == sorted(ARGUMENTS)
    assert not set(names) & set(catalogue.names())


@pytest.mark.parametrize("argument", ARGUMENTS)
def test_an_argument_shows_where_it_holds_and_where_it_does_not(argument: str) -> None:
    scenario = load(f"argument-{argument}")
    lost = [(one.condition.sign, one.condition.value) for one in scenario.expects if one.condition.name == "lost"]
    assert ("==", 0) in lost
    if argument != "majority-needs-2f-plus-1":
        assert any(sign in (">", ">=") for sign, _ in lost)
    else:
        primaries = {str(one.condition.text) for step in scenario.steps for one in step.expects if one.condition.name == "primary"}
        assert primaries == {"primary == none", "primary != none"}


def test_the_command_line_lists_prints_and_runs_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scenarios", "list", "--names"]) == 0
    assert "mysql-m06-fallback-to-asynchronous" in capsys.readouterr().out.splitlines()
    assert main(["scenarios", "show", "mysql-m06-fallback-to-asynchronous"]) == 0
    text = capsys.readouterr().out
    assert main(["run", "mysql-m06-fallback-to-asynchronous", "--json"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert (run["system"], run["counts"]["lost"], run["held"]) == ("mysql", 501, True)
    changed = tmp_path / "changed.yaml"
    changed.write_text(text.replace("{lost: 501,", "{lost: 500,"))
    junit = tmp_path / "junit.xml"
    assert main(["run", str(changed), "--junit", str(junit)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("FAILED mysql-m06-fallback-to-asynchronous (mysql)")
    assert lines[1].startswith(f"  {changed}:")
    assert lines[2:4] == ["    expected lost == 500", "    got      lost == 501"]
    assert 'failures="1"' in junit.read_text()
    assert main(["run", str(changed), "--release", "4.3"]) == 2
    assert "other replication models" in capsys.readouterr().err
    assert main(["play", str(changed)]) == 2
    assert "other replication models" in capsys.readouterr().err
