"""A whole cluster as a value: `take` makes a keyframe of it, `restore` a cluster that goes on from there byte for byte.

A keyframe holds, for every object that can change, a tuple of what its fields hold; what never changes is shared, and a field
that refers to such an object keeps the object itself, as the name of its state in the keyframe. To restore is to make all of
them anew and to fill them, each reference going to the new object of that name. So nothing can be forgotten: fields are
found by a class's slots and by an instance's own dict, whatever they are called. What is said here of certain fields only
saves time: lists that only ever grow are shared up to their length, and fields that hold plain numbers are not looked into.

Not part of a keyframe: where a journal's events go. Functions are shared, so they may hold nothing: a closure in a cluster's
state is refused.
"""

from __future__ import annotations

import enum
import functools
import gc
import random
import types
from collections import OrderedDict, deque
from collections.abc import Callable, Container
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

from core import acts
from core.account import Account, PartitionAccount
from core.broker.disk import FutureReplica, LogDir
from core.broker.fetch_session import FetchSession, SessionPartition
from core.broker.fetcher import PartitionFetchState
from core.broker.partition import Partition
from core.broker.replica import Replica
from core.clock import Clock
from core.controller.metadata_log import BrokerRegistration, ConfigRecord, MetadataLog, PartitionRecord
from core.controller.registration import PartitionRegistration
from core.ids import TopicPartition
from core.intervals import Intervals
from core.journal.recorder import Journal, Sink, nobody
from core.log.leader_epoch_cache import LeaderEpochCache
from core.log.log_config import LogConfig
from core.log.replica_log import ReplicaLog
from core.log.term import Batch, Term
from core.messages import AlterPartitionItem, ConsumerFetchRequest, FetchPartition, FetchRequest, ProduceRequest
from core.release import Release
from core.sim.quiet import QuietDirty
from core.spec import BrokerSpec, ClusterSpec

if TYPE_CHECKING:
    from core.sim.cluster import Cluster

P = ParamSpec("P")
R = TypeVar("R")

CONSTANT: Final[frozenset[type]] = frozenset(
    {
        int, str, bool, float, bytes, type(None), type, types.ModuleType, frozenset,
        TopicPartition, PartitionRegistration, BrokerRegistration, PartitionRecord, ConfigRecord, Batch, LogConfig, Release, Clock,
        BrokerSpec, ClusterSpec, AlterPartitionItem, FetchPartition, FetchRequest, ProduceRequest, ConsumerFetchRequest,
    }
)  # fmt: skip
"""Types of what never changes and refers to nothing that does."""

PLAIN: Final[dict[type, frozenset[str]]] = {
    Partition: frozenset(
        {
            "tp", "topic", "number", "adding", "has_quiet_followers", "holding", "isr", "last_high_watermark", "leader", "leader_epoch",
            "leader_epoch_start_offset", "maximal_isr",
            "may_be_behind", "min_isr", "partition_epoch", "pending", "produce_timer_due", "proposal", "replicas", "steady_epoch",
            "under_min_isr",
        }
    ),
    ReplicaLog: frozenset({"keeps_epochs", "leo", "high_watermark", "log_start", "config", "recovery_point", "flush_at", "last_append"}),
    Replica: frozenset(
        {"broker", "leo", "log_start", "last_caught_up_time", "last_fetch_leader_leo", "last_fetch_time", "broker_epoch"}
    ),
    SessionPartition: frozenset(
        {
            "tp", "topic", "number", "asked", "told_high_watermark", "told_log_start", "sent_end", "sent_total",
        }
    ),
    FetchSession: frozenset(
        {"address", "broker_epoch", "cause", "follower", "fetcher", "order", "last_fetch_time", "deadline", "timer_due"}
    ),
    PartitionFetchState: frozenset(
        {"leader_epoch", "state", "asked_epoch", "sent_epoch", "delayed_until", "out_of_range", "checked", "topic", "number", "steady", "leader_high_watermark"}
    ),
    FutureReplica: frozenset({"dir", "leo"}),
    LogDir: frozenset({"directory_id", "online", "repaired"}),
    Term: frozenset({"epoch", "leader", "bytes"}),
    PartitionAccount: frozenset(
        {
            "accepted", "committed_end", "registered_leader", "elected_by", "acked_count", "lost_count", "duplicated", "leader",
            "leader_epoch", "under_since", "under_total", "offline_since", "offline_total",
        }
    ),
}  # fmt: skip
"""Fields that only hold constants; a test watches that they do."""

