"""A course of events with everything that people did on it, and the moments on it that are worth finding again."""

from __future__ import annotations

from typing import Final

import attrs

from core.kafka.events import NOTABLE, EventTuple
from core.lab.acts import Act
from core.lab.history.position import Played, Position
from core.lab.history.rings import LEVEL
from core.lab.recorded_acts import recorded_act
from core.sim.repr_mixin import ReprMixin

FIRST_NAME: Final = "main"
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
    """One course of events. `end` is how far it was lived; `acts` are what people did, `deeds` all `act` events, the script's too."""

    name: str
    acts: list[Played] = attrs.field(factory=list)
    end: Position = attrs.field(factory=lambda: Position(0, 0, 0))
    marks: list[Mark] = attrs.field(factory=list)
    deeds: list[EventTuple] = attrs.field(factory=list)
    seen: int = 0
    origin: str = ""

    def take(self, event: EventTuple) -> None:
        """Remember an event the first time it happens."""
        seq = event[0]
        if seq > self.seen:
            self.seen = seq
            if LEVEL[event[3]] >= NOTABLE:
                self.marks.append(Mark(seq, event[1], event[3]))
                if event[3] == "act":
                    self.deeds.append(event)

    def fork(self, name: str, position: Position) -> Branch:
        """A branch that has this one's past up to a position."""
        seq = position.seq
        return Branch(
            name,
            self.acts[: position.acts],
            position,
            [mark for mark in self.marks if mark.seq <= seq],
            [deed for deed in self.deeds if deed[0] <= seq],
            seq,
            self.name,
        )

    def timed_acts(self) -> list[tuple[int, Act]]:
        """Every act with its virtual time in µs."""
        return [(deed[1], recorded_act(deed[4], deed[5])) for deed in self.deeds]

    def parting(self, other: Branch) -> int | None:
        """The last event that two branches have in common; None when no act tells."""
        at = 0
        for one, two in zip(self.acts, other.acts, strict=False):
            if one != two:
                break
            at += 1
        first = [played.seq for played in (*self.acts[at : at + 1], *other.acts[at : at + 1])]
        return min(first) - 1 if first else None
