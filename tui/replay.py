"""Goes to any moment of a branch: repeats the session from a kept cluster, or from the start, some steps at a time.

Until it has arrived the session stays where it was; so a long way can be shown and given up.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Final

import attrs

from core.kafka.events import EventTuple
from core.lab.cluster import Cluster
from core.sim.agenda import END
from core.sim.spelled_out import SpelledOut
from tui.branches import Keeper, Kept, bring_back
from tui.course import ClusterLike, Outlet, Played, Position, Start, Tape
from tui.ends import Ends
from tui.ring import Rings
from tui.watching import Watch

_LOOK_AT_THE_CLOCK: Final = 64
"""Steps between two looks at the wall clock."""

NEAR: Final = 1_000
"""Steps, or events, that are gone at once."""

OBJECTS_A_STEP: Final = 4
"""Objects that are made anew of a keyframe in the time of a step, or of an event."""


@attrs.frozen(repr=False)
class Known(SpelledOut):
    """The events of a branch that are still in memory, and how far they reach: its acts, the place of its last moment, where steps ended."""

    rings: Rings
    acts: Sequence[Played]
    place: tuple[int, int, int]
    ends: Ends | None = None


@attrs.frozen(repr=False)
class Goal(SpelledOut):
    """Where to go: the step that records an event, a position, or the end of a virtual time, µs. One of them is given."""

    what: str
    seq: int = -1
    position: Position | None = None
    time: int = -1

    def reached(self, tape: Tape) -> bool:
        """Whether no further step is needed."""
        if self.position is not None:
            return (tape.steps, tape.done) >= (self.position.steps, self.position.acts)
        if self.seq >= 0:
            return tape.outlet.seq >= self.seq
        due = tape.next_due()
        return due is None or due > self.time

    def is_known(self, known: Known) -> bool:
        """Whether the events up to there are among those that are known."""
        if self.position is not None:
            return self.position.place <= known.place
        if self.seq >= 0:
            return known.ends is not None and self.seq <= known.ends.last
        return self.time < known.place[2]

    def progress(self, tape: Tape) -> float:
        """How much of the way from the start is done, 0 to 1."""
        if self.position is not None:
            done, whole = tape.steps + tape.done, self.position.steps + self.position.acts
        elif self.seq >= 0:
            done, whole = tape.outlet.seq, self.seq
        else:
            done, whole = tape.cluster.now, self.time
        return min(1.0, done / whole) if whole > 0 else 1.0

    def nearest(self, keeper: Keeper, acts: Sequence[Played], known: Known) -> Kept | None:
        """The kept cluster to begin with: on the way, and one whose events are known."""
        for kept in reversed(keeper.kept):
            position = kept.position
            if self._not_past(position) and position.place <= known.place and kept.leads_to(acts) and kept.leads_to(known.acts):
                return kept
        return None

    def is_near(self, kept: Kept, keeper: Keeper, known: Known) -> bool:
        """Whether the way from a kept cluster is so short that it can be gone at once, or no longer than to make a new cluster takes."""
        near = max(NEAR, len(kept.course.keyframe) // OBJECTS_A_STEP)
        if self.position is not None:
            return self.position.steps - kept.position.steps <= near
        if self.seq >= 0:
            return self.seq - kept.position.seq <= near
        later = [known.place[0], *(one.position.steps for one in keeper.kept if one.position.time > self.time)]
        return min(later) - kept.position.steps <= near

    def _not_past(self, position: Position) -> bool:
        if self.position is not None:
            return position.place <= self.position.place
        return position.seq < self.seq if self.seq >= 0 else position.time <= self.time


class Replay:
    """On the way to a goal.

    Attributes:
        goal: where to.
        tape, rings: what the session gets when it has arrived.
        again: the events on the way are known: nobody has to be told of them again.
        on_the_spot: it moves the cluster that was at hand.
        found: with a `watch`, the last moment at which what it watches for came.
        fresh: events that the log does not have.
    """

    def __init__(
        self,
        start: Start,
        acts: Sequence[Played],
        goal: Goal,
        keeper: Keeper,
        known: Known,
        watch: Watch | None = None,
        fresh_after: int | None = None,
        at_hand: ClusterLike | None = None,
    ) -> None:
        """Make ready to go.

        Args:
            start: makes the course anew.
            acts: of the branch.
            goal: where to.
            keeper: has the kept clusters.
            known: the events that the session has.
            watch: is shown every event, and asked after every step that recorded some.
            fresh_after: the events after that one are collected in `fresh`; None: none are.
            at_hand: the cluster that may be moved itself, if the way is short: it then has to be gone to the end.
        """
        self.goal = goal
        self._keeper = keeper
        self._watch = watch
        self._watched = -1
        self.found: Position | None = None
        self.fresh: list[EventTuple] = []
        self._fresh_after = fresh_after
        outlet = Outlet(self._take)
        self.on_the_spot = False
        self.again = False
        kept = goal.nearest(keeper, acts, known) if watch is None else None
        if kept is None:
            self.rings = Rings()
            self.tape = Tape(start(outlet), outlet, acts)
        else:
            self._known = known
            self.again = list(acts) == list(known.acts) and goal.is_known(known) and known.rings.reach(kept.position.seq + 1)
            self.rings = known.rings if self.again else known.rings.upto(kept.position.seq)
            self.on_the_spot = isinstance(at_hand, Cluster) and goal.is_near(kept, keeper, known) and kept.course.keyframe.is_of(at_hand)
            self.tape = bring_back(kept, acts, outlet, at_hand if self.on_the_spot else None)

    def _take(self, event: EventTuple) -> None:
        if self.again:
            return
        self.rings.take(event)
        if self._watch is not None:
            self._watch.see(event)
        if self._fresh_after is not None and event[0] > self._fresh_after:
            self.fresh.append(event)

    @property
    def progress(self) -> float:
        """How much of the way is done, 0 to 1."""
        return self.goal.progress(self.tape)

    def work(self, seconds: float) -> bool:
        """Go on for so much wall time, on the spot to the end; True when it has arrived."""
        end = math.inf if self.on_the_spot else time.perf_counter() + seconds
        tape, goal = self.tape, self.goal
        if self.again:
            return self._work_again(end)
        count = 0
        while not goal.reached(tape):
            if self._watch is not None:
                self._look()
            if not tape.step():
                break
            count += 1
            if count % _LOOK_AT_THE_CLOCK == 0:
                self._keeper.offer(tape, seen=False)
                if time.perf_counter() > end:
                    return False
        self._arrive()
        return True

    def _work_again(self, end: float) -> bool:
        """Likewise where all events are known."""
        tape, goal, known = self.tape, self.goal, self._known
        ends = known.ends
        assert ends is not None
        last = END if goal.position is None else goal.position.steps
        seq, until = goal.seq if goal.seq >= 0 else END, goal.time if goal.time >= 0 else END
        look = tape.steps + _LOOK_AT_THE_CLOCK
        while not goal.reached(tape) and tape.go_again(min(look, last) - tape.steps, seq, until, ends):
            if tape.steps >= look:
                look = tape.steps + _LOOK_AT_THE_CLOCK
                self._keeper.offer(tape, seen=False)
                if time.perf_counter() > end:
                    return False
        self._arrive()
        self.rings = known.rings.upto(tape.outlet.seq)
        return True

    def _arrive(self) -> None:
        """The last step is gone: the clock goes on to the moment that was meant."""
        tape, goal = self.tape, self.goal
        if goal.position is not None:
            tape.move_clock(goal.position.time)
        elif goal.time >= 0:
            tape.move_clock(goal.time)

    def _look(self) -> None:
        assert self._watch is not None
        if self.tape.outlet.seq == self._watched:
            return
        self._watched = self.tape.outlet.seq
        if self._watch.became(self.tape.cluster):
            self.found = self.tape.position
