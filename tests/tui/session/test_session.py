"""The session: pace, time budget, steps, and acts, with a fake cluster and with the real one."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from core.kafka.events import DETAIL, NOTABLE
from core.kafka.release import CURRENT, Release
from core.lab import acts
from core.lab.history.playable import PlayableCluster
from core.sim.errors import ActRefused
from core.sim.units import SECOND
from scenarios import catalogue
from scenarios.logs.log_reader import read_events
from tests.tui.fake_cluster import FakeCluster
from tests.tui.states import SPEC
from tui.session.loading import load_session
from tui.session.play_target import PlayTarget
from tui.session.playback import SPEEDS
from tui.session.session import Session


def fake_session(**wanted: float) -> Session:
    return Session(lambda sink: PlayableCluster(FakeCluster(SPEC, sink=sink)), **wanted)  # type: ignore[arg-type]


def real_session() -> Session:
    return load_session(None).session


def test_virtual_time_goes_with_the_wall_times_the_speed() -> None:
    session = fake_session(budget=5.0)
    for _ in range(10):
        session.playback.frame(0.05)
    assert session.history.cluster.now == SECOND // 2
    session.playback.set_speed(10)
    session.playback.frame(0.1)
    assert session.history.cluster.now == SECOND // 2 + SECOND
    session.playback.set_speed(0.1)
    session.playback.frame(0.1)
    assert session.history.cluster.now == SECOND // 2 + SECOND + SECOND // 100


def test_paused_nothing_moves() -> None:
    session = fake_session()
    session.history.pause()
    session.playback.frame(1.0)
    assert session.history.cluster.now == 0
    assert not session.playback.moving


def test_a_frame_that_comes_late_is_no_jump() -> None:
    session = fake_session(budget=5.0)
    session.playback.frame(3600.0)
    assert session.history.cluster.now <= SECOND


def test_what_the_budget_does_not_allow_is_said() -> None:
    session = real_session()
    session.playback._budget = 0.0002
    session.playback.set_speed(1000)
    for _ in range(60):
        session.playback.frame(0.02)
    assert session.playback.reached is not None
    assert session.playback.reached < 900
    assert session.history.cluster.now < 60 * 0.02 * 1000 * SECOND
    session.playback.set_speed(math.inf)
    for _ in range(60):
        session.playback.frame(0.02)
    assert session.playback.reached is not None


def test_the_time_between_frames_is_used_and_the_rate_shown_is_the_rate_reached() -> None:
    session = real_session()
    playback, history = session.playback, session.history
    playback._budget = 0.0  # 32 steps in each slice
    playback.frame(0.0)
    assert not playback.unfinished, "nothing is due"
    playback.set_speed(100)
    playback.frame(0.05)
    assert playback.unfinished
    while playback.unfinished:
        playback.work()
    assert history.cluster.now == 5 * SECOND
    playback.set_speed(math.inf)
    starts = []
    while playback.reached is None:
        starts.append(history.cluster.now)
        playback.frame(0.05)
        for _ in range(20):
            assert playback.unfinished, "as fast as it can always has more to do"
            playback.work()
    assert playback.reached == pytest.approx((starts[-1] - starts[0]) / SECOND / (0.05 * (len(starts) - 1)))
    history.pause()
    assert not playback.unfinished


def test_the_long_frames_of_a_slow_link_count_in_full() -> None:
    session = fake_session(budget=5.0)
    session.playback.pace_frames(0.5)
    for _ in range(4):
        session.playback.frame(0.5)
    assert session.history.cluster.now == 2 * SECOND


def test_speeds_go_up_and_down_the_ladder() -> None:
    session = fake_session()
    assert [session.playback.faster() for _ in range(20)][-1] == SPEEDS[-1] == 1000
    assert [session.playback.slower() for _ in range(20)][-1] == SPEEDS[0] == 0.1


def test_a_step_goes_to_the_next_event_and_pauses() -> None:
    session = real_session()
    before = session.history.event_buffer.ring(DETAIL).total
    session.history.step()
    while session.history.task_target:
        session.playback.frame(0.05)
    assert session.history.event_buffer.ring(DETAIL).total > before
    assert not session.playback.playing
    assert not session.playback.moving


def test_a_step_to_the_next_notable_event_finds_the_fencing() -> None:
    session = real_session()
    session.history.do(acts.Kill(2))
    killed = session.history.event_buffer.ring(NOTABLE).total
    session.history.step_to_notable()
    while session.history.task_target:
        session.playback.frame(0.05)
    kinds = [session.history.event_buffer.ring(NOTABLE).at(i)[3] for i in range(killed, session.history.event_buffer.ring(NOTABLE).total)]
    assert kinds[0] == "broker-fenced"
    assert 5 * SECOND < session.history.cluster.now < 12 * SECOND


def test_a_step_that_finds_nothing_gives_up() -> None:
    session = real_session()
    session.playback._budget = 60.0
    session.history.do(acts.StopLoad("load"))
    session.history.do(acts.StopLoad("payments-load"))
    session.history.step_to_notable()
    assert not session.history.task_target
    assert not session.playback.moving


def test_a_refused_act_changes_nothing() -> None:
    session = real_session()
    before = session.history.view()
    with pytest.raises(ActRefused):
        session.history.do(acts.Start(1))
    assert session.history.view() == before


def test_the_log_has_every_event(tmp_path: Path) -> None:
    log = tmp_path / "s.jsonl"
    session = load_session(PlayTarget(None, None, CURRENT, log=log)).session
    session.history.replay_run.advance_to(3 * SECOND)
    session.history.do(acts.Kill(1))
    session.history.close()
    problems: list[str] = []
    reader, events = read_events(log, problems.append)
    assert problems == []
    assert reader.end is not None
    assert len(events) == session.history.event_buffer.ring(DETAIL).total
    assert events[-1] == session.history.event_buffer.ring(DETAIL).at(len(events) - 1)


def test_a_scenario_by_hand_goes_a_step_a_second_and_pauses_at_its_end() -> None:
    scenario = catalogue.load("e1-data-loss")
    session = load_session(PlayTarget(scenario, scenario.spec, Release.named("0.10.2"))).session
    for _ in range(19):
        session.playback.frame(0.05)
    assert session.history.event_buffer.ring(NOTABLE).index_of(1) is not None
    acts_done = sum(
        session.history.event_buffer.ring(DETAIL).at(i)[3] == "act" for i in range(session.history.event_buffer.ring(DETAIL).total)
    )
    session.playback.frame(0.06)
    assert (
        sum(session.history.event_buffer.ring(DETAIL).at(i)[3] == "act" for i in range(session.history.event_buffer.ring(DETAIL).total))
        == acts_done + 1
    )
    for _ in range(400):
        session.playback.frame(0.05)
    assert session.history.replay_run.playable.finished
    assert not session.playback.playing
    assert session.history.view().lost == 1
