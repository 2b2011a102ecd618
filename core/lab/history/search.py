"""The way forward from here until something is so: a moment, a condition, an event that is notable enough."""

from __future__ import annotations

from typing import Final

from core.kafka.events import EventTuple
from core.lab.history.goal import Goal
from core.lab.history.keeper import Keeper
from core.lab.history.tape import Tape
from core.lab.history.watch import Watch
from core.lab.history.way import Enough, never
from core.sim.units import SECOND

SEEK_LIMIT: Final = 600 * SECOND
"""How much virtual time is looked through for what may never come."""

STEPS: Final = 32
"""Steps between two questions whether it is enough, and two keyframes that are offered."""


class Search:
    """Moves a tape on until it is where it is wanted. One of `goal`, `watch` and `level` is given.

    Attributes:
        found: whether it is.
        fruitless: whether it ended without, though nobody named a time at which to end.
    """

    def __init__(
        self,
        tape: Tape,
        keeper: Keeper,
        *,
        goal: Goal | None = None,
        watch: Watch | None = None,
        level: int | None = None,
        limit: int | None = None,
    ) -> None:
        """Make ready.

        Args:
            tape: what is moved.
            keeper: keeps where it comes by.
            goal: a moment to come.
            watch: what is looked for.
            level: the least level of the event that is looked for.
            limit: virtual µs that it does not go past.
        """
        self._tape = tape
        self._keeper = keeper
        self._goal, self._watch, self._level, self._limit = goal, watch, level, limit
        self._clock = None if goal is None else goal.clock
        self._end = tape.cluster.now + SEEK_LIMIT if self._clock is None else self._clock
        self._asked = -1
        self.fruitless = False
        self.found = self._is_so()

    def see(self, event: EventTuple, level: int) -> None:
        """An event has happened, of that level."""
        if self._level is not None and level >= self._level:
            self.found = True
        if self._watch is not None:
            self._watch.see(event)

    def _is_so(self) -> bool:
        tape = self._tape
        if self._goal is not None:
            return self._goal.reached(tape)
        if self._watch is None or self._asked == tape.outlet.seq:
            return False
        self._asked = tape.outlet.seq
        return self._watch.became(tape.cluster)

    @property
    def progress(self) -> None:
        """Nobody can tell."""
        return

    def work(self, enough: Enough = never) -> bool:
        """Go on until it is enough; True when it is found, or when there is nothing to find."""
        tape, limit = self._tape, self._limit
        count = 0
        while not self.found:
            due = tape.next_due()
            if due is None or due > self._end or (limit is not None and due > limit):
                self.fruitless = self._clock is None
                break
            tape.step()
            count += 1
            if self._is_so():
                self.found = True
            elif count % STEPS == 0:
                self._keeper.offer(tape)
                if enough():
                    return False
        if self._clock is not None:
            tape.move_clock(self._clock if limit is None else min(self._clock, limit))
        return True

    def give_up(self) -> bool:
        """Stay where it has come to."""
        return False
