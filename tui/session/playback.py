"""Playback of a session in wall-clock time: speed, pause, and the work of one frame.

Only this module reads the wall clock. Each frame passes the wall time since the last one. Virtual time then advances by that time
multiplied by the speed, within a CPU budget so that keys never wait. Time that exceeds the budget is not caught up; `reached` is the
actual speed.
"""

from __future__ import annotations

import math
from typing import Final

from core.lab.history.history import History
from core.lab.history.incremental_task import IncrementalTask, ShouldYield
from core.lab.history.search import SearchTask
from core.sim.units import SECOND
from tui.session.time_budget import within

SPEEDS: Final = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
"""Virtual seconds per wall second that the speed keys go through."""

AS_FAST_AS_IT_CAN: Final = math.inf
"""The speed that uses up the whole budget of every frame."""

FRAME_BUDGET: Final = 0.012
"""Seconds of CPU the simulation may take of one frame."""

MAX_FRAME: Final = 0.25
"""A frame that comes later than this (the terminal was stopped, the machine slept) counts as this many seconds."""


class Playback:
    """Moves a history forward with wall time.

    Attributes:
        playing: whether virtual time advances by itself.
        speed: virtual seconds per wall second, or `AS_FAST_AS_IT_CAN`.
        reached: the actual speed when the budget does not allow `speed`; else None.
    """

    def __init__(self, history: History, budget: float = FRAME_BUDGET) -> None:
        """Start to play at speed 1; `budget` is the CPU seconds per frame."""
        self._history = history
        self.playing = True
        self.speed = 1.0
        self.reached: float | None = None
        self._budget = budget
        self._debt = 0.0  # µs of virtual time below one that earlier frames left over
        self._kept = [0.0, 0.0]  # virtual and wall seconds of the last while

    def yield_policy(self, task: IncrementalTask) -> ShouldYield:
        """The time of one slice of a task. A task that changes nothing before it finishes may take longer."""
        return within(self._budget if isinstance(task, SearchTask) else 2 * self._budget)

    def frame(self, wall: float) -> None:
        """Advances by one frame of `wall` seconds; does nothing when paused."""
        history = self._history
        if history.task is not None:
            history.continue_task()
        elif self.playing:
            self._play(min(wall, MAX_FRAME))
        if self._stands_here:
            history.keyframe_cache.maybe_add(history.replay_run)

    def settle(self) -> None:
        """The first screen stands: what takes a moment once is done now."""
        if self._stands_here:
            self._history.keyframe_cache.add_first(self._history.replay_run)

    @property
    def _stands_here(self) -> bool:
        """Whether the present moment is the session's, and none on the way to another."""
        return self._history.task is None or isinstance(self._history.task, SearchTask)

    @property
    def moving(self) -> bool:
        """Whether frames change anything: the session plays, or a task runs."""
        return self.playing or self._history.task_target is not None

    def play(self) -> None:
        """Lets virtual time advance."""
        self._history.cancel_task()
        self.playing = True
        self._kept = [0.0, 0.0]

    def pause(self) -> None:
        """Stops virtual time."""
        self._history.cancel_task()
        self.playing = False
        self.reached = None

    def faster(self) -> float:
        """Selects the next higher speed and returns it."""
        self.set_speed(next((speed for speed in SPEEDS if speed > self.speed), self.speed))
        return self.speed

    def slower(self) -> float:
        """Selects the next lower speed and returns it."""
        self.set_speed(next((speed for speed in reversed(SPEEDS) if speed < self.speed), self.speed))
        return self.speed

    def set_speed(self, speed: float) -> None:
        """Selects a speed from 0.1 to 1000, or `AS_FAST_AS_IT_CAN`."""
        self.speed = speed
        self.reached = None
        self._kept = [0.0, 0.0]

    def _play(self, wall: float) -> None:
        history = self._history
        start, planned = history.cluster.now, not history.replay_run.finished
        if history.replay_run.is_idle:
            self.pause()
            return
        if history.replay_run.stepwise:
            self._play_steps(wall)
            self._kept, self.reached = [0.0, 0.0], None
        elif self.speed == AS_FAST_AS_IT_CAN:
            history.run_until(None, within(self._budget))
        else:
            self._debt += wall * self.speed * SECOND
            whole = int(self._debt)
            self._debt -= whole
            history.run_until(start + whole, within(self._budget))
        if not history.replay_run.stepwise:
            self._measure((history.cluster.now - start) / SECOND, wall)
        if (planned and history.replay_run.finished) or (history.limit is not None and history.cluster.now >= history.limit):
            self.pause()

    def _play_steps(self, wall: float) -> None:
        """Executes one step per second at speed 1: by hand, a virtual second has no meaning."""
        self._debt += wall * min(self.speed, 1 / max(wall, 1e-6)) * SECOND
        replay_run = self._history.replay_run
        while self._debt >= SECOND and replay_run.stepwise:
            self._debt -= SECOND
            replay_run.step()

    def _measure(self, virtual: float, wall: float) -> None:
        self._kept[0] += virtual
        self._kept[1] += wall
        if self._kept[1] >= 0.5:
            kept = self._kept[0] / self._kept[1]
            fast = self.speed == AS_FAST_AS_IT_CAN
            self.reached = kept if fast or kept < 0.9 * self.speed else None
            self._kept = [0.0, 0.0]
