"""The playback of a session in wall-clock time: speed, pause, and the work done in one frame.

Each frame, virtual time advances by the wall time since the previous frame, multiplied by the speed. The work of a frame is done in short
slices, so that a key press waits for one slice at most. A frame has as many slices as fit before the next frame. If they are not enough for
the selected speed, the session runs slower and does not make up for the lost time. If the session runs slower, `reached` is the actual
speed.
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
"""The speeds that the speed keys select, in virtual seconds per wall second."""

AS_FAST_AS_IT_CAN: Final = math.inf
"""The speed at which the simulation uses all the time between frames."""

SLICE: Final = 0.012
"""The maximum time of one slice of work, in seconds. A key press waits no longer than this time."""

MAX_FRAME: Final = 0.25
"""The maximum wall time of one frame, in seconds, if frames are shorter than a tenth of a second. Of longer frames, two and a half count.

If a frame takes longer than this maximum, for example because the machine was asleep, the excess time does not count.
"""

SLICES_PER_FRAME: Final = 3
"""The minimum number of slices that fit into a frame. If a frame is due during a slice, it is late by one slice at most."""


class Playback:
    """An object that advances a history as wall time passes.

    Attributes:
        playing: whether virtual time advances on its own.
        speed: virtual seconds per wall second, or `AS_FAST_AS_IT_CAN`.
        reached: the actual speed if `speed` is `AS_FAST_AS_IT_CAN` or if the budget does not allow `speed`; otherwise None.
    """

    def __init__(self, history: History, budget: float = SLICE) -> None:
        """Start playing at speed 1. `budget` is the maximum time of one slice of work, in seconds."""
        self._history = history
        history.on_pause = self._stop
        history.yield_policy = self.slice_limit
        self.playing = True
        self.speed = 1.0
        self.reached: float | None = None
        self._budget = budget
        self._max_frame = MAX_FRAME
        self._goal: int | None = 0  # the virtual time at which the work of this frame is done; None if there is always more to do
        self._frame_start = -1  # virtual time at the start of this frame; -1 if the frame does not count towards the actual speed
        self._debt = 0.0  # the fraction of a µs of virtual time that earlier frames left over; for steps by hand, up to a second
        self._kept = [0.0, 0.0]  # virtual and wall seconds since the last measurement

    def pace_frames(self, interval: float) -> None:
        """Adapt the slices to the wall time between two frames, in seconds."""
        self._budget = min(self._budget, interval / SLICES_PER_FRAME)
        self._max_frame = max(MAX_FRAME, 2.5 * interval)

    def slice_limit(self, task: IncrementalTask) -> ShouldYield:
        """Return the time limit for one slice of a task."""
        return within(self._budget)

    def frame(self, wall: float) -> None:
        """Begin a frame, `wall` seconds after the previous one, and do the first slice of its work. While the session is paused, only
        continue a running task.
        """
        wall = min(wall, self._max_frame)
        if self._history.task is None and self.playing:
            self._begin_frame(wall)
        else:
            self._frame_start = -1
        self.work()

    @property
    def unfinished(self) -> bool:
        """Whether this frame has more work to do, if time is left before the next frame."""
        history = self._history
        if history.task is not None:
            return True
        return (
            self.playing
            and not history.replay_run.playable.stepwise
            and not history.replay_run.is_idle
            and (self._goal is None or history.cluster.now < self._goal)
        )

    def work(self) -> None:
        """Do a slice of the work of this frame."""
        history = self._history
        if history.task is not None:
            history.continue_task()
        elif self.playing and not history.replay_run.playable.stepwise:
            self._play()
        if self._stands_here:
            history.keyframe_cache.maybe_add(history.replay_run)

    def settle(self) -> None:
        """Add the first keyframe. This method is called after the first screen is shown."""
        if self._stands_here:
            self._history.keyframe_cache.add_first(self._history.replay_run)

    @property
    def _stands_here(self) -> bool:
        """Whether the cluster is at the current moment of the session, and not at an intermediate moment of a task."""
        return self._history.task is None or isinstance(self._history.task, SearchTask)

    @property
    def moving(self) -> bool:
        """Whether the displayed state can change from one frame to the next, because the session is playing or a task is running."""
        return self.playing or self._history.task_target is not None

    def play(self) -> None:
        """Let virtual time advance."""
        self._history.cancel_task()
        self.playing = True
        self._kept, self._frame_start = [0.0, 0.0], -1

    def _stop(self) -> None:
        self.playing = False
        self.reached = None

    def faster(self) -> float:
        """Select the next higher speed and return it."""
        self.set_speed(next((speed for speed in SPEEDS if speed > self.speed), self.speed))
        return self.speed

    def slower(self) -> float:
        """Select the next lower speed and return it."""
        self.set_speed(next((speed for speed in reversed(SPEEDS) if speed < self.speed), self.speed))
        return self.speed

    def set_speed(self, speed: float) -> None:
        """Select a speed from 0.1 to 1000, or `AS_FAST_AS_IT_CAN`."""
        self.speed = speed
        self.reached = None
        self._kept, self._frame_start = [0.0, 0.0], -1

    def _begin_frame(self, wall: float) -> None:
        """Set the goal of a frame that begins `wall` seconds after the previous one, and measure the speed of the previous frame."""
        history = self._history
        now = history.cluster.now
        if history.replay_run.is_idle:
            history.pause()
        elif history.replay_run.playable.stepwise:
            self._kept, self.reached, self._frame_start = [0.0, 0.0], None, -1
            self._play_steps(wall)
        else:
            if self._frame_start >= 0:
                self._measure((now - self._frame_start) / SECOND, wall)
            self._frame_start = now
            if self.speed == AS_FAST_AS_IT_CAN:
                self._goal = None
            else:
                self._debt += wall * self.speed * SECOND
                whole = int(self._debt)
                self._debt -= whole
                self._goal = now + whole

    def _play(self) -> None:
        """Run towards the goal of this frame until the slice ends. If the plan of the session has ended, pause."""
        history = self._history
        planned = not history.replay_run.playable.finished
        history.run_until(self._goal, within(self._budget))
        self._pause_at_end(planned)

    def _pause_at_end(self, planned: bool) -> None:
        history = self._history
        if (planned and history.replay_run.playable.finished) or (history.limit is not None and history.cluster.now >= history.limit):
            history.pause()

    def _play_steps(self, wall: float) -> None:
        """Execute the steps of a cluster whose pace is `by-hand`. These steps take no virtual time. At speed 1, one step is executed per
        second of real time.
        """
        self._debt += wall * min(self.speed, 1 / max(wall, 1e-6)) * SECOND
        replay_run = self._history.replay_run
        planned = not replay_run.playable.finished
        while self._debt >= SECOND and replay_run.playable.stepwise:
            self._debt -= SECOND
            replay_run.step()
        self._pause_at_end(planned)

    def _measure(self, virtual: float, wall: float) -> None:
        self._kept[0] += virtual
        self._kept[1] += wall
        if self._kept[1] >= 0.5:
            kept = self._kept[0] / self._kept[1]
            fast = self.speed == AS_FAST_AS_IT_CAN
            self.reached = kept if fast or kept < 0.9 * self.speed else None
            self._kept = [0.0, 0.0]
