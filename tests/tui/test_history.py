"""Time travel: any earlier event and forward again gives the same views and bytes; branches; a saved session replays to the same log."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.kafka.errors import KafkaError
from core.kafka.events import DETAIL, NORMAL, NOTABLE
from core.kafka.release import CURRENT, Release
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.history import keeper
from core.lab.history.goal import Goal
from core.lab.history.keeper import Keeper
from core.lab.history.position import Position
from core.lab.history.replay import Replay
from core.lab.history.step_ends import StepEnds
from core.lab.history.watch import BecomesTrue
from core.lab.spec import BrokerSpec, ClusterSpec, Pace
from core.lab.views.view import ClusterView
from core.sim.errors import ActRefused
from core.sim.units import SECOND
from scenarios import catalogue
from scenarios.course import KeptRun, ScenarioCourse
from scenarios.eventlog import read_events
from scenarios.language.script import load_script, read_script
from scenarios.play_target import PlayTarget
from scenarios.releases import release_named
from scenarios.runner import Run
from tests.core.properties.whole import same
from tests.tui.fake_cluster import FakeCluster
from tui.cli import main
from tui.panels.scenario import ScenarioState
from tui.scenario_state import scenario_state
from tui.session import Session
from tui.target import Stage, set_stage

SMALL = ClusterSpec(
    brokers=tuple(BrokerSpec(i) for i in (1, 2, 3)),
    topics=(TopicSpec("orders", partitions=2, replication_factor=3),),
    settings=(("min.insync.replicas", 2),),
)


def stage_of(**wanted: Any) -> Stage:
    stage = set_stage(PlayTarget(None, SMALL, CURRENT, 7, **wanted))
    stage.session.pause()
    return stage


def arrive(session: Session) -> None:
    while session.seeking:
        session.frame(0.05)


def events(session: Session) -> list[tuple[Any, ...]]:
    ring = session.rings.of(DETAIL)
    return [ring.at(index) for index in range(ring.first, ring.total)]


def an_act(dice: random.Random) -> acts.Act:
    broker = dice.randint(1, 3)
    return dice.choice(
        (
            acts.Kill(broker), acts.Start(broker), acts.Pause(broker), acts.Resume(broker), acts.Isolate(f"b{broker}"), acts.Heal(),
            acts.Cut((f"b{broker}", f"b{broker % 3 + 1}"), one_way=dice.random() < 0.5), acts.Shutdown(broker),
            acts.Produce("orders", dice.randint(1, 30), partition=dice.randint(0, 1), acks=dice.choice(("0", "1", "all"))),
            acts.Load("orders", 40), acts.StopLoad(), acts.Set("min.insync.replicas", str(dice.randint(1, 3)), topic="orders"),
            acts.Set("unclean.leader.election.enable", "true"), acts.Elect("preferred"), acts.PowerLoss(broker),
            acts.Link(("b1", "b2"), latency=dice.randint(1, 5_000)),
        )
    )  # fmt: skip


def live(session: Session, dice: random.Random, moves: int) -> list[tuple[Position, ClusterView, int]]:
    """Play at random; returns the moments seen, with how many events there were."""
    seen = []
    for _ in range(moves):
        what = dice.random()
        if what < 0.45:
            with contextlib.suppress(ActRefused, KafkaError):
                session.do(an_act(dice))
        elif what < 0.7:
            for _ in range(dice.randint(1, 5)):
                if (session.tape.next_due() or 0) < session.cluster.now + 5 * SECOND:
                    session.tape.step()
        else:
            session.tape.advance_to(session.cluster.now + dice.choice((1, 700, 40_000, 900_000, 4_000_000)))
        session.keeper._due = [0.0, 0.0]
        session.keeper.offer(session.tape)
        seen.append((session.tape.position, session.view(), session.tape.outlet.seq))
    return seen


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_back_to_any_moment_and_forward_again_is_the_same(seed: int) -> None:
    dice = random.Random(seed)
    session = stage_of().session
    session.keeper._every = dice.choice((50, 400, 10**9))
    seen = live(session, dice, 14)
    session.mark_end()
    end, whole = session.view(), events(session)
    for position, view, count in dice.sample(seen, 4):
        session.go_to(Goal("there", position=position))
        arrive(session)
        assert session.view() == view
        assert events(session) == whole[:count]
    target = dice.randint(1, len(whole))
    session.go_to(Goal("an event", seq=target))
    arrive(session)
    assert events(session)[target - 1] == whole[target - 1]
    for _ in range(dice.randint(0, 4)):
        session.step_back()
        arrive(session)
    assert events(session) == whole[: session.tape.outlet.seq]
    session.go_to_end()
    arrive(session)
    assert session.view() == end
    assert events(session) == whole
    assert len(session.branches) == 1


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_a_saved_session_replays_to_the_same_log(seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    first, second, script = tmp_path / "played.jsonl", tmp_path / "run.jsonl", tmp_path / "played.yaml"
    stage = stage_of(log=first, record=script)
    session = stage.session
    seen = live(session, dice, 8)
    for _ in range(dice.randint(0, 2)):
        session.go_to(Goal("there", position=dice.choice(seen)[0]))
        arrive(session)
        live(session, dice, 4)
        if dice.random() < 0.3:
            session.go_to_branch(dice.choice(session.branches))
            arrive(session)
    session.close()
    stage.save(script)
    assert main(["run", str(script), "--log", str(second)]) == 0
    assert second.read_bytes() == first.read_bytes()


@pytest.mark.parametrize(
    ("name", "release"), [("e1-data-loss", "0.10.2"), ("c1-paused-follower", "4.1"), ("d6-unclean-election-on", "4.1")]
)
def test_a_scenario_goes_back_with_what_it_expects_and_saves_itself(name: str, release: str, tmp_path: Path) -> None:
    scenario = catalogue.load(name)
    stage = set_stage(PlayTarget(scenario, scenario.spec, Release.named(release), scenario.seed, title=name))
    session = stage.session
    session.pause()
    before = stage.scenario()
    half = 0
    while not session.tape.finished:
        session.tape.step()
        if session.tape.steps == 7:
            half, middle, state = session.tape.outlet.seq, session.view(), stage.scenario()
    whole = events(session)
    session.go_to(Goal("half", position=Position(7, 0, middle.now)))
    arrive(session)
    assert (session.view(), stage.scenario(), session.tape.outlet.seq) == (middle, state, half)
    session.go_to(Goal("the start", position=Position(0, 0, 0)))
    arrive(session)
    assert stage.scenario() == before
    session.go_to_end()
    arrive(session)
    assert events(session) == whole
    assert {one.verdict for one in stage.scenario().expectations} == {"held"}  # type: ignore[union-attr]
    again: list[tuple[Any, ...]] = []
    Run(read_script(stage.script("again"), "again.yaml"), stage.release, None, again.append).run()
    assert again == whole


@pytest.mark.parametrize(
    ("name", "release", "seed"),
    [
        ("e1-data-loss", "0.10.2", 1),
        ("c1-paused-follower", "4.1", 2),
        ("d6-unclean-election-on", "4.1", 3),
        ("f2-min-isr-2-two-down", "4.1", 4),
        ("e1-data-loss", "4.1 without fetch-epoch-fencing", 5),
    ],
)
def test_a_kept_scenario_goes_on_byte_for_byte(name: str, release: str, seed: int) -> None:
    dice = random.Random(seed)
    scenario = catalogue.load(name)
    taken: list[tuple[Any, ...]] = []
    first = ScenarioCourse(Run(scenario, release_named(release), scenario.seed, taken.append))
    kept: list[tuple[KeptRun, int, ScenarioState]] = []
    due = dice.randint(3, 9)
    while not first.finished and first.step():
        due -= 1
        if due == 0:
            due = dice.randint(3, 9) if scenario.spec.pace is Pace.BY_HAND else dice.randint(200, 3_000)
            kept.append((first.keep(), len(taken), scenario_state(first.run)))
    result = first.run.result()
    assert kept, "otherwise this shows nothing"
    for moment, seen, state in kept:
        again: list[tuple[Any, ...]] = taken[:seen]
        course = moment.bring_back(again.append)
        assert scenario_state(course.run) == state
        while not course.finished and course.step():
            pass
        assert again == taken
        assert course.run.result() == result, "checks, times and what was got"
        assert course.run.notes == first.run.notes


@pytest.fixture
def kept_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keyframes as often as they are offered, a few steps apart."""
    monkeypatch.setattr(keeper, "KEEP_SHARE", 1e9)
    monkeypatch.setattr(keeper, "KEEP_SHARE_WHOLE", 1e9)
    monkeypatch.setattr(keeper, "KEEP_SHARE_MOST", 1e9)
    monkeypatch.setattr(keeper, "KEEP_EVERY", 40)


