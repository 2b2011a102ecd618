"""A snapshot restores everything that can change, however it is held, and a copy has its own objects. Nothing is missed."""

from __future__ import annotations

import gc
import random
import types
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from enum import Enum
from itertools import pairwise
from typing import Any, ClassVar, Final, NamedTuple

import attrs
import pytest

from core.kafka.release import RELEASES
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.random_stream import RandomStream
from core.sim.state.append_only_list import AppendOnlyList
from core.sim.state.codecs import CONTAINERS
from core.sim.state.fields import ATOMS, is_frozen
from core.sim.state.snapshot import Snapshot, Snapshots
from core.sim.units import SECOND


class InSlots:
    """An object that holds something in a slot."""

    __slots__ = ("held",)

    def __init__(self, held: Any) -> None:
        self.held = held

    def reach(self) -> Any:
        """Return the held object."""
        return self.held


class InMoreSlots(InSlots):
    """An object with a slot that its base class does not have."""

    __slots__ = ("more",)

    def __init__(self, held: Any) -> None:
        super().__init__(None)
        self.more = held


class InFinal:
    """An object that always holds the same object, which can change."""

    __slots__ = ("held",)

    held: Final[Any]

    def __init__(self, held: Any) -> None:
        self.held = held


class InDict:
    """An object that holds something in its own dict."""

    def __init__(self, held: Any) -> None:
        self.held = held


class InBoth(InDict):
    """An object with a slot and a dict."""

    __slots__ = ("more",)

    def __init__(self, held: Any) -> None:
        super().__init__(None)
        self.more = held


class InName(NamedTuple):
    """A named tuple that is declared to hold only objects that never change."""

    held: int


@attrs.frozen
class InFrozen:
    """A frozen object that is declared to hold only objects that never change."""

    held: int


@attrs.define(eq=False)
class InAttrs:
    """An attrs object."""

    held: Any


HOLDERS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "slot": (InSlots, lambda holder: holder.held),
    "slot of a subclass": (InMoreSlots, lambda holder: holder.more),
    "final field": (InFinal, lambda holder: holder.held),
    "own dict": (InDict, lambda holder: holder.held),
    "slot beside a dict": (InBoth, lambda holder: holder.more),
    "field of attrs": (InAttrs, lambda holder: holder.held),
    "field of a frozen class": (InFrozen, lambda holder: holder.held),
    "item of a named tuple": (InName, lambda holder: holder.held),
    "item of a tuple": (lambda held: (1, (held,)), lambda holder: holder[1][0]),
    "item of a list": (lambda held: [held], lambda holder: holder[0]),
    "item of a deque": (lambda held: deque([held], 3), lambda holder: holder[0]),
    "value of a dict": (lambda held: {1: held}, lambda holder: holder[1]),
    "value of an ordered dict": (lambda held: OrderedDict({1: held}), lambda holder: holder[1]),
    "key of a dict": (lambda held: {InAttrs(held): 1}, lambda holder: next(iter(holder)).held),
    "item of a set": (lambda held: {InAttrs(held)}, lambda holder: next(iter(holder)).held),
    "item of a frozen set": (lambda held: frozenset({InAttrs(held)}), lambda holder: next(iter(holder)).held),
    "owner of a method": (lambda held: InSlots(held).reach, lambda holder: holder()),
    "owner of a method written in C": (lambda held: held.append, lambda holder: holder.__self__),
    "value that a method written in C reaches": (lambda held: {1: held}.get, lambda holder: holder(1)),
}
"""The ways in which something can be held, each with a function that reaches it."""


@pytest.mark.parametrize("way", HOLDERS)
def test_what_is_held_is_brought_back(way: str) -> None:
    hold, reach = HOLDERS[way]
    held = [1]
    root = InDict(None)
    snapshots = Snapshots()
    before = snapshots.take(root)
    root.held = hold(held)
    snapshot = snapshots.take(root)
    copy = snapshot.copy()
    held.append(2)
    later = snapshots.take(root)
    assert reach(copy.held) == [1]
    snapshot.restore()
    assert reach(root.held) is held
    assert held == [1]
    later.restore()
    assert held == [1, 2]
    assert reach(copy.held) == [1]
    assert reach(later.copy().held) == [1, 2]
    before.restore()
    assert root.held is None


class Partly:
    """An object with a field that is not part of the state."""

    OUTSIDE: ClassVar = ("sink",)

    __slots__ = ("held", "sink")

    def __init__(self) -> None:
        self.held = [1]
        self.sink: Any = None


