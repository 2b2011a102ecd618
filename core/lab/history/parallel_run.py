"""A second run alongside the session, for comparison. The second run performs the same acts under another release, or follows another
branch. The run has its own cluster, to which it applies the acts at the same virtual times. The second run is computed in slices, so that
it does not delay key presses. When the session goes back or starts a new branch, the second run restarts.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from core.kafka.errors import KafkaError
from core.kafka.events import DETAIL, EventTuple
from core.lab.history.event_buffer import EventBuffer
from core.lab.history.incremental_task import STEPS_PER_CHECK, ShouldYield, never_yield
from core.lab.history.playable import PlayableFactory
from core.lab.history.position import PlayedAct
from core.lab.history.replay_run import EventTap, ReplayRun
from core.lab.views.cluster_view import ClusterView
from core.sim.errors import ActRefused
from core.sim.events import content_of, seq_of


@attrs.frozen
class FirstDifference:
    """The first event that differs between the two runs. If a run has no further event, its event is None."""

    seq: int
    here: EventTuple | None
    there: EventTuple | None


class ParallelRun:
    """The second run.

    Attributes:
        words: the name of the run, for example `Kafka 3.6` or `branch 2`.
        refused: the acts that were refused in this run, each with the reason.
        parted: the first difference found so far; None if there is none.
    """

    def __init__(self, words: str, start: PlayableFactory, *, acts: Sequence[PlayedAct] | None = None, end: int = -1) -> None:
        """Create the run in its initial state.

        Args:
            words: the name of the run in user-facing text.
            start: the function that builds the `Playable` in its initial state.
            acts: the acts of a branch, each performed at its own step; None to follow the acts of the session.
            end: the virtual time of the end of a branch, in µs; -1 to run as far as the session.
        """
        self.words = words
        self._start = start
        self._own = None if acts is None else list(acts)
        self._end = end
        self._restart()

    def _restart(self) -> None:
        self.event_buffer = EventBuffer()
        event_tap = EventTap(self._on_event)
        self.replay_run = ReplayRun(self._start(event_tap), event_tap, self._own or ())
        self._done: list[PlayedAct] = []
        self.refused: list[tuple[PlayedAct, str]] = []
        self.parted: FirstDifference | None = None
        self._checked = 0

    def _on_event(self, event: EventTuple) -> None:
        self.event_buffer.append(event)

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
            self._restart()
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
            self.replay_run.cluster.do(played.act)
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
            if content_of(here) != content_of(there):
                self.parted = FirstDifference(seq_of(here), here, there)
                break
        self._checked = at
        if self.parted is None and settled and mine.total != theirs.total and at >= max(mine.first, theirs.first):
            longer = mine if mine.total > at else theirs
            more = longer.at(at)
            return FirstDifference(seq_of(more), more if longer is mine else None, more if longer is theirs else None)
        return self.parted
