"""A whole cluster as a value: `take` makes a keyframe of it, `restore` a cluster that goes on from there byte for byte.

A keyframe holds the state of every object that can change (`core.lab.history.codecs`), and shares with the one before it the states that
are still the same. Objects are read class by class, each class in one go, so a keyframe needs to be told of nothing: whatever
has changed since the last one is found by comparing. To restore is to make all objects anew and to fill them, each reference going
to the new object in the place of the old one. To go back with the very cluster that the keyframe was taken of is to write those
states that differ, which takes a fraction of the time.

Not part of a keyframe: where a journal's events go. Functions are shared, so they may hold nothing: a closure in a cluster's
state is refused.
"""

from __future__ import annotations

import functools
import gc
from collections import deque
from collections.abc import Callable, Iterable
from itertools import chain, compress, count, repeat
from operator import is_not, ne
from typing import Any, Final, ParamSpec, TypeVar

from core.lab.history.codecs import CONSTANT, METHODS, Codec, OfItems, State, codec_of, is_constant, parts_of, renewed
from core.lab.nodes import ClusterNodes
from core.sim.journal import Sink, nobody

P = ParamSpec("P")
R = TypeVar("R")


Columns = list[list[Any]]
"""What objects of one class held: a list for each field, or the only one, of tuples of what containers hold; never changed, but replaced."""

Visit = Callable[[Any], bool]
"""Is told of each value that may lead to objects; whether it is, or holds, something that can change and may equal another."""


class Group:
    """A cluster's objects of one class that declares its fields.

    Attributes:
        objects: in the order in which they were found; none is ever taken out.
        columns: what the first of them held at the last keyframe.
    """

    def __init__(self, codec: Codec) -> None:
        self.codec = codec
        self.objects: list[Any] = []
        self.columns: Columns = [[] for _ in codec.names]
        self._alike: set[int] = set()  # fields of which one value may equal another and is not the same
        self._flat: list[Any] = []

    def update(self, visit: Visit) -> int:
        """Read the objects and visit what they lead to now; returns how many values are no longer shared with the last keyframe."""
        flat = self.codec.read(self.objects)
        if flat == self._flat and not self._alike:
            return 0
        self._flat = flat
        width = len(self.columns)
        columns, alike = self.columns.copy(), self._alike
        changed = 0
        for place, former in enumerate(self.columns):
            column = flat[place::width]
            if column == former and (place not in alike or not any(map(is_not, column, former))):
                continue
            columns[place] = column
            changed += len(column)
            if not CONSTANT.issuperset(map(type, column)):
                for value in chain(compress(column, map(is_not, column, former)), column[len(former) :]):
                    if type(value) not in CONSTANT and visit(value):
                        alike.add(place)
        self.columns = columns
        return changed

    def back(self, columns: Columns) -> None:
        """Have the objects hold what they held."""
        width = len(columns)
        flat = self.codec.read(self.objects)
        for place, (name, column) in enumerate(zip(self.codec.names, columns, strict=True)):
            held = flat[place::width]
            if held != column or place in self._alike:
                for each, value in compress(zip(self.objects, column, strict=False), map(is_not, column, held)):
                    object.__setattr__(each, name, value)
        self.columns, self._flat = columns, []

    def fill(self, news: list[Any], columns: Columns, renew: Callable[[Any], Any]) -> None:
        """Have new objects hold the like of it."""
        for name, column in zip(self.codec.names, columns, strict=True):
            if not CONSTANT.issuperset(map(type, column)):
                column = list(map(renew, column))
            deque(map(object.__setattr__, news, repeat(name), column), maxlen=0)


