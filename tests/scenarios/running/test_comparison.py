"""One scenario under several releases: the first difference in words and as data, and guards that a script switches off."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from core.kafka.events import explain
from core.kafka.release import RELEASES, Release
from scenarios import catalogue
from scenarios.errors import ScriptError
from scenarios.language.script import Scenario, read_script, releases_of
from scenarios.running import comparison
from tui.cli import main

SCRIPT = """
scenario: lost-answer
without: [request-time-leo]
releases: ["4.0", "4.1 without elr"]
cluster: {brokers: [0, 1], topics: {t: {replicas: [[0, 1]]}}, pace: by-hand}
steps:
  - produce: {topic: t, records: 5}
  - arrive: 1
  - answer: {follower: 1, lost: true}
    expect: {t-0: {hw: 5}}
    under: {without: [request-time-leo]}
  - expect: {t-0: {hw: 0}}
    under: {with: request-time-leo}
"""


def compare(scenario: Scenario, releases: tuple[Release, ...]) -> comparison.Comparison:
    return comparison.compare(comparison.releases_as_cases(scenario, releases))


def test_e1_parts_where_the_follower_cuts() -> None:
    compared = compare(catalogue.load("e1-data-loss"), (RELEASES["0.10.2"], RELEASES["4.3"]))
    (difference,) = compared.differences
    assert difference is not None
    assert (difference.partition, difference.after) == ("orders-0", 'You: bounce {"broker":1}')
    assert difference.first is not None
    assert difference.second is not None
    assert (difference.first[3], difference.second[3]) == ("truncated", "act")
    unlike = {name: (mine, theirs) for name, mine, theirs in comparison.unlike(*compared.outcomes)}
    assert unlike["records lost"] == ("1", "0")
    assert unlike["orders-0 on b1, LEO/HW"] == ("1/1", "2/2")
    truncated, goes_on = comparison.lines(compared)[2:4]
    assert truncated.startswith("  0.10.2         b1 truncated orders-0 to 1")
    assert goes_on == '  4.3            no such act; the next event is: You: kill {"broker":2}', (
        "an act that follows is no answer to a difference"
    )


def test_a_difference_is_at_the_time_of_the_earlier_event() -> None:
    for times in ((5, 9), (9, 5)):
        first, second = ((7, time, 6, "broker-paused", 2) for time in times)
        same = comparison.Same([first])
        same(second)
        difference = same.difference()
        assert difference is not None
        assert (difference.time, difference.after) == (5, "")


def test_columns_that_differ_are_named_only_if_both_events_have_the_same_description() -> None:
    first = (1, 5, 0, "broker-started", 2, True, 0)
    for second, columns in (((*first[:-1], 7), "; recovery_us 0"), ((*first[:4], 3, True, 7), ""), ((1, 5, 0, "broker-paused", 2), "")):
        same = comparison.Same([first])
        same(second)
        difference = same.difference()
        assert difference is not None
        assert comparison._event_in_words(first, difference) == explain(first) + columns


def test_the_same_rules_give_the_same_events() -> None:
    compared = compare(catalogue.load("f1-acks"), (RELEASES["3.6"], RELEASES["4.3"], RELEASES["4.0"]))
    assert compared.differences == (None, None)
    assert comparison.lines(compared)[0].startswith("f1-acks: 3.6 and 4.3 produce the same ")


def test_on_the_command_line_in_words_and_as_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    asked = ["run", "b5-lost-response", "--release", "4.3", "--release", "4.3 without request-time-leo"]
    assert main(asked) == 0
    out = capsys.readouterr().out
    assert "ok b5-lost-response (4.3): " in out
    assert "ok b5-lost-response (4.3 without request-time-leo): " in out
    assert "first difference between 4.3 and 4.3 without request-time-leo: event 11 at 0s, t-0" in out
    assert "  records lost          4.3: 0; 4.3 without request-time-leo: 5" in out
    assert main([*asked, "--json", "--log", f"{tmp_path}/"]) == 0
    (compared,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert compared["pairs"][0]["first_difference"]["events"][1]["kind"] == "high-watermark"
    logs = sorted(tmp_path.iterdir())
    assert len(logs) == 2
    lines = [log.read_text().splitlines()[1:] for log in logs]
    assert lines[0][:10] == lines[1][:10]
    assert lines[0][10] != lines[1][10]
    assert main(["run", "b5-lost-response", "--release", "4.3", "--release", "4.3"]) == 2


def test_a_script_switches_guards_off() -> None:
    scenario = read_script(SCRIPT, "lost-answer.yaml")
    assert scenario.releases == ("4.0 without request-time-leo", "4.1 without elr without request-time-leo")
    (release,) = releases_of(scenario, (Release.named("3.6"),))
    assert release == Release.named("3.6").without(["request-time-leo"])
    for name in RELEASES:
        compared = compare(scenario, releases_of(scenario, (Release.named(name),)))
        assert compared.outcomes[0].result.held
        assert [check.text for check in compared.outcomes[0].result.checks] == ["hw(t-0) == 5"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("without: [request-time-leo]\nrel", "without: [request-time-leos]\nrel", "did you mean 'request-time-leo'?"),
        ("without: [request-time-leo]\nrel", "without: [elr, elr]\nrel", "appears twice"),
        ("with: request-time-leo", "with: []", "the list is empty; name at least one guard"),
    ],
)
def test_a_wrong_guard_is_refused(old: str, new: str, said: str) -> None:
    assert old in SCRIPT
    with pytest.raises(ScriptError, match="guard") as refused:
        read_script(SCRIPT.replace(old, new), "lost-answer.yaml")
    assert said in str(refused.value)


VARIED = """
scenario: one-left
cluster: {brokers: 3, topics: {orders: {replicas: [[1, 2, 3]], config: {min.insync.replicas: 2}}}}
timeline:
  - load: {topic: orders, rate: 20, acks: all, producer: app}
  - {at: 1s, kill: 2}
  - {at: 1s, kill: 3}
  - {at: 30s, kill: 1, show: 'isr(orders-0)'}
  - {at: 31s, start: 3}
  - {at: 60s, expect: {lost: 0}}