OWNED: Final[dict[type, dict[str, str]]] = {
    Partition: {"remotes": "dict", "sessions": "dict", "consumers": "map"},
    ReplicaLog: {"starts": "constants", "bases": "constants", "terms": "list", "epochs": "epochs"},
    FetchSession: {"partitions": "dict"},
    Intervals: {"starts": "constants", "ends": "constants"},
    PartitionAccount: {"acked": "map", "read": "map", "lost": "map", "committed": "map", "dooms": "list"},
}
"""Fields with a container, or None, that nobody else refers to: taken as part of their object. What the container holds:
`constants` a list of them, `list` anything, `dict` anything under constant keys, `map` anything under any keys; `epochs` is a log's
leader epoch cache."""

GROWING: Final[dict[type, frozenset[str]]] = {Term: frozenset({"written", "_ends", "_totals"})}
"""Fields with lists to which is only ever added, and constants only."""

State = tuple[Any, ...]
"""What an object's fields hold, in the order of its kind's."""


Visit = Callable[[Any], None]
"""Is told of every value in which there may be objects that can change, unless its id is among those known."""

Renewed = Callable[[Any], Any]
Find = Callable[[int], Any]


class Kind:
    """How the objects of one class are taken and made anew.

    Attributes:
        take: what an object holds now; visits what it refers to.
        fill: gives a new object its state; `renewed` tells what a value is in the new cluster, `find` the same of an object by its
            id: quicker, where it is one that was made anew.
    """

    take: Callable[[Any, Container[int], Visit], State]
    fill: Callable[[Any, State, Renewed, Find], None]

    def __init__(self, cls: type) -> None:
        self.cls = cls

    def blank(self, state: State) -> Any:
        """A new object, not yet filled."""
        new: Any = self.cls.__new__
        return new(self.cls)


class OfSlots(Kind):
    """Objects whose class names all their fields. The functions are written out for the class: several times as fast as loops."""

    def __init__(self, cls: type) -> None:
        super().__init__(cls)
        names = slots_of(cls)
        plain, owned, growing = PLAIN.get(cls, frozenset()), OWNED.get(cls, {}), GROWING.get(cls, frozenset())
        missing = {*plain, *owned, *growing} - set(names)
        if missing:
            raise TypeError(f"{cls.__name__} has no field {', '.join(sorted(missing))}")
        frozen = _is_frozen(cls)
        take, fill, taken = [], [], []
        for i, name in enumerate(names):
            taken.append(f"v{i}")
            if name in plain:
                take.append(f"v{i} = each.{name}")
                value = f"v{i}"
            elif name in growing:
                take.append(f"v{i} = each.{name}; n{i} = len(v{i})")
                taken.append(f"n{i}")
                value = f"v{i}[:n{i}]"
            elif name in owned:
                take += _TAKE[owned[name]].format(i=i, name=name).split("\n")
                value = _FILL[owned[name]].format(i=i)
            else:
                take.append(f"v{i} = each.{name}")
                take.append(f"if v{i} is not None and id(v{i}) not in known: visit(v{i})")
                value = f"None if v{i} is None else find(id(v{i})) or renewed(v{i})"
            fill.append(f"put(new, {name!r}, {value})" if frozen else f"new.{name} = {value}")
        state = "".join(f"{name}, " for name in taken)
        scope: dict[str, Any] = {"put": object.__setattr__, "LeaderEpochCache": LeaderEpochCache}
        exec(_function("take(each, known, visit)", [*take, f"return ({state})"]), scope)
        exec(_function("fill(new, state, renewed, find)", [f"{state}= state" if state else "pass", *fill]), scope)
        self.take = scope["take"]
        self.fill = scope["fill"]


_TAKE: Final = {
    "constants": "v{i} = each.{name}\nif v{i} is not None: v{i} = tuple(v{i})",
    "epochs": "v{i} = each.{name}; v{i} = (v{i}._epochs, v{i}._starts)",
    "list": "v{i} = each.{name}\nif v{i}:\n    v{i} = tuple(v{i})\n    for x in v{i}:\n        if id(x) not in known: visit(x)\n"
    "elif v{i} is not None: v{i} = ()",
    "dict": "v{i} = each.{name}\nif v{i}:\n    v{i} = (tuple(v{i}), tuple(v{i}.values()))\n    for x in v{i}[1]:\n"
    "        if id(x) not in known: visit(x)\nelif v{i} is not None: v{i} = ((), ())",
    "map": "v{i} = each.{name}\nif v{i}:\n    v{i} = (tuple(v{i}), tuple(v{i}.values()))\n    for x in v{i}[0]:\n"
    "        if id(x) not in known: visit(x)\n    for x in v{i}[1]:\n        if id(x) not in known: visit(x)\n"
    "elif v{i} is not None: v{i} = ((), ())",
}
_FILL: Final = {
    "constants": "None if v{i} is None else list(v{i})",
    "epochs": "LeaderEpochCache.restored(*v{i})",
    "list": "None if v{i} is None else [find(id(x)) or renewed(x) for x in v{i}]",
    "dict": "None if v{i} is None else dict(zip(v{i}[0], [find(id(x)) or renewed(x) for x in v{i}[1]])) if v{i}[0] else {{}}",
    "map": "None if v{i} is None else dict(zip(map(renewed, v{i}[0]), map(renewed, v{i}[1]))) if v{i}[0] else {{}}",
}


