"""A search forward from the present moment, for a destination, a watchpoint, or an event of a minimum level."""

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
"""The maximum virtual time to search for something that might never happen, in µs."""

STEPS_PER_KEYFRAME_OFFER: Final = 32
"""The number of steps after which a run offers its state to the keyframe cache and calls `ShouldYield`."""


class SearchTask:
    """A search that succeeds when a run that it moves forward reaches the wanted moment. Exactly one of `destination`, `watchpoint`, and
    `level` is given.

    Attributes:
        found: whether the search has succeeded.
        exhausted: whether the search ended at the limit without success.
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
        """Prepare the search.

        Args:
            replay_run: the run to move.
            keyframe_cache: the cache that takes keyframes during the search.
            destination: the future moment to find.
            watchpoint: the condition to find.
            level: the minimum level of the event to find.
            limit: the virtual time beyond which the run does not go, in µs; None for no limit.
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
        """Pass an event to the watchpoint, and end the search if the event has the required level."""
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
        """None, because the end of a search is not known in advance."""
        return

    def advance(self, should_yield: ShouldYield = never_yield) -> bool:
        """Run until `should_yield` returns True. Return whether the search has ended."""
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
        """Stop the search at the present moment."""
        return False
