"""A whole cluster as a value: `take` makes a keyframe of it, `restore` a cluster that goes on from there byte for byte.

A keyframe holds, for every object that can change, a tuple of what its fields hold (`core.lab.history.kinds`); what never changes is
shared, and a field that refers to such an object keeps the object itself, as the name of its state in the keyframe. To restore is
to make all of them anew and to fill them, each reference going to the new object of that name. To go back with the very cluster
that the keyframe was taken of is to fill the same objects: that takes a fraction of the time.

Where nothing but plain replication has happened since the last keyframe, the next one shares what that was made of (`Base`), and
holds only what has moved (`core.lab.history.moving`).

Not part of a keyframe: where a journal's events go. Functions are shared, so they may hold nothing: a closure in a cluster's
state is refused.
"""

from __future__ import annotations

import functools
import gc
import types
from collections.abc import Callable, Iterable
from itertools import compress
from operator import is_not
from typing import Any, Final, ParamSpec, TypeVar

from core.lab.history import kinds
from core.lab.history.kinds import CONSTANT, Kind, State, kind_of
from core.lab.history.moving import Row, groups_of, is_plain, listen, passing_of, places_of, roots_of, suffices
from core.lab.nodes import ClusterNodes
from core.sim.journal import Journal, Sink, nobody

P = ParamSpec("P")
R = TypeVar("R")


class Base:
    """A cluster's state at a whole keyframe, and what may move without another one; whether that `suffices` until somebody stirs it.

    Attributes:
        objects, states: all objects, but for those reached through `roots` only, and what each held.
        known: their ids, and those of the tuples that lead to them (`tuples` keeps them alive).
        roots: what is taken whole with each keyframe.
        walk: finds what is new to a keyframe.
        groups: what moves, the first of which are read `each_time`; `places` of those that are read only if somebody told that they moved;
            rows: of the newest keyframe.
        again: objects, by id, that are taken anew because they have changed since.
    """

    __slots__ = (
        "_state_of", "again", "each_time", "groups", "known", "objects", "places", "roots", "rows", "states", "suffices", "tuples", "walk"
    )  # fmt: skip

    def __init__(self, cluster: ClusterNodes, former: Base | None) -> None:
        self.roots = roots_of(cluster)
        self.groups, self.places = groups_of(cluster)
        self.each_time = len(self.groups) - len(self.places)
        self.suffices = suffices(cluster)
        later = [*self.roots, *passing_of(cluster)]
        self.known = set(map(id, later))
        walk = Walk(self.known, [cluster])
        self.objects, self.states, self.tuples = walk.objects, walk.states(), walk.tuples
        self.known.difference_update(map(id, later))
        self.walk = Walk(self.known, [])
        self.again: dict[int, Any] = {}
        self._state_of: dict[int, State] = {}
        self.rows: list[Row] = [()] * len(self.groups)
        if former is not None:
            self._share(former)
        listen(cluster.journal, self)

    def _share(self, former: Base) -> None:
        """What an object held at the last whole keyframe already is kept once."""
        held = {id(each): state for each, state in zip(former.objects, former.states, strict=True) if type(each) in kinds.PLAIN}
        find, states = held.get, self.states
        for at, each in enumerate(self.objects):
            state = find(id(each))
            if state is not None and state == states[at]:
                states[at] = state
        if len(former.groups) == len(self.groups):
            self.rows = former.rows

    def state_of(self, each: Any) -> State:
        """What an object held."""
        if not self._state_of:
            self._state_of = dict(zip(map(id, self.objects), self.states, strict=True))
        return self._state_of[id(each)]


ROW: Final = 13
"""What a partition's row weighs: some 2 kB, as so many objects' states."""


class Keyframe:
    """A cluster's whole state at a moment; immutable.

    Attributes:
        now, seq, cause: of the journal.
        weight: about how many objects' states it holds that neither `whole` nor the keyframe before it holds.
    """

    __slots__ = ("_again", "_base", "_objects", "_rows", "_states", "cause", "now", "seq", "weight")

    def __init__(self, journal: Journal, base: Base, objects: list[Any], states: list[State], weight: int) -> None:
        self.now, self.seq, self.cause = journal.now, journal.seq, journal.cause
        self._base = base
        self._rows = base.rows
        self._again = base.again
        self._objects = objects
        self._states = states
        self.weight = weight

    def __len__(self) -> int:
        """How many objects it holds."""
        return len(self._base.objects) + len(self._objects)

    def objects(self) -> list[Any]:
        """All of them."""
        return self._base.objects + self._objects

    @property
    def whole(self) -> Base:
        """What it shares with the keyframes after the same whole one."""
        return self._base

    def is_of(self, cluster: ClusterNodes) -> bool:
        """Whether it was taken of this very cluster."""
        return self._base.objects[0] is cluster


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