def _function(head: str, lines: list[str]) -> str:
    return f"def {head}:\n" + "\n".join(f"    {line}" for line in lines)


class OfDict(Kind):
    """Objects with fields of their own in their `__dict__`, and perhaps slots beside."""

    def take(self, each: Any, known: Container[int], visit: Visit) -> State:
        own = each.__dict__
        slots = tuple((name, getattr(each, name)) for name in slots_of(self.cls) if hasattr(each, name))
        values = tuple(own.values())
        for value in values:
            visit(value)
        for _, value in slots:
            visit(value)
        return (tuple(own), values, slots)

    def fill(self, new: Any, state: State, renewed: Renewed, find: Find) -> None:
        new.__dict__.update(zip(state[0], map(renewed, state[1]), strict=True))
        for name, value in state[2]:
            object.__setattr__(new, name, renewed(value))


class OfMapping(Kind):
    """Dicts, of whatever class."""

    def take(self, each: Any, known: Container[int], visit: Visit) -> State:
        keys, values = tuple(each), tuple(each.values())
        plain_keys, plain = CONSTANT.issuperset(map(type, keys)), CONSTANT.issuperset(map(type, values))
        if not plain_keys:
            for key in keys:
                if id(key) not in known:
                    visit(key)
        if not plain:
            for value in values:
                if id(value) not in known:
                    visit(value)
        return (keys, values, plain_keys, plain)

    def fill(self, new: Any, state: State, renewed: Renewed, find: Find) -> None:
        keys, values, plain_keys, plain = state
        if not plain_keys:
            keys = map(renewed, keys)
        new.update(zip(keys, values if plain else [find(id(value)) or renewed(value) for value in values], strict=True))


class OfSequence(Kind):
    """Lists."""

    def take(self, each: Any, known: Container[int], visit: Visit) -> State:
        state = tuple(each)
        for value in state:
            if type(value) not in CONSTANT and id(value) not in known:
                visit(value)
        return state

    def fill(self, new: Any, state: State, renewed: Renewed, find: Find) -> None:
        new.extend(map(renewed, state))


class OfDeque(OfSequence):
    """Deques, with how long they may become."""

    def take(self, each: Any, known: Container[int], visit: Visit) -> State:
        return (each.maxlen, *super().take(each, known, visit))

    def blank(self, state: State) -> Any:
        return deque(maxlen=state[0])

    def fill(self, new: Any, state: State, renewed: Renewed, find: Find) -> None:
        new.extend(map(renewed, state[1:]))


class OfSet(OfSequence):
    """Sets; nobody asks them for an order."""

    def fill(self, new: Any, state: State, renewed: Renewed, find: Find) -> None:
        new.update(map(renewed, state))


class OfRandom(Kind):
    """Random streams."""

    def take(self, each: Any, known: Container[int], visit: Visit) -> State:
        return (each.getstate(),)

    def blank(self, state: State) -> Any:
        return random.Random(0)

    def fill(self, new: Any, state: State, renewed: Renewed, find: Find) -> None:
        new.setstate(state[0])


class OfMetadataLog(Kind):
    """The metadata log: its records, of which the indexes are made again."""

    def take(self, each: Any, known: Container[int], visit: Visit) -> State:
        return (each.records, len(each.records))

    def blank(self, state: State) -> Any:
        return MetadataLog()

    def fill(self, new: Any, state: State, renewed: Renewed, find: Find) -> None:
        for record in state[0][: state[1]]:
            new.append(record)


class OfJournal(Kind):
    """The journal, without where its events go."""

    def take(self, each: Any, known: Container[int], visit: Visit) -> State:
        return (each.seq, each.now, each.cause)

    def fill(self, new: Any, state: State, renewed: Renewed, find: Find) -> None:
        new.seq, new.now, new.cause = state
        new.sink = nobody


class OfAccount(OfDict):
    """The account; the latencies of acknowledged batches are lists that only grow."""

    def take(self, each: Any, known: Container[int], visit: Visit) -> State:
        grown = {key: (latencies, len(latencies)) for key, latencies in each.latencies.items()}
        own = {name: value for name, value in each.__dict__.items() if name != "latencies"}
        for value in own.values():
            visit(value)
        return (tuple(own), tuple(own.values()), (), grown)

    def fill(self, new: Any, state: State, renewed: Renewed, find: Find) -> None:
        super().fill(new, state, renewed, find)
        new.latencies = {key: latencies[:count] for key, (latencies, count) in state[3].items()}


