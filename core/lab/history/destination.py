"""The moment that a session moves to, and the keyframe from which the session repeats the steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from core.lab.history.event_buffer import EventBuffer
from core.lab.history.keyframe_cache import Keyframe, KeyframeCache
from core.lab.history.position import PlayedAct, Position
from core.lab.history.replay_run import ReplayRun, StepIndex
from core.sim.repr_mixin import ReprMixin

MAX_STEPS_IN_PLACE: Final = 16_000
"""The maximum number of steps or events that are repeated without a pause. Repeating this many steps or events takes about a tenth of a
second.
"""

OBJECTS_PER_STEP: Final = 4
"""The number of objects that can be restored from a keyframe in the time that one step or event takes."""


@attrs.frozen(repr=False)
class RetainedEvents(ReprMixin):
    """The events of a branch that are still in memory.

    Attributes:
        event_buffer: the events of the branch that are still in memory.
        acts: the acts that were performed in the branch.
        place: `Position.place` of the last moment that the events cover.
        step_index: the sequence number of the last event of each step.
    """

    event_buffer: EventBuffer
    acts: Sequence[PlayedAct]
    place: tuple[int, int, int]
    step_index: StepIndex | None = None


@attrs.frozen(repr=False)
class Destination(ReprMixin):
    """A moment to travel to. Exactly one of `seq`, `position`, and `time` is given.

    Attributes:
        what: a short description of the destination.
        seq: the event whose step is the destination; -1 if no event is given.
        position: the position of the destination; None if no position is given.
        time: the virtual time of the destination, in µs; -1 if no time is given. The destination comes after everything that is due at its
            time.
    """

    what: str = "that moment"
    seq: int = -1
    position: Position | None = None
    time: int = -1

    @property
    def clock(self) -> int | None:
        """The virtual time of the destination, in µs; None if it is unknown."""
        return self.position.time if self.position is not None else self.time if self.time >= 0 else None

    def reached(self, replay_run: ReplayRun) -> bool:
        """Return whether the run has reached this moment, so that no further step is needed."""
        if self.position is not None:
            return (replay_run.steps, replay_run.acts_done) >= (self.position.steps, self.position.acts)
        if self.seq >= 0:
            return replay_run.event_tap.seq >= self.seq
        due = replay_run.next_due()
        return due is None or due > self.time

    def is_known(self, known: RetainedEvents) -> bool:
        """Return whether the events in memory include the destination."""
        if self.position is not None:
            return self.position.place <= known.place
        if self.seq >= 0:
            return known.step_index is not None and self.seq <= known.step_index.last
        return self.time < known.place[2]

    def progress(self, replay_run: ReplayRun) -> float:
        """Return how much of the run from the start of the session to this moment is complete, from 0 to 1."""
        if self.position is not None:
            done, whole = replay_run.steps + replay_run.acts_done, self.position.steps + self.position.acts
        elif self.seq >= 0:
            done, whole = replay_run.event_tap.seq, self.seq
        else:
            done, whole = replay_run.cluster.now, self.time
        return min(1.0, done / whole) if whole > 0 else 1.0

    def nearest(self, keyframe_cache: KeyframeCache, acts: Sequence[PlayedAct], known: RetainedEvents) -> Keyframe | None:
        """Return the last keyframe up to this moment that a run with the given acts and a run with the acts of the retained events both
        pass through; None if there is none.
        """
        for keyframe in reversed(keyframe_cache.keyframes):
            position = keyframe.position
            if (
                self._not_past(position)
                and position.place <= known.place
                and keyframe.is_on_path_of(acts)
                and keyframe.is_on_path_of(known.acts)
            ):
                return keyframe
        return None

    def is_near(self, keyframe: Keyframe, keyframe_cache: KeyframeCache, known: RetainedEvents) -> bool:
        """Return whether the run can repeat the steps after a keyframe without a pause, or in less time than it takes to build a new
        cluster.
        """
        near = max(MAX_STEPS_IN_PLACE, len(keyframe.playable.cluster_snapshot) // OBJECTS_PER_STEP)
        if self.position is not None:
            return self.position.steps - keyframe.position.steps <= near
        if self.seq >= 0:
            return self.seq - keyframe.position.seq <= near
        later = [known.place[0], *(one.position.steps for one in keyframe_cache.keyframes if one.position.time > self.time)]
        return min(later) - keyframe.position.steps <= near

    def _not_past(self, position: Position) -> bool:
        if self.position is not None:
            return position.place <= self.position.place
        return position.seq < self.seq if self.seq >= 0 else position.time <= self.time
