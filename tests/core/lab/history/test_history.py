"""Going back to any earlier moment and forward again gives the same views and events. An act in the past begins a branch, and the log
follows it.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from core.kafka.events import DETAIL, NORMAL, NOTABLE, EventTuple
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.history import keyframe_cache
from core.lab.history.destination import Destination
from core.lab.history.history import History
from core.lab.history.keyframe_cache import KeyframeCache
from core.lab.history.log_replay import LogReplayTask
from core.lab.history.playable import PlayableCluster
from core.lab.history.position import Position
from core.lab.history.travel import TravelTask
from core.lab.history.watchpoints import BecomesTrue
from core.sim.errors import ActRefused
from core.sim.units import SECOND
from tests.core.lab.history.sessions import SMALL, Seen, live, stroll
from tests.core.properties.whole import same


class ListedLog:
    """An event log in memory."""

    def __init__(self) -> None:
        self.events: list[EventTuple] = []
        self.end: int | None = None

    def __call__(self, event: EventTuple) -> None:
        assert event[0] == len(self.events) + 1, "every event once, in order"
        self.events.append(event)

    def cut(self, seq: int) -> None:
        del self.events[seq:]

    def close(self, now: int | None = None) -> None:
        self.end = now


def logged(seed: int = 7) -> tuple[History, ListedLog]:
    """Return a session that writes a log."""
    log = ListedLog()
    make = History.of(SMALL, seed=seed).start
    return History(make, log=log), log


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 2**32))
@example(129211)  # an act that follows another act at the same moment is refused, while messages are due
def test_back_to_any_moment_and_forward_again_is_the_same(seed: int) -> None:
    dice = random.Random(seed)
    history = History.of(SMALL, seed=7)
    history.keyframe_cache._every = dice.choice((50, 400, 10**9))
    seen = live(history, dice, 14)
    history.record_branch_end()
    end, whole = history.view(), history.events()
    for moment in dice.sample(seen, 4):
        history.go_to(Destination(position=moment.position))
        assert history.view() == moment.view
        assert history.events() == whole[: moment.events]
    target = dice.randint(1, len(whole))
    history.go_to(Destination(seq=target))
    assert history.events()[target - 1] == whole[target - 1]
    for _ in range(dice.randint(0, 4)):
        history.step_back()
    assert history.events() == whole[: history.replay_run.event_tap.seq]
    history.go_to_end()
    assert history.view() == end
    assert history.events() == whole
    assert len(history.branches) == 1


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_the_log_is_that_of_the_branch_one_is_on(seed: int) -> None:
    dice = random.Random(seed)
    history, log = logged()
    seen = live(history, dice, 8)
    for _ in range(dice.randint(0, 2)):
        history.go_to(Destination(position=dice.choice(seen).position))
        live(history, dice, 4)
        if dice.random() < 0.3:
            history.go_to_branch(dice.choice(history.branches))
    history.close()
    again: list[EventTuple] = []
    branch, playable = history.branch, history.start(again.append)
    for time, act in branch.timed_acts():
        playable.advance_to(time)
        playable.cluster.do(act)
    playable.advance_to(branch.end.time)
    assert log.end == branch.end.time
    assert log.events == again


def test_the_clock_does_not_pass_an_act_that_is_to_come() -> None:
    """The destination is a moment of another branch that lies between two acts on that branch, but not on this one."""
    history, _ = logged()
    history.run_until(40_500)
    history.do(acts.Cut(("b2", "b3")))
    before = history.replay_run.position
    history.do(acts.Kill(2))
    history.run_until(2 * SECOND)
    end, whole = history.view(), history.events()
    history.go_to(Destination(position=Position(before.steps, before.acts, before.time + 1)))
    assert history.replay_run.position == before
    history.go_to_end()
    assert history.events() == whole
    assert history.view() == end


@pytest.fixture
def kept_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep keyframes that are only a few steps apart."""
    monkeypatch.setattr(keyframe_cache, "STEPS_BETWEEN_KEYFRAMES", 40)