def stroll(session: Session, dice: random.Random, *, stops: int, least: int) -> Iterator[None]:
    """Some steps and now and then an act, over and over; at every stop the moment is one that can be gone back to."""
    session._budget = 60.0
    for _ in range(stops):
        for _ in range(dice.randint(least, 120)):
            session.tape.step()
        session.keeper.offer(session.tape)
        if dice.random() < 0.3:
            with contextlib.suppress(ActRefused, KafkaError):
                session.do(an_act(dice))
        session.mark_end()
        yield


@pytest.mark.usefixtures("kept_often")
@pytest.mark.parametrize("seed", range(4))
def test_a_scenario_with_acts_of_somebody_goes_back_by_keyframes(seed: int) -> None:
    dice = random.Random(seed)
    scenario = catalogue.load("c1-paused-follower")
    stage = set_stage(PlayTarget(scenario, scenario.spec, Release.named("4.1"), scenario.seed))
    session = stage.session
    session.pause()
    seen: dict[Position, tuple[ClusterView, ScenarioState | None]] = {}
    for _ in stroll(session, dice, stops=12, least=1):
        seen[session.tape.position] = (session.view(), stage.scenario())
    assert len(session.keeper.kept) > 2
    whole, end = events(session), session.tape.position
    for position in dice.sample(list(seen), 6):
        nearest = Goal("there", position=position).nearest(session.keeper, session.branch.acts, session._known)
        session.go_to(Goal("there", position=position))
        arrive(session)
        assert (session.view(), stage.scenario()) == seen[position]
        assert nearest is None or nearest.position.place <= position.place
        session.go_to_end()
        arrive(session)
        assert (session.tape.position, events(session)) == (end, whole)


