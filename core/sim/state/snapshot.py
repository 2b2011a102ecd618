"""Snapshots: the state of a simulation as a value that can be restored or copied.

A snapshot holds the state of every mutable object (`core.sim.state.codecs`). A snapshot shares all unchanged states with the previous
snapshot. Objects are read class by class, and changes are found by comparison, so the protocol does no bookkeeping for snapshots. Restoring
a snapshot writes the states back to the same objects, so identity and reference cycles need no special care. Only states that differ from
the current ones are written. Copying a snapshot creates new objects, and replaces each reference with one to the new object.

Copies share functions, so functions must not hold state. A state that contains a closure is refused.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, compress, count
from operator import is_not, ne
from typing import ClassVar, Final, Generic, TypeVar

from core.sim.state.codecs import AppendOnlyListCodec, Codec, FewOfManyCodec, FieldsCodec, State, codec_of, parts_of, renewed
from core.sim.state.fields import ATOMS, FieldValue

Root = TypeVar("Root")

Visit = Callable[[list[FieldValue]], bool]
"""A function that visits values to find the objects that they refer to. The function returns whether the values contain a mutable object
that can be equal to another object.
"""

PLACE: Final = 16
"""The number of list entries in a snapshot that take as much memory as one object's state."""

AT_ONCE: Final = 256
"""The number of objects that are read before their states are compared. The number is small, so that these objects stay in the processor's
cache."""

FEW_OF_CLASS: Final = 32
"""If fewer objects of a class than this number are found at once, they are read together with the objects of other small classes."""


class Group:
    """The objects of one class, or of classes that have few objects each.

    Attributes:
        objects: the objects that were found on the way to the last snapshot, in the order in which they were found. The list is replaced,
            never changed.
        states: the states of the objects at the last snapshot, for all objects that had been found by then. The list is replaced, never
            changed.
    """

    def __init__(self, codec: Codec) -> None:
        self.codec = codec
        self.objects: list[object] = []
        self.states: list[State] = []
        self._alike: dict[int, set[int]] = {}  # places, by `AT_ONCE`, whose values can equal others without being the same object

    def _differences(
        self, others: list[State], read: Callable[[list[FieldValue], list[State]], list[State]]
    ) -> tuple[list[int], list[State]]:
        """Read the objects that have a state in `others`. Return the indexes of the objects whose current state differs from their state in
        `others`, and the current states of these objects.
        """
        places: list[int] = []
        present: list[State] = []
        for start in range(0, len(others), AT_ONCE):
            held = others[start : start + AT_ONCE]
            states = read(self.objects[start : start + len(held)], held)
            differ = list(compress(count(), map(ne, states, held)))
            alike = self._alike.get(start)
            if alike is not None:
                differ += _replaced(alike.difference(differ), states, held)
            places += map(start.__add__, differ)
            present += map(states.__getitem__, differ)
        return places, present

    def add(self, found: list[object], visit: Visit) -> int:
        """Read new objects, and visit the values that they refer to. Return how many places are not shared with the last snapshot."""
        values = [value for value in chain.from_iterable(map(self.codec.read_final, found)) if type(value) not in ATOMS]
        if values:
            visit(values)
        places = range(len(self.objects), len(self.objects) + len(found))
        states = self.codec.reread(found, [])
        self.objects = self.objects + found
        self.states = self.states + states
        return self._changed(places, states, [()] * len(states), visit)

    def update(self, visit: Visit) -> int:
        """Read the objects, and visit the values that refer to other objects. Return how many list entries are no longer shared with the
        last snapshot."""
        former = self.states
        places, states = self._differences(former, self.codec.read)
        held = [former[at] for at in places]
        if not places:
            return 0
        self.states = now = former.copy()
        for at, state in zip(places, states, strict=True):
            now[at] = state
        return self._changed(places, states, held, visit)

    def _changed(self, places: Sequence[int], states: list[State], former: list[State], visit: Visit) -> int:
        """Visit the values that the objects at the given places hold now but did not hold in their former state."""
        if self.codec.leads:
            for holders, values in self.codec.new_values(places, states, former):
                if visit(values):
                    for at in holders:
                        self._mark_alike(at)
        return len(self.states) + PLACE * len(places)

    def pruned(self, reachable: set[int]) -> Group:
        """Return a new group that contains the objects whose ids are in `reachable`, with the states of these objects."""
        other = Group(self.codec)
        for at, each in enumerate(self.objects):
            if id(each) in reachable:
                if at % AT_ONCE in self._alike.get(at - at % AT_ONCE, ()):
                    other._mark_alike(len(other.objects))
                other.objects.append(each)
                if at < len(self.states):
                    other.states.append(self.states[at])
        return other

    def _mark_alike(self, at: int) -> None:
        self._alike.setdefault(at - at % AT_ONCE, set()).add(at % AT_ONCE)

    def restore(self, objects: list[object], states: list[State], *, in_step: bool, unchanged: bool) -> None:
        """Write states back to objects.

        Args:
            objects, states: the objects of a snapshot, and their states.
            in_step: whether no append-only list in this group has lost items since the group's states were recorded.
            unchanged: whether the objects of this group still are in the states that the group holds, so that they need not be read.
        """
        common = common_length(self.objects, objects)
        former = self.states[:common]
        self.objects, self.states = objects, states
        if isinstance(self.codec, AppendOnlyListCodec):
            self.codec.restore(objects, states, former if in_step else [])
            return
        if unchanged:
            places = list(compress(count(), map(is_not, former, states)))
            held = [former[at] for at in places]
            places += range(common, len(states))
            held += self.codec.reread(objects[common:], [])
        else:
            places, held = self._differences(states, self.codec.reread)
        if places:
            self.codec.write_all([objects[at] for at in places], [states[at] for at in places], held)


