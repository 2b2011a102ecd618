"""A run that counts its steps and repeats recorded acts.

Given the acts of a session, a `ReplayRun` performs each act at the step at which it was first performed. As a result, the run produces the
events of the session byte for byte.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import Final

from core.kafka.events import EventTuple
from core.lab.acts import Act
from core.lab.cluster import Cluster
from core.lab.history.incremental_task import STEPS_PER_CHECK, ShouldYield, never_yield
from core.lab.history.playable import Playable, PlayableCluster, PlayableFactory
from core.lab.history.position import PlayedAct, Position
from core.sim.events import kind_of, seq_of
from core.sim.journal import null_sink


class EventTap:
    """The sink of a cluster's journal. The sink counts events and passes them on.

    Attributes:
        seq: the sequence number of the last event; 0 before the first event.
        act_count: the number of `act` events so far.
        sink: the function that receives each event.
    """

    __slots__ = ("act_count", "seq", "sink")

    def __init__(self, sink: Callable[[EventTuple], None]) -> None:
        self.seq = 0
        self.act_count = 0
        self.sink = sink

    def __call__(self, event: EventTuple) -> None:
        self.seq = seq_of(event)
        if kind_of(event) == "act":
            self.act_count += 1
        self.sink(event)


STEPS_KEPT: Final = 65_536
"""The number of steps that a step index keeps at least. They cover all events in memory (`core.lab.history.event_buffer.RING_SIZES`)."""


class StepIndex:
    """An index of the last sequence number of the last steps or acts that recorded events, in order.

    All runs of a branch share one list of sequence numbers. Each index uses only the part of the list up to its own position. A day of a busy
    cluster has tens of millions of steps, so the index drops old ones.
    """

    __slots__ = ("_all", "_complete", "_count")

    def __init__(self, seq: int = 0) -> None:
        """Create a step index that is empty or has one entry.

        `seq` is the sequence number of the last event before the first step; 0 if there is none.
        """
        self._all = array("q", [seq] if seq else [])
        self._count = len(self._all)
        self._complete = True

    def __len__(self) -> int:
        return self._count

    def append(self, seq: int) -> None:
        """Add a step that ended at the given event. Other indexes that share the list do not change, even if they see more of its entries."""
        shared, count = self._all, self._count
        if count == len(shared):
            shared.append(seq)
        elif shared[count] != seq:
            self._all = shared[:count]
            self._all.append(seq)
        self._count = count + 1
        if count == 2 * STEPS_KEPT:
            self._all, self._count, self._complete = self._all[count + 1 - STEPS_KEPT : count + 1], STEPS_KEPT, False

    def prefix(self, count: int) -> StepIndex:
        """Return an index that contains only the first `count` entries of this index."""
        other = StepIndex()
        other._all, other._count, other._complete = self._all, count, self._complete
        return other

    def tail(self) -> StepIndex:
        """Return an index of the last two steps, which does not share the list of this index. It knows how the last step began."""
        other = StepIndex()
        other._all = self._all[max(0, self._count - 2) : self._count]
        other._count, other._complete = len(other._all), self._complete and self._count <= 2
        return other

    def reaches_back_to(self, seq: int) -> bool:
        """Return whether the index has all steps since the one that recorded event `seq`, and the one before it."""
        return self._complete or (self._count > 0 and self._all[0] < seq)

    def prefix_to(self, seq: int) -> StepIndex:
        """Return an index that contains only the steps that ended at or before the given event."""
        return self.prefix(bisect_right(self._all, seq, 0, self._count))

    def seq_before_step_of(self, seq: int) -> int:
        """Return the sequence number of the last event before the step that recorded event `seq`; 0 if there is none.

        The index must reach back to the event, as it does for the last event.
        """
        index = bisect_left(self._all, seq, 0, self._count)
        return self._all[index - 1] if index > 0 else 0

    @property
    def last(self) -> int:
        """The last sequence number; 0 if there is none."""
        return self._all[self._count - 1] if self._count else 0


class ReplayRun:
    """A run that counts the steps of a `Playable` and repeats each recorded act at the step at which the act was first performed.

    Attributes:
        playable: the `Playable` that executes the steps.
        cluster: the cluster of `playable`.
        event_tap: the receiver of the events.
        acts: all acts that were performed in the branch, including those that the run has not repeated yet.
        steps: the number of steps that have been executed so far.
        acts_done: the number of acts that have been performed so far.
        step_index: the sequence number of the last event of each step or act.
    """

    def __init__(self, playable: Playable, event_tap: EventTap, acts: Sequence[PlayedAct] = ()) -> None:
        self.playable = playable
        self.cluster = playable.cluster
        self.event_tap = event_tap
        self.acts = list(acts)
        self.steps = 0
        self.acts_done = 0
        self.step_index = StepIndex(event_tap.seq)
        self._acted = (0, 0)  # virtual time and steps at the last act, including acts of the script

    @property
    def position(self) -> Position:
        """The current position of the run."""
        return Position(self.steps, self.acts_done, self.cluster.now, self.event_tap.seq)

    def _next_recorded_act(self) -> PlayedAct | None:
        """Return the recorded act that is due before the next step; None if there is none."""
        if self.acts_done < len(self.acts) and self.acts[self.acts_done].steps <= self.steps:
            return self.acts[self.acts_done]
        return None

    @property
    def by_hand(self) -> bool:
        """Whether a cluster that ran automatically has been switched to by-hand mode."""
        return isinstance(self.cluster, Cluster) and self.cluster.switched_to_by_hand

    @property
    def is_idle(self) -> bool:
        """Whether virtual time does not advance, because the cluster is in by-hand mode, and neither a recorded act nor a step of a script
        is due.
        """
        return self.by_hand and self._next_recorded_act() is None and (self.playable.finished or isinstance(self.playable, PlayableCluster))

    def next_due(self) -> int | None:
        """Return the virtual time of the next step or recorded act, in µs; None if nothing is scheduled."""
        coming = self._next_recorded_act()
        return self.playable.next_due() if coming is None else max(coming.time, self.cluster.now)

    def step(self) -> bool:
        """If a recorded act is due before the next step, execute the act; otherwise, execute the next step. Return False if there is
        neither."""
        coming = self._next_recorded_act()
        if coming is not None:
            self.move_clock(coming.time)
            self._execute(coming.act)
            return True
        before, acts = self.event_tap.seq, self.event_tap.act_count
        if not self.playable.step():
            return False
        self.steps += 1
        if self.event_tap.seq != before:
            self.step_index.append(self.event_tap.seq)
            if self.event_tap.act_count != acts:
                self._acted = (self.cluster.now, self.steps)
        return True

    def repeat_steps(self, steps: int, seq: int, time_us: int, known: StepIndex) -> bool:
        """Repeat up to `steps` steps whose events are known, without sending the events again. If the run follows a plan, such as a
        scenario, execute a single step instead.

        Args:
            steps: the maximum number of steps to repeat.
            seq: the event at whose step the run stops.
            time_us: the virtual time after which no step is taken, in µs.
            known: the step index from the first execution of the branch, which must cover at least the steps to repeat.

        Returns:
            Whether anything was executed.
        """
        cluster, playable = self.cluster, self.playable
        if self.acts_done < len(self.acts):
            steps = min(steps, self.acts[self.acts_done].steps - self.steps)
        if steps <= 0 or not isinstance(playable, PlayableCluster) or not isinstance(cluster, Cluster):
            return self.step()
        journal = cluster.journal
        journal.sink, sink = null_sink, journal.sink
        try:
            done = cluster.run_steps(steps, seq, time_us)
        finally:
            journal.sink = sink
        self.steps += done
        self.event_tap.seq = journal.seq
        self.step_index = known.prefix_to(journal.seq)
        return done > 0

    def advance_to(self, time_us: int) -> None:
        """Execute everything that is due up to and including a given virtual time, in µs."""
        while (due := self.next_due()) is not None and due <= time_us:
            if not self.step():
                break
        self.move_clock(time_us)

    def move_clock(self, time_us: int) -> None:
        """Move the clock to a virtual time, in µs. The clock stops before the next due event or recorded act."""
        coming = self._next_recorded_act()
        if coming is not None:
            time_us = min(time_us, coming.time)
        due = self.playable.next_due()
        if time_us > self.cluster.now and (due is None or due > time_us):
            self.playable.advance_to(time_us)

    def finish_present_moment(self) -> None:
        """Execute everything else that is due at the current time, so that a script can act at this moment.

        A script performs an act only after everything that is due up to the time of the act has happened. Immediately after an act, another
        act can follow at the same virtual time. If steps have been executed since the last act, the script performs the next act 1 µs
        later. Everything that this method executes counts as steps even if the act is then refused.
        """
        if self.playable.stepwise:
            return
        target = self.cluster.now
        if self._acted[0] == target and self._acted[1] != self.steps:
            target += 1
        while self._next_recorded_act() is None and (due := self.playable.next_due()) is not None and due <= target:
            if not self.step():
                break
        if self._next_recorded_act() is None:
            self.move_clock(target)

    def do(self, act: Act, *, joined: bool = False) -> int:
        """Perform an act now, and record it. Discard the recorded acts that were still to come. Return the sequence number of the act's
        event.

        Args:
            act: the act to perform.
            joined: whether the act belongs to the same group as the previous act.

        Raises:
            ActRefused: the current state does not allow the act. A refused act is not recorded.
        """
        steps, time = self.steps, self.cluster.now
        kept = self.acts
        self.acts = kept[: self.acts_done]
        try:
            seq = self._execute(act)
        except BaseException:
            self.acts = kept
            raise
        self.acts.append(PlayedAct(steps, time, seq, act, joined))
        return seq

    def repeat_if_next(self, act: Act) -> int | None:
        """Repeat the next recorded act if it equals `act` and is due now. Return the sequence number of the act's event; None if the act is
        not repeated.
        """
        coming = self._next_recorded_act()
        if coming is None or coming.time != self.cluster.now or coming.act != act:
            return None
        self.step()
        return coming.seq

    def _execute(self, act: Act) -> int:
        seq = self.cluster.do(act)
        self.acts_done += 1
        self.playable.after_act()
        self._acted = (self.cluster.now, self.steps)
        if self.event_tap.seq:
            self.step_index.append(self.event_tap.seq)
        return seq

    def restore_position(self, position: Position, step_index: StepIndex, acted: tuple[int, int]) -> None:
        """Set the position of the run to the position of a restored keyframe."""
        self.steps, self.acts_done, self.event_tap.seq = position.steps, position.acts, position.seq
        self.step_index, self._acted = step_index, acted

    @property
    def acted(self) -> tuple[int, int]:
        """The virtual time, in µs, and the number of steps at the last act."""
        return self._acted


class BranchReplay:
    """A task that repeats a branch from its start to a position.

    Attributes:
        end: the position at which the task ends.
        replay_run: the run that repeats the branch.
    """

    def __init__(self, start: PlayableFactory, acts: Sequence[PlayedAct], end: Position, sink: Callable[[EventTuple], None]) -> None:
        """Build the `Playable` in its initial state.

        Args:
            start: the function that builds the `Playable`.
            acts: the acts that were performed in the branch.
            end: the position at which the replay ends.
            sink: the function that receives the events.
        """
        self.end = end
        event_tap = EventTap(sink)
        self.replay_run = ReplayRun(start(event_tap), event_tap, acts)

    @property
    def progress(self) -> float:
        """The completed share of the replay, from 0 to 1."""
        whole = self.end.steps + self.end.acts
        return min(1.0, (self.replay_run.steps + self.replay_run.acts_done) / whole) if whole else 1.0

    def advance(self, should_yield: ShouldYield = never_yield) -> bool:
        """Run until `should_yield` returns True. Return whether the run has reached the end."""
        replay_run, end = self.replay_run, (self.end.steps, self.end.acts)
        count = 0
        while (replay_run.steps, replay_run.acts_done) < end and replay_run.step():
            count += 1
            if count % STEPS_PER_CHECK == 0 and should_yield():
                return False
        self.arrived()
        return True

    def arrived(self) -> None:
        """Complete the task at the end of the replay."""

    def cancel(self) -> bool:
        """Cancel the replay. A replay makes no changes that must be undone."""
        return False
