"""Keyframes make going back fast and cost a limited share of time. For a large cluster, there are few of them."""

from __future__ import annotations

from itertools import pairwise

import pytest

from core.kafka.log import leader_term
from core.lab import acts
from core.lab.history import keyframe_cache as keyframe_cache
from core.lab.history import replay_run
from core.lab.history.destination import Destination
from core.lab.history.history import History
from core.lab.history.replay_run import StepIndex
from core.lab.history.travel import TravelTask
from core.sim.units import SECOND
from tests.core.lab.history.sessions import SMALL


class Clock:
    """A clock of CPU seconds that advances by a fixed amount each time it is read."""

    def __init__(self, each: float) -> None:
        self.each, self.now, self.looks = each, 0.0, 0

    def __call__(self) -> float:
        self.looks += 1
        self.now += self.each
        return self.now


def played(seconds: int, clock: Clock | None = None) -> History:
    """Return a cluster under load."""
    history = History.of(SMALL, seed=7) if clock is None else History.of(SMALL, seed=7, clock=clock)
    history.do(acts.Load("orders", 200))
    history.run_until(seconds * SECOND)
    return history


def test_keyframes_make_going_back_short() -> None:
    history = played(30)
    assert len(history.keyframe_cache.keyframes) > 1
    history.step_back()
    assert history.replay_run.steps - max(kept.position.steps for kept in history.keyframe_cache.keyframes) <= history.keyframe_cache._every


def test_a_keyframe_that_costs_much_is_taken_seldom() -> None:
    often, seldom = played(10, Clock(0.0)), played(10, Clock(0.0005))
    assert len(often.keyframe_cache.keyframes) > 5 * len(seldom.keyframe_cache.keyframes) > 0


def test_a_full_cache_keeps_fewer_keyframes_further_back_and_every_moment_can_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyframe_cache, "MAX_OBJECTS", 6_000)
    monkeypatch.setattr(replay_run, "STEPS_KEPT", 64)
    monkeypatch.setattr(leader_term, "BATCHES_PER_BLOCK", 4)
    history, seen = played(0), []
    for _ in range(40):
        history.run_until(history.cluster.now + SECOND)
        seen.append((history.replay_run.position, history.view()))
        assert history.keyframe_cache._objects <= keyframe_cache.MAX_OBJECTS
    history.record_branch_end()
    steps = [kept.position.steps for kept in history.keyframe_cache.keyframes]
    gaps = [later - before for before, later in pairwise(steps)]
    assert max(gaps[len(gaps) // 2 :]) < max(gaps[: len(gaps) // 2])
    assert sum(kept.weight for kept in history.keyframe_cache.keyframes) == history.keyframe_cache._objects
    for position, view in (seen[2], seen[38], seen[20]):
        history.go_to(Destination(position=position))
        assert history.view() == view
        before = history.replay_run.event_tap.seq
        assert history.step_back()
        assert 0 < before - history.replay_run.event_tap.seq < 20
    history.go_to_end()
    assert history.replay_run.position == seen[-1][0]
    assert history.events_since == 0, "all events are in memory"
    assert SECOND // 2 < history.longest_repetition < 40 * SECOND


def test_a_step_index_keeps_the_last_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay_run, "STEPS_KEPT", 10)
    ends = StepIndex()
    early = ends
    for seq in range(2, 2_000, 3):
        if seq == 14:
            early = ends.prefix(len(ends))
        ends.append(seq)
        assert ends.seq_before_step_of(ends.last) == (seq - 3 if seq > 2 else 0)
    assert 10 <= len(ends) <= 20
    assert (early.last, early.seq_before_step_of(11)) == (11, 8)
    assert [early.reaches_back_to(2), ends.reaches_back_to(2), ends.reaches_back_to(1_990)] == [True, False, True]
    last = ends.tail()
    assert (len(last), last.last, last.seq_before_step_of(last.last), last.reaches_back_to(5)) == (2, ends.last, ends.last - 3, False)


def test_a_large_cluster_is_kept_where_nobody_sees_it_move(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyframe_cache, "LARGE_CLUSTER_REPLICAS", 2)
    monkeypatch.setattr(keyframe_cache, "STEPS_BETWEEN_KEYFRAMES", 100)
    history = played(12)
    history.record_branch_end()
    assert not history.keyframe_cache.keyframes
    view, position = history.view(), history.replay_run.position
    history.step_back()
    steps = [kept.position.steps for kept in history.keyframe_cache.keyframes]
    assert 2 <= len(steps) <= keyframe_cache.MAX_KEYFRAMES_OF_LARGE_CLUSTER
    history.go_to_end()
    assert (history.view(), history.replay_run.position) == (view, position)
    replay = TravelTask(
        history.start, history.replay_run.acts, Destination(seq=position.seq - 1), history.keyframe_cache, history._retained_events()
    )
    assert replay.replay_run.steps >= min(steps), "the next way back begins at a keyframe"


def test_the_first_way_back_in_a_large_cluster_begins_at_a_keyframe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyframe_cache, "LARGE_CLUSTER_REPLICAS", 2)
    history = played(1)
    history.keyframe_cache.add_first(history.replay_run)
    assert len(history.keyframe_cache.keyframes) == 1
    history.run_until(12 * SECOND)
    history.record_branch_end()
    assert 2 <= len(history.keyframe_cache.keyframes) <= keyframe_cache.MAX_KEYFRAMES_OF_LARGE_CLUSTER
    seen, whole = history.replay_run.step_index.seq_before_step_of(history.replay_run.event_tap.seq), history.events()
    replay = TravelTask(history.start, history.replay_run.acts, Destination(seq=seen), history.keyframe_cache, history._retained_events())
    assert replay.replay_run.steps >= history.keyframe_cache.keyframes[-2].position.steps > 0
    history.step_back()
    assert history.events() == whole[:seen]
    monkeypatch.setattr(keyframe_cache, "MAX_REPLICAS_OF_FIRST_KEYFRAME", 2)
    larger = played(1)
    larger.keyframe_cache.add_first(larger.replay_run)
    assert not larger.keyframe_cache.keyframes


def test_moments_of_one_course_share_where_its_steps_ended() -> None:
    ends = StepIndex()
    for seq in (2, 3, 7):
        ends.append(seq)
    back, again = ends.prefix_to(6), ends.prefix_to(6)
    assert (len(back), back.last, back.seq_before_step_of(7), back.seq_before_step_of(3), back.seq_before_step_of(2)) == (2, 3, 3, 2, 0)
    back.append(7)
    again.append(5)
    back.append(9)
    assert [ends.seq_before_step_of(seq) for seq in (9, 10)] == [7, 7]
    assert [back.seq_before_step_of(seq) for seq in (9, 10)] == [7, 9]
    assert [again.seq_before_step_of(seq) for seq in (5, 6)] == [3, 5]


def test_the_clock_is_read_seldom_between_two_keyframes() -> None:
    history = History.of(SMALL, seed=7)
    reads = 0

    def clock() -> float:
        """Ten µs for each step, and a millisecond for each reading."""
        nonlocal reads
        reads += 1
        return history.replay_run.steps * 1e-5 + reads * 1e-3

    history.keyframe_cache = keyframe_cache.KeyframeCache(clock)
    history.do(acts.Load("orders", 200))
    history.run_until(30 * SECOND)
    assert len(history.keyframe_cache.keyframes) > 2
    assert reads < 8 * len(history.keyframe_cache.keyframes)
