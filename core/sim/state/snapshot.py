"""Snapshots: the state of a simulation as a value that can be restored or copied.

A snapshot holds the state of every mutable object (`core.sim.state.codecs`). It shares all unchanged states with the snapshot before it.
Objects are read class by class, and changes are found by comparison, so the protocol does no bookkeeping for snapshots. Restoring a
snapshot writes the states back to the same objects, so identity and reference cycles need no special care. Only differences are written.
Copying a snapshot creates new objects, and replaces each reference with one to the new object.

Copies share functions, so functions must not hold state. A state that contains a closure is refused.
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
"""A function that visits a value that can lead to objects. It returns whether a mutable object in the value can equal another object."""

PLACE: Final = 16
"""The number of list entries in a snapshot that take as much memory as one object's state."""


class Group:
    """The objects of one class.

    Attributes:
        objects: the objects in the order in which they were found. None is ever removed.
        states: the states, at the last snapshot, of the objects that had been found by then. The list is replaced, never changed.
    """

    def __init__(self, codec: Codec) -> None:
        self.codec = codec
        self.objects: list[object] = []
        self.states: list[State] = []
        self._alike: set[int] = set()  # places whose values can equal others without being the same object

    def _differing(self, states: list[State], others: list[State]) -> list[int]:
        """Return the places at which two lists of states differ, up to the end of the shorter list."""
        places = list(compress(count(), map(ne, states, others)))
        if self._alike:
            end, known = min(len(states), len(others)), set(places)
            places += [at for at in self._alike if at < end and at not in known and any(map(is_not, states[at], others[at]))]
        return places

    def add(self, found: list[object], visit: Visit) -> int:
        """Read new objects, and visit the values that they lead to. Return the same number as `update`."""
        for value in chain.from_iterable(map(self.codec.read_final, found)):
            if type(value) not in ATOMS:
                visit(value)
        self.objects += found
        self.states = self.states + self.codec.reread(found, [])
        return self._changed(range(len(self.objects) - len(found), len(self.objects)), [], visit)

    def update(self, visit: Visit) -> int:
        """Read the objects and visit the values that they lead to. Return how many places are no longer shared with the last snapshot."""
        former = self.states
        states = self.codec.read(self.objects, former)
        changed = self._differing(states, former)
        if len(states) > len(former):
            changed += range(len(former), len(states))
        if not changed:
            return 0
        self.states = now = former + states[len(former) :]
        for at in changed:
            now[at] = states[at]
        return self._changed(changed, former, visit)

    def _changed(self, places: Sequence[int], former: list[State], visit: Visit) -> int:
        """Visit the values that some places hold now and did not hold before."""
        if self.codec.leads:
            end = len(former)
            states = [self.states[at] for at in places]
            held = [former[at] if at < end else () for at in places]
            for holders, value in self.codec.new_values(places, states, held):
                if visit(value):
                    self._alike.update(holders)
        return len(self.states) + PLACE * len(places)

    def restore(self, states: list[State]) -> None:
        """Write states back to the objects."""
        self.states = states
        held = self.codec.reread(self.objects[: len(states)], states)
        places = self._differing(states, held)
        if places:
            self.codec.write_all([self.objects[at] for at in places], [states[at] for at in places], [held[at] for at in places])