"""


def test_settings_side_by_side(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    script = tmp_path / "one-left.yaml"
    script.write_text(VARIED)
    settings = ("min.insync.replicas=1,2", "unclean.leader.election.enable=true,false")
    asked = ["run", str(script), *(word for one in settings for word in ("--vary", one))]
    assert main(asked) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines[:2]] == [
        "FAILED one-left (4.3, min.insync.replicas=1, unclean.leader.election.enable=true)",
        "ok one-left (4.3, min.insync.replicas=1, unclean.leader.election.enable=false)",
    ]
    table = [" | ".join(re.split("  +", line.strip())) for line in lines[4:13]]
    assert table == [
        "run 1 | run 2 | run 3 | run 4",
        "min.insync.replicas | 1 | 1 | 2 | 2",
        "unclean.leader.election.enable | true | false | true | false",
        "≠ acknowledged | 1,199 | 599 | 19 | 19",
        "≠ refused | 5 times | 0 | 20 times | 0",
        "≠ lost | 580 | 0 | 0 | 0",
        "≠ longest wait | 10.454s | 30s | 59s | 59s",
        "isr(orders-0) at 30s | [1] | [1] | [1] | [1]",
        "≠ failed expectations | 1 | 0 | 0 | 0",
    ]
    assert "first difference between run 1 and run 2: event 2126 at 34.504s, orders-0" in lines
    assert main([*asked, "--json", "--log", f"{tmp_path}/logs/"]) == 1
    document = json.loads(capsys.readouterr().out)
    (compared,) = document["comparisons"]
    assert [run["settings"]["min.insync.replicas"] for run in document["runs"]] == ["1", "1", "2", "2"]
    for run, outcome in zip(document["runs"], compared["outcomes"], strict=True):
        assert outcome["felt"]["lost"] == run["durability"]["lost"]
        assert outcome["felt"]["acknowledged"] == run["durability"]["acknowledged"]
    assert len(list((tmp_path / "logs").iterdir())) == 4
