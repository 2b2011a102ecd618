"""The search for the fewest faults that harm a cluster."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import Mock

import attrs
import pytest

from core.kafka.ids import TopicPartition
from core.kafka.release import GUARDS, RELEASES
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab.acts import Cut, Kill, Pause, Produce, Resume
from core.lab.acts import Start as StartBroker
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.lab.views.situation import key_of, situations
from core.sim.units import SECOND
from scenarios.conditions.condition_parser import parse_condition
from scenarios.exploration.execution.processes import Processes
from scenarios.exploration.exploration import Exploration, explore
from scenarios.exploration.goal import Goal, mend
from scenarios.exploration.menu import FAULTS, remedies
from scenarios.exploration.player import Bounds, Moment, Run, Task
from scenarios.exploration.request import Request
from scenarios.exploration.search import Layer, Search
from scenarios.exploration.start import Start
from scenarios.io.termination_signals import Terminated
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


def bounds(goal: str, *faults: str, at_most: int = 1, within: int = 12, prune: tuple[str, ...] = ()) -> Bounds:
    return Bounds(Goal(parse_condition(goal)), tuple([FAULTS[word] for word in faults]), at_most, within * SECOND, frozenset(prune))


def explored(begin: Start, within: Bounds) -> Exploration:
    found = explore(begin, within, "here")
    assert found.complete
    assert not found.dropped
    return found


def words(outcome: Exploration) -> list[str]:
    return [each.acts for each in outcome.found]


def test_acks_1_loses_with_one_fault_and_acks_all_does_not() -> None:
    assert words(explored(start(acks="1"), bounds("lost > 0", "kill"))) == ["kill b1"]
    assert words(explored(start(acks="all"), bounds("lost > 0", "kill"))) == []


@pytest.mark.parametrize(("min_isr", "found"), [(1, ["kill b2, kill b1"]), (2, ["kill b1"])])
def test_as_many_brokers_die_as_the_goal_needs(min_isr: int, found: list[str]) -> None:
    """With two replicas, min.insync.replicas says how many may die until writes are refused."""
    outcome = explored(start(min_isr=min_isr, replicas=2), bounds("offline > 0 or under-min-isr > 0", "kill", at_most=2))
    assert words(outcome) == found
    assert [len(each.finding.faults) for each in outcome.found] == [len(found[0].split(","))]


def test_a_restart_costs_nothing_and_is_tried_between_faults() -> None:
    """Unclean leader election loses records if the leader dies before the replica that was restarted has caught up."""
    begin = start(min_isr=1, unclean=True, replicas=2)
    outcome = explored(begin, bounds("lost > 0", "kill", at_most=2, within=22, prune=("repeats",)))
    assert words(outcome) == ["kill b2, start b2, kill b1"]


def test_a_run_goes_on_in_a_situation_that_it_repeats_unless_that_is_left_out() -> None:
    """After a restart the situation is as without faults, but the cluster has a past that the goal can depend on."""
    goal = "isr-expands > 0 and accepted > 70"
    assert words(explored(start(min_isr=1), bounds(goal, "kill", within=20))) == ["kill b1, start b1"]
    assert words(explored(start(min_isr=1), bounds(goal, "kill", within=20, prune=("swaps", "repeats")))) == []


def test_a_situation_is_handed_over_when_the_faults_that_reached_it_first_are_enough() -> None:
    """A kill and a pause lead to the same situation. After the kill, the remedy reaches the goal; then the remedy after the pause is tried."""
    runs = {
        ("kill",): Run((Moment((b"same",), 2, (StartBroker(1),), ()),), None, Counter()),
        ("pause",): Run((Moment((b"same",), 2, (Resume(1),), ()),), None, Counter()),
        ("kill", "start"): Run((), 3, Counter()),
        ("pause", "resume"): Run((), None, Counter()),
    }
    first = Run((Moment((b"begin",), 1, (), (Kill(1), Pause(1))),), None, Counter())
    played: list[tuple[str, ...]] = []

    def play(take: Callable[[], Task | None], fewer: object, *, last: bool) -> Iterator[tuple[Task, Callable[[int], Run]]]:
        while (task := take()) is not None:
            yield task, lambda number, task=task: run(task, number)  # type: ignore[misc]

    def run(task: Task, number: int) -> Run:
        played.append((*[act.word for _, act in task.path], task.acts[number].word))
        return runs[played[-1]]

    player = Mock(first=Mock(return_value=first), play=play)
    search = Search(player, bounds("lost > 0", "kill", "pause"), lambda finding: finding.faults)
    assert [layer.faults for layer in search.steps()][-1] == 1
    assert played == [("kill",), ("pause",), ("kill", "start"), ("pause", "resume")]


@pytest.mark.parametrize("prune", [(), ("swaps", "repeats")])
def test_processes_find_the_same_as_one(prune: tuple[str, ...]) -> None:
    """Here, findings come while other runs of the same layer are under way, and hand their situations over to other kinds of faults."""
    request = Request(start(acks="1", replicas=2), "lost > 0", ("pause", "kill"), 2, 13 * SECOND, frozenset(prune))
    alone = explore(request.start, request.bounds(), "here")
    with Processes(request, 2) as processes:
        together = explore(request.start, request.bounds(), "here", plays=processes)
    assert words(together) == words(alone) != []
    assert [attrs.evolve(layer, seconds=0.0) for layer in together.layers] == [attrs.evolve(layer, seconds=0.0) for layer in alone.layers]
    assert [each.script for each in together.found] == [each.script for each in alone.found]


def test_a_signal_leaves_the_layers_that_are_complete() -> None:
    def stop(layer: Layer) -> None:
        if layer.faults == 1 and layer.runs == 2:
            raise Terminated(2)

    outcome = explore(start(), bounds("lost > 0", "kill"), "here", stop)
    assert [layer.complete for layer in outcome.layers] == [True, False]
    assert outcome.stopped is not None


def test_a_counterexample_is_a_script_that_holds() -> None:
    begin = start(acks="1")
    (found,) = explored(begin, bounds("lost > 0", "power-loss")).found
    scenario = read_script(found.script, "found.yaml")
    result = run_scenario(scenario, begin.release)
    assert result.held
    assert result.harm.lost > 0
    assert found.value == "lost is 2"


def test_a_goal_can_depend_on_how_long_something_lasts() -> None:
    assert Goal(parse_condition("stalled(orders-0) > 0")).ages
    assert words(explored(start(), bounds("stalled(orders-0) > 0", "pause"))) != []


def test_a_goal_about_records_must_last() -> None:
    """While the dead leader is still the leader, records count as lost that the next leader has."""
    goal = Goal(parse_condition("lost > 0"))
    assert goal.is_lasting
    assert not Goal(parse_condition("offline > 0")).is_lasting
    assert not Goal(parse_condition("offline > 0 and lost > 0")).is_lasting


def test_brokers_that_swap_their_roles_can_count_as_one_situation() -> None:
    def after(*acts: object) -> Cluster:
        cluster = start().cluster()
        cluster.run_until(SECOND)
        for act in acts:
            cluster.do(act)  # type: ignore[arg-type]
        return cluster

    def key(cluster: Cluster, *, swaps: bool = False) -> bytes:
        return key_of(*situations(cluster), swaps=swaps)

    assert key(after(Kill(2)), swaps=True) == key(after(Kill(3)), swaps=True)
    assert key(after(Kill(2))) != key(after(Kill(3)))  # if b1 dies, b3 becomes the leader, or b2
    assert key(after(Kill(2))) != key(after(Kill(1)))
    assert key(after(Kill(2))) != key(after(Pause(2)))
    assert key(after()) == key(after())
    killed = after(Kill(2))
    before = key(killed)
    killed.run_until(30 * SECOND)
    assert key(killed) != before  # the controller has noticed
    killed.do(StartBroker(2))
    killed.run_until(60 * SECOND)
    assert key(killed) == key(after())


def test_an_appended_record_makes_another_situation_of_its_partition() -> None:
    topics = tuple([TopicSpec(name, assignment=(PartitionSpec((1, 2, 3)),)) for name in ("orders", "payments")])
    cluster = Cluster(ClusterSpec(brokers=tuple(BrokerSpec(number) for number in (1, 2, 3)), topics=topics), RELEASES["4.3"], 0)
    orders, payments = situations(cluster)
    cluster.do(Produce("orders", 1, acks="all", producer="p"))
    while (coming := cluster.next_time()) is not None and situations(cluster)[0] == orders and coming < SECOND:
        cluster.run_until(coming)
    assert cluster.view().accepted > 0
    assert situations(cluster)[1] == payments


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "mine.yaml"
    script.write_text(SCRIPT)
    found = tmp_path / "found"
    options = ["--acks", "1", "--faults", "kill", "--at-most", "1", "--within", "11s", "--evidence"]
    assert main(["explore", str(script), *options, "-o", str(found)]) == 1
    said = capsys.readouterr().out
    assert "1 fault: found" in said
    assert "  kill b3: lost is 2 at " in said
    assert "Bounds:\n  at most 1 fault\n  11s of virtual time, from 0s to 11s\n" in said
    assert main(["run", str(found / "mine-1.yaml"), "--quiet"]) == 0
    capsys.readouterr()
    assert (
        main(["explore", str(script), "--faults", "kill", "--at-most", "1", "--within", "11s", "--prune", "swaps", "--json", "--evidence"])
        == 0
    )
    data = json.loads(capsys.readouterr().out)
    assert data["evidence"]["situations_by_act"].keys() == {"", "kill", "start"}
    assert data["pruned"] == ["swaps"]
    assert (data["found"], data["complete"], data["goal"]) == ([], True, "lost > 0")
    assert main(["explore", str(script), "--at-most", "3", "--max-seconds", "0.01", "--faults", "shutdown"]) == 3
    said = capsys.readouterr().out
    assert "the time limit came before the end" in said
    assert "  faults: shutdown, when the situation of the cluster changes (shutdown also around sends); what was stopped" in said


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


def test_only_the_worst_partitions_and_their_brokers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """orders-1 refuses writes when one broker fails, and has no leader when two do. All others need more failures."""
    orders = TopicSpec(
        "orders", assignment=(PartitionSpec((1, 2, 3)), PartitionSpec((4, 6, 5), isr=(4, 6))), config=(("min.insync.replicas", "2"),)
    )
    others = TopicSpec("others", 2, 3)
    begin = Start(
        ClusterSpec(brokers=tuple(BrokerSpec(number) for number in range(1, 7)), topics=(orders, others)), RELEASES["4.3"], 0, (), 0
    )
    worst, lines = begin.only_worst(1)
    assert lines == ("orders-1: replicas 4,6,5, min.insync.replicas 2; here, it is partition 0 of the topic orders-1",)
    assert [broker.id for broker in worst.spec.brokers] == [4, 5, 6]
    assert worst.spec.topics == (TopicSpec("orders-1", assignment=(PartitionSpec((4, 6, 5), isr=(4, 6)),), config=orders.config),)
    assert [topic.name for topic in begin.only_worst(3)[0].spec.topics] == ["orders-0", "orders-1", "others-0"]
    script = tmp_path / "mine.yaml"
    script.write_text(SCRIPT)
    options = ["--worst", "1", "--goal", "leader(orders-0-0) == none", "--faults", "kill", "--at-most", "0", "--within", "1s"]
    assert main(["explore", str(script), *options]) == 0
    assert capsys.readouterr().err.startswith("orders-0: replicas ")
    assert main(["explore", "e1-data-loss", "--worst", "1"]) == 2
    assert "--worst: needs a cluster to which nothing was done yet" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--without", "fetch-epoch"], "--without: 'fetch-epoch' is not a guard; did you mean 'fetch-epoch-fencing'?"),
        (["--without", "elr", "--release", "0.11"], "--without: 0.11 does not have elr; "),
        (["--goal", "lost >"], "--goal: "),
        (["--goal", "happened leader-elected"], "--goal: 'happened leader-elected': a goal reads the state of the cluster, not its events"),
        (["--faults", "kill,meteor"], "--faults: 'meteor' is not a kind of fault; "),
        (["--at-most", "99"], "--at-most: '99' is not a number of faults; write a number from 0 to 6"),
        (["--processes", "0"], "--processes: '0' is not a number of processes; write a number from 1 to 256"),
        (["--within", "soon"], "--within: "),
        (["--master", "local[2]", "--processes", "2"], "--processes: does not use Spark; omit it, or --master"),
        (["--conf", "spark.ui.enabled=true"], "--conf: is a setting of Spark; add --master"),
        (["--records", "3"], "--records: is for a search by hand; add --by-hand"),
        (["--prune", "luck"], "--prune: 'luck' is not something to leave out; "),
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


def test_every_fault_ends_and_the_cluster_recovers() -> None:
    """Four times, what can end a fault is done, and a quarter of a minute passes."""
    cluster = start(min_isr=1).cluster()
    cluster.run_until(SECOND)
    for act in (Kill(1), Pause(2), Cut(("b2", "b3"))):
        cluster.do(act)
    cluster.run_until(20 * SECOND)
    done = mend(cluster)
    assert [(time, act.word) for time, act in done] == [(20 * SECOND, word) for word in ("start", "resume", "heal")]
    assert cluster.now == 80 * SECOND
    assert cluster.partition_view(TopicPartition("orders", 0)).isr == (1, 2, 3)
    assert list(remedies(cluster)) == []