class Objects:
    """All mutable objects that can be reached from the roots.

    Attributes:
        groups: the groups of objects, by class.
        first: the number of objects at the start. Objects that become unreachable are kept (`has_outgrown`).
    """

    def __init__(self, roots: tuple[object, ...]) -> None:
        self.roots = roots
        self.groups: dict[type, Group] = {}
        self._known: dict[int, tuple[object, bool]] = {}  # visited values; kept alive, so that they keep their ids
        self._found: dict[Group, list[object]] = {}
        for root in roots:
            self._visit(root)
        self._update_found()
        self.first = len(self)

    def __len__(self) -> int:
        return sum(len(group.objects) for group in self.groups.values())

    @property
    def has_outgrown(self) -> bool:
        """Whether so many objects have been added since the start that starting over is faster."""
        return len(self) > self.first + self.first // 4 + 200 or len(self._known) > 3 * self.first + 10_000

    def update(self) -> int:
        """Read all objects, including new ones. Return how many places are no longer shared with the last snapshot."""
        changed = sum(group.update(self._visit) for group in list(self.groups.values()) if group.codec.changes)
        return changed + self._update_found()

    def reread_append_only(self) -> None:
        """Make the next update read append-only lists in full, because they might no longer be extensions of their last states."""
        for group in self.groups.values():
            if isinstance(group.codec, AppendOnlyListCodec):
                group.states = []

    def _update_found(self) -> int:
        """Read the objects that were found, and the objects that they lead to. Return the same number as `update`."""
        changed = 0
        while self._found:
            found, self._found = self._found, {}
            for group, objects in found.items():
                changed += group.add(objects, self._visit)
        return changed

    def _visit(self, value: object) -> bool:
        """Find the objects that a value leads to. Return whether a mutable object in the value can equal another object."""
        known = self._known.get(id(value))
        if known is not None:
            return known[1]
        cls = type(value)
        parts: Sequence[FieldValue] | None = value if isinstance(value, tuple) else parts_of(value)
        if parts is None:
            group = self.groups.get(cls)
            if group is None:
                group = self.groups[cls] = Group(codec_of(cls))
            is_alike = cls.__eq__ is not object.__eq__
            self._found.setdefault(group, []).append(value)
        else:
            leading = [part for part in parts if type(part) not in ATOMS]
            if not leading and cls is tuple:  # visiting it again is as fast as looking it up
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
        root: the simulation that the snapshot was taken from.
        weight: the approximate number of objects whose states it does not share with the snapshot before.
        objects: the objects, shared with the snapshots before and after.
    """

    __slots__ = ("_snapshots", "_states", "objects", "root", "weight")

    def __init__(self, root: Root, snapshots: Snapshots, objects: Objects, changed: int) -> None:
        self.root, self._snapshots = root, snapshots
        self.objects = objects
        self._states = {group: group.states for group in objects.groups.values()}
        self.weight = changed // PLACE

    def __len__(self) -> int:
        """Return the number of objects in the snapshot."""
        return sum(map(len, self._states.values()))

    def is_of(self, root: object) -> bool:
        """Return whether the snapshot was taken from the object `root` itself, not from a copy."""
        return self.root is root

    def restore(self) -> None:
        """Restore the state of all objects."""
        with _garbage_collection_paused():
            self._snapshots.resume_from(self.objects)
            for group, states in self._states.items():
                if group.codec.changes:
                    group.restore(states)

    def copy(self) -> Root:
        """Return a new simulation in the state of this snapshot. The original does not change."""
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
                kept.append(value)  # keeps the id from being reused
            return new

        for codec, blanks, objects, states in filled:
            codec.fill(blanks, objects, states, renew)
        copy: Root = news[id(self.root)]
        return copy


class Snapshots:
    """An object that takes snapshots of a simulation. Each snapshot shares all unchanged states with the last one."""

    OUTSIDE: ClassVar = ("_objects",)

    __slots__ = ("_objects",)

    def __init__(self) -> None:
        self._objects: Objects | None = None

    @property
    def shares(self) -> bool:
        """Whether the next snapshot shares states with the last one, and is therefore fast."""
        return self._objects is not None and not self._objects.has_outgrown

    def take(self, root: Root, *also: object) -> Snapshot[Root]:
        """Take a snapshot of a simulation between two steps, and of further objects that belong to it.

        Raises:
            TypeError: an object cannot be read; the message names its class.
        """
        roots = (root, *also)
        with _garbage_collection_paused():
            objects, self._objects = self._objects, None  # after an error, the known objects are incomplete
            if objects is None or objects.has_outgrown or list(map(id, roots)) != list(map(id, objects.roots)):
                objects, changed = Objects(roots), 0
            else:
                changed = objects.update()
            self._objects = objects
            return Snapshot(root, self, objects, changed)

    def resume_from(self, objects: Objects) -> None:
        """Record that a snapshot of these objects has been restored. The next snapshot still shares states with the last one."""
        if self._objects is not None and self._objects is not objects:
            self._objects.reread_append_only()


@contextmanager
def _garbage_collection_paused() -> Iterator[None]:
    """Pause the garbage collector. Otherwise, it would repeatedly traverse thousands of new objects that are not garbage."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
