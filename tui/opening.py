"""Opens an old session: its acts are done again, each at its time, and every event is held against the log as it comes.

So the session can be gone through, back and forth, and branched from like one that was just played. Where this version
of the program, or a changed line, makes another event of it, opening stops: what is before that is shown, and no more.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from core.kafka.errors import KafkaError
from core.kafka.events import KINDS, EventTuple, agree
from core.sim.errors import ActRefused
from tui.course import Tape
from tui.ring import sentence

if TYPE_CHECKING:
    from scenarios.recording import OldSession

_LOOK_AT_THE_CLOCK: Final = 64
"""Steps between two looks at the wall clock."""


class Opening:
    """On the way through an old session. `differs` says where and how it parts from the log, '' while it does not."""

    def __init__(self, old: OldSession, tape: Tape) -> None:
        """Begin.

        Args:
            old: the session.
            tape: at the very start of a cluster as that session had it.
        """
        self.tape = tape
        self.differs = ""
        self._old = old
        self._held = 0
        self._done = 0

    @property
    def progress(self) -> float:
        """How much of it has been played, 0 to 1."""
        return self._held / len(self._old.events) if self._old.events else 1.0

    def hold(self, event: EventTuple) -> None:
        """Hold an event against the log's."""
        events = self._old.events
        if not self.differs:
            if self._held < len(events) and not agree(events[self._held], event):
                recorded = events[self._held]
                self._part(_difference(recorded, event))
            elif self._held >= len(events) and event[1] < self._old.end:
                self._part(f"it has {len(events)} events, and now there are more")
        self._held += 1

    def give_up(self) -> None:
        """Leave it at what was played so far."""
        self._part("not played any further")

    def _part(self, how: str) -> None:
        line = min(self._held, len(self._old.events)) + 2
        self.differs = f"{self._old.source}:{line}: {how}; the session is shown up to there"

    def work(self, seconds: float) -> bool:
        """Go on for so much wall time; True at the end, or where it parts from the log."""
        until = time.perf_counter() + seconds
        tape, acts = self.tape, self._old.acts
        count = 0
        while not self.differs:
            target = acts[self._done][0] if self._done < len(acts) else self._old.end
            due = tape.next_due()
            if due is not None and due <= target:
                tape.step()
                count += 1
                if count % _LOOK_AT_THE_CLOCK == 0 and time.perf_counter() > until:
                    return False
            elif self._done < len(acts):
                tape.move_clock(target)
                self._act()
            else:
                break
        if not self.differs:
            tape.move_clock(self._old.end)
            if self._lacks:
                self._part(f"event {self._held + 1} of the log does not come")
        return True

    @property
    def _lacks(self) -> bool:
        """Whether the log has more events than came."""
        return self._held < len(self._old.events)

    def _act(self) -> None:
        act = self._old.acts[self._done][1]
        self._done += 1
        try:
            self.tape.do(act)
        except (ActRefused, KafkaError, ValueError) as refused:
            self._part(f"{act.word} is refused: {refused}")


def _difference(recorded: EventTuple, event: EventTuple) -> str:
    """What differs between an event of the log and the one that comes now."""
    begin = f"played now, event {recorded[0]}"
    if recorded[3] != event[3] or recorded[1] != event[1]:
        return f"{begin} is not {_short(recorded)} but {_short(event)}"
    names = ("seq", "t", "cause", "kind", *KINDS[event[3]].columns)
    name, one, other = next(each for each in zip(names, recorded, event, strict=True) if each[1] != each[2])
    return f"{begin}, {_short(event)}, differs: {name} is {one} in the log, {other} now"


def _short(event: EventTuple) -> str:
    words = sentence(event)
    return f"'{words[:60]}…'" if len(words) > 60 else f"'{words}'"
