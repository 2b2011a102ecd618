"""A course whose steps are counted, and whose recorded acts are done again.

Given the acts of a session, a `Tape` does each at the very step at which it was done, and so repeats that session byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from core.kafka.events import EventTuple
from core.lab.acts import Act
from core.lab.cluster import Cluster
from core.lab.history.course import Course, FreeCourse
from core.lab.history.position import Played, Position
from core.lab.history.step_ends import StepEnds
from core.sim.journal import nobody


class Outlet:
    """Where a cluster's events leave it; `seq` is the last one's, `acts` counts those that record an act, `to` takes them."""

    __slots__ = ("acts", "seq", "to")

    def __init__(self, to: Callable[[EventTuple], None]) -> None:
        self.seq = 0
        self.acts = 0
        self.to = to

    def __call__(self, event: EventTuple) -> None:
        self.seq = event[0]
        if event[3] == "act":
            self.acts += 1
        self.to(event)


class Tape:
    """A course that counts its steps, and does recorded acts at the step at which they were done.

    Attributes:
        course, cluster, outlet: what it moves, and where the events go.
        acts: of the branch, those still to come included.
        steps, done: steps and acts so far.
        ends: seq of the last event of every step or act that recorded any.
    """

    def __init__(self, course: Course, outlet: Outlet, acts: Sequence[Played] = ()) -> None:
        self.course = course
        self.cluster = course.cluster
        self.outlet = outlet
        self.acts = list(acts)
        self.steps = 0
        self.done = 0
        self.ends = StepEnds(outlet.seq)
        self._acted = (0, 0)  # virtual time and steps at the last act, the script's included

    @property
    def position(self) -> Position:
        """Where it stands."""
        return Position(self.steps, self.done, self.cluster.now, self.outlet.seq)

    @property
    def stepwise(self) -> bool:
        """Whether it goes by steps that take no virtual time."""
        return self.course.stepwise

    @property
    def finished(self) -> bool:
        """Whether what was planned has come to its end."""
        return self.course.finished

    def _coming(self) -> Played | None:
        """The recorded act that is next, before any further step."""
        if self.done < len(self.acts) and self.acts[self.done].steps <= self.steps:
            return self.acts[self.done]
        return None

    @property
    def by_hand(self) -> bool:
        """Whether a cluster that ran by itself was turned to by hand."""
        return isinstance(self.cluster, Cluster) and self.cluster.switched_to_by_hand

    @property
    def stands(self) -> bool:
        """Whether nothing goes on by itself: it is by hand, and neither a recorded act nor a script's step is to come."""
        return self.by_hand and self._coming() is None and (self.course.finished or isinstance(self.course, FreeCourse))

    def next_due(self) -> int | None:
        """Virtual time of the next thing that happens, a recorded act included."""
        coming = self._coming()
        return self.course.next_due() if coming is None else max(coming.time, self.cluster.now)

    def step(self) -> bool:
        """Let the next single thing happen; False when there is none."""
        coming = self._coming()
        if coming is not None:
            self.move_clock(coming.time)
            self._carry_out(coming.act)
            return True
        before, acts = self.outlet.seq, self.outlet.acts
        if not self.course.step():
            return False
        self.steps += 1
        if self.outlet.seq != before:
            self.ends.append(self.outlet.seq)
            if self.outlet.acts != acts:
                self._acted = (self.cluster.now, self.steps)
        return True

    def go_again(self, steps: int, seq: int, time_us: int, known: StepEnds) -> bool:
        """Go as many steps that were gone before; fewer to where the event `seq` is recorded, or none is due up to a time.

        A free course tells of no event meanwhile. `known`: where steps ended, up to there at least. False when nothing happened.
        """
        cluster, course = self.cluster, self.course
        if self.done < len(self.acts):
            steps = min(steps, self.acts[self.done].steps - self.steps)
        if steps <= 0 or not isinstance(course, FreeCourse) or not isinstance(cluster, Cluster):
            return self.step()
        journal = cluster.journal
        journal.sink, sink = nobody, journal.sink
        try:
            done = cluster.run_steps(steps, seq, time_us)
        finally:
            journal.sink = sink
        self.steps += done
        self.outlet.seq = journal.seq
        self.ends = known.upto(journal.seq)
        return done > 0

    def advance_to(self, time_us: int) -> None:
        """Let everything happen that is due up to and including that time."""
        while (due := self.next_due()) is not None and due <= time_us:
            if not self.step():
                break
        self.move_clock(time_us)

    def move_clock(self, time_us: int) -> None:
        """Let the clock go on to a time; no further than to where something is due, or a recorded act comes, so that neither is passed."""
        coming = self._coming()
        if coming is not None:
            time_us = min(time_us, coming.time)
        due = self.course.next_due()
        if time_us > self.cluster.now and (due is None or due > time_us):
            self.course.advance_to(time_us)

    def close_moment(self) -> None:
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
        while self._coming() is None and (due := self.course.next_due()) is not None and due <= target:
            if not self.step():
                break
        if self._coming() is None:
            self.move_clock(target)

    def do(self, act: Act, *, joined: bool = False) -> int:
        """Do an act now and record it; what was recorded to come is dropped. Returns the seq of its event.

        `joined`: it belongs to the act before it.

        Raises:
            ActRefused: impossible in the present state; nothing is recorded.
        """
        steps, time = self.steps, self.cluster.now
        kept = self.acts
        self.acts = kept[: self.done]
        try:
            seq = self._carry_out(act)
        except BaseException:
            self.acts = kept
            raise
        self.acts.append(Played(steps, time, seq, act, joined))
        return seq

    def repeats(self, act: Act) -> int | None:
        """When the recorded act that comes now is this very one, do it as recorded: its seq, else None."""
        coming = self._coming()
        if coming is None or coming.time != self.cluster.now or coming.act != act:
            return None
        self.step()
        return coming.seq

    def _carry_out(self, act: Act) -> int:
        seq = self.cluster.do(act)
        self.done += 1
        self.course.after_act()
        self._acted = (self.cluster.now, self.steps)
        if self.outlet.seq:
            self.ends.append(self.outlet.seq)
        return seq

    def resume(self, position: Position, ends: StepEnds, acted: tuple[int, int]) -> None:
        """Stand where a kept cluster was put aside."""
        self.steps, self.done, self.outlet.seq = position.steps, position.acts, position.seq
        self.ends, self._acted = ends, acted

    @property
    def acted(self) -> tuple[int, int]:
        """Virtual time and steps at the last act."""
        return self._acted

    def end_before(self, seq: int) -> int:
        """The last event of what happened just before the step that recorded that event; 0 when nothing did."""
        return self.ends.before(seq)
