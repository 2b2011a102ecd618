"""Snapshots: the state of a simulation as a value, and the ways back to it.

A snapshot holds what every object that can change held (`core.sim.state.codecs`), and shares with the one before it what is still the same.
Objects are read class by class, each class in one go, so nobody needs to tell what has changed since: it is found by comparing.
To restore is to have the same objects hold again what they held, so identity and cycles need no care; only what differs is written.
To copy is to make all objects anew, each reference going to the new object in the place of the old one.

Functions are shared, so they may hold nothing: a closure in a state is refused.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, compress, count
from operator import is_not, ne
from typing import ClassVar, Final, Generic, TypeVar

from core.sim.state.codecs import AppendOnlyListCodec, Codec, State, codec_of, parts_of, renewed
from core.sim.state.fields import ATOMS, FieldValue

Root = TypeVar("Root")

Visit = Callable[[FieldValue], bool]
"""Is told of each value that may lead to objects; whether it is, or holds, something that can change and may equal another."""

PLACE: Final = 16
"""How many places in a snapshot's lists take as much memory as an object's state."""


class Group:
    """The objects of one class.

    Attributes:
        objects: in the order in which they were found; none is ever taken out.
        states: what the first of them held at the last snapshot; never changed, but replaced.
    """

    def __init__(self, codec: Codec) -> None:
        self.codec = codec
        self.objects: list[object] = []
        self.states: list[State] = []
        self._alike: set[int] = set()  # those that hold what may equal another and is not the same

    def _differing(self, states: list[State], others: list[State]) -> set[int]:
        places = set() if states == others else set(compress(count(), map(ne, states, others)))
        if self._alike:
            end = min(len(states), len(others))
            places.update(at for at in self._alike if at < end and any(map(is_not, states[at], others[at])))
        return places

    def add(self, found: list[object], visit: Visit) -> int:
        """Read more objects, and visit what they lead to; returns as `update` does."""
        for value in chain.from_iterable(map(self.codec.read_final, found)):
            if type(value) not in ATOMS:
                visit(value)
        self.objects += found
        self.states = self.states + self.codec.reread(found, [])
        return self._changed(range(len(self.objects) - len(found), len(self.objects)), [], visit)

    def update(self, visit: Visit) -> int:
        """Read the objects and visit what they lead to now; returns how many places are no longer shared with the last snapshot."""
        former = self.states
        states = self.codec.read(self.objects, former)
        changed = self._differing(states, former)
        changed.update(range(len(former), len(states)))
        if not changed:
            return 0
        self.states = now = former + states[len(former) :]
        for at in changed:
            now[at] = states[at]
        return self._changed(list(changed), former, visit)

    def _changed(self, places: Sequence[int], former: list[State], visit: Visit) -> int:
        """Visit what those at some places hold now and did not hold before."""
        if self.codec.leads:
            end = len(former)
            states = [self.states[at] for at in places]
            held = [former[at] if at < end else () for at in places]
            for holders, value in self.codec.new_values(places, states, held):
                if visit(value):
                    self._alike.update(holders)
        return len(self.states) + PLACE * len(places)

    def restore(self, states: list[State]) -> None:
        """Have the objects hold what they held."""
        self.states = states
        held = self.codec.reread(self.objects[: len(states)], states)
        places = self._differing(states, held)
        if places:
            self.codec.write_all([self.objects[at] for at in places], [states[at] for at in places], [held[at] for at in places])


class Objects:
    """All objects that can change, as they are found from the roots.

    Attributes:
        groups: by class.
        first: how many there were at first; those that are gone are not looked for (`has_outgrown`).
    """

    def __init__(self, roots: tuple[object, ...]) -> None:
        self.roots = roots
        self.groups: dict[type, Group] = {}
        self._known: dict[int, tuple[object, bool]] = {}  # what was visited, which so stays alive and keeps its id
        self._found: dict[Group, list[object]] = {}
        for root in roots:
            self._visit(root)
        self._update_found()
        self.first = len(self)

    def __len__(self) -> int:
        return sum(len(group.objects) for group in self.groups.values())

    @property
    def has_outgrown(self) -> bool:
        """Whether so many were found since the start that to begin anew saves time."""
        return len(self) > self.first + self.first // 4 + 200 or len(self._known) > 3 * self.first + 10_000

    def update(self) -> int:
        """Read all of them, and those that are new; returns how many values are no longer shared with the last snapshot."""
        changed = sum(group.update(self._visit) for group in list(self.groups.values()) if group.codec.changes)
        return changed + self._update_found()

    def reread_append_only(self) -> None:
        """What only grows did something else meanwhile: it is read as a whole again."""
        for group in self.groups.values():
            if isinstance(group.codec, AppendOnlyListCodec):
                group.states = []

    def _update_found(self) -> int:
        """Read those that were found, and what is found in them."""
        changed = 0
        while self._found:
            found, self._found = self._found, {}
            for group, objects in found.items():
                changed += group.add(objects, self._visit)
        return changed

    def _visit(self, value: object) -> bool:
        """Find what a value leads to; whether it is, or holds, something that can change and may equal another."""
        known = self._known.get(id(value))
        if known is not None:
            return known[1]
        cls = type(value)
        parts: Sequence[FieldValue] | None = parts_of(value)
        if parts is None:
            group = self.groups.get(cls)
            if group is None:
                group = self.groups[cls] = Group(codec_of(cls))
            is_alike = cls.__eq__ is not object.__eq__
            self._found.setdefault(group, []).append(value)
        else:
            leading = [part for part in parts if type(part) not in ATOMS]
            if not leading and cls is tuple:  # it is looked at as quickly as looked up
                return False
            is_alike = False
            for part in leading:
                if self._visit(part):
                    is_alike = True
        self._known[id(value)] = value, is_alike
        return is_alike


class Snapshot(Generic[Root]):
    """The state of all objects at a moment; immutable.

    Attributes:
        root: what it was taken of.
        weight: about how many objects' states it holds that the snapshot before does not hold.
        objects: which it shares with the snapshots before and after.
    """

    __slots__ = ("_snapshots", "_states", "objects", "root", "weight")

    def __init__(self, root: Root, snapshots: Snapshots, objects: Objects, changed: int) -> None:
        self.root, self._snapshots = root, snapshots
        self.objects = objects
        self._states = {group: group.states for group in objects.groups.values()}
        self.weight = changed // PLACE

    def __len__(self) -> int:
        """How many objects it holds."""
        return sum(map(len, self._states.values()))

    def is_of(self, root: object) -> bool:
        """Whether it was taken of this very simulation."""
        return self.root is root

    def restore(self) -> None:
        """Let everything stand as it did when this was taken."""
        with _garbage_collection_paused():
            self._snapshots.resume_from(self.objects)
            for group, states in self._states.items():
                if group.codec.changes:
                    group.restore(states)

    def copy(self) -> Root:
        """A new simulation that stands as the other did when this was taken; that one is left alone."""
        with _garbage_collection_paused():
            return self._copy()

    def _copy(self) -> Root:
        news: dict[int, FieldValue] = {}
        filled = []
        for group, states in self._states.items():
            objects = group.objects[: len(states)]
            blanks = list(map(group.codec.blank, objects))
            news.update(zip(map(id, objects), blanks, strict=True))
            filled.append((group.codec, blanks, objects, states))
        kept: list[object] = []

        def renew(value: FieldValue) -> FieldValue:
            if type(value) in ATOMS:
                return value
            new = news.get(id(value))
            if new is None:
                new = news[id(value)] = renewed(value, renew)
                kept.append(value)  # so nothing else gets this id
            return new

        for codec, blanks, objects, states in filled:
            codec.fill(blanks, objects, states, renew)
        copy: Root = news[id(self.root)]
        return copy


class Snapshots:
    """Takes snapshots of a simulation, each sharing with the last one what has not changed."""

    OUTSIDE: ClassVar = ("_objects",)

    __slots__ = ("_objects",)

    def __init__(self) -> None:
        self._objects: Objects | None = None

    @property
    def shares(self) -> bool:
        """Whether the next one shares with the last, and so is quickly taken."""
        return self._objects is not None and not self._objects.has_outgrown

    def take(self, root: Root, *also: object) -> Snapshot[Root]:
        """The state of a simulation between two steps, and of what else belongs to it.

        Raises:
            TypeError: something in it cannot be read; the message names its class.
        """
        roots = (root, *also)
        with _garbage_collection_paused():
            objects, self._objects = self._objects, None  # where something cannot be read, it is not known what was
            if objects is None or objects.has_outgrown or list(map(id, roots)) != list(map(id, objects.roots)):
                objects, changed = Objects(roots), 0
            else:
                changed = objects.update()
            self._objects = objects
            return Snapshot(root, self, objects, changed)

    def resume_from(self, objects: Objects) -> None:
        """A snapshot of these objects is restored; if others were found since, the next one shares with the last of those all the same."""
        if self._objects is not None and self._objects is not objects:
            self._objects.reread_append_only()


@contextmanager
def _garbage_collection_paused() -> Iterator[None]:
    """Thousands of objects are made that stay: meanwhile the garbage collector, which would look through them again and again, rests."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
