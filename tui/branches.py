"""What a session remembers of where it has been: its branches, bookmarks, and kept clusters to go back to quickly."""

from __future__ import annotations

import time
from array import array
from collections.abc import Sequence
from typing import Final

import attrs

from core.journal.events import NOTABLE, EventTuple
from core.recorded_acts import recorded_act
from core.sim.cluster import Cluster
from core.sim.keyframe import Keyframe
from scenarios.recording import Timed
from tui.course import FreeCourse, Outlet, Played, Position, Tape
from tui.ring import LEVEL

FIRST_NAME: Final = "main"
"""What the branch that a session begins on is called."""

KEEP_EVERY: Final = 250
"""Steps between two keyframes at least; it doubles whenever there are too many."""

KEEP_SHARE: Final = 0.05
"""The share of its time that a session may spend on keeping."""

KEEP_COST: Final = 2e-6
"""Seconds that each object in a keyframe takes at most, but for what happens once."""

KEEP_OBJECTS: Final = 500_000
"""Objects in all keyframes together, at most; some 150 bytes each."""

KEEP_REPLICAS: Final = 3_000
"""A cluster with more replicas is not kept: one keyframe would take longer than a few frames."""


@attrs.frozen
class Mark:
    """A notable event on the timeline."""

    seq: int
    time: int
    kind: str


@attrs.frozen
class Bookmark:
    """A moment somebody wants to find again, with a note."""

    branch: str
    position: Position
    note: str


@attrs.define
class Branch:
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

    def timed_acts(self) -> list[Timed]:
        """Every act with its virtual time."""
        return [(deed[1], recorded_act(deed[4], deed[5])) for deed in self.deeds]

    def shared(self, other: Branch) -> int:
        """How many of their acts two branches have in common."""
        count = 0
        for one, two in zip(self.acts, other.acts, strict=False):
            if one != two:
                break
            count += 1
        return count


@attrs.frozen
class Kept:
    """A keyframe of a cluster, and where it stands in its session: the `acts` before it, and the first `written` of `ends`."""

    position: Position
    acts: tuple[Played, ...]
    keyframe: Keyframe
    ends: array[int]
    written: int
    acted: tuple[int, int]

    def leads_to(self, acts: Sequence[Played]) -> bool:
        """Whether a session with these acts came by here."""
        done = self.position.acts
        if tuple(acts[:done]) != self.acts:
            return False
        return done >= len(acts) or (acts[done].steps, acts[done].time) >= (self.position.steps, self.position.time)


class Keeper:
    """Keeps keyframes of a cluster, few and cheap: going back then repeats only what followed the nearest one.

    The next one is taken when so much has been done since the last that keeping costs a small share of it; keyframes are thinned
    out, and kept half as often, whenever they hold too many objects together.
    """

    def __init__(self) -> None:
        self.kept: list[Kept] = []
        self._every = KEEP_EVERY
        self._objects = 0
        self._due = 0.0  # of the process's CPU time
        self._off = False

    def offer(self, tape: Tape) -> None:
        """Keep the cluster if the nearest keyframe is far enough."""
        cluster = tape.cluster
        if self._off or not isinstance(tape.course, FreeCourse) or not isinstance(cluster, Cluster):
            return
        started = time.process_time()
        if started < self._due or any(abs(tape.steps - kept.position.steps) < self._every for kept in self.kept):
            return
        if sum(len(topic.assignment) or topic.partitions * topic.replication_factor for topic in cluster.spec.topics) > KEEP_REPLICAS:
            self._off = True
            return
        keyframe = cluster.snapshot()
        ended = time.process_time()
        self._due = ended + min(ended - started, KEEP_COST * len(keyframe)) / KEEP_SHARE  # the first one takes longer
        self.kept.append(Kept(tape.position, tuple(tape.acts[: tape.done]), keyframe, tape.ends, len(tape.ends), tape.acted))
        self._objects += len(keyframe)
        if self._objects > KEEP_OBJECTS and len(self.kept) > 1:
            self._every *= 2
            self.kept = sorted(self.kept, key=lambda kept: kept.position.steps)[::2]
            self._objects = sum(len(kept.keyframe) for kept in self.kept)


def bring_back(kept: Kept, acts: Sequence[Played], outlet: Outlet) -> Tape:
    """A tape that stands where a keyframe was taken."""
    tape = Tape(FreeCourse(Cluster.restore(kept.keyframe, outlet)), outlet, acts)
    tape.resume(kept.position, kept.ends[: kept.written], kept.acted)
    return tape
