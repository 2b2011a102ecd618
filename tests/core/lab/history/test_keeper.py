"""Keyframes: they make the way back short, cost their share and no more, and of a large cluster there are few."""

from __future__ import annotations

import pytest

from core.lab import acts
from core.lab.history import keeper as keeping
from core.lab.history.goal import Goal
from core.lab.history.history import History
from core.lab.history.replay import Replay
from core.lab.history.step_ends import StepEnds
from core.sim.units import SECOND
from tests.core.lab.history.sessions import SMALL


class Clock:
    """CPU seconds that pass by so many at each look."""

    def __init__(self, each: float) -> None:
        self.each, self.now, self.looks = each, 0.0, 0

    def __call__(self) -> float:
        self.looks += 1
        self.now += self.each
        return self.now


def played(seconds: int, clock: Clock | None = None) -> History:
    """A cluster under load."""
    history = History.of(SMALL, seed=7) if clock is None else History.of(SMALL, seed=7, clock=clock)
    history.do(acts.Load("orders", 200))
    history.run_until(seconds * SECOND)
    return history


def test_keyframes_make_going_back_short() -> None:
    history = played(30)
    assert len(history.keeper.kept) > 1
    history.step_back()
    assert history.tape.steps - max(kept.position.steps for kept in history.keeper.kept) <= history.keeper._every


def test_a_keyframe_that_costs_much_is_taken_seldom() -> None:
    often, seldom = played(10, Clock(0.0)), played(10, Clock(0.0005))
    assert len(often.keeper.kept) > 5 * len(seldom.keeper.kept) > 0


def test_a_large_cluster_is_kept_where_nobody_sees_it_move(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "KEEP_REPLICAS", 2)
    monkeypatch.setattr(keeping, "KEEP_EVERY", 100)
    history = played(12)
    history.mark_end()
    assert not history.keeper.kept
    view, position = history.view(), history.tape.position
    history.step_back()
    steps = [kept.position.steps for kept in history.keeper.kept]
    assert 2 <= len(steps) <= keeping.KEEP_LARGE
    history.go_to_end()
    assert (history.view(), history.tape.position) == (view, position)
    replay = Replay(history.start, history.tape.acts, Goal(seq=position.seq - 1), history.keeper, history._know())
    assert replay.tape.steps >= min(steps), "the next way back begins at a keyframe"


def test_the_first_way_back_in_a_large_cluster_begins_at_a_keyframe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "KEEP_REPLICAS", 2)
    history = played(1)
    history.keeper.begin(history.tape)
    assert len(history.keeper.kept) == 1
    history.run_until(12 * SECOND)
    history.mark_end()
    assert 2 <= len(history.keeper.kept) <= keeping.KEEP_LARGE
    seen, whole = history.tape.end_before(history.tape.outlet.seq), history.events()
    replay = Replay(history.start, history.tape.acts, Goal(seq=seen), history.keeper, history._know())
    assert replay.tape.steps >= history.keeper.kept[-2].position.steps > 0
    history.step_back()
    assert history.events() == whole[:seen]
    monkeypatch.setattr(keeping, "KEEP_REPLICAS_AT_ONCE", 2)
    larger = played(1)
    larger.keeper.begin(larger.tape)
    assert not larger.keeper.kept


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
