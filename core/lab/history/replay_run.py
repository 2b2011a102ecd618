"""A playable whose steps are counted, and whose recorded acts are done again.

Given the acts of a session, a `ReplayRun` does each at the very step at which it was done, and so repeats that session byte for byte.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence

from core.kafka.events import EventTuple
from core.lab.acts import Act
from core.lab.cluster import Cluster
from core.lab.history.playable import Playable, PlayableCluster
from core.lab.history.position import PlayedAct, Position
from core.sim.journal import nobody


class EventTap:
    """Where a cluster's events leave it; `seq` is the last one's, `acts` counts those that record an act, `to` takes them."""

    __slots__ = ("act_count", "seq", "sink")

    def __init__(self, sink: Callable[[EventTuple], None]) -> None:
        self.seq = 0
        self.act_count = 0
        self.sink = sink

    def __call__(self, event: EventTuple) -> None:
        self.seq = event[0]
        if event[3] == "act":
            self.act_count += 1
        self.sink(event)


class StepIndex:
    """The seq of the last event of every step or act that recorded any, up to a moment."""

    __slots__ = ("_all", "_count")

    def __init__(self, seq: int = 0) -> None:
        """Begin; with the last event that was recorded before the first step, if there was any."""
        self._all = array("q", [seq] if seq else [])
        self._count = len(self._all)

    def __len__(self) -> int:
        return self._count

    def append(self, seq: int) -> None:
        """One more step ended there. Others that stand further on are not concerned, even if it ended elsewhere for them."""
        shared, count = self._all, self._count
        if count == len(shared):
            shared.append(seq)
        elif shared[count] != seq:
            self._all = shared[:count]
            self._all.append(seq)
        self._count = count + 1

    def prefix(self, count: int) -> StepIndex:
        """Those of so many steps."""
        other = StepIndex()
        other._all, other._count = self._all, count
        return other

    def prefix_to(self, seq: int) -> StepIndex:
        """Those up to an event."""
        return self.prefix(bisect_right(self._all, seq, 0, self._count))

    def seq_before_step_of(self, seq: int) -> int:
        """The last event of what happened just before the step that recorded that event; 0 when nothing did."""
        index = bisect_left(self._all, seq, 0, self._count)
        return self._all[index - 1] if index > 0 else 0

    @property
    def last(self) -> int:
        """The last event; 0 when there is none."""
        return self._all[self._count - 1] if self._count else 0


class ReplayRun:
    """A playable that counts its steps, and does recorded acts at the step at which they were done.

    Attributes:
        playable, cluster, event_tap: what it moves, and where the events go.
        acts: of the branch, those still to come included.
        steps, done: steps and acts so far.
        ends: seq of the last event of every step or act that recorded any.
    """

    def __init__(self, playable: Playable, event_tap: EventTap, acts: Sequence[PlayedAct] = ()) -> None:
        self.playable = playable
        self.cluster = playable.cluster
        self.event_tap = event_tap
        self.acts = list(acts)
        self.steps = 0
        self.acts_done = 0
        self.step_index = StepIndex(event_tap.seq)
        self._acted = (0, 0)  # virtual time and steps at the last act, the script's included

    @property
    def position(self) -> Position:
        """Where it stands."""
        return Position(self.steps, self.acts_done, self.cluster.now, self.event_tap.seq)

    @property
    def stepwise(self) -> bool:
        """Whether it goes by steps that take no virtual time."""
        return self.playable.stepwise

    @property
    def finished(self) -> bool:
        """Whether what was planned has come to its end."""
        return self.playable.finished

    def _next_recorded_act(self) -> PlayedAct | None:
        """The recorded act that is next, before any further step."""
        if self.acts_done < len(self.acts) and self.acts[self.acts_done].steps <= self.steps:
            return self.acts[self.acts_done]
        return None

    @property
    def by_hand(self) -> bool:
        """Whether a cluster that ran by itself was turned to by hand."""
        return isinstance(self.cluster, Cluster) and self.cluster.switched_to_by_hand

    @property
    def is_idle(self) -> bool:
        """Whether nothing goes on by itself: it is by hand, and neither a recorded act nor a script's step is to come."""
        return self.by_hand and self._next_recorded_act() is None and (self.playable.finished or isinstance(self.playable, PlayableCluster))

    def next_due(self) -> int | None:
        """Virtual time of the next thing that happens, a recorded act included."""
        coming = self._next_recorded_act()
        return self.playable.next_due() if coming is None else max(coming.time, self.cluster.now)

    def step(self) -> bool:
        """Let the next single thing happen; False when there is none."""
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
        """Go as many steps that were gone before; fewer to where the event `seq` is recorded, or none is due up to a time.

        A free playable tells of no event meanwhile. `known`: where steps ended, up to there at least. False when nothing happened.
        """
        cluster, playable = self.cluster, self.playable
        if self.acts_done < len(self.acts):
            steps = min(steps, self.acts[self.acts_done].steps - self.steps)
        if steps <= 0 or not isinstance(playable, PlayableCluster) or not isinstance(cluster, Cluster):
            return self.step()
        journal = cluster.journal
        journal.sink, sink = nobody, journal.sink
        try:
            done = cluster.run_steps(steps, seq, time_us)
        finally:
            journal.sink = sink
        self.steps += done
        self.event_tap.seq = journal.seq
        self.step_index = known.prefix_to(journal.seq)
        return done > 0

    def advance_to(self, time_us: int) -> None:
        """Let everything happen that is due up to and including that time."""
        while (due := self.next_due()) is not None and due <= time_us:
            if not self.step():
                break
        self.move_clock(time_us)

    def move_clock(self, time_us: int) -> None:
        """Let the clock go on to a time; no further than to where something is due, or a recorded act comes, so that neither is passed."""
        coming = self._next_recorded_act()
        if coming is not None:
            time_us = min(time_us, coming.time)
        due = self.playable.next_due()
        if time_us > self.cluster.now and (due is None or due > time_us):
            self.playable.advance_to(time_us)

    def finish_present_moment(self) -> None:
        """Make the present moment one at which a script can act: acts come when everything else due by then is done.

        Right after an act another may follow at once; when something happened since, at the same time, it comes 1 µs later.
        """
        if self.stepwise:
            return
        target = self.cluster.now
        if self._acted[0] == target:
            if self._acted[1] == self.steps:
                return
            target += 1
        while self._next_recorded_act() is None and (due := self.playable.next_due()) is not None and due <= target:
            if not self.step():
                break
        if self._next_recorded_act() is None:
            self.move_clock(target)

    def do(self, act: Act, *, joined: bool = False) -> int:
        """Do an act now and record it; what was recorded to come is dropped. Returns the seq of its event.

        `joined`: it belongs to the act before it.

        Raises:
            ActRefused: impossible in the present state; nothing is recorded.
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
        """When the recorded act that comes now is this very one, do it as recorded: its seq, else None."""
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
        """Stand where a kept cluster was put aside."""
        self.steps, self.acts_done, self.event_tap.seq = position.steps, position.acts, position.seq
        self.step_index, self._acted = step_index, acted

    @property
    def acted(self) -> tuple[int, int]:
        """Virtual time and steps at the last act."""
        return self._acted

    def seq_before_step_of(self, seq: int) -> int:
        """The last event of what happened just before the step that recorded that event; 0 when nothing did."""
        return self.step_index.seq_before_step_of(seq)
