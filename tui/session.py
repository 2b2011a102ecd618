"""Drives a cluster for somebody who watches it: pace, pause, single step, acts. Knows no widget.

Wall clock enters here and nowhere else: each frame hands over how much wall time has passed, and the session moves
virtual time on by that much times the speed, within a budget of CPU so that keys are never waited for. What the budget
did not allow is not made up for later; `reached` tells the speed that was really kept.

A scenario moves through its own `Run`, exactly as it does headless: the session only chooses how far to go at a time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Final, Protocol

import attrs

from core.acts import Act
from core.journal.events import NOTABLE, EventTuple
from core.settings import Settings
from core.units import SECOND
from core.view import ClusterView
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


class ClusterLike(Protocol):
    """What the session needs of `core.sim.cluster.Cluster`."""

    @property
    def now(self) -> int: ...
    @property
    def settings(self) -> Settings: ...
    def do(self, act: Act) -> int: ...
    def step(self) -> bool: ...
    def next_time(self) -> int | None: ...
    def run_until(self, time_us: int) -> None: ...
    def view(self) -> ClusterView: ...


class Course(Protocol):
    """What moves the cluster on: nothing but itself, or a scenario."""

    @property
    def cluster(self) -> ClusterLike: ...

    def next_due(self) -> int | None:
        """Virtual time of the next thing that happens, an event of the cluster or an act of the scenario."""

    def step(self) -> bool:
        """Let the next single thing happen; False when there is none."""

    def advance_to(self, time_us: int) -> None:
        """Let everything happen that is due up to and including that time."""

    @property
    def stepwise(self) -> bool:
        """Whether it goes by steps that take no virtual time."""

    @property
    def finished(self) -> bool:
        """Whether what was planned has come to its end."""


@attrs.define
class FreeCourse:
    """A cluster that nobody has planned anything for."""

    cluster: ClusterLike
    stepwise: bool = False
    finished: bool = False

    def next_due(self) -> int | None:
        """When the cluster's next scheduled thing is due."""
        return self.cluster.next_time()

    def step(self) -> bool:
        """Handle the cluster's next scheduled thing."""
        return self.cluster.step()

    def advance_to(self, time_us: int) -> None:
        """Run the cluster up to that time."""
        self.cluster.run_until(time_us)


class LogLike(Protocol):
    """What the session needs of `scenarios.eventlog.LogWriter`."""

    def __call__(self, event: EventTuple) -> None: ...
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
    """

    def __init__(
        self, start: Callable[[Callable[[EventTuple], None]], Course], *, log: LogLike | None = None, budget: float = FRAME_BUDGET
    ) -> None:
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
        self._found = False
        self._seek_end = 0
        self._budget = budget
        self._log = log
        self._debt = 0.0  # µs of virtual time below one that earlier frames left over
        self._kept = [0.0, 0.0]  # virtual and wall seconds of the last while
        self.course = start(self._take)
        self.cluster = self.course.cluster

    def _take(self, event: EventTuple) -> None:
        level = self.rings.take(event)
        if self._log is not None:
            self._log(event)
        if self._wanted is not None and not self._found and self._wanted(level):
            self._found = True

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
        if self.seeking is not None:
            self._seek()
        elif self.playing:
            self._play(min(wall, MAX_FRAME))

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
        while not self._found:
            due = self.course.next_due()
            if due is None or due > self._seek_end:
                self.reached = None
                break
            self.course.step()
            count += 1
            if count % _LOOK_AT_THE_CLOCK == 0 and time.perf_counter() > end:
                return
        self._stop_seeking()

    def _stop_seeking(self) -> None:
        self.seeking, self._wanted, self._found = None, None, False

    # --- acting and looking ------------------------------------------------------------------------------------

    def do(self, act: Act) -> int:
        """Carry out an act now; returns the seq of its event.

        Raises:
            ActRefused: impossible in the present state.
        """
        return self.cluster.do(act)

    def tell(self, seq: int) -> str:
        """The sentence of an event still in memory, empty when it is not."""
        event = self.rings.find(seq)
        return sentence(event) if event is not None else ""

    def view(self) -> ClusterView:
        """The frozen state."""
        return self.cluster.view()

    def close(self) -> None:
        """End the session; the event log, if there is one, gets its last line."""
        if self._log is not None:
            self._log.close(self.cluster.now)