def test_what_is_outside_stays_as_it_is() -> None:
    root = Partly()
    snapshot = Snapshots().take(root)
    root.sink = lambda: root.held
    root.held.append(2)
    snapshot.restore()
    assert root.held == [1]
    assert root.sink() == [1]
    assert snapshot.copy().sink is None


class OnList(list[int]):
    """A list subclass with state that is not declared."""


@pytest.mark.parametrize("value", [object(), OnList(), iter([1]), bytearray(), memoryview(b"")])
def test_what_declares_no_fields_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="declares no fields"):
        Snapshots().take(InDict(value))


def test_what_grows_may_grow_otherwise() -> None:
    """This also holds if other objects have been found since, and are compared from then on."""
    snapshots = Snapshots()
    root = InDict(AppendOnlyList([1]))
    start = snapshots.take(root)
    root.held.append(2)
    root.more = [InSlots(number) for number in range(1_000)]
    crowded = snapshots.take(root)
    anew = snapshots.take(root)
    assert anew.objects is not crowded.objects
    assert anew.weight < len(root.more) < len(anew)
    start.restore()
    root.held.append(3)
    other = snapshots.take(root)
    for snapshot, grown in ((start, [1]), (crowded, [1, 2]), (other, [1, 3]), (anew, [1, 2]), (other, [1, 3])):
        snapshot.restore()
        assert root.held == grown
        assert snapshot.copy().held == grown


@pytest.mark.parametrize("seed", range(5))
def test_lists_that_grow_on_many_branches(seed: int) -> None:
    """Objects that come and go in the meantime make the snapshots belong to different sets of objects. A list can be emptied when another one
    takes its place.
    """
    draw = random.Random(seed)
    root, snapshots = InDict([AppendOnlyList() for _ in range(3)]), Snapshots()
    root.other = []
    taken: list[tuple[Snapshot[InDict], list[list[int]]]] = []
    number = 0
    for _ in range(400):
        kind = draw.randrange(8)
        if kind < 4:
            number += 1
            draw.choice(root.held).append(number)
        elif kind < 6 or not taken:
            taken.append((snapshots.take(root), [list(each) for each in root.held]))
        elif kind == 6:
            snapshot, expected = draw.choice(taken)
            snapshot.restore()
            assert root.held == expected
            assert snapshot.copy().held == expected
        else:
            root.other = [InSlots(0) for _ in range(draw.randrange(600))]
            place = draw.randrange(3)
            left, root.held[place] = root.held[place], AppendOnlyList(root.held[place][1:])
            left.clear()
    for (before, _), (snapshot, _) in pairwise(taken):
        assert snapshot.differs_in(snapshot) == 0 < snapshot.differs_in(Snapshots().take(root)) <= 2 * len(snapshot) + 400
        assert snapshot.differs_in(before) <= snapshot.differs_in(Snapshots().take(root))
    assert len({id(snapshot.objects) for snapshot, _ in taken}) > 2


@pytest.mark.parametrize("seed", range(3))
def test_a_search_goes_back_without_reading_what_has_not_changed(seed: int) -> None:
    """From each state, some steps are tried, each of which adds, changes, or drops objects; a step is undone at once."""
    draw = random.Random(seed)
    root, snapshots = InDict([InSlots([number]) for number in range(20)]), Snapshots()
    root.grown = AppendOnlyList([0])
    first = snapshots.take(root)

    def contents() -> tuple[object, ...]:
        return [list(each.held) for each in root.held], list(root.grown)

    waiting = deque([(first, contents())])
    for number in range(60):
        state, expected = waiting.popleft()
        for _ in range(3):
            state.restore(unchanged=True)
            assert contents() == expected
            draw.choice(root.held).held.append(number)
            root.held[draw.randrange(len(root.held))] = InSlots([draw.randrange(2)])
            root.held += [InSlots(draw.choice(root.held).held) for _ in range(draw.randrange(3))]
            root.held.pop(draw.randrange(len(root.held)))
            root.grown.append(number)
            waiting.append((snapshots.take(root), contents()))
    for state, expected in draw.sample(waiting, len(waiting)):
        state.restore(unchanged=True)
        assert contents() == expected
        assert (len(state.copy().held), list(state.copy().grown)) == (len(expected[0]), expected[1])
    assert len({id(state.objects) for state, _ in waiting}) == 1
    first.restore(unchanged=True)
    assert len(snapshots.take(root)) == len(first)