class Containers:
    """A cluster's containers of one type; as `Group`, with one column of what each holds."""

    def __init__(self, codec: OfItems) -> None:
        self.codec = codec
        self.objects: list[Any] = []
        self.columns: Columns = [[]]
        self._alike: set[int] = set()  # containers that hold what may equal another and is not the same

    def _differing(self, states: list[State], others: list[State]) -> Iterable[int]:
        end = min(len(states), len(others))
        places = dict.fromkeys(compress(count(), map(ne, states, others)))
        for at in self._alike:
            if at < end and any(map(is_not, states[at], others[at])):
                places[at] = None
        return places

    def update(self, visit: Visit) -> int:
        """As of a `Group`."""
        (former,) = self.columns
        states = self.codec.read(self.objects, former)
        changed = [*self._differing(states, former), *range(len(former), len(states))]
        if not changed:
            return 0
        self.columns = [column] = [former + states[len(former) :]]
        for at in changed:
            column[at] = states[at]
            if self.codec.leads and not CONSTANT.issuperset(map(type, states[at])):
                self._look_at(at, former[at] if at < len(former) else (), visit)
        return len(column) + PLACE * len(changed)

    def _look_at(self, at: int, former: State, visit: Visit) -> None:
        """Visit what a container holds and did not hold before."""
        state = self.columns[0][at]
        for value in compress(state, map(is_not, state, former)) if len(state) == len(former) else state:
            if type(value) not in CONSTANT and visit(value):
                self._alike.add(at)

    def back(self, columns: Columns) -> None:
        """As of a `Group`."""
        (states,) = self.columns = columns
        for at in self._differing(states, self.codec.read(self.objects, [])):
            self.codec.write(self.objects[at], states[at])

    def fill(self, news: list[Any], columns: Columns, renew: Callable[[Any], Any]) -> None:
        """As of a `Group`."""
        (states,) = columns
        for new, state in zip(news, states, strict=True):
            if state:
                plain = not self.codec.leads or CONSTANT.issuperset(map(type, state))
                self.codec.write(new, state if plain else tuple(map(renew, state)))


class Objects:
    """All objects of a cluster that can change, as they are found.

    Attributes:
        cluster: which leads to all of them.
        groups: by class.
        first: how many there were at first; those that are gone are not looked for (`is_crowded`).
    """

    def __init__(self, cluster: ClusterNodes) -> None:
        self.cluster = cluster
        self.groups: dict[type, Group | Containers] = {}
        self._known: dict[int, tuple[Any, bool]] = {}
        self._found: dict[Group | Containers, list[Any]] = {}
        self._visit(cluster)
        self._update_found()
        self.first = len(self)

    def __len__(self) -> int:
        return sum(len(group.objects) for group in self.groups.values())

    @property
    def is_crowded(self) -> bool:
        """Whether so many were found since the start that to begin anew saves time."""
        return len(self) > self.first + self.first // 4 + 200 or len(self._known) > 3 * self.first + 10_000

    def update(self) -> int:
        """Read all of them, and those that are new; returns how many values are no longer shared with the last keyframe."""
        changed = sum(group.update(self._visit) for group in list(self.groups.values()))
        return changed + self._update_found()

    def _update_found(self) -> int:
        """Read those that were found, and what is found in them."""
        changed = 0
        while self._found:
            found, self._found = self._found, {}
            for group, objects in found.items():
                group.objects += objects
                changed += group.update(self._visit)
        return changed

    def _visit(self, value: Any) -> bool:
        """Find what a value leads to; whether it is, or holds, something that can change and may equal another."""
        cls: Any = type(value)
        if cls is tuple and CONSTANT.issuperset(map(type, value)):
            return False
        known = self._known.get(id(value))
        if known is not None:
            return known[1]
        if is_constant(cls):
            return False
        parts = parts_of(value)
        if parts is None:
            group = self.groups.get(cls)
            if group is None:
                codec = codec_of(cls)
                group = self.groups[cls] = Group(codec) if isinstance(codec, Codec) else Containers(codec)
            equals: Any = cls.__eq__
            alike = equals is not object.__eq__
            self._found.setdefault(group, []).append(value)
        else:
            if CONSTANT.issuperset(map(type, parts)):
                return False
            alike = sum(self._visit(part) for part in parts if type(part) not in CONSTANT) > 0  # all are looked at
        self._known[id(value)] = value, alike
        return alike


