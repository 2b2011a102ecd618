"""The library: every scenario passes, the worked examples are in it number by number, and a single changed number is reported."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from core.kafka.events import EventTuple
from core.kafka.release import Release
from scenarios import catalogue
from scenarios.language.script import Scenario, first_sentence, releases_of
from scenarios.language.subjects import MAX_TAGS, MAX_TITLE, SUBJECTS
from scenarios.logs.log_header import make_header
from scenarios.logs.log_writer import LogWriter
from scenarios.logs.replay import lines_of, replay
from scenarios.releases import release_named
from scenarios.running import results
from scenarios.running.playable_scenario import PlayableScenario
from scenarios.running.runner import Run, State, run_scenario
from tests.core.recorded_digests import assert_recorded, digest_of
from tui.cli import main

RUNS = [(name, release.name) for name in catalogue.names() for release in releases_of(catalogue.load(name), ())]

MOST_STEPS = 20_000
"""The number of steps that are compared at most. Six scenarios take longer; most of them last for hours, in which clients poll in vain."""


@pytest.mark.parametrize(("name", "release"), RUNS, ids=[f"{name} ({release})" for name, release in RUNS])
def test_it_holds_and_its_log_replays(name: str, release: str, tmp_path: Path) -> None:
    """Every run checks the expectations, and compares the event log with the recorded one. One run checks the replay, and one the steps: under the oldest and the newest of the scenario's
    releases. Sessions at random are replayed under every release (`tests.scenarios.logs.test_replay`).
    """
    scenario = catalogue.load(name)
    events: list[EventTuple] = []
    run = Run(scenario, release_named(release), None, events.append)
    result = run.run()
    assert result.held, "\n".join(results.lines(result))
    assert result.checks
    assert_recorded(f"{name} ({release})", digest_of(events, run.cluster))
    names = [each.name for each in releases_of(scenario, ())]
    if release == names[0]:
        assert_log_replays(run, events, tmp_path / "session.jsonl")
    if release == names[-1]:
        assert_steps_make_the_same_events(run, events)


def assert_log_replays(run: Run, events: list[EventTuple], path: Path) -> None:
    """Write the log of a run, and replay it."""
    scenario = run.scenario
    with LogWriter(path, make_header(scenario.spec, run.cluster.release, scenario.seed, scenario.name)) as writer:
        for event in events:
            writer(event)
        writer.close(run.cluster.now)
    replayed = replay(path)
    assert replayed.same, "\n".join(lines_of(replayed))
    assert replayed.events == run.cluster.journal.seq


def assert_steps_make_the_same_events(run: Run, events: list[EventTuple]) -> None:
    """Play the scenario of a run in steps: all of it, or the beginning if it has very many steps."""
    stepped: list[EventTuple] = []
    playable = PlayableScenario(Run(run.scenario, run.cluster.release, None, stepped.append))
    steps = 0
    while not playable.finished and steps < MOST_STEPS:
        playable.step()
        steps += 1
    assert stepped == events[: len(stepped)]
    if not playable.finished:
        return
    assert [(c.text, c.state, c.time) for c in playable.run.expectations] == [(c.text, c.state, c.time) for c in run.expectations]
    assert {check.state for check in playable.run.expectations} <= {State.HELD}


@pytest.mark.parametrize("name", catalogue.names())
def test_it_can_be_read_by_people(name: str) -> None:
    scenario = catalogue.load(name)
    assert scenario.name == name
    beginning = first_sentence(scenario.about)
    assert 20 < len(beginning) < 140, beginning
    assert beginning != " ".join(scenario.about.split()), "what it shows in one sentence, then the rest"


def test_every_scenario_has_a_title_and_tags() -> None:
    headers = catalogue.headers()
    titles = [header.title for header in headers]
    assert len(set(titles)) == len(titles) == len({*catalogue.names(), *catalogue.model_names()})
    for header in headers:
        keys = [line.partition(":")[0] for line in header.script.splitlines()[:4]]
        assert keys == ["scenario", "title", "tags", "about"], header.name
        assert 15 <= len(header.title) <= MAX_TITLE, header.title
        assert not header.title.endswith("."), header.title
        assert 2 <= len(header.tags) <= MAX_TAGS, header.name
    used = {tag for header in headers for tag in header.tags}
    assert used == set(SUBJECTS), "a subject without scenarios, or a tag that is no subject"


@pytest.mark.parametrize(
    "release",
    ["0.8.2", "0.9", "0.10.2", "0.11", "1.1", "2.0", "2.1", "2.4", "2.7", "2.8", "3.3", "3.6", "3.7", "3.9", "4.0", "4.1", "4.2", "4.3"],
)
def test_the_repair_came_with_0_11(release: str) -> None:
    for name in ("e1-data-loss", "e2-divergence", "s2-power-loss"):
        result = run_scenario(catalogue.load(name), Release.named(release))
        assert result.held, "\n".join(results.lines(result))
        harmed = any(check.text in ("lost == 1", "diverged == 1", "diverged == 5") for check in result.checks)
        assert harmed == (release in ("0.8.2", "0.9", "0.10.2"))


def table(scenario: Scenario) -> list[str]:
    """Return the LEO/HW rows that a by-hand scenario expects, as one text for each step."""
    rows = []
    for step in scenario.steps:
        pairs: dict[str, list[str]] = {}
        for one in step.expects:
            if match := re.fullmatch(r"(leo|hw)\(t-0, (\d)\) == (\d+)", one.text):
                pairs.setdefault(match[2], []).append(match[3])
        if len(pairs) == 3:
            rows.append(" ".join("/".join(pairs[broker]) for broker in "012"))
    return rows


def test_the_table_of_b2_is_expected_number_by_number() -> None:
    expected = ["10/0 0/0 0/0", "10/0 4/0 5/0", "15/0 4/0 5/0", "15/4 8/4 10/4", "20/4 8/4 10/4", "20/8 18/8 18/8"]
    rows = table(catalogue.load("b2-high-watermark"))
    assert [row for row in rows if row in expected] == expected


def test_the_numbers_of_b3_are_expected() -> None:
    assert table(catalogue.load("b3-high-watermark-behind"))[-3:] == ["5/0 3/0 4/0", "15/0 3/0 4/0", "15/3 9/3 10/3"]


@pytest.mark.parametrize(
    ("name", "old", "new", "expected", "got"),
    [
        (
            "b2-high-watermark",
            "2: 10/4}}\n  - note: the producer sends 5 more records",
            "2: 10/5}}\n  - note: the producer sends 5 more records",
            "5",
            "4",
        ),
        ("b3-high-watermark-behind", "1: 9/3", "1: 8/3", "8", "9"),
        ("d6-unclean-election-on", "lost: 500, diverged", "lost: 499, diverged", "499", "500"),
        ("e1-data-loss", "2: {leo: 1}}, lost: 1", "2: {leo: 1}}, lost: 0", "0", "1"),
        ("f2-min-isr-3-one-down", "acked: 10", "acked: 11", "11", "10"),
    ],
)
def test_one_changed_number_is_named(
    name: str, old: str, new: str, expected: str, got: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = catalogue.path_of(name).read_text(encoding="utf-8")
    assert text.count(old) == 1
    path = tmp_path / f"{name}.yaml"
    path.write_text(text.replace(old, new), encoding="utf-8")
    line = text[: text.index(old)].count("\n") + 1
    assert main(["run", str(path)]) == 1
    out = capsys.readouterr().out.splitlines()
    failed = [at for at, one in enumerate(out) if one.startswith("FAILED ")]
    assert len(failed) == 1
    at = failed[0]
    assert out[at + 1].startswith(f"  {path}:{line}: ")
    assert out[at + 2] == f"    expected {expected}"
    assert out[at + 3] == f"    got      {got}"
