"""Opens an old session: its acts are done again, each at its time, and every event is held against the log as it comes.

So the session can be gone through, back and forth, and branched from like one that was just played. Where this version
of the program, or a changed line, makes another event of it, opening stops: what is before that is shown, and no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from core.kafka.errors import KafkaError
from core.kafka.events import KINDS, EventTuple, agree
from core.lab.acts import Act
from core.lab.history.tape import Tape
from core.lab.history.way import STEPS_AT_ONCE, Enough, never
from core.lab.sentences import sentence
from core.sim.errors import ActRefused


class OldSession(Protocol):
    """A session of the past, as its event log tells it (`scenarios.logs.recorded_session.OldSession`)."""

    @property
    def source(self) -> str:
        """Where it is from."""

    @property
    def acts(self) -> Sequence[tuple[int, Act]]:
        """What was done, each with its virtual µs."""

    @property
    def events(self) -> Sequence[EventTuple]:
        """All of them."""

    @property
    def end(self) -> int:
        """Virtual µs at its end."""


class LogReplay:
    """On the way through an old session. `differs` says where and how it parts from the log, '' while it does not."""

    def __init__(self, old: OldSession, tape: Tape, events: Iterable[EventTuple]) -> None:
        """Begin.

        Args:
            old: the session.
            tape: at the very start of a cluster as that session had it.
            events: those of that start.
        """
        self.tape = tape
        self.differs = ""
        self._old = old
        self._held = 0
        self._done = 0
        for event in events:
            self._hold(event)
        self._told = tape.outlet.to
        tape.outlet.to = self._take

    def _take(self, event: EventTuple) -> None:
        self._told(event)
        self._hold(event)

    @property
    def progress(self) -> float:
        """How much of it has been played, 0 to 1."""
        return self._held / len(self._old.events) if self._old.events else 1.0

    def _hold(self, event: EventTuple) -> None:
        """Hold an event against the log's."""
        events = self._old.events
        if not self.differs:
            if self._held < len(events) and not agree(events[self._held], event):
                recorded = events[self._held]
                self._part(_difference(recorded, event))
            elif self._held >= len(events) and event[1] < self._old.end:
                self._part(f"it has {len(events)} events, and now there are more")
        self._held += 1

    def give_up(self) -> bool:
        """Leave it at what was played so far."""
        self._part("not played any further")
        self.tape.outlet.to = self._told
        return True

    def _part(self, how: str) -> None:
        line = min(self._held, len(self._old.events)) + 2
        self.differs = f"{self._old.source}:{line}: {how}; the session is shown up to there"

    def work(self, enough: Enough = never) -> bool:
        """Go on until it is enough; True at the end, or where it parts from the log."""
        tape, acts = self.tape, self._old.acts
        count = 0
        while not self.differs:
            target = acts[self._done][0] if self._done < len(acts) else self._old.end
            due = tape.next_due()
            if due is not None and due <= target:
                tape.step()
                count += 1
                if count % STEPS_AT_ONCE == 0 and enough():
                    return False
            elif self._done < len(acts):
                tape.move_clock(target)
                self._act()
            else:
                break
        if not self.differs:
            tape.move_clock(self._old.end)
            if self._held < len(self._old.events):
                self._part(f"event {self._held + 1} of the log does not come")
        tape.outlet.to = self._told
        return True

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
