"""Drives a cluster for somebody who watches it: pace, pause, single step, acts. Knows no widget.

Wall clock enters here and nowhere else: each frame hands over how much wall time has passed, and the session moves
virtual time on by that much times the speed, within a budget of CPU so that keys are never waited for. What the budget
did not allow is not made up for later; `reached` tells the speed that was really kept.

A scenario moves through its own `Run`, exactly as it does headless: the session only chooses how far to go at a time.

Every moment of the past can be gone back to: the session is repeated up to there (`tui.replay`). Going forward again
repeats what people did; acting there instead begins a new branch, and the old future stays under its name.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Final, Protocol

from core.acts import Act
from core.journal.events import NOTABLE, EventTuple
from core.units import SECOND
from core.view import ClusterView
from tui.branches import FIRST_NAME, Bookmark, Branch, Keeper
from tui.course import ClusterLike, Outlet, Position, Start, Tape
from tui.replay import Goal, Replay
from tui.ring import Rings, sentence

SPEEDS: Final = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
"""Virtual seconds per wall second that the speed keys go through."""

AS_FAST_AS_IT_CAN: Final = math.inf
"""The speed that uses up the whole budget of every frame."""

FRAME_BUDGET: Final = 0.012
"""Seconds of CPU the simulation may take of one frame."""

MAX_FRAME: Final = 0.25
"""A frame that comes later than this (the terminal was stopped, the machine slept) counts as this many seconds."""

SEEK_LIMIT: Final = 600 * SECOND
"""How much virtual time a step to the next event looks through before it gives up."""

_LOOK_AT_THE_CLOCK: Final = 32
"""Steps between two looks at the wall clock."""


class LogLike(Protocol):
    """What the session needs of `scenarios.eventlog.LogWriter`."""

    def __call__(self, event: EventTuple) -> None: ...
    def cut(self, seq: int) -> None: ...
    def close(self, now: int | None = None) -> None: ...


class Session:
    """A cluster being watched.

    Attributes:
        course: what moves the cluster.
        rings: the events still in memory.
        playing: whether virtual time goes on by itself.
        speed: virtual seconds per wall second, or `AS_FAST_AS_IT_CAN`.
        reached: the speed that was really kept lately, when the budget did not allow the wished one; else None.
        seeking: what a step is looking for while it takes several frames; else None.
        branch, branches: the course of events it is on, and all of them.
        bookmarks: moments somebody marked.
    """

    def __init__(self, start: Start, *, log: LogLike | None = None, budget: float = FRAME_BUDGET) -> None:
        """Start a session.

        Args:
            start: makes the course; is handed the sink that the cluster's journal must call.
            log: writes the event log.
            budget: seconds of CPU per frame.
        """
        self.rings = Rings()
        self.playing = True
        self.speed = 1.0
        self.reached: float | None = None
        self.seeking: str | None = None
        self._wanted: Callable[[int], bool] | None = None
        self._stop_at: Callable[[], bool] | None = None
        self._clock: int | None = None
        self._found = False
        self._seek_end = 0
        self._budget = budget
        self._log = log
        self._logged = 0
        self._held: list[EventTuple] | None = None
        self._debt = 0.0  # µs of virtual time below one that earlier frames left over
        self._kept = [0.0, 0.0]  # virtual and wall seconds of the last while
        self._start = start
        self.branch = Branch(FIRST_NAME)
        self.branches = [self.branch]
        self.bookmarks: list[Bookmark] = []
        self._lived = Position(0, 0, 0)
        self._replay: Replay | None = None
        self._arrived: Callable[[Replay], None] | None = None
        self.keeper = Keeper()
        outlet = Outlet(self._take)
        self.course = Tape(start(outlet), outlet)

    @property
    def cluster(self) -> ClusterLike:
        """The cluster as it is now."""
        return self.course.cluster

    def _take(self, event: EventTuple) -> None:
        level = self.rings.take(event)
        if self._held is not None:
            self._held.append(event)
        else:
            self._remember(event)
        if self._wanted is not None and not self._found and self._wanted(level):
            self._found = True

    def _remember(self, event: EventTuple) -> None:
        """What happens for the first time goes to the log and the timeline; going over it again writes nothing."""
        self.branch.take(event)
        if self._log is not None and event[0] > self._logged:
            self._logged = event[0]
            self._log(event)

    # --- pace --------------------------------------------------------------------------------------------------

    @property
    def moving(self) -> bool:
        """Whether frames change anything: it plays, or a step is still looking."""
        return self.playing or self.seeking is not None

    def play(self) -> None:
        """Let virtual time go on."""
        self._stop_seeking()
        self.playing = True
        self._kept = [0.0, 0.0]

    def pause(self) -> None:
        """Hold virtual time."""
        self._stop_seeking()
        self.playing = False
        self.reached = None

    def faster(self) -> float:
        """The next higher speed."""
        self.set_speed(next((speed for speed in SPEEDS if speed > self.speed), self.speed))
        return self.speed

    def slower(self) -> float:
        """The next lower speed."""
        self.set_speed(next((speed for speed in reversed(SPEEDS) if speed < self.speed), self.speed))
        return self.speed

    def set_speed(self, speed: float) -> None:
        """Take a speed from 0.1 to 1000, or `AS_FAST_AS_IT_CAN`."""
        self.speed = speed
        self.reached = None
        self._kept = [0.0, 0.0]

    # --- moving ------------------------------------------------------------------------------------------------

    def frame(self, wall: float) -> None:
        """Move on by one frame that lasted `wall` seconds; nothing when paused."""
        if self._replay is not None:
            self._go_on()
        elif self.seeking is not None:
            self._seek()
        elif self.playing:
            self._play(min(wall, MAX_FRAME))
        if self._replay is None:
            self.keeper.offer(self.course)

    def _play(self, wall: float) -> None:
        start = self.cluster.now
        planned = not self.course.finished
        if self.course.stepwise:
            self._play_steps(wall)
        elif self.speed == AS_FAST_AS_IT_CAN:
            self._advance(None)
        else:
            self._debt += wall * self.speed * SECOND
            whole = int(self._debt)
            self._debt -= whole
            self._advance(start + whole)
        self._measure((self.cluster.now - start) / SECOND, wall)
        if planned and self.course.finished:
            self.pause()

    def _play_steps(self, wall: float) -> None:
        """By hand a virtual second has no meaning: at speed 1 a step comes each second."""
        self._debt += wall * min(self.speed, 1 / max(wall, 1e-6)) * SECOND
        while self._debt >= SECOND and self.course.stepwise:
            self._debt -= SECOND
            self.course.step()

    def _advance(self, target: int | None) -> None:
        """Run to `target` (None: without end), or until the budget or the script ends."""
        course, cluster = self.course, self.cluster
        end = time.perf_counter() + self._budget
        count = 0
        planned = not course.finished
        while (due := course.next_due()) is not None and (target is None or due <= target):
            course.step()
            count += 1
            if planned and course.finished:
                return
            if count % _LOOK_AT_THE_CLOCK == 0 and time.perf_counter() > end:
                return
        if target is not None and target > cluster.now:
            course.advance_to(target)

    def _measure(self, virtual: float, wall: float) -> None:
        self._kept[0] += virtual
        self._kept[1] += wall
        if self._kept[1] >= 0.5:
            kept = self._kept[0] / self._kept[1]
            fast = self.speed == AS_FAST_AS_IT_CAN
            self.reached = kept if fast or kept < 0.9 * self.speed else None
            self._kept = [0.0, 0.0]

    def step(self) -> None:
        """Go on to the next event of any kind, and pause there."""
        self._look_for("the next event", lambda level: True)

    def step_to_notable(self) -> None:
        """Go on to the next election, ISR change, truncation, error or loss, and pause there."""
        self._look_for("the next notable event", lambda level: level >= NOTABLE)

    def _look_for(self, what: str, wanted: Callable[[int], bool]) -> None:
        self.pause()
        self.seeking, self._wanted, self._found = what, wanted, False
        self._seek_end = self.cluster.now + SEEK_LIMIT
        self._seek()

    def _seek(self) -> None:
        """Look on for as long as the budget allows; ends `seeking` when found or when there is nothing to find."""
        end = time.perf_counter() + self._budget
        count = 0
        stop = self._stop_at
        while not self._found:
            due = self.course.next_due()
            if due is None or due > self._seek_end:
                self.reached = None
                break
            self.course.step()
            count += 1
            if stop is not None and stop():
                self._found = True
            elif count % _LOOK_AT_THE_CLOCK == 0 and time.perf_counter() > end:
                return
        if self._clock is not None:
            self.course.move_clock(self._clock)
        self._stop_seeking()

    def _stop_seeking(self) -> None:
        """Look no further; a way into the past that has not arrived is given up, and nothing has changed."""
        self.seeking, self._wanted, self._found = None, None, False
        self._stop_at, self._clock, self._replay, self._arrived = None, None, None, None

    # --- the past ----------------------------------------------------------------------------------------------

    @property
    def end(self) -> Position:
        """How far the branch was lived."""
        here = self.course.position
        return here if here.place >= self._lived.place else self._lived

    @property
    def in_the_past(self) -> bool:
        """Whether there is a future that was lived already."""
        return self.course.position.place < self._lived.place

    def go_to(self, goal: Goal, branch: Branch | None = None, then: Callable[[Replay], None] | None = None) -> None:
        """Begin to go to a moment of this branch or of another; frames carry it on, `then` is called on arrival."""
        self.pause()
        self.mark_end()
        acts = self.course.acts if branch is None or branch is self.branch else branch.acts
        self.seeking = goal.what
        fresh: int | None = self.branch.seen
        if branch is not None and branch is not self.branch:
            fresh = None if self._log is None else self._parting(branch)
        self._replay = Replay(self._start, acts, goal, self.keeper, self.course, self.rings, fresh_after=fresh)
        self._arrived = lambda replay: self._take_over(replay, branch or self.branch, then)
        self._go_on()

    def back_to_when(self, what: str, holds: Callable[[ClusterLike], bool], then: Callable[[bool], None]) -> None:
        """Look through the past for the last moment at which something became true, and go there; `then` is told whether there is one."""
        self.pause()
        self.mark_end()
        self.seeking = what
        here = self.course.position
        goal = Goal(what, position=here)
        self._replay = Replay(self._start, self.course.acts, goal, self.keeper, self.course, self.rings, lambda tape: holds(tape.cluster))

        def arrived(replay: Replay) -> None:
            if replay.found is None:
                then(False)
            else:
                self.go_to(Goal(what, position=replay.found), then=lambda _: then(True))

        self._arrived = arrived
        self._go_on()

    @property
    def progress(self) -> float | None:
        """How much of the way back is done, 0 to 1; None when none is under way."""
        return None if self._replay is None else self._replay.progress

    def _go_on(self) -> None:
        replay, arrived = self._replay, self._arrived
        assert replay is not None
        if replay.work(2 * self._budget):
            self._replay = self._arrived = self.seeking = None
            if arrived is not None:
                arrived(replay)

    def mark_end(self) -> None:
        """Before one leaves it, the end of what was lived becomes a moment that a script can end at."""
        if not self.in_the_past:
            self.course.close_moment()
            self._lived = self.course.position
        self.branch.acts, self.branch.end = list(self.course.acts), self._lived

    def _take_over(self, replay: Replay, branch: Branch, then: Callable[[Replay], None] | None) -> None:
        if branch is not self.branch:
            self._cut_log(self._parting(branch))
            self.branch, self._lived = branch, branch.end
        self.course, self.rings = replay.tape, replay.rings
        self.course.outlet.to = self._take
        for event in replay.fresh:
            self._remember(event)
        if then is not None:
            then(replay)

    def _parting(self, branch: Branch) -> int:
        """The last event that another branch has in common with this one."""
        shared = self.branch.shared(branch)
        parting = [played.seq for played in (*self.branch.acts[shared : shared + 1], *branch.acts[shared : shared + 1])]
        return min(parting) - 1 if parting else self._logged

    def _cut_log(self, seq: int) -> None:
        if self._log is not None and seq < self._logged:
            self._log.cut(seq)
            self._logged = seq

    def go_to_branch(self, branch: Branch, then: Callable[[Replay], None] | None = None) -> None:
        """Go to the end of another branch."""
        self.go_to(Goal(f"branch {branch.name}", position=branch.end), branch, then)

    def go_to_end(self) -> None:
        """Go forward to where this branch has been lived up to."""
        lived = self._lived
        self._seek_until("the end of this branch", lambda: self.course.position.place[:2] >= lived.place[:2], lived.time)

    def go_forward(self, goal: Goal) -> None:
        """Go on to a moment to come: what was done already is done again, what was not happens for the first time."""
        tape = self.course
        clock = goal.position.time if goal.position is not None else goal.time if goal.time >= 0 else None
        self._seek_until(goal.what, lambda: goal.reached(tape), clock)

    def step_back(self, then: Callable[[Replay], None] | None = None) -> bool:
        """Go back to before the last event, or the last act, which is undone by that; False when nothing was before."""
        last = self.course.outlet.seq
        if last == 0:
            return False
        tape = self.course
        if tape.done and tape.acts[tape.done - 1].seq > tape.end_before(last):
            undone = tape.acts[tape.done - 1]
            self.go_to(Goal("the moment before the act", position=Position(undone.steps, tape.done - 1, undone.time)), then=then)
            return True
        self.go_to(Goal("the event before", seq=self.course.end_before(last)), then=then)
        return True

    def step_back_notable(self, then: Callable[[Replay], None] | None = None) -> bool:
        """Go back to the last notable event before the present one; False when there is none in memory."""
        before = self.course.end_before(self.course.outlet.seq)
        earlier = [mark.seq for mark in self.branch.marks if mark.seq <= before and self._is_notable(mark.seq)]
        if not earlier:
            return False
        self.go_to(Goal("the notable event before", seq=earlier[-1]), then=then)
        return True

    def _is_notable(self, seq: int) -> bool:
        ring = self.rings.of(NOTABLE)
        return ring.index_of(seq) is not None or (ring.total > ring.first and seq < ring.at(ring.first)[0])

    def bookmark(self, note: str) -> Bookmark:
        """Mark this moment."""
        mark = Bookmark(self.branch.name, self.course.position, note)
        self.bookmarks.append(mark)
        return mark

    def look_until(self, what: str, holds: Callable[[ClusterLike], bool]) -> None:
        """Go on until something becomes true, and pause there."""
        was, seen = [True], [-1]

        def became() -> bool:
            if seen[0] == self.course.outlet.seq:
                return False
            seen[0] = self.course.outlet.seq
            now = holds(self.cluster)
            rising, was[0] = now and not was[0], now
            return rising

        self._seek_until(what, became, None)

    def _seek_until(self, what: str, stop: Callable[[], bool], clock: int | None) -> None:
        self.pause()
        self.seeking, self._stop_at, self._found = what, stop, False
        self._seek_end = self.cluster.now + SEEK_LIMIT if clock is None else clock
        self._clock = clock
        if stop():
            self._found = True
        self._seek()

    # --- acting and looking ------------------------------------------------------------------------------------

    def do(self, act: Act) -> int:
        """Carry out an act now; returns the seq of its event. In the past it begins a new branch.

        Raises:
            ActRefused: impossible in the present state.
        """
        tape = self.course
        self._stop_seeking()
        tape.close_moment()
        if not self.in_the_past:
            return tape.do(act)
        if (again := tape.repeats(act)) is not None:
            return again
        self.branch.acts, self.branch.end = list(tape.acts), self._lived
        here = tape.position
        held: list[EventTuple] = []
        self._held = held
        try:
            seq = tape.do(act)
        finally:
            self._held = None
        self.branch = self.branch.fork(f"branch {len(self.branches) + 1}", here)
        self.branches.append(self.branch)
        self._lived = tape.position
        self._cut_log(here.seq)
        for event in held:
            self._remember(event)
        return seq

    def tell(self, seq: int) -> str:
        """The sentence of an event still in memory, empty when it is not."""
        event = self.rings.find(seq)
        return sentence(event) if event is not None else ""

    def view(self) -> ClusterView:
        """The frozen state."""
        return self.cluster.view()

    def close(self) -> None:
        """End the session; the event log, if there is one, gets its last line."""
        self._stop_seeking()
        self.mark_end()
        if self._log is not None:
            self._finish_log(self._log)

    def _finish_log(self, log: LogLike) -> None:
        """The log ends where the branch ends, also when one leaves in the past of it."""
        if self.in_the_past:
            lived = self._lived
            tape = self.course
            while (tape.steps, tape.done) < (lived.steps, lived.acts) and tape.step():
                pass
            tape.move_clock(lived.time)
        log.close(self._lived.time)
