"""Time travel in the playground: a saved session replays to the same log, and the expectations of a scenario go back with it."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.kafka.events import DETAIL
from core.kafka.release import CURRENT, Release
from core.lab import acts
from core.lab.history import keyframe_cache
from core.lab.history.destination import Destination
from core.lab.history.position import Position
from core.lab.views.cluster_view import ClusterView
from core.sim.units import SECOND
from scenarios import catalogue
from scenarios.language.script import load_script, read_script
from scenarios.running.runner import Run
from tests.core.lab.history.sessions import SMALL, live, stroll
from tui.cli import main
from tui.session.loading import LoadedSession, load_session
from tui.session.play_target import PlayTarget
from tui.session.scenario_state import ScenarioState
from tui.session.session import Session


def session_of(**wanted: Any) -> LoadedSession:
    loaded = load_session(PlayTarget(None, SMALL, CURRENT, 7, **wanted))
    loaded.session.history.pause()
    return loaded


def arrive(session: Session) -> None:
    while session.history.task_target:
        session.playback.frame(0.05)


def events(session: Session) -> list[tuple[Any, ...]]:
    ring = session.history.event_buffer.ring(DETAIL)
    return [ring.at(index) for index in range(ring.first, ring.total)]


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_a_saved_session_replays_to_the_same_log(seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    first, second, script = tmp_path / "played.jsonl", tmp_path / "run.jsonl", tmp_path / "played.yaml"
    loaded = session_of(log=first, record=script)
    session = loaded.session
    seen = live(session.history, dice, 8)
    for _ in range(dice.randint(0, 2)):
        session.history.go_to(Destination("there", position=dice.choice(seen).position))
        arrive(session)
        live(session.history, dice, 4)
        if dice.random() < 0.3:
            session.history.go_to_branch(dice.choice(session.history.branches))
            arrive(session)
    session.history.close()
    loaded.save(script)
    assert main(["run", str(script), "--log", str(second)]) == 0
    assert second.read_bytes() == first.read_bytes()


@pytest.mark.parametrize(
    ("name", "release"), [("e1-data-loss", "0.10.2"), ("c1-paused-follower", "4.1"), ("d6-unclean-election-on", "4.1")]
)
def test_a_scenario_goes_back_with_what_it_expects_and_saves_itself(name: str, release: str, tmp_path: Path) -> None:
    scenario = catalogue.load(name)
    loaded = load_session(PlayTarget(scenario, scenario.spec, Release.named(release), scenario.seed, title=name))
    session = loaded.session
    session.history.pause()
    before = loaded.scenario()
    half = 0
    while not session.history.replay_run.playable.finished:
        session.history.replay_run.step()
        if session.history.replay_run.steps == 7:
            half, middle, state = session.history.replay_run.event_tap.seq, session.history.view(), loaded.scenario()
    whole = events(session)
    session.history.go_to(Destination("half", position=Position(7, 0, middle.now)))
    arrive(session)
    assert (session.history.view(), loaded.scenario(), session.history.replay_run.event_tap.seq) == (middle, state, half)
    session.history.go_to(Destination("the start", position=Position(0, 0, 0)))
    arrive(session)
    assert loaded.scenario() == before
    session.history.go_to_end()
    arrive(session)
    assert events(session) == whole
    assert {one.verdict for one in loaded.scenario().expectations} == {"held"}  # type: ignore[union-attr]
    again: list[tuple[Any, ...]] = []
    Run(read_script(loaded.script("again"), "again.yaml"), loaded.release, None, again.append).run()
    assert again == whole


@pytest.fixture
def kept_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep every keyframe that is offered, so that keyframes are only a few steps apart."""
    monkeypatch.setattr(keyframe_cache, "CPU_SHARE_OF_DELTAS", 1e9)
    monkeypatch.setattr(keyframe_cache, "CPU_SHARE_OF_WHOLE_KEYFRAMES", 1e9)
    monkeypatch.setattr(keyframe_cache, "MAX_CPU_SHARE", 1e9)
    monkeypatch.setattr(keyframe_cache, "STEPS_BETWEEN_KEYFRAMES", 40)


@pytest.mark.usefixtures("kept_often")
@pytest.mark.parametrize("seed", range(4))
def test_a_scenario_with_acts_of_somebody_goes_back_by_keyframes(seed: int) -> None:
    dice = random.Random(seed)
    scenario = catalogue.load("c1-paused-follower")
    loaded = load_session(PlayTarget(scenario, scenario.spec, Release.named("4.1"), scenario.seed))
    session = loaded.session
    session.history.pause()
    seen: dict[Position, tuple[ClusterView, ScenarioState | None]] = {}
    for _ in stroll(session.history, dice, stops=12, least=1):
        seen[session.history.replay_run.position] = (session.history.view(), loaded.scenario())
    assert len(session.history.keyframe_cache.keyframes) > 2
    whole, end = events(session), session.history.replay_run.position
    for position in dice.sample(list(seen), 6):
        nearest = Destination("there", position=position).nearest(
            session.history.keyframe_cache, session.history.branch.acts, session.history._retained
        )
        session.history.go_to(Destination("there", position=position))
        arrive(session)
        assert (session.history.view(), loaded.scenario()) == seen[position]
        assert nearest is None or nearest.position.place <= position.place
        session.history.go_to_end()
        arrive(session)
        assert (session.history.replay_run.position, events(session)) == (end, whole)


def test_a_long_way_back_can_be_given_up() -> None:
    session = session_of().session
    session.history.do(acts.Load("orders", 500))
    session.history.replay_run.advance_to(20 * SECOND)
    session.playback._budget = 0.001
    before = session.history.view()
    session.history.go_to(Destination("10 s", time=10 * SECOND))
    assert session.history.task_target == "10 s"
    assert session.history.progress is not None
    assert 0 <= session.history.progress < 1
    session.playback.frame(0.05)
    session.history.pause()
    assert session.history.task_target is None
    assert session.history.progress is None
    assert session.history.view() == before


def test_a_script_of_a_session_says_what_was_done(tmp_path: Path) -> None:
    loaded = session_of()
    loaded.session.history.do(acts.Load("orders", 100))
    loaded.session.history.replay_run.advance_to(2 * SECOND)
    loaded.session.history.do(acts.Kill(1))
    loaded.session.history.bookmark("the leader fails")
    path = tmp_path / "my session.yaml"
    loaded.save(path)
    scenario = load_script(path)
    assert scenario.name == "my-session"
    assert [(step.at, step.acts, step.note) for step in scenario.steps] == [
        (0, (acts.Load("orders", 100),), ""),
        (2 * SECOND, (acts.Kill(1),), ""),
        (2 * SECOND, (), "the leader fails"),
        (2 * SECOND, (), "the session ended here"),
    ]
