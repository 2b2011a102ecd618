"""A branch of a session: its events, everything that people did on it, and the moments on it that are worth finding again."""

from __future__ import annotations

from typing import Final, Protocol

import attrs

from core.kafka.events import NOTABLE, EventTuple
from core.lab.acts import Act
from core.lab.history.event_buffer import LEVEL
from core.lab.history.position import PlayedAct, Position
from core.lab.recorded_acts import recorded_act
from core.sim.repr_mixin import ReprMixin

MAIN_BRANCH: Final = "main"
"""What the branch that a session begins on is called."""


@attrs.frozen(repr=False)
class Mark(ReprMixin):
    """A notable event on the timeline."""

    seq: int
    time: int
    kind: str


@attrs.frozen(repr=False)
class Bookmark(ReprMixin):
    """A moment somebody wants to find again, with a note."""

    branch: str
    position: Position
    note: str


@attrs.define(repr=False)
class Branch(ReprMixin):
    """One line of events that the session took. `end` is how far it was lived; `acts` are what people did, `act_events` all `act` events, the script's too."""

    name: str
    acts: list[PlayedAct] = attrs.field(factory=list)
    end: Position = attrs.field(factory=lambda: Position(0, 0, 0))
    marks: list[Mark] = attrs.field(factory=list)
    act_events: list[EventTuple] = attrs.field(factory=list)
    seen: int = 0
    origin: str = ""

    def on_event(self, event: EventTuple) -> None:
        """Remember an event the first time it happens."""
        seq = event[0]
        if seq > self.seen:
            self.seen = seq
            if LEVEL[event[3]] >= NOTABLE:
                self.marks.append(Mark(seq, event[1], event[3]))
                if event[3] == "act":
                    self.act_events.append(event)

    def fork(self, name: str, position: Position) -> Branch:
        """A branch that has this one's past up to a position."""
        seq = position.seq
        return Branch(
            name,
            self.acts[: position.acts],
            position,
            [mark for mark in self.marks if mark.seq <= seq],
            [event for event in self.act_events if event[0] <= seq],
            seq,
            self.name,
        )

    def timed_acts(self) -> list[tuple[int, Act]]:
        """Every act with its virtual time in µs."""
        return [(event[1], recorded_act(event[4], event[5])) for event in self.act_events]

    def last_common_seq(self, other: Branch) -> int | None:
        """The last event that two branches have in common; None when no act tells."""
        at = 0
        for one, two in zip(self.acts, other.acts, strict=False):
            if one != two:
                break
            at += 1
        first = [played.seq for played in (*self.acts[at : at + 1], *other.acts[at : at + 1])]
        return min(first) - 1 if first else None


class EventLogWriter(Protocol):
    """Where events are written (`scenarios.logs.event_log.LogWriter`)."""

    def __call__(self, event: EventTuple) -> None:
        """One more."""

    def cut(self, seq: int) -> None:
        """Those after that one are another branch's."""

    def close(self, now: int | None = None) -> None:
        """No more come; virtual µs at the end."""


class BranchLogWriter:
    """Writes each event of a branch once, however often one goes over it. `last`: the one written last; 0 without a log."""

    def __init__(self, log: EventLogWriter | None) -> None:
        self.log = log
        self.last = 0

    def write(self, event: EventTuple) -> None:
        """Write an event if it is new."""
        if self.log is not None and event[0] > self.last:
            self.last = event[0]
            self.log(event)

    def cut(self, seq: int) -> None:
        """What follows that event is another branch's."""
        if self.log is not None and seq < self.last:
            self.log.cut(seq)
            self.last = seq

    def close(self, now: int) -> None:
        """The branch ends at virtual µs `now`."""
        if self.log is not None:
            self.log.close(now)
