"""What a session remembers of where it has been: its branches, bookmarks, and kept clusters to go back to quickly."""

from __future__ import annotations

import pickle
import time
from array import array
from collections.abc import Sequence
from typing import Any, Final

import attrs

from core.journal.events import NOTABLE, EventTuple
from core.sim.cluster import Cluster
from scenarios.recording import Timed, act_of
from tui.course import FreeCourse, Outlet, Played, Position, Tape
from tui.ring import LEVEL

FIRST_NAME: Final = "main"
"""What the branch that a session begins on is called."""

KEEP_EVERY: Final = 2_000
"""Steps between two kept clusters at first; it doubles whenever there are too many."""

KEEP_MOST: Final = 32
"""Kept clusters at most."""

KEEP_REPLICAS: Final = 600
"""A cluster with more replicas is not kept: a copy would take longer than a frame has."""


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
        return [(deed[1], act_of(deed[4], deed[5])) for deed in self.deeds]

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
    """A cluster put aside at a position."""

    position: Position
    acts: tuple[Played, ...]
    data: bytes
    ends: array[int]
    acted: tuple[int, int]

    def leads_to(self, acts: Sequence[Played]) -> bool:
        """Whether a session with these acts came by here."""
        done = self.position.acts
        if tuple(acts[:done]) != self.acts:
            return False
        return done >= len(acts) or (acts[done].steps, acts[done].time) >= (self.position.steps, self.position.time)


class Keeper:
    """Keeps copies of a cluster, few and cheap: going back then repeats only what followed the nearest one."""

    def __init__(self) -> None:
        self.kept: list[Kept] = []
        self._every = KEEP_EVERY
        self._off = False

    def offer(self, tape: Tape) -> None:
        """Keep the cluster if the last copy is old enough; a copy that is dear or impossible is the last one tried."""
        cluster = tape.cluster
        if self._off or not isinstance(tape.course, FreeCourse) or not isinstance(cluster, Cluster):
            return
        if any(abs(tape.steps - kept.position.steps) < self._every for kept in self.kept):
            return
        if len(self.kept) > KEEP_MOST:
            self._every *= 2
            self.kept = self.kept[::2]
        if sum(len(topic.assignment) or topic.partitions * topic.replication_factor for topic in cluster.spec.topics) > KEEP_REPLICAS:
            self._off = True
            return
        started = time.perf_counter()
        data = _put_aside(cluster)
        if data is None or time.perf_counter() - started > 0.05:
            self._off = True
        if data is not None:
            self.kept.append(Kept(tape.position, tuple(tape.acts[: tape.done]), data, array("q", tape.ends), tape.acted))


def _put_aside(cluster: Cluster) -> bytes | None:
    """A copy of the whole cluster as bytes; None when something in it cannot be copied."""
    sink, cluster.journal.sink = cluster.journal.sink, _nowhere
    try:
        return pickle.dumps(cluster, protocol=pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError):
        return None
    finally:
        cluster.journal.sink = sink


def _nowhere(event: tuple[Any, ...]) -> None:
    """The sink of a cluster that was put aside."""


def bring_back(kept: Kept, acts: Sequence[Played], outlet: Outlet) -> Tape:
    """A tape that stands where a cluster was put aside."""
    cluster: Cluster = pickle.loads(kept.data)
    cluster.journal.sink = outlet
    tape = Tape(FreeCourse(cluster), outlet, acts)
    tape.resume(kept.position, kept.ends, kept.acted)
    return tape