def common_length(one: list[object], other: list[object]) -> int:
    """Return how many objects two lists have in common at their beginnings."""
    shorter = min(len(one), len(other))
    return shorter if one is other else next(compress(count(), map(is_not, one, other)), shorter)


def _replaced(places: set[int], states: list[State], others: list[State]) -> list[int]:
    """Of the given places, return those at which the two lists contain equal states that refer to different objects."""
    if places and max(places) >= len(others):
        places = {at for at in places if at < len(others)}
    each = chain.from_iterable
    if not any(map(is_not, each(map(states.__getitem__, places)), each(map(others.__getitem__, places)))):
        return []
    return [at for at in places if any(map(is_not, states[at], others[at]))]


class Objects:
    """All mutable objects that can be reached from the roots.

    Attributes:
        groups: the groups of objects that are read together.
        first: the number of objects when this `Objects` was created. Objects that become unreachable are kept until `pruned` is called, or
            until a snapshot is restored that was taken before they were found.
    """

    def __init__(self, roots: tuple[object, ...], former: Objects | None = None) -> None:
        """Find the objects that can be reached from the roots.

        Args:
            roots: the objects from which all other objects are found.
            former: the objects that were found earlier from the same roots, with their states at the last snapshot. These states are kept.
                None means that all objects are read.
        """
        self.roots = roots
        self._found: dict[type, list[object]] = {}
        if former is None:
            self._few = FewOfManyCodec()
            self.groups = [Group(self._few)]
            self._group_of: dict[type, int] = {}
            self._known: dict[int, tuple[object, bool]] = {}  # all objects
            self._values: dict[int, tuple[object, bool]] = {}  # visited values; kept alive, so that they keep their ids
            self._visit(list(roots))
            self._update_found()
        else:
            reachable = former._reachable()
            self._few, self._group_of = former._few, former._group_of
            self.groups = [group.pruned(reachable) for group in former.groups]
            self._known, self._values = ({key: each[key] for key in each if key in reachable} for each in (former._known, former._values))
        self.first = len(self)

    def _reachable(self) -> set[int]:
        """Return the ids of the values that can be reached from the roots at the last snapshot, except the ids of tuples."""
        places = {id(each): (group, at) for group in self.groups for at, each in enumerate(group.objects)}
        seen: set[int] = set()
        values: list[FieldValue] = list(self.roots)
        while values:
            parts: list[FieldValue] = []
            for value in values:
                if isinstance(value, tuple):
                    parts += value
                elif id(value) not in seen:
                    seen.add(id(value))
                    if id(value) in places:
                        group, at = places[id(value)]
                        parts += group.codec.read_final(value)
                        if group.codec.leads:
                            parts += group.states[at]
                    else:
                        parts += parts_of(value) or ()
            values = [part for part in parts if type(part) not in ATOMS]
        return seen

    def __len__(self) -> int:
        return sum(len(group.objects) for group in self.groups)

    @property
    def has_outgrown(self) -> bool:
        """Whether so many objects have been added since the start that it is worth looking for those that are unreachable now."""
        return len(self) > self.first + self.first // 8 + 256 or len(self._values) > 2 * self.first + 10_000

    def pruned(self) -> Objects:
        """Return the objects that can still be reached. Objects that can no longer be reached remain in earlier snapshots.

        Until such a snapshot is restored, no further snapshot is taken of this object, so it forgets which values were visited. There can be
        ten times as many as objects.
        """
        pruned = Objects(self.roots, self)
        self._known, self._values = {}, {}
        return pruned

    def update(self) -> int:
        """Read all objects, including new ones. Return how many places are no longer shared with the last snapshot."""
        changed = sum(group.update(self._visit) for group in self.groups if group.codec.changes)
        return changed + self._update_found()

    def restore(self, held: Mapping[Group, tuple[list[object], list[State]]], *, in_step: bool, unchanged: bool) -> None:
        """Write states back to objects (`Group.restore`). Objects that were found later are forgotten, because nothing refers to them now.

        Args:
            held: the objects and states of a snapshot, by group.
            in_step: whether the snapshot that was taken or restored last has the same `Objects`.
            unchanged: whether nothing has changed since then.
        """
        self._values = {}
        if not in_step:
            self._known = {}
        for group in self.groups:
            objects, states = held.get(group, ([], []))
            if unchanged and in_step and group.states is states and group.objects is objects:
                continue
            start = common_length(group.objects, objects) if in_step else 0
            for each in group.objects[start:] if in_step else ():
                del self._known[id(each)]
            for each in objects[start:]:
                self._known[id(each)] = each, _can_equal_others(each)
            if group.codec.changes:
                group.restore(objects, states, in_step=in_step, unchanged=unchanged and in_step)
            else:
                group.objects, group.states = objects, states

    def _update_found(self) -> int:
        """Read the objects that were found, and the objects that are reachable from them. Return how many list entries are not shared with
        the last snapshot.
        """
        changed = 0
        while self._found:
            found, self._found = self._found, {}
            for cls, objects in found.items():
                changed += self._group(cls, len(objects)).add(objects, self._visit)
        return changed

    def _group(self, cls: type, found: int) -> Group:
        """Return the group for the objects of a class. `found` is the number of objects of this class that were found."""
        number = self._group_of.get(cls)
        if number is None:
            codec = codec_of(cls)
            if isinstance(codec, FieldsCodec) and found < FEW_OF_CLASS:
                self._few.include(codec)
                number = 0
            else:
                number = len(self.groups)
                self.groups.append(Group(codec))
            self._group_of[cls] = number
        return self.groups[number]

    def _visit(self, values: list[FieldValue]) -> bool:
        """Find the objects that values lead to. Return whether the values contain a mutable object that is compared by content.

        The parts of tuples are always visited again, which is as fast as looking the tuples up.
        """
        is_alike = False
        while values:
            parts: list[FieldValue] = []
            for value in values:
                if isinstance(value, tuple):
                    parts += value
                elif (self._known.get(id(value)) or self._values.get(id(value)) or self._find(value))[1]:
                    is_alike = True
            values = [part for part in parts if type(part) not in ATOMS]
        return is_alike

    def _find(self, value: FieldValue) -> tuple[object, bool]:
        """Return an entry of `_known` or `_values` for a value that is not a tuple."""
        parts = parts_of(value)
        if parts is None:
            self._found.setdefault(type(value), []).append(value)
            found = self._known[id(value)] = value, _can_equal_others(value)
        else:
            found = self._values[id(value)] = value, self._visit([part for part in parts if type(part) not in ATOMS])
        return found


