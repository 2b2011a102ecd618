"""How a session goes forward: pace, pause, single steps, looking on until something is so.

Wall clock enters here and nowhere else: each frame hands over how much wall time has passed, and virtual time moves on
by that much times the speed, within a budget of CPU so that keys are never waited for. What the budget did not allow is
not made up for later; `reached` tells the speed that was really kept.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Final

from core.kafka.events import NOTABLE
from core.lab.cluster import Cluster
from core.sim.units import SECOND, format_clock
from tui.course import ClusterLike, Tape
from tui.replay import Goal
from tui.watching import Watch

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


class Motion:
    """What moves a tape on by wall time.

    Attributes:
        course: what moves the cluster.
        playing: whether virtual time goes on by itself.
        speed: virtual seconds per wall second, or `AS_FAST_AS_IT_CAN`.
        reached: the speed that was really kept lately, when the budget did not allow the wished one; else None.
        seeking: what a step is looking for while it takes several frames; else None.
        limit: virtual µs that it does not go past; None: it goes on for ever.
        notices: what went otherwise than was wished, until somebody has told it.
    """

    course: Tape

    def __init__(self, budget: float) -> None:
        """Begin to play at speed 1, with so many seconds of CPU per frame."""
        self.playing = True
        self.speed = 1.0
        self.reached: float | None = None
        self.seeking: str | None = None
        self.limit: int | None = None
        self.notices: list[str] = []
        self._wanted: Callable[[int], bool] | None = None
        self._stop_at: Callable[[], bool] | None = None
        self._watch: Watch | None = None
        self._clock: int | None = None
        self._found = False
        self._seek_end = 0
        self._budget = budget
        self._debt = 0.0  # µs of virtual time below one that earlier frames left over
        self._kept = [0.0, 0.0]  # virtual and wall seconds of the last while

    @property
    def cluster(self) -> ClusterLike:
        """The cluster as it is now."""
        return self.course.cluster

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

    def _play(self, wall: float) -> None:
        start = self.cluster.now
        planned = not self.course.finished
        if self.course.stands:
            self.pause()
            return
        if self.course.stepwise:
            self._play_steps(wall)
            self._kept, self.reached = [0.0, 0.0], None
        elif self.speed == AS_FAST_AS_IT_CAN:
            self._advance(None)
        else:
            self._debt += wall * self.speed * SECOND
            whole = int(self._debt)
            self._debt -= whole
            self._advance(start + whole)
        if not self.course.stepwise:
            self._measure((self.cluster.now - start) / SECOND, wall)
        if (planned and self.course.finished) or (self.limit is not None and self.cluster.now >= self.limit):
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
        network = cluster.network if isinstance(cluster, Cluster) else None
        if self.limit is not None:
            target = self.limit if target is None else min(target, self.limit)
        while (due := course.next_due()) is not None and (target is None or due <= target):
            course.step()
            count += 1
            if (planned and course.finished) or (network is not None and network.at_once and course.stands):
                return
            if count % _LOOK_AT_THE_CLOCK == 0:
                self._on_the_way()
                if time.perf_counter() > end:
                    return
        if target is not None and target > cluster.now:
            course.advance_to(target)

    def _on_the_way(self) -> None:
        """Every so many steps: a session keeps where it comes by."""

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

    def go_forward(self, goal: Goal) -> None:
        """Go on to a moment to come: what was done already is done again, what was not happens for the first time."""
        tape = self.course
        clock = goal.position.time if goal.position is not None else goal.time if goal.time >= 0 else None
        self._seek_until(goal.what, lambda: goal.reached(tape), clock)

    def look_until(self, what: str, watch: Watch) -> None:
        """Go on until what is watched for comes, and pause there."""
        seen = [-1]

        def became() -> bool:
            if seen[0] == self.course.outlet.seq:
                return False
            seen[0] = self.course.outlet.seq
            return watch.became(self.cluster)

        self._seek_until(what, became, None, watch)

    def _look_for(self, what: str, wanted: Callable[[int], bool]) -> None:
        self.pause()
        self.seeking, self._wanted, self._found = what, wanted, False
        self._seek_end = self.cluster.now + SEEK_LIMIT
        self._seek()

    def _seek_until(self, what: str, stop: Callable[[], bool], clock: int | None, watch: Watch | None = None) -> None:
        self.pause()
        self.seeking, self._stop_at, self._watch, self._found = what, stop, watch, False
        self._seek_end = self.cluster.now + SEEK_LIMIT if clock is None else clock
        self._clock = clock
        if stop():
            self._found = True
        self._seek()

    def _seek(self) -> None:
        """Look on for as long as the budget allows; ends `seeking` when found or when there is nothing to find."""
        end = time.perf_counter() + self._budget
        count = 0
        stop = self._stop_at
        while not self._found:
            due = self.course.next_due()
            if due is None or due > self._seek_end or (self.limit is not None and due > self.limit):
                self.reached = None
                if self._clock is None:
                    self.notices.append(f"{self.seeking}: nothing of the kind up to {format_clock(self.cluster.now)}")
                break
            self.course.step()
            count += 1
            if stop is not None and stop():
                self._found = True
            elif count % _LOOK_AT_THE_CLOCK == 0:
                self._on_the_way()
                if time.perf_counter() > end:
                    return
        if self._clock is not None:
            self.course.move_clock(self._clock if self.limit is None else min(self._clock, self.limit))
        self._stop_seeking()

    def _stop_seeking(self) -> None:
        """Look no further."""
        self.seeking, self._wanted, self._found = None, None, False
        self._stop_at, self._clock, self._watch = None, None, None
