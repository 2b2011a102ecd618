"""The search by hand: what it tries, when its answer is a proof, and the command."""

from __future__ import annotations

import json
from pathlib import Path
from unittest import mock

import attrs
import pytest

from core.kafka.ids import TopicPartition
from core.kafka.release import CURRENT, RELEASES
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab.acts import Kill, Produce
from core.lab.cluster import Cluster
from core.lab.fingerprint_fields import LAB_FIELDS
from core.lab.spec import BrokerSpec, ClusterSpec, ControlPlane, Pace
from core.sim.exploration.choices import Choice, act
from core.sim.exploration.search import Search
from core.sim.state.fields import Declared
from core.sim.state.fingerprint import Fingerprints
from core.sim.units import SECOND
from scenarios.conditions.condition_parser import parse_condition
from scenarios.exploration import by_hand
from scenarios.exploration.by_hand import HAND_FIELDS, UNUSED, Bounds, HandSearch
from scenarios.exploration.goal import Goal, checks
from scenarios.exploration.start import Start
from scenarios.language.script import read_script
from scenarios.running.runner import run_scenario
from tui.cli import main

SCRIPT = """
cluster:
  brokers: 2
  topics: {orders: {replicas: [[1, 2]], config: {min.insync.replicas: 1}}}
"""

KILL = Bounds(1, 2, {"kill": 1}, 1, "1")


def spec(*replicas: int) -> ClusterSpec:
    topic = TopicSpec("orders", assignment=(PartitionSpec(replicas),))
    return ClusterSpec(tuple(BrokerSpec(each) for each in sorted(replicas)), (topic,), control_plane=ControlPlane.KRAFT)


def search(bounds: Bounds, goal: str = "lost > 0") -> HandSearch:
    return HandSearch(spec(1, 2), CURRENT, 0, Goal(parse_condition(goal)), bounds)


def names(each: HandSearch) -> list[str]:
    return [choice.name for choice in each.choices()]


def take(each: HandSearch, name: str) -> None:
    (choice,) = [choice for choice in each.choices() if choice.name == name]
    assert choice.act is not None
    choice.act()


def test_a_found_order_is_a_script_that_holds() -> None:
    found = search(KILL).run("here")
    assert found.search.path == ("produce 1 record from p1 to orders partition 0 (acks 1)", "kill b1", "fence b1")
    assert not found.is_none
    scenario = read_script(found.script, "here.yaml")
    assert len(scenario.steps) == len(found.acts) + 1
    assert run_scenario(scenario, CURRENT).harm.lost == 1


def test_none_needs_all_states_and_the_comparison() -> None:
    bounds = Bounds(1, 1, {"kill": 1}, 1, arrives=False)
    assert search(bounds).run("here", compare=True).is_none
    assert not search(bounds).run("here").is_none
    assert not search(bounds).run("here", limit=9, compare=True).is_none
    told: list[tuple[int, int]] = []
    cut = search(bounds).run("here", compare=True, seconds=0.0, tell=lambda *numbers: told.append(numbers))
    assert not cut.is_none
    assert not cut.search.complete
    assert told


def test_states_that_count_as_one_and_go_on_differently_are_noticed() -> None:
    """What the key leaves out here decides whether a choice is possible, so the search visits too few states; the comparison says so."""
    hidden = [0]

    def acts() -> list[Choice]:
        found = [act("hide", lambda: hidden.__setitem__(0, 1))]
        return [*found, act("show", lambda: None)] if hidden[0] else found

    cluster = Cluster(spec(1, 2), CURRENT)
    outcome = Search(cluster, lambda: "", acts, bounds=(hidden,), only_acts=True, compare=True).run()
    assert (outcome.states, outcome.complete, outcome.compared, outcome.differing) == (1, True, 1, ("show",))


@pytest.mark.parametrize(
    ("fields", "step"),
    [
        (("disk", "fetchers", "log", "logs", "partitions", "sessions"), "answer b2"),
        (("disk", "hosted", "partitions"), "start b2"),
    ],
)
def test_a_key_that_leaves_out_what_matters_is_noticed(fields: tuple[str, ...], step: str) -> None:
    """Single fields can be left out without harm, because others follow from the same."""
    rules = HAND_FIELDS[object]
    wrong = {**HAND_FIELDS, object: rules._replace(history=(*rules.history, *fields))}
    with mock.patch.object(by_hand, "HAND_FIELDS", wrong):
        outcome = search(Bounds(1, 1, {"kill": 1}, 1)).run("here", compare=True)
    assert step in outcome.search.differing
    assert not outcome.is_none


def test_parts_that_no_act_uses_make_no_difference() -> None:
    bounds = Bounds(1, 1, {"kill": 1, "restart": 1}, 2, arrives=False)
    known = {**HAND_FIELDS, **{cls: LAB_FIELDS.get(cls, Declared()) for cls in UNUSED}}
    with mock.patch.object(by_hand, "HAND_FIELDS", known):
        whole = search(bounds).run("here", compare=True).search
    assert search(bounds).run("here", compare=True).search == whole
    assert whole.complete


def test_a_dead_broker_can_be_fenced() -> None:
    """Otherwise, no other broker would ever lead, and nothing would ever be lost: a wrong 'none'."""
    each = search(KILL)
    each.cluster.do(Produce("orders", 1, acks="1", producer="p1"))
    each.cluster.do(Kill(1))
    assert "fence b1" in names(each)
    menu = HandSearch._of_controller
    with mock.patch.object(
        HandSearch, "_of_controller", lambda self, broker: (one for one in menu(self, broker) if one[0][0].word != "fence")
    ):
        assert not search(KILL).run("here").acts


