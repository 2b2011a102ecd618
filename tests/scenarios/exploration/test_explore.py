"""The search for the fewest faults that harm a cluster."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.kafka.release import GUARDS, RELEASES
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab.acts import Kill, Pause, Produce
from core.lab.acts import Start as StartBroker
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.lab.views.situation import situation
from core.sim.units import SECOND
from scenarios.conditions.condition_parser import parse_condition
from scenarios.exploration.exploration import Outcome, explore
from scenarios.exploration.goal import Goal
from scenarios.exploration.menu import FAULTS
from scenarios.exploration.start import Start
from scenarios.language.script import read_script
from scenarios.running.runner import run_scenario
from tui.cli import main

SCRIPT = """
releases: ["4.3"]
cluster:
  brokers: 3
  topics: {orders: {replication-factor: 3, config: {min.insync.replicas: 1}}}
"""


def start(release: str = "4.3", min_isr: int = 2, acks: str = "all", unclean: bool = False, replicas: int = 3) -> Start:
    """Return a cluster of three brokers with one partition and a load."""
    config = (("min.insync.replicas", str(min_isr)), ("unclean.leader.election.enable", str(unclean).lower()))
    topic = TopicSpec("orders", assignment=(PartitionSpec((1, 2, 3)[:replicas]),), config=config)
    spec = ClusterSpec(brokers=tuple(BrokerSpec(number) for number in (1, 2, 3)), topics=(topic,))
    return Start(spec, RELEASES[release], 0, (), 0).with_load(acks)


def explored(begin: Start, goal: str, *faults: str, at_most: int = 1, within: int = 12) -> Outcome:
    found = explore(begin, Goal(parse_condition(goal)), [FAULTS[word] for word in faults], at_most, within * SECOND, None, "here")
    assert found.complete
    assert not found.dropped
    return found


def words(outcome: Outcome) -> list[str]:
    return [each.acts for each in outcome.found]


def test_acks_1_loses_with_one_fault_and_acks_all_does_not() -> None:
    assert words(explored(start(acks="1"), "lost > 0", "kill")) == ["kill b1"]
    assert words(explored(start(acks="all"), "lost > 0", "kill")) == []


@pytest.mark.parametrize(("min_isr", "found"), [(1, ["kill b1, kill b2"]), (2, ["kill b1"])])
def test_as_many_brokers_die_as_the_goal_needs(min_isr: int, found: list[str]) -> None:
    """With two replicas, min.insync.replicas says how many may die until writes are refused."""
    outcome = explored(start(min_isr=min_isr, replicas=2), "offline > 0 or under-min-isr > 0", "kill", at_most=2)
    assert words(outcome) == found
    assert [layer.faults for layer in outcome.layers if layer.findings] == [len(found[0].split(","))]


def test_a_restart_costs_nothing_and_is_tried_between_faults() -> None:
    """Unclean leader election loses records if the leader dies before the replica that was restarted has caught up."""
    outcome = explored(start(min_isr=1, unclean=True, replicas=2), "lost > 0", "kill", at_most=2, within=25)
    assert words(outcome) == ["kill b1, start b1, kill b2"]


def test_a_counterexample_is_a_script_that_holds() -> None:
    begin = start(acks="1")
    (found,) = explored(begin, "lost > 0", "power-loss").found
    scenario = read_script(found.script, "found.yaml")
    result = run_scenario(scenario, begin.release)
    assert result.held
    assert result.harm.lost > 0
    assert found.value == "lost is 1"


def test_a_goal_can_depend_on_how_long_something_lasts() -> None:
    assert Goal(parse_condition("stalled(orders-0) > 0")).ages
    assert words(explored(start(), "stalled(orders-0) > 0", "pause")) != []


def test_a_goal_about_records_must_last() -> None:
    """While the dead leader is still the leader, records count as lost that the next leader has."""
    goal = Goal(parse_condition("lost > 0"))
    assert goal.is_lasting
    assert not Goal(parse_condition("offline > 0")).is_lasting
    assert not Goal(parse_condition("offline > 0 and lost > 0")).is_lasting


def test_brokers_can_change_places_in_a_situation() -> None:
    def after(*acts: object) -> Cluster:
        cluster = start().cluster()
        cluster.run_until(SECOND)
        for act in acts:
            cluster.do(act)  # type: ignore[arg-type]
        return cluster

    assert situation(after(Kill(2))) == situation(after(Kill(3)))
    assert situation(after(Kill(2))) != situation(after(Kill(1)))
    assert situation(after(Kill(2))) != situation(after(Pause(2)))
    assert situation(after()) == situation(after())
    killed = after(Kill(2))
    before = situation(killed)
    killed.run_until(30 * SECOND)
    assert situation(killed) != before  # the controller has noticed
    killed.do(StartBroker(2))
    killed.run_until(60 * SECOND)
    assert situation(killed) == situation(after())


def test_an_appended_record_makes_another_situation() -> None:
    cluster = start().cluster()
    before = situation(cluster)
    cluster.do(Produce("orders", 1, acks="all", producer="p"))
    while (coming := cluster.next_time()) is not None and situation(cluster) == before and coming < SECOND:
        cluster.run_until(coming)
    assert cluster.view().accepted > 0


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "mine.yaml"
    script.write_text(SCRIPT)
    found = tmp_path / "found"
    options = ["--acks", "1", "--faults", "kill", "--at-most", "1", "--within", "11s"]
    assert main(["explore", str(script), *options, "-o", str(found)]) == 1
    said = capsys.readouterr().out
    assert "1 fault: found" in said
    assert "  kill b3: lost is 1 at " in said
    assert main(["run", str(found / "mine-1.yaml"), "--quiet"]) == 0
    capsys.readouterr()
    assert main(["explore", str(script), "--faults", "kill", "--at-most", "1", "--within", "11s", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["found"], data["complete"], data["goal"]) == ([], True, "lost > 0")
    assert main(["explore", str(script), "--at-most", "3", "--max-seconds", "0.01"]) == 3
    assert "the time limit came before the end" in capsys.readouterr().out


def test_a_search_without_a_guard_shows_what_the_guard_is_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "mine.yaml"
    script.write_text(SCRIPT.replace("brokers: 3", "brokers: 2").replace("replication-factor: 3", "replication-factor: 2"))
    options = ["--faults", "kill", "--within", "25s"]
    assert main(["explore", str(script), "--without", "elect-from-isr", *options]) == 1
    said = capsys.readouterr().out
    assert "mine.yaml (4.3 without elect-from-isr): " in said
    assert "2 faults: found" in said
    assert "    with elect-from-isr: lost is 0\n" in said
    assert main(["explore", "--without", "help"]) == 0
    said = capsys.readouterr().out
    assert all(f"  {guard} " in said for guard in GUARDS)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--without", "fetch-epoch"], "--without: 'fetch-epoch' is not a guard; did you mean 'fetch-epoch-fencing'?"),
        (["--without", "elr", "--release", "0.11"], "--without: 0.11 does not have elr; "),
        (["--goal", "lost >"], "--goal: "),
        (["--goal", "happened leader-elected"], "--goal: 'happened leader-elected': a goal reads the state of the cluster, not its events"),
        (["--faults", "kill,meteor"], "--faults: 'meteor' is not a kind of fault; "),
        (["--at-most", "99"], "--at-most: '99' is not a number of faults; write a number from 0 to 6"),
        (["--within", "soon"], "--within: "),
    ],
)
def test_mistakes_are_one_line(options: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", "e1-data-loss", *options]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(f"isrlab: {said}")
    assert captured.err.count("\n") == 1


def test_a_goal_names_what_there_is_and_time_must_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "mine.yaml"
    script.write_text(SCRIPT)
    assert main(["explore", str(script), "--goal", "leader(nope-0) == none"]) == 2
    assert capsys.readouterr().err.startswith("isrlab: --goal: unknown topic 'nope'")
    assert main(["explore", "b2-high-watermark"]) == 2
    assert "stepped by hand" in capsys.readouterr().err