class Walk:
    """Finds the objects that can change, from some on, but for those known already.

    Attributes:
        objects: what was found.
        tuples: what led to some of it, by id in `known` too.
    """

    def __init__(self, known: set[int], objects: list[Any]) -> None:
        self.objects: list[Any] = []
        self.tuples: list[tuple] = []
        self._known = known
        self.begin(objects)
        add, note, found, kept = self.objects.append, known.add, kinds.found, self.tuples.append

        def visit(value: Any) -> None:
            cls = type(value)
            if cls in CONSTANT or id(value) in known:
                return
            if cls is types.FunctionType:
                if value.__closure__ is not None:
                    raise TypeError(f"a closure is part of a cluster's state: {value.__qualname__}")
            elif isinstance(value, tuple):
                note(id(value))
                kept(value)
                for item in value:
                    if type(item) not in CONSTANT and id(item) not in known:
                        visit(item)
            elif cls is types.MethodType or cls is types.BuiltinMethodType:  # the latter where the class is compiled
                visit(value.__self__)
            elif (found[cls] if cls in found else kind_of(cls)) is not None:
                note(id(value))
                add(value)

        self.visit = visit

    def begin(self, objects: Iterable[Any]) -> None:
        """Some to begin with."""
        self.objects += objects
        self._known.update(map(id, self.objects))

    def end(self) -> list[Any]:
        """Forget what was found; returns it."""
        found = self.objects.copy()
        if found:
            self._known.difference_update(map(id, found))
            self.objects.clear()
        if self.tuples:
            self._known.difference_update(map(id, self.tuples))
            self.tuples.clear()
        return found

    def states(self) -> list[State]:
        """What the objects hold; those that they lead to are found on the way."""
        known, visit = self._known, self.visit
        return [_kind(each).take(each, known, visit) for each in self.objects]  # it grows as it goes


def _kind(each: Any) -> Kind:
    kind = kind_of(type(each))
    assert kind is not None, "constants are never listed"
    return kind


def shares(cluster: ClusterNodes) -> bool:
    """Whether a keyframe of a cluster would now share with the last one all but what has moved, and so be quickly taken."""
    return is_plain(cluster)


@_collector_rests
def take(cluster: ClusterNodes) -> Keyframe:
    """The state of a cluster between two of its steps.

    Raises:
        TypeError: something in it cannot be taken; the message names its class.
    """
    journal = cluster.journal
    base: Base | None = journal.keyframed
    if base is None or not shares(cluster) or len(base.again) * 8 > len(base.objects):
        base = Base(cluster, base)
        moved: Iterable[int] = base.places.values()
    else:
        moved = places_of(journal.moved, base.places)
    if journal.changed:
        base.again = base.again | journal.changed
        journal.changed.clear()
    known, again, walk, groups = base.known, base.again, base.walk, base.groups
    stay = known.intersection(again) if again else again
    if base.roots or again:
        walk.begin([*base.roots, *again.values()])
    visit = walk.visit
    rows = base.rows.copy()
    weight = 3 * base.each_time + len(rows) // 4
    try:
        for at in range(base.each_time):
            group = groups[at]
            rows[at] = group.take(group.objects, known, visit)
        for at in moved:
            group = groups[at]
            row = group.take(group.objects, known, visit)
            if row != rows[at]:
                rows[at] = row
                weight += ROW
        states = walk.states() if walk.objects else []
    finally:
        objects = walk.end()
        if stay:
            known.update(stay)
    base.rows = rows
    listen(journal, base)
    return Keyframe(journal, base, objects, states, weight + len(states))


@_collector_rests
def restore(keyframe: Keyframe, sink: Sink | None = None) -> ClusterNodes:
    """A cluster that stands where the keyframe was taken; its events go to `sink`."""
    base = keyframe._base
    objects, states = keyframe.objects(), base.states + keyframe._states
    found = [_kind(each) for each in objects]
    news: list[Any] = []
    renewals: dict[int, Any] = {}
    for each, kind, state in zip(objects, found, states, strict=True):
        renewals[id(each)] = new = kind.blank(state)
        news.append(new)
    find = renewals.get

    def renewed(value: Any) -> Any:
        cls = type(value)
        if cls in CONSTANT:
            return value
        new = find(id(value))
        if new is not None:
            return new
        if isinstance(value, tuple):
            items = [renewed(item) for item in value]
            same = all(item is old for item, old in zip(items, value, strict=True))
            renewals[id(value)] = new = value if same else tuple.__new__(cls, items)
            return new
        if cls is types.MethodType:
            return types.MethodType(value.__func__, renewed(value.__self__))
        if cls is types.BuiltinMethodType:
            return getattr(renewed(value.__self__), value.__name__)
        return value

    for new, kind, state in zip(news, found, states, strict=True):
        kind.fill(new, state, renewed, find)
    for group, row in zip(base.groups, keyframe._rows, strict=True):
        group.fill(row, renewed, find)
    cluster: ClusterNodes = news[0]
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
    base, journal = keyframe._base, cluster.journal
    rows, groups = keyframe._rows, base.groups
    others: Iterable[int]
    if journal.keyframed is not base or not is_plain(cluster):
        others = range(len(groups))
        for each, state in zip(base.objects, base.states, strict=True):
            _kind(each).back(each, state)
    else:
        others = dict.fromkeys(range(base.each_time)) | places_of(journal.moved, base.places)
        others |= dict.fromkeys(compress(range(len(rows)), map(is_not, rows, base.rows)))
        for each in (*base.again.values(), *journal.changed.values()):
            if id(each) not in keyframe._again and id(each) in base.known:
                _kind(each).back(each, base.state_of(each))
    for each, state in zip(keyframe._objects, keyframe._states, strict=True):
        _kind(each).back(each, state)
    for at in others:
        group = groups[at]
        group.reader.back(group.objects, rows[at])
    base.rows, base.again = rows, keyframe._again
    listen(journal, base)
    _stand(cluster, keyframe, sink)


def _stand(cluster: ClusterNodes, keyframe: Keyframe, sink: Sink | None) -> None:
    journal = cluster.journal
    journal.now, journal.seq, journal.cause = keyframe.now, keyframe.seq, keyframe.cause
    journal.sink = nobody if sink is None else sink