def test_messages_between_brokers_can_arrive_later() -> None:
    each = search(Bounds(1, 2, {"stall": 1}, 1))
    each.cluster.do(Produce("orders", 1, acks="all", producer="p1"))
    take(each, "hold b1 → b2")
    take(each, "fetch b2")
    log = each.cluster.brokers[2].disk.logs[TopicPartition("orders", 0)]
    assert log.leo == 0
    assert not {"fetch b2", "arrive b2"}.intersection(names(each))  # the follower waits for the answer
    take(each, "release b1 → b2")
    assert log.leo == 1
    assert "fetch b2" in names(each)


def test_a_record_is_sent_although_no_time_passes_that_ends_a_backoff() -> None:
    """A producer whose broker has died waits for a time that never comes; records of new producers reach the next leader."""
    each = search(Bounds(2, 0, {"kill": 1}, 1))
    for name in ("produce 1 record from p1 to orders partition 0 (acks all)", "kill b1", "fence b1"):
        take(each, name)
    before = each.cluster.account.acked
    each.cluster.do(Produce("orders", 1, acks="all", producer="p1"))
    assert each.cluster.account.acked == before
    take(each, next(name for name in names(each) if name.startswith("produce")))
    assert each.cluster.account.acked == before + 1


def test_states_are_sampled_when_nothing_more_is_due() -> None:
    """In the middle of an instant, an act has not had all of its effects, and what it leads to would be missed."""
    each = search(KILL)
    for name in ("produce 1 record from p1 to orders partition 0 (acks 1)", "fetch b2", "kill b1", "fence b1"):
        take(each, name)
        coming = each.cluster.next_time()
        assert coming is None or coming > each.cluster.now
    cluster = Start(spec(1, 2), CURRENT, 0, (), 0).with_load("all").cluster()
    moments = 0
    for _ in checks(cluster, 2_000_000):
        coming = cluster.next_time()
        assert coming is None or coming > cluster.now
        moments += 1
    assert moments > 5


def test_what_time_would_bring_does_not_count_if_time_stands_still() -> None:
    """What would be due later never happens, and of a moment matters only whether it is in the past, now, or in the future."""
    cluster = Cluster(attrs.evolve(spec(1, 2), pace=Pace.BY_HAND), CURRENT)
    moving, still = Fingerprints(cluster, table=LAB_FIELDS), Fingerprints(cluster, table=LAB_FIELDS, still=True)
    before = moving.take(), still.take()
    cluster.brokers[1].timer(SECOND, "later")
    assert (moving.take() == before[0], still.take() == before[1]) == (False, True)
    cluster.brokers[1].timer(0, "now")
    assert still.take() != before[1]


def test_more_left_covers_less_left() -> None:
    """A state that was visited with more left is not visited again with less, but with more it is."""
    cluster = Cluster(spec(1, 2), RELEASES["4.3"])
    left = [2]
    seen: list[tuple[int, ...]] = []

    def acts() -> list[Choice]:
        seen.append((left[0],))
        return [act("use up", lambda: left.__setitem__(0, left[0] - 1))] if left[0] else []

    outcome = Search(cluster, lambda: "", acts, left=lambda: (left[0],), bounds=(left,), only_acts=True).run()
    assert (outcome.states, outcome.taken, seen) == (1, 1, [(2,)])


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "mine.yaml"
    path.write_text(SCRIPT)
    return path


def test_the_command_finds(script: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--by-hand", "--acks", "1", "--records", "1", "--at-most", "1"]
    assert main(["explore", str(script), *options, "-o", str(tmp_path / "found")]) == 1
    said = capsys.readouterr().out
    assert "found after 3 steps (" in said
    assert "  2. kill b1\n" in said
    assert main(["run", str(tmp_path / "found" / "mine-by-hand.yaml"), "--quiet"]) == 0


def test_the_command_shows_what_a_guard_is_for(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--by-hand", "--records", "1", "--fetches", "1", "--faults", "kill,lost-answer"]
    assert main(["explore", str(script), *options, "--without", "request-time-leo"]) == 1
    said = capsys.readouterr().out
    assert "answer b2 (lost)\n" in said
    assert "  with request-time-leo: lost is 0\n" in said


def test_the_command_proves_that_there_is_none(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--by-hand", "--records", "1", "--fetches", "1", "--at-most", "1", "--faults", "kill"]
    assert main(["explore", str(script), *options, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["answer"], data["complete"], data["steps"]) == ("none", True, [])
    assert data["compared"] > 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--records", "10"], "--records: '10' is not a number from 0 to 9"),
        (["--faults", "isolate"], "--faults: 'isolate' is not a kind of fault by hand; "),
        (["--goal", "leader(nope-0) == none"], "--goal: unknown topic 'nope'"),
        (["--within", "10s"], "--within: has no meaning by hand, where time stands still; "),
    ],
)
def test_mistakes_are_one_line(options: list[str], said: str, script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", str(script), "--by-hand", *options]) == 2
    assert capsys.readouterr().err.startswith(f"isrlab: {said}")


def test_large_clusters_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", "a1-replication-factor", "--by-hand"]) == 2
    assert "--by-hand: a search by hand needs " in capsys.readouterr().err
