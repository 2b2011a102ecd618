"""Another run alongside the session, for comparison. The run performs the same acts under another release or with other settings, or follows
another branch. The run has its own cluster, to which it applies the acts at the same virtual times. It is computed in slices, so that it does
not delay key presses. When the session goes back or starts a new branch, the run goes back to a keyframe of its own, or restarts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

import attrs

from core.kafka.errors import KafkaError
from core.kafka.events import DETAIL, Acted, EventTuple
from core.lab.acts import Act
from core.lab.history.event_buffer import EventBuffer
from core.lab.history.incremental_task import STEPS_PER_CHECK, ShouldYield, never_yield
from core.lab.history.keyframe_cache import LARGE_CLUSTER_REPLICAS, Keyframe, replicas_of, restore_run
from core.lab.history.playable import PlayableFactory
from core.lab.history.position import PlayedAct
from core.lab.history.replay_run import EventTap, ReplayRun
from core.lab.views.cluster_view import ClusterView
from core.sim.errors import ActRefused
from core.sim.events import content_of, kind_of, seq_of, time_of
from core.sim.units import SECOND

MOST_KEYFRAMES: Final = 12
"""The number of keyframes that a run keeps. If there are more, it drops every second one, and takes them half as often."""


class Observer(Protocol):
    """What learns from all events of a run, and goes back with it."""

    def __call__(self, event: EventTuple) -> None:
        """Take the next event."""

    def copy(self) -> Observer:
        """Return an observer with the same state."""


class NoObserver:
    """An observer that learns nothing."""

    def __call__(self, event: EventTuple) -> None:
        """Do nothing."""

    def copy(self) -> NoObserver:
        """Return an observer with the same state."""
        return self


@attrs.frozen
class _Kept:
    """A keyframe of the run, with what the run knew then."""

    keyframe: Keyframe
    done: int
    refused: int
    checked: int
    observer: Observer


def is_same_act(one: EventTuple, two: EventTuple) -> bool:
    """Return whether two events report the same act at the same time, perhaps with other settings."""
    if kind_of(one) != Acted.kind or kind_of(two) != Acted.kind or time_of(one) != time_of(two):
        return False
    return Acted(one).act == Acted(two).act


@attrs.frozen
class FirstDifference:
    """The first event that differs between the two runs. If a run has no further event, its event is None."""

    seq: int
    here: EventTuple | None
    there: EventTuple | None


class ParallelRun:
    """The other run.

    Attributes:
        words: the name of the run, for example `Kafka 3.6` or `branch 2`.
        observer: what learns from its events.
        refused: the acts that were refused in this run, each with the reason.
        parted: the first difference found so far; None if there is none.
    """

    def __init__(
        self,
        words: str,
        start: PlayableFactory,
        *,
        acts: Sequence[PlayedAct] | None = None,
        end: int = -1,
        change: Callable[[Act], Act] | None = None,
        observe: Callable[[], Observer] = NoObserver,
    ) -> None:
        """Create the run in its initial state.

        Args:
            words: the name of the run in user-facing text.
            start: the function that builds the `Playable` in its initial state.
            acts: the acts of a branch, each performed at its own step; None to follow the acts of the session.
            end: the virtual time of the end of a branch, in µs; -1 to run as far as the session.
            change: the function that returns the act that this run performs instead of an act of the session; None to perform the same acts.
                If it is given, an act that has another setting is no difference; what it leads to is.
            observe: the function that returns an observer that knows nothing yet.
        """
        self.words = words
        self._start = start
        self._own = None if acts is None else list(acts)
        self._end = end
        self._change = change
        self._observe = observe
        self._restart()

    def _restart(self) -> None:
        self._kept: list[_Kept] = []
        self._between = SECOND
        self.observer: Observer = self._observe()
        self.event_buffer = EventBuffer()
        event_tap = EventTap(self._on_event)
        self.replay_run = ReplayRun(self._start(event_tap), event_tap, self._own or ())
        self._done: list[PlayedAct] = []
        self.refused: list[tuple[PlayedAct, str]] = []
        self.parted: FirstDifference | None = None
        self._checked = 0

    def _on_event(self, event: EventTuple) -> None:
        self.event_buffer.append(event)
        self.observer(event)

    def _keep(self) -> None:
        """Take a keyframe if the last one is long ago."""
        run, last = self.replay_run, self._kept[-1].keyframe.position.time if self._kept else 0
        if run.cluster.now - last < self._between or replicas_of(run.cluster) > LARGE_CLUSTER_REPLICAS:
            return
        playable = run.playable.snapshot()
        if playable is None:
            return
        keyframe = Keyframe(
            run.position, tuple(run.acts[: run.acts_done]), playable, run.step_index.prefix(len(run.step_index)), run.acted, 0
        )
        self._kept.append(_Kept(keyframe, len(self._done), len(self.refused), self._checked, self.observer.copy()))
        if len(self._kept) > MOST_KEYFRAMES:
            del self._kept[::2]
            self._between *= 2

    def _go_back(self, now: int, steps: int, acts: Sequence[PlayedAct]) -> None:
        """Go back to the last keyframe that is not after a moment of the session, or restart.

        Args:
            now, steps, acts: the moment, as for `advance_to`.
        """
        while self._kept:
            kept = self._kept[-1]
            position = kept.keyframe.position
            on_path = self._own is not None or (
                kept.done <= len(acts)
                and all(one.act == two.act and one.time == two.time for one, two in zip(self._done[: kept.done], acts, strict=False))
                and all(act.time >= position.time for act in acts[kept.done : kept.done + 1])
            )
            if position.time <= now and on_path and (not self.replay_run.playable.stepwise or position.steps <= steps):
                break
            self._kept.pop()
        if not self._kept:
            self._restart()
            return
        event_tap = EventTap(self._on_event)
        self.replay_run = restore_run(kept.keyframe, self._own or (), event_tap)
        self.event_buffer = self.event_buffer.prefix(position.seq)
        self.observer = kept.observer.copy()
        self._done, self.refused = self._done[: kept.done], self.refused[: kept.refused]
        self._checked = min(self._checked, kept.checked)
        if self.parted is not None and self.parted.seq > position.seq:
            self.parted = None

    def advance_to(self, now: int, steps: int, acts: Sequence[PlayedAct], should_yield: ShouldYield = never_yield) -> bool:
        """Run up to a moment of the session. Return whether the run has reached this moment.

        Args:
            now: the virtual time of the session, in µs.
            steps: the number of steps of the session, which measures its progress in by-hand mode.
            acts: the acts of the session so far.
            should_yield: the function that returns whether the run must pause now.
        """
        if (
            self._own is None
            and (
                self.replay_run.cluster.now > now
                or (self.replay_run.playable.stepwise and self.replay_run.steps > steps)
                or self._other(acts)
            )
        ) or (self._own is not None and self.replay_run.cluster.now > now):
            self._go_back(now, steps, acts)
        self._keep()
        count = 0
        destination = now if self._end < 0 else min(now, self._end)
        while True:
            act = acts[len(self._done)] if self._own is None and len(self._done) < len(acts) else None
            if self.replay_run.playable.stepwise:
                if act is not None and act.steps <= self.replay_run.steps:
                    self._execute(act)
                    continue
                if self.replay_run.steps >= steps or not self.replay_run.step():
                    return True
            else:
                due = self.replay_run.next_due()
                upto = destination if act is None else min(destination, act.time)
                if due is not None and due <= upto:
                    self.replay_run.step()
                else:
                    self.replay_run.advance_to(upto)
                    if act is None or act.time > destination:
                        return True
                    self._execute(act)
                    continue
            count += 1
            if count % STEPS_PER_CHECK == 0 and should_yield():
                return False

    def _other(self, acts: Sequence[PlayedAct]) -> bool:
        """Return whether the acts of the session differ from the acts that were performed in this run."""
        done = len(self._done)
        return len(acts) < done or any(one.act != two.act or one.time != two.time for one, two in zip(self._done, acts, strict=False))

    def _execute(self, played: PlayedAct) -> None:
        try:
            self.replay_run.cluster.do(played.act if self._change is None else self._change(played.act))
        except (ActRefused, KafkaError, ValueError) as refusal:
            self.refused.append((played, str(refusal)))
        self._done.append(played)

    @property
    def now(self) -> int:
        """The virtual time of the run, in µs."""
        return self.replay_run.cluster.now

    def view(self) -> ClusterView:
        """Return a frozen view of the run's cluster."""
        return self.replay_run.cluster.view()

    def ended_before(self, now: int) -> int | None:
        """Return the virtual time at which the branch ends, in µs, if it is before `now`; None otherwise."""
        return self._end if 0 <= self._end < now else None

    def compare(self, event_buffer: EventBuffer, *, settled: bool = False) -> FirstDifference | None:
        """Find the first event that differs. Compare the events that both runs have reached and have in memory.

        Args:
            event_buffer: the events of the session.
            settled: whether both runs have handled everything up to the same moment. If `settled` is True, an event that only one run has
                is a difference.
        """
        if self.parted is not None:
            return self.parted
        mine, theirs = event_buffer.ring(DETAIL), self.event_buffer.ring(DETAIL)
        upto = min(mine.total, theirs.total)
        at = max(self._checked, mine.first, theirs.first)
        while at < upto:
            here, there = mine.at(at), theirs.at(at)
            at += 1
            if content_of(here) != content_of(there) and not (self._change is not None and is_same_act(here, there)):
                self.parted = FirstDifference(seq_of(here), here, there)
                break
        self._checked = at
        if self.parted is None and settled and mine.total != theirs.total and at >= max(mine.first, theirs.first):
            longer = mine if mine.total > at else theirs
            more = longer.at(at)
            return FirstDifference(seq_of(more), more if longer is mine else None, more if longer is theirs else None)
        return self.parted