@pytest.mark.usefixtures("kept_often")
@pytest.mark.parametrize("seed", range(3))
def test_events_that_are_known_need_not_be_told_again(seed: int) -> None:
    """Goals of all kinds, from a keyframe without a word and from the start with every event: the same session at the end of it."""
    dice = random.Random(seed)
    session = stage_of().session
    session.do(acts.Load("orders", 40))
    for _ in stroll(session, dice, stops=12, least=60):
        pass
    known = session._known
    end = session.tape.position
    for _ in range(3):
        there = dice.randint(end.seq // 3, end.seq)
        by_time = dice.choice(session.branch.deeds[1:])[1] + dice.randint(0, 9)
        step = dice.choice(session.keeper.kept).position
        for goal in (Goal("event", seq=there), Goal("time", time=min(by_time, end.time - 1)), Goal("moment", position=step)):
            quick, told = (Replay(session.start, known.acts, goal, keeper, known) for keeper in (session.keeper, Keeper()))
            assert quick.again
            assert not told.again
            assert quick.work()
            assert told.work()
            assert quick.tape.position == told.tape.position
            assert quick.tape.outlet.seq == told.tape.outlet.seq
            assert quick.tape.acted == told.tape.acted
            same(quick.tape.cluster, told.tape.cluster)
            for level in (DETAIL, NORMAL, NOTABLE):
                assert quick.rings.of(level).since(0) == told.rings.of(level).since(0)
            for seq in range(1, quick.tape.outlet.seq + 1, 7):
                assert quick.tape.end_before(seq) == told.tape.end_before(seq)
            assert len(quick.tape.ends) == len(told.tape.ends)
            for replay in (quick, told):
                replay.tape.advance_to(replay.tape.cluster.now + SECOND // 4)
            same(quick.tape.cluster, told.tape.cluster)


def test_moments_of_one_course_share_where_its_steps_ended() -> None:
    ends = StepEnds()
    for seq in (2, 3, 7):
        ends.append(seq)
    back, again = ends.upto(6), ends.upto(6)
    assert (len(back), back.last, back.before(7), back.before(3), back.before(2)) == (2, 3, 3, 2, 0)
    back.append(7)
    again.append(5)
    back.append(9)
    assert [ends.before(seq) for seq in (9, 10)] == [7, 7]
    assert [back.before(seq) for seq in (9, 10)] == [7, 9]
    assert [again.before(seq) for seq in (5, 6)] == [3, 5]


@pytest.mark.usefixtures("kept_often")
@pytest.mark.parametrize("seed", range(3))
def test_from_moment_to_moment_of_the_past_by_keyframes_ahead(seed: int) -> None:
    """Whichever way one comes to a moment, its view and its events are those it had."""
    dice = random.Random(seed)
    session = stage_of().session
    session.do(acts.Load("orders", 100))
    seen: list[tuple[Position, ClusterView, int]] = []
    for _ in stroll(session, dice, stops=20, least=20):
        seen.append((session.tape.position, session.view(), len(events(session))))
    whole, ahead = events(session), 0
    for position, view, count in dice.choices(seen, k=25):
        goal = Goal("there", position=position)
        ahead += session.is_kept_ahead(goal)
        session.go_to(goal)
        arrive(session)
        assert session.tape.position == position
        assert session.view() == view
        assert events(session) == whole[:count]
    assert ahead >= 5
    session.go_to(Goal("there", position=seen[10][0]))
    arrive(session)
    session.do(acts.Produce("orders", 5))
    session.tape.advance_to(session.cluster.now + SECOND)
    assert not session.is_kept_ahead(Goal("there", position=seen[-1][0])), "that future is another branch's"
    branch = events(session)
    session.go_to(Goal("there", position=seen[3][0]))
    arrive(session)
    assert events(session) == whole[: seen[3][2]]
    session.go_to_end()
    arrive(session)
    assert events(session)[: len(branch)] == branch


def test_acting_in_the_past_keeps_the_old_future(tmp_path: Path) -> None:
    log = tmp_path / "s.jsonl"
    session = stage_of(log=log).session
    session.do(acts.Load("orders", 100))
    session.tape.advance_to(2 * SECOND)
    session.do(acts.Kill(1))
    session.tape.advance_to(20 * SECOND)
    session.mark_end()
    old, old_view = events(session), session.view()
    session.go_to(Goal("2 s", time=SECOND))
    arrive(session)
    assert session.in_the_past
    assert session.view().now == SECOND
    with pytest.raises(ActRefused):
        session.do(acts.Start(2))
    assert len(session.branches) == 1
    session.do(acts.Kill(2))
    assert [b.name for b in session.branches] == ["main", "branch 2"]
    assert not session.in_the_past
    session.tape.advance_to(20 * SECOND)
    new = events(session)
    assert session.view() != old_view
    session.go_to_branch(session.branches[0])
    arrive(session)
    assert session.view() == old_view
    assert events(session) == old
    session.go_to_branch(session.branches[1])
    arrive(session)
    assert events(session) == new
    session.close()
    assert read_events(log)[1] == new


def test_a_long_way_back_can_be_given_up() -> None:
    session = stage_of().session
    session.do(acts.Load("orders", 500))
    session.tape.advance_to(20 * SECOND)
    session._budget = 0.001
    before = session.view()
    session.go_to(Goal("10 s", time=10 * SECOND))
    assert session.seeking == "10 s"
    assert session.progress is not None
    assert 0 <= session.progress < 1
    session.frame(0.05)
    session.pause()
    assert session.seeking is None
    assert session.progress is None
    assert session.view() == before


def test_kept_clusters_make_going_back_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "KEEP_SHARE", 1e9)
    monkeypatch.setattr(keeper, "KEEP_SHARE_WHOLE", 1e9)  # the test's seconds pass faster than the clock
    session = stage_of().session
    session.do(acts.Load("orders", 200))
    for second in range(1, 30):
        session.tape.advance_to(second * SECOND)
        session.keeper.offer(session.tape)
    assert len(session.keeper.kept) > 1
    session._budget = 60.0
    session.step_back()
    assert session.tape.steps - max(k.position.steps for k in session.keeper.kept) <= session.keeper._every


def test_a_large_cluster_is_kept_where_nobody_sees_it_move(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "KEEP_REPLICAS", 2)
    monkeypatch.setattr(keeper, "KEEP_SHARE_LARGE", 1e9)
    monkeypatch.setattr(keeper, "KEEP_EVERY", 100)
    session = stage_of().session
    session._budget = 0.0  # every frame goes as few steps as it can, and so on a fast machine, too, there are many
    session.do(acts.Load("orders", 200))
    for second in range(1, 12):
        session.tape.advance_to(second * SECOND)
        session.keeper.offer(session.tape)
    assert not session.keeper.kept
    view, position = session.view(), session.tape.position
    session.step_back()
    arrive(session)
    steps = [kept.position.steps for kept in session.keeper.kept]
    assert 2 <= len(steps) <= keeper.KEEP_LARGE
    session.go_to_end()
    arrive(session)
    assert (session.view(), session.tape.position) == (view, position)
    session.step_back()
    assert session.under_way is None or session.under_way.tape.steps >= min(steps), "the next way back begins at a keyframe"


def test_the_first_way_back_in_a_large_cluster_begins_at_a_keyframe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "KEEP_REPLICAS", 2)
    monkeypatch.setattr(keeper, "KEEP_SHARE_SEEN", 1e9)
    session = stage_of().session
    session._budget = 60.0
    session.do(acts.Load("orders", 200))
    session.tape.advance_to(SECOND)
    session.settle()
    assert len(session.keeper.kept) == 1
    for second in range(2, 12):
        session.tape.advance_to(second * SECOND)
        session.keeper.offer(session.tape)
    assert 2 <= len(session.keeper.kept) <= keeper.KEEP_LARGE
    seen, whole = session.tape.end_before(session.tape.outlet.seq), events(session)
    replay = Replay(session.start, session.tape.acts, Goal("there", seq=seen), session.keeper, session._know())
    assert replay.tape.steps >= session.keeper.kept[-2].position.steps > 0
    session.step_back()
    arrive(session)
    assert events(session) == whole[:seen]
    monkeypatch.setattr(keeper, "KEEP_REPLICAS_AT_ONCE", 2)
    larger = stage_of().session
    larger.settle()
    assert not larger.keeper.kept


