"""The way forward from here until something is so: a moment, a condition, an event that is notable enough."""

from __future__ import annotations

from typing import Final

from core.kafka.events import EventTuple
from core.lab.history.destination import Destination
from core.lab.history.incremental_task import ShouldYield, never_yield
from core.lab.history.keyframe_cache import KeyframeCache
from core.lab.history.replay_run import ReplayRun
from core.lab.history.watchpoints import Watchpoint
from core.sim.units import SECOND

SEARCH_LIMIT: Final = 600 * SECOND
"""How much virtual time is looked through for what may never come."""

STEPS_PER_KEYFRAME_OFFER: Final = 32
"""Steps between two questions whether it is enough, and two keyframes that are offered."""


class SearchTask:
    """Moves a run on until it is where it is wanted. One of `destination`, `watchpoint` and `level` is given.

    Attributes:
        found: whether it is.
        exhausted: whether it ended without, though nobody named a time at which to end.
    """

    def __init__(
        self,
        replay_run: ReplayRun,
        keyframe_cache: KeyframeCache,
        *,
        destination: Destination | None = None,
        watchpoint: Watchpoint | None = None,
        level: int | None = None,
        limit: int | None = None,
    ) -> None:
        """Make ready.

        Args:
            replay_run: what is moved.
            keyframe_cache: keeps where it comes by.
            destination: a moment to come.
            watchpoint: what is looked for.
            level: the least level of the event that is looked for.
            limit: virtual µs that it does not go past.
        """
        self._replay_run = replay_run
        self._keyframe_cache = keyframe_cache
        self._destination, self._watchpoint, self._level, self._limit = destination, watchpoint, level, limit
        self._clock = None if destination is None else destination.clock
        self._end = replay_run.cluster.now + SEARCH_LIMIT if self._clock is None else self._clock
        self._checked_seq = -1
        self.exhausted = False
        self.found = self._is_found()

    def on_event(self, event: EventTuple, level: int) -> None:
        """An event has happened, of that level."""
        if self._level is not None and level >= self._level:
            self.found = True
        if self._watchpoint is not None:
            self._watchpoint.on_event(event)

    def _is_found(self) -> bool:
        replay_run = self._replay_run
        if self._destination is not None:
            return self._destination.reached(replay_run)
        if self._watchpoint is None or self._checked_seq == replay_run.event_tap.seq:
            return False
        self._checked_seq = replay_run.event_tap.seq
        return self._watchpoint.came_true(replay_run.cluster)

    @property
    def progress(self) -> None:
        """Nobody can tell."""
        return

    def advance(self, should_yield: ShouldYield = never_yield) -> bool:
        """Go on until it is enough; True when it is found, or when there is nothing to find."""
        replay_run, limit = self._replay_run, self._limit
        count = 0
        while not self.found:
            due = replay_run.next_due()
            if due is None or due > self._end or (limit is not None and due > limit):
                self.exhausted = self._clock is None
                break
            replay_run.step()
            count += 1
            if self._is_found():
                self.found = True
            elif count % STEPS_PER_KEYFRAME_OFFER == 0:
                self._keyframe_cache.maybe_add(replay_run)
                if should_yield():
                    return False
        if self._clock is not None:
            replay_run.move_clock(self._clock if limit is None else min(self._clock, limit))
        return True

    def cancel(self) -> bool:
        """Stay where it has come to."""
        return False
