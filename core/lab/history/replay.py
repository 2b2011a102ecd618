"""Goes to any moment of a branch: repeats the session from a kept cluster, or from the start, some steps at a time.

Until it has arrived the session stays where it was; so a long way can be shown and given up.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.kafka.events import EventTuple
from core.lab.history.course import ClusterLike, Start
from core.lab.history.goal import Goal, Known
from core.lab.history.keeper import Keeper, bring_back
from core.lab.history.position import Played, Position
from core.lab.history.rings import Rings
from core.lab.history.tape import Outlet, Tape
from core.lab.history.watch import Watch
from core.lab.history.way import STEPS_AT_ONCE, Enough, never
from core.sim.agenda import END


class Replay:
    """On the way to a goal.

    Attributes:
        goal: where to.
        tape, rings: what the session gets when it has arrived.
        again: the events on the way are known: nobody has to be told of them again.
        on_the_spot: it moves the cluster that is shown.
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
        shown: ClusterLike | None = None,
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
            shown: the cluster that somebody sees. It is moved itself if the way is short, which then has to be gone to the end; clusters
                that it has taken the place of move there, however long it is. None: a new one does.
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
            is_shown = kept.course.keyframe.is_of(shown)
            self.on_the_spot = is_shown and goal.is_near(kept, keeper, known)
            self.tape = bring_back(kept, acts, outlet, in_place=self.on_the_spot or (shown is not None and not is_shown))

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

    def work(self, enough: Enough = never) -> bool:
        """Go on until it is enough, on the spot to the end; True when it has arrived."""
        tape, goal = self.tape, self.goal
        if self.again:
            return self._work_again(enough)
        count = 0
        while not goal.reached(tape):
            if self._watch is not None:
                self._look()
            if not tape.step():
                break
            count += 1
            if count % STEPS_AT_ONCE == 0 and not self.on_the_spot:
                self._keeper.offer(tape, seen=False)
                if enough():
                    return False
        self._arrive()
        return True

    def _work_again(self, enough: Enough) -> bool:
        """Likewise where all events are known."""
        tape, goal, known = self.tape, self.goal, self._known
        ends = known.ends
        assert ends is not None
        last = END if goal.position is None else goal.position.steps
        seq, until = goal.seq if goal.seq >= 0 else END, goal.time if goal.time >= 0 else END
        look = END if self.on_the_spot else tape.steps + STEPS_AT_ONCE
        while not goal.reached(tape) and tape.go_again(min(look, last) - tape.steps, seq, until, ends):
            if tape.steps >= look:
                look = tape.steps + STEPS_AT_ONCE
                self._keeper.offer(tape, seen=False)
                if enough():
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

    def give_up(self) -> bool:
        """Nothing has changed."""
        return False