@pytest.mark.usefixtures("kept_often")
@pytest.mark.parametrize("seed", range(3))
def test_known_events_need_not_be_emitted_again(seed: int) -> None:
    """For all kinds of goals, the resulting session is the same whether it starts from a keyframe without emitting events, or from the
    start with every event.
    """
    dice = random.Random(seed)
    history = History.of(SMALL, seed=7)
    history.do(acts.Load("orders", 40))
    for _ in stroll(history, dice, stops=12, least=60):
        pass
    known = history._retained
    end = history.replay_run.position
    for _ in range(3):
        there = dice.randint(end.seq // 3, end.seq)
        by_time = dice.choice(history.branch.act_events[1:])[1] + dice.randint(0, 9)
        step = dice.choice(history.keyframe_cache.keyframes).position
        for destination in (Destination(seq=there), Destination(time=min(by_time, end.time - 1)), Destination(position=step)):
            quick, told = (
                TravelTask(history.start, known.acts, destination, keyframe_cache, known)
                for keyframe_cache in (history.keyframe_cache, KeyframeCache())
            )
            assert quick.events_known
            assert not told.events_known
            assert quick.advance()
            assert told.advance()
            assert quick.replay_run.position == told.replay_run.position
            assert quick.replay_run.event_tap.seq == told.replay_run.event_tap.seq
            assert quick.replay_run.acted == told.replay_run.acted
            same(quick.replay_run.cluster, told.replay_run.cluster)
            for level in (DETAIL, NORMAL, NOTABLE):
                assert quick.event_buffer.ring(level).since(0) == told.event_buffer.ring(level).since(0)
            for seq in range(1, quick.replay_run.event_tap.seq + 1, 7):
                assert quick.replay_run.step_index.seq_before_step_of(seq) == told.replay_run.step_index.seq_before_step_of(seq)
            assert len(quick.replay_run.step_index) == len(told.replay_run.step_index)
            for replay in (quick, told):
                replay.replay_run.advance_to(replay.replay_run.cluster.now + SECOND // 4)
            same(quick.replay_run.cluster, told.replay_run.cluster)


@pytest.mark.usefixtures("kept_often")
@pytest.mark.parametrize("seed", range(3))
def test_from_moment_to_moment_of_the_past_by_keyframes_ahead(seed: int) -> None:
    """A moment has the same view and the same events, whichever way the session went to it."""
    dice = random.Random(seed)
    history = History.of(SMALL, seed=7)
    history.do(acts.Load("orders", 100))
    seen: list[Seen] = []
    for _ in stroll(history, dice, stops=20, least=20):
        seen.append(Seen(history.replay_run.position, history.view(), len(history.events())))
    whole, ahead = history.events(), 0
    for moment in dice.choices(seen, k=25):
        destination = Destination(position=moment.position)
        ahead += history.is_kept_ahead(destination)
        if dice.random() < 0.5:
            history.go_to(destination)
        else:
            history.travel(destination)
        assert history.replay_run.position == moment.position
        assert history.view() == moment.view
        assert history.events() == whole[: moment.events]
    assert ahead >= 5
    history.go_to(Destination(position=seen[10].position))
    history.do(acts.Produce("orders", 5))
    history.replay_run.advance_to(history.cluster.now + SECOND)
    assert not history.is_kept_ahead(Destination(position=seen[-1].position)), "that future is another branch's"
    branch = history.events()
    history.go_to(Destination(position=seen[3].position))
    assert history.events() == whole[: seen[3].events]
    history.go_to_end()
    assert history.events()[: len(branch)] == branch


def test_acting_in_the_past_keeps_the_old_future() -> None:
    history, log = logged()
    history.do(acts.Load("orders", 100))
    history.run_until(2 * SECOND)
    history.do(acts.Kill(1))
    history.run_until(20 * SECOND)
    history.record_branch_end()
    old, old_view = history.events(), history.view()
    history.go_to(Destination(time=SECOND))
    assert history.in_the_past
    assert history.view().now == SECOND
    with pytest.raises(ActRefused):
        history.do(acts.Start(2))
    assert len(history.branches) == 1
    history.do(acts.Kill(2))
    assert [branch.name for branch in history.branches] == ["main", "branch 2"]
    assert not history.in_the_past
    history.run_until(20 * SECOND)
    new = history.events()
    assert history.view() != old_view
    history.go_to_branch(history.branches[0])
    assert history.view() == old_view
    assert history.events() == old
    history.go_to_branch(history.branches[1])
    assert history.events() == new
    history.close()
    assert log.events == new


def test_an_act_that_is_done_again_where_it_was_done_is_no_branch() -> None:
    history = History.of(SMALL)
    history.run_until(SECOND)
    history.do(acts.Kill(1))
    history.run_until(2 * SECOND)
    whole = history.events()
    history.undo()
    history.do(acts.Kill(1))
    assert len(history.branches) == 1
    history.go_to_end()
    assert history.events() == whole


def test_a_branch_begun_in_the_past_has_an_open_future() -> None:
    history = History.of(SMALL)
    history.run_until(SECOND)
    history.start_branch()
    assert len(history.branches) == 1, "the present moment needs no branch"
    history.do(acts.Kill(1))
    history.run_until(2 * SECOND)
    old = history.events()
    history.undo()
    history.start_branch()
    assert not history.in_the_past
    assert history.act_to_redo() is None
    history.run_until(3 * SECOND)
    assert all(broker.up for broker in history.view().brokers), "the act of the old branch does not happen again"
    history.go_to_branch(history.branches[0])
    assert history.events() == old


def test_a_way_in_pieces_can_be_given_up() -> None:
    history = History(History.of(SMALL).start, yield_policy=lambda way: lambda: True)
    history.do(acts.Load("orders", 500))
    history.run_until(20 * SECOND)
    history.keyframe_cache.keyframes.clear()
    before = history.view()
    history.go_to(Destination("10 s", time=10 * SECOND))
    assert history.task_target == "10 s"
    assert history.progress is not None
    assert 0 <= history.progress < 1
    history.continue_task()
    history.pause()
    assert history.task_target is None
    assert history.progress is None
    assert history.view() == before
    history.go_to(Destination("10 s", time=10 * SECOND))
    while history.task is not None:
        history.continue_task()
    assert history.view().now == 10 * SECOND


def test_forward_and_back_to_when_a_condition_holds() -> None:
    def two_in_sync() -> BecomesTrue:
        return BecomesTrue(lambda cluster: any(len(p.isr) == 2 for p in cluster.view().partitions))

    history = History.of(SMALL, seed=7)
    history.do(acts.Kill(3))
    assert history.stop_when(two_in_sync()).found
    shrunk = history.replay_run.position
    assert any(len(p.isr) == 2 for p in history.view().partitions)
    history.run_until(60 * SECOND)
    found: list[bool] = []
    assert history.back_to_when(two_in_sync(), then=found.append).found == shrunk
    assert found == [True]
    assert history.replay_run.position.seq == shrunk.seq
    lost = BecomesTrue(lambda cluster: cluster.view().lost > 0)
    assert history.back_to_when(lost, then=found.append).found is None
    assert found == [True, False]


def test_looking_at_another_moment_leaves_one_where_one_is() -> None:
    history = History.of(SMALL)
    history.run_until(5 * SECOND)
    here, seen = history.view(), []
    history.preview(Destination(time=SECOND), seen.append)
    assert [view.now for view in seen] == [SECOND]
    assert history.view() == here


class Unkept(PlayableCluster):
    """A `Playable` whose state cannot be saved."""

    def snapshot(self) -> None:
        return None


def test_a_course_that_cannot_be_kept_is_repeated_from_the_start() -> None:
    history = History(lambda sink: Unkept(Cluster(SMALL, sink=sink)))
    history.run_until(3 * SECOND)
    view = history.view()
    history.do(acts.Kill(1))
    history.step_back()
    assert history.view() == view
    assert history.keyframe_cache.keyframes == []


class OldOne:
    """An old session, as its log describes it."""

    source = "old.jsonl"

    def __init__(self, events: list[EventTuple], acts: list[tuple[int, acts.Act]], end: int) -> None:
        self.events, self.acts, self.end = events, acts, end


def test_an_old_session_is_played_again_and_held_against_its_log() -> None:
    first = History.of(SMALL, seed=7)
    first.run_until(SECOND)
    first.do(acts.Kill(1))
    first.run_until(20 * SECOND)
    first.record_branch_end()
    old = OldOne(first.events(), first.branch.timed_acts(), first.branch.end.time)

    history = History.of(SMALL, seed=7)
    history.open_recording(old, at=10 * SECOND)
    assert isinstance(history.task, LogReplayTask)
    history.continue_task()
    assert not history.notices
    assert history.view().now == 10 * SECOND
    history.go_to_end()
    assert history.events() == first.events()

    seq, time, cause, kind, *columns = old.events[-1]
    old.events[-1] = (seq, time + 1, cause, kind, *columns)
    untrue = History.of(SMALL, seed=7)
    untrue.open_recording(old)
    untrue.continue_task()
    assert untrue.notices[0].startswith(f"old.jsonl:{len(old.events) + 1}: in the replay, event {seq} is not")