def test_what_cannot_be_reached_any_more_is_read_no_more() -> None:
    """Snapshots that were taken before still bring it back, and then it is read again."""
    snapshots = Snapshots()
    root = InDict([InSlots([number]) for number in range(1_000)])
    root.grown = AppendOnlyList([1])
    gone = root.held[1:]
    before = snapshots.take(root)
    root.held = root.held[:1]
    snapshots.take(root)
    root.more = [InSlots(number) for number in range(1_000)]
    snapshots.take(root)
    after = snapshots.take(root)
    assert len(after) < len(gone) + len(root.more)
    root.grown.append(2)
    before.restore()
    assert root.held[1:] == gone
    gone[0].held.append(2)
    root.grown.append(3)
    root.others = [InSlots([number]) for number in range(1_000)]
    snapshots.take(root)
    again = snapshots.take(root)
    for snapshot, held, grown in ((before, [1], [1]), (again, [1, 2], [1, 3]), (before, [1], [1])):
        snapshot.restore()
        assert (root.held[1].held, root.grown) == (held, grown)
        copy = snapshot.copy()
        assert (copy.held[1].held, copy.grown) == (held, grown)
    after.restore()
    assert (len(root.held), len(root.more), root.grown) == (1, 1_000, [1])


def test_one_of_other_roots_shares_nothing() -> None:
    snapshots = Snapshots()
    one, other = InDict([1]), InDict([2])
    first = snapshots.take(one, other)
    assert first.objects is snapshots.take(one, other).objects is not snapshots.take(one).objects
    other.held.append(3)
    first.restore()
    assert other.held == [2]


def changeable(root: object, *beyond: object) -> Iterator[object]:
    """Return everything that is reachable from an object and can change, according to the garbage collector, which does not know the
    declarations.
    """
    seen = {id(each) for each in beyond}
    waiting = [root]
    while waiting:
        value = waiting.pop()
        cls = type(value)
        if id(value) in seen or cls in ATOMS or isinstance(value, (type, Enum, types.FunctionType, types.ModuleType, types.CodeType)):
            continue
        seen.add(id(value))
        if isinstance(value, Snapshots):
            continue
        if isinstance(value, RandomStream):  # what it refers to is part of `getstate()`
            yield value
            continue
        waiting += gc.get_referents(value)
        if not isinstance(value, (tuple, frozenset, types.MethodType, types.BuiltinMethodType)) and not is_frozen(cls):
            yield value
            if cls not in CONTAINERS:
                waiting.append(getattr(value, "__dict__", None))


def unknown(cluster: Cluster, snapshot: Snapshot[Cluster]) -> list[object]:
    """Return the objects that can change and that no snapshot contains."""
    known = {id(each) for group in snapshot.objects.groups for each in group.objects}
    return [each for each in changeable(cluster, cluster.journal.sink) if id(each) not in known]


def busy(release: str) -> Cluster:
    """Return a cluster in which many things are in progress."""
    topics = (TopicSpec("t", 3, 3),)
    cluster = Cluster(ClusterSpec(tuple(BrokerSpec(broker, log_dirs=2) for broker in (1, 2, 3)), topics), RELEASES[release], 0, [].append)
    cluster.do(acts.Load("t", 100, acks="all", producer="all"))
    cluster.do(acts.Consume("t"))
    cluster.run_until(3 * SECOND)
    cluster.do(acts.Kill(2))
    cluster.run_until(9 * SECOND)
    cluster.do(acts.Start(2))
    cluster.run_until(cluster.now + SECOND // 3)
    return cluster


@pytest.mark.parametrize("release", RELEASES)
def test_no_mutable_field_escapes(release: str) -> None:
    cluster = busy(release)
    snapshot = cluster.snapshot()
    assert unknown(cluster, snapshot) == []
    cluster.run_until(cluster.now + SECOND)
    assert unknown(cluster, cluster.snapshot()) == []


def test_a_field_that_escapes_is_seen() -> None:
    cluster = busy("4.1")
    snapshot = cluster.snapshot()
    planted = [1]
    cluster.brokers[1].voter = planted  # type: ignore[assignment]
    assert unknown(cluster, snapshot) == [planted]
    snapshot = cluster.snapshot()
    assert unknown(cluster, snapshot) == []
    planted.append(2)
    snapshot.restore()
    assert planted == [1]