def _can_equal_others(each: object) -> bool:
    """Return whether a mutable object can be equal to another one, because it is compared by content."""
    return type(each).__eq__ is not object.__eq__


class Snapshot(Generic[Root]):
    """The state of all objects at a moment; immutable.

    Attributes:
        root: the simulation that the snapshot was taken from.
        weight: the approximate number of objects whose states this snapshot does not share with the previous one.
        objects: the objects, shared with the snapshots before and after.
    """

    __slots__ = ("_held", "_snapshots", "objects", "root", "weight")

    def __init__(self, root: Root, snapshots: Snapshots, objects: Objects, changed: int) -> None:
        self.root, self._snapshots = root, snapshots
        self.objects = objects
        self._held = {group: (group.objects, group.states) for group in objects.groups}
        self.weight = changed // PLACE

    def __len__(self) -> int:
        """Return the number of objects in the snapshot."""
        return sum(len(states) for _, states in self._held.values())

    def differs_in(self, other: Snapshot[Root]) -> int:
        """Return the approximate number of objects whose states this snapshot does not share with another one. Two items of an append-only
        list count as an object.
        """
        lists = [states for group, (_, states) in other._held.items() if isinstance(group.codec, AppendOnlyListCodec)]
        copies = {id(copy) for copy, _ in chain.from_iterable(lists)}
        others: set[int] = set()  # for objects that were found anew between the two snapshots
        count = 0
        for group, (_, states) in self._held.items():
            _, held = other._held.get(group, (None, None))
            if held is states:
                continue
            if held is not None:
                count += sum(map(is_not, states, held)) + max(0, len(states) - len(held))
            else:
                others = others or set(map(id, chain.from_iterable(states for _, states in other._held.values())))
                count += len(states) - sum(map(others.__contains__, map(id, states)))
            if isinstance(group.codec, AppendOnlyListCodec):
                count += sum(length for copy, length in states if id(copy) not in copies) // 2
        return count

    def is_of(self, root: object) -> bool:
        """Return whether the snapshot was taken from the object `root` itself, not from a copy."""
        return self.root is root

    def restore(self, *, unchanged: bool = False) -> None:
        """Restore the state of all objects.

        Args:
            unchanged: whether nothing has changed since the last snapshot was taken or restored. Then, few objects are read.
        """
        with _garbage_collection_paused():
            self.objects.restore(self._held, in_step=self._snapshots.resume_from(self.objects), unchanged=unchanged)

    def copy(self) -> Root:
        """Return a new simulation in the state of this snapshot, without changing the original simulation."""
        with _garbage_collection_paused():
            return self._copy()

    def _copy(self) -> Root:
        news: dict[int, FieldValue] = {}
        filled = []
        for group, (objects, states) in self._held.items():
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
    """An object that takes all snapshots of a simulation. Each snapshot shares all unchanged states with the last one."""

    OUTSIDE: ClassVar = ("_objects",)

    __slots__ = ("_objects",)

    def __init__(self) -> None:
        self._objects: Objects | None = None  # the objects of the snapshot that was taken or restored last

    @property
    def shares(self) -> bool:
        """Whether the next snapshot shares states with the last one, and is therefore fast."""
        return self._objects is not None

    def take(self, root: Root, *also: object) -> Snapshot[Root]:
        """Take a snapshot of a simulation between two steps, and of additional objects that belong to the simulation.

        Raises:
            TypeError: an object cannot be read; the message names its class.
        """
        roots = (root, *also)
        with _garbage_collection_paused():
            objects, self._objects = self._objects, None  # after an error, the known objects are incomplete
            if objects is None or list(map(id, roots)) != list(map(id, objects.roots)):
                objects, changed = Objects(roots), 0
            else:
                if objects.has_outgrown:
                    objects = objects.pruned()
                changed = objects.update()
            self._objects = objects
            return Snapshot(root, self, objects, changed)

    def resume_from(self, objects: Objects) -> bool:
        """Record that a snapshot of these objects is being restored, so that the next snapshot shares unchanged states with it. Return
        whether the last snapshot that was taken or restored contains the same objects.
        """
        in_step, self._objects = self._objects is objects, objects
        return in_step


@contextmanager
def _garbage_collection_paused() -> Iterator[None]:
    """Pause the garbage collector, which would otherwise repeatedly traverse thousands of new objects that are not garbage."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
