"""A branch of a session: its acts and notable events, bookmarks, and its event log."""

from __future__ import annotations

from typing import Final, Protocol

import attrs

from core.kafka.events import NOTABLE, EventTuple
from core.lab.acts import Act
from core.lab.history.event_buffer import LEVEL
from core.lab.history.position import PlayedAct, Position
from core.lab.recorded_acts import act_of
from core.sim.events import kind_of, seq_of, time_of
from core.sim.repr_mixin import ReprMixin

MAIN_BRANCH: Final = "main"
"""The name of the first branch of a session."""


@attrs.frozen(repr=False)
class Mark(ReprMixin):
    """A notable event on the timeline."""

    seq: int
    time: int
    kind: str


@attrs.frozen(repr=False)
class Bookmark(ReprMixin):
    """A moment that a person has marked with a note."""

    branch: str
    position: Position
    note: str


@attrs.define(repr=False)
class Branch(ReprMixin):
    """One course of events in a session: the original one, or one that begins with an act in the past.

    Attributes:
        name: the name of the branch.
        acts: the acts that people performed.
        end: the last position up to which the branch was played.
        marks: the notable events of the branch.
        act_events: all `act` events, including those of a script.
        seen: the sequence number of the last event.
        origin: the branch from which this branch was forked; empty for the first branch.
    """

    name: str
    acts: list[PlayedAct] = attrs.field(factory=list)
    end: Position = attrs.field(factory=lambda: Position(0, 0, 0))
    marks: list[Mark] = attrs.field(factory=list)
    act_events: list[EventTuple] = attrs.field(factory=list)
    seen: int = 0
    origin: str = ""

    def on_event(self, event: EventTuple) -> None:
        """Record an event unless the branch has already recorded it."""
        seq = seq_of(event)
        if seq > self.seen:
            self.seen = seq
            if LEVEL[kind_of(event)] >= NOTABLE:
                self.marks.append(Mark(seq, time_of(event), kind_of(event)))
                if kind_of(event) == "act":
                    self.act_events.append(event)

    def fork(self, name: str, position: Position) -> Branch:
        """Return a new branch that has the same past as this branch up to a position."""
        seq = position.seq
        return Branch(
            name,
            self.acts[: position.acts],
            position,
            [mark for mark in self.marks if mark.seq <= seq],
            [event for event in self.act_events if seq_of(event) <= seq],
            seq,
            self.name,
        )

    def timed_acts(self) -> list[tuple[int, Act]]:
        """Return every act with its virtual time, in µs."""
        return [(time_of(event), act_of(event)) for event in self.act_events]

    def last_common_seq(self, other: Branch) -> int | None:
        """Return the sequence number of the last event that two branches share; None if no act distinguishes them."""
        at = 0
        for one, two in zip(self.acts, other.acts, strict=False):
            if one != two:
                break
            at += 1
        first = [played.seq for played in (*self.acts[at : at + 1], *other.acts[at : at + 1])]
        return min(first) - 1 if first else None


class EventLogWriter(Protocol):
    """A writer of an event log (`scenarios.logs.log_writer.LogWriter`)."""

    def __call__(self, event: EventTuple) -> None:
        """Write an event."""

    def cut(self, seq: int) -> None:
        """Remove the events after `seq`."""

    def close(self, now: int | None = None) -> None:
        """Complete the event log. `now` is the virtual time at the end of the log, in µs."""


class BranchLogWriter:
    """A writer that writes each event of a branch once, no matter how many times the session repeats the event.

    Attributes:
        log: the writer of the event log; None if there is no log.
        last: the sequence number of the last event written; 0 without a log.
    """

    def __init__(self, log: EventLogWriter | None) -> None:
        self.log = log
        self.last = 0

    def write(self, event: EventTuple) -> None:
        """Write an event to the log, unless the log already contains it."""
        if self.log is not None and seq_of(event) > self.last:
            self.last = seq_of(event)
            self.log(event)

    def cut(self, seq: int) -> None:
        """Remove the events after `seq`, because another branch follows."""
        if self.log is not None and seq < self.last:
            self.log.cut(seq)
            self.last = seq

    def close(self, now: int) -> None:
        """Complete the branch's event log. `now` is the virtual time at the end of the log, in µs."""
        if self.log is not None:
            self.log.close(now)