class OfQuietDirty(Kind):
    """The stand-in for a quiet session's dirty partitions."""

    def take(self, each: Any, known: Container[int], visit: Visit) -> State:
        visit(each.quiet)
        return (each.quiet,)

    def fill(self, new: Any, state: State, renewed: Renewed, find: Find) -> None:
        new.quiet = renewed(state[0])


SPECIAL: Final[dict[type, type[Kind]]] = {
    dict: OfMapping, OrderedDict: OfMapping, list: OfSequence, deque: OfDeque, set: OfSet, random.Random: OfRandom,
    MetadataLog: OfMetadataLog, Journal: OfJournal, Account: OfAccount, QuietDirty: OfQuietDirty,
}  # fmt: skip
"""Kinds of classes that are not taken by their fields alone."""

_kinds: dict[type, Kind | None] = {}


def kind_of(cls: type) -> Kind | None:
    """How objects of a class are taken; None if they never change and refer to nothing that does.

    Raises:
        TypeError: there is no way to take them.
    """
    if cls in _kinds:
        return _kinds[cls]
    kind: Kind | None
    if cls in CONSTANT or issubclass(cls, (enum.Enum, acts.Act)):
        kind = None
    elif cls in SPECIAL:
        kind = SPECIAL[cls](cls)
    elif not cls.__module__.startswith("core."):
        raise TypeError(f"a cluster's state holds a {cls.__module__}.{cls.__name__}, of which no keyframe can be made")
    else:
        kind = OfDict(cls) if cls.__dictoffset__ else OfSlots(cls)
    _kinds[cls] = kind
    return kind


def _is_frozen(cls: type) -> bool:
    setattr_of: Any = cls.__setattr__
    return setattr_of is not object.__setattr__


def slots_of(cls: type) -> list[str]:
    """The names of all fields that a class and its bases keep in slots, or that a compiled class has."""
    native: tuple[str, ...] = getattr(cls, "__mypyc_attrs__", ())
    names = [*native]
    for base in reversed(cls.__mro__):
        slots = base.__dict__.get("__slots__", ())
        names += [name for name in ([slots] if isinstance(slots, str) else slots) if name not in ("__weakref__", "__dict__")]
    return names


class Keyframe:
    """A cluster's whole state at a moment; immutable.

    Attributes:
        now, seq: virtual time in µs and the last event's seq.
    """

    __slots__ = ("_objects", "_states", "now", "seq")

    def __init__(self, now: int, seq: int, objects: list[Any], states: list[State]) -> None:
        self.now = now
        self.seq = seq
        self._objects = objects
        self._states = states

    def __len__(self) -> int:
        """How many objects it holds."""
        return len(self._objects)


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


@_collector_rests
def take(cluster: Cluster) -> Keyframe:
    """The state of a cluster between two of its steps.

    Raises:
        TypeError: something in it cannot be taken; the message names its class.
    """
    known = {id(cluster)}
    objects: list[Any] = [cluster]
    tuples: list[tuple] = []  # they hold the ids in `known` for as long as that is used
    add, note, kinds = objects.append, known.add, _kinds

    def visit(value: Any) -> None:
        cls = type(value)
        if cls in CONSTANT or id(value) in known:
            return
        if cls is types.FunctionType:
            if value.__closure__ is not None:
                raise TypeError(f"a closure is part of a cluster's state: {value.__qualname__}")
        elif isinstance(value, tuple):
            note(id(value))
            tuples.append(value)
            for item in value:
                if type(item) not in CONSTANT and id(item) not in known:
                    visit(item)
        elif cls is types.MethodType or cls is types.BuiltinMethodType:  # the latter where the class is compiled
            visit(value.__self__)
        elif (kinds[cls] if cls in kinds else kind_of(cls)) is not None:
            note(id(value))
            add(value)

    kind_of(type(cluster))
    states = [kinds[type(each)].take(each, known, visit) for each in objects]  # type: ignore[union-attr]  # it grows as it goes
    return Keyframe(cluster.now, cluster.journal.seq, objects, states)


@_collector_rests
def restore(keyframe: Keyframe, sink: Sink | None = None) -> Cluster:
    """A cluster that stands where the keyframe was taken; its events go to `sink`."""
    objects, states = keyframe._objects, keyframe._states
    kinds = [_kinds[type(each)] for each in objects]
    news: list[Any] = []
    renewals: dict[int, Any] = {}
    for each, kind, state in zip(objects, kinds, states, strict=True):
        assert kind is not None
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

    for new, kind, state in zip(news, kinds, states, strict=True):
        assert kind is not None
        kind.fill(new, state, renewed, find)
    cluster: Cluster = news[0]
    cluster.journal.sink = nobody if sink is None else sink
    return cluster