class Keyframe:
    """A cluster's whole state at a moment; immutable.

    Attributes:
        now, seq, cause: of the journal.
        weight: about how many objects' states it holds that the keyframe before does not hold.
        columns: what its objects held.
        whole: the objects, which it shares with the keyframes before and after.
    """

    __slots__ = ("cause", "columns", "now", "seq", "weight", "whole")

    def __init__(self, objects: Objects, changed: int) -> None:
        journal = objects.cluster.journal
        self.now, self.seq, self.cause = journal.now, journal.seq, journal.cause
        self.whole = objects
        self.columns = {group: group.columns for group in objects.groups.values()}
        self.weight = changed // PLACE

    def __len__(self) -> int:
        """How many objects it holds."""
        return sum(len(columns[0]) for columns in self.columns.values() if columns)

    def is_of(self, cluster: ClusterNodes) -> bool:
        """Whether it was taken of this very cluster."""
        return self.whole.cluster is cluster


PLACE: Final = 16
"""How many places in a keyframe's lists take as much memory as an object's state."""


def _collector_rests(make: Callable[P, R]) -> Callable[P, R]:
    """Thousands of objects are made that stay: meanwhile the garbage collector, which would look through them again and again, rests."""

    @functools.wraps(make)
    def made(*args: P.args, **kwargs: P.kwargs) -> R:
        enabled = gc.isenabled()
        gc.disable()
        try:
            return make(*args, **kwargs)
        finally:
            if enabled:
                gc.enable()

    return made


def shares(cluster: ClusterNodes) -> bool:
    """Whether a keyframe of a cluster would now share with the last one all that has not changed, and so be quickly taken."""
    objects: Objects | None = cluster.objects.value
    return objects is not None and not objects.is_crowded


@_collector_rests
def take(cluster: ClusterNodes) -> Keyframe:
    """The state of a cluster between two of its steps.

    Raises:
        TypeError: something in it cannot be read; the message names its class.
    """
    objects: Objects | None = cluster.objects.value
    if objects is None or objects.is_crowded:
        cluster.objects.value = objects = Objects(cluster)
        return Keyframe(objects, 0)
    cluster.objects.value = None  # where something cannot be read, it is not known what was
    changed = objects.update()
    cluster.objects.value = objects
    return Keyframe(objects, changed)


@_collector_rests
def restore(keyframe: Keyframe, sink: Sink | None = None) -> ClusterNodes:
    """A cluster that stands where the keyframe was taken; its events go to `sink`."""
    news: dict[int, Any] = {}
    filled = []
    for group, columns in keyframe.columns.items():
        objects = group.objects[: len(columns[0])] if columns else group.objects
        blanks = list(map(group.codec.blank, objects))
        news.update(zip(map(id, objects), blanks, strict=True))
        filled.append((group, blanks, columns))

    def renew(value: Any) -> Any:
        if type(value) in CONSTANT:
            return value
        new = news.get(id(value))
        if new is None:
            new = renewed(value, renew)
            if not isinstance(value, METHODS):
                news[id(value)] = new  # a state holds it, so nothing else gets this id
        return new

    for group, blanks, columns in filled:
        group.fill(blanks, columns, renew)
    cluster: ClusterNodes = news[id(keyframe.whole.cluster)]
    _stand(cluster, keyframe, sink)
    return cluster


@_collector_rests
def go_back(cluster: ClusterNodes, keyframe: Keyframe, sink: Sink | None = None) -> None:
    """Let the cluster that a keyframe was taken of stand there again; its events go to `sink`.

    Raises:
        ValueError: it was taken of another one.
    """
    if not keyframe.is_of(cluster):
        raise ValueError("a cluster can only go back to a keyframe that was taken of itself")
    objects = keyframe.whole
    for group in objects.groups.values():
        group.back(keyframe.columns.get(group) or [[] for _ in group.columns])
    cluster.objects.value = objects
    _stand(cluster, keyframe, sink)


def _stand(cluster: ClusterNodes, keyframe: Keyframe, sink: Sink | None) -> None:
    journal = cluster.journal
    journal.now, journal.seq, journal.cause = keyframe.now, keyframe.seq, keyframe.cause
    journal.sink = nobody if sink is None else sink