def test_forward_and_back_to_when_a_condition_holds() -> None:
    session = stage_of().session
    session.do(acts.Kill(3))
    session.stop_when(BecomesTrue(lambda cluster: any(len(p.isr) == 2 for p in cluster.view().partitions)))
    arrive(session)
    shrunk = session.tape.position
    assert any(len(p.isr) == 2 for p in session.view().partitions)
    session.tape.advance_to(60 * SECOND)
    found: list[bool] = []
    session.back_to_when(BecomesTrue(lambda cluster: any(len(p.isr) == 2 for p in cluster.view().partitions)), then=found.append)
    arrive(session)
    assert found == [True]
    assert session.tape.position.seq == shrunk.seq
    session.back_to_when(BecomesTrue(lambda cluster: cluster.view().lost > 0), then=found.append)
    arrive(session)
    assert found == [True, False]


def test_a_cluster_that_cannot_be_kept_is_repeated_from_the_start() -> None:
    from core.lab.history.course import FreeCourse

    session = Session(lambda sink: FreeCourse(FakeCluster(SMALL, sink=sink)))  # type: ignore[arg-type]
    session.pause()
    session.tape.advance_to(3 * SECOND)
    view = session.view()
    session.do(acts.Kill(1))
    session.step_back()
    arrive(session)
    assert session.view() == view
    assert session.keeper.kept == []


def test_a_script_of_a_session_says_what_was_done(tmp_path: Path) -> None:
    stage = stage_of()
    stage.session.do(acts.Load("orders", 100))
    stage.session.tape.advance_to(2 * SECOND)
    stage.session.do(acts.Kill(1))
    stage.session.bookmark("the leader dies")
    path = tmp_path / "my session.yaml"
    stage.save(path)
    scenario = load_script(path)
    assert scenario.name == "my-session"
    assert [(step.at, step.acts, step.note) for step in scenario.steps] == [
        (0, (acts.Load("orders", 100),), ""),
        (2 * SECOND, (acts.Kill(1),), ""),
        (2 * SECOND, (), "the leader dies"),
        (2 * SECOND, (), "the session ended here"),
    ]
