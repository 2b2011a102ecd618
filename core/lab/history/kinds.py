"""How the objects of each class are taken for a keyframe, made anew from it, and put back as they were.

Of every object that can change a keyframe holds a tuple of what its fields hold: found by a class's slots and by an instance's
own dict, whatever they are called, so that nothing can be forgotten. What is said here of certain fields only saves time: lists
that only ever grow are shared up to their length, and fields that hold plain numbers are not looked into.
"""

from __future__ import annotations

import enum
import random
import types
from collections import OrderedDict, deque
from collections.abc import Callable, Container
from typing import Any, Final

from core.kafka.broker.disk import FutureReplica, LogDir
from core.kafka.broker.fetch_session import FetchSession, SessionPartition
from core.kafka.broker.fetch_state import PartitionFetchState
from core.kafka.broker.partition import Partition
from core.kafka.broker.replica import Replica
from core.kafka.clients.client_config import ClientConfig
from core.kafka.clients.consumer import Consumer
from core.kafka.clients.producer import Producer, ProducerBatch
from core.kafka.controller.metadata_log import BrokerRegistration, BrokerUnregistration, ConfigRecord, MetadataLog, PartitionRecord
from core.kafka.controller.registration import PartitionRegistration
from core.kafka.ids import TopicPartition
from core.kafka.log.intervals import Intervals
from core.kafka.log.leader_epoch_cache import LeaderEpochCache
from core.kafka.log.log_config import LogConfig
from core.kafka.log.replica_log import ReplicaLog
from core.kafka.log.term import Batch, Term
from core.kafka.messages import AlterPartitionItem, ConsumerFetchRequest, FetchPartition, FetchRequest, ProduceRequest
from core.kafka.release import Release
from core.lab import acts
from core.lab.account import Account, PartitionAccount
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.clock import Clock
from core.sim.journal import Journal, nobody, unasked

CONSTANT: Final[frozenset[type]] = frozenset(
    {
        int, str, bool, float, bytes, type(None), type, types.ModuleType, frozenset,
        TopicPartition, PartitionRegistration, BrokerRegistration, BrokerUnregistration, PartitionRecord, ConfigRecord, Batch, LogConfig, Release, Clock,
        BrokerSpec, ClusterSpec, ClientConfig, AlterPartitionItem, FetchPartition, FetchRequest, ProduceRequest, ConsumerFetchRequest,
    }
)  # fmt: skip
"""Types of what never changes and refers to nothing that does."""

PLAIN: Final[dict[type, frozenset[str]]] = {
    Partition: frozenset(
        {
            "tp", "topic", "number", "adding", "has_quiet_followers", "isr", "last_high_watermark", "leader", "leader_epoch",
            "leader_epoch_start_offset", "maximal_isr",
            "min_isr", "partition_epoch", "pending", "produce_timer_due", "proposal", "replicas", "steady_epoch",
            "uncommitted_since", "under_min_isr",
        }
    ),
    ReplicaLog: frozenset({"keeps_epochs", "leo", "high_watermark", "noted", "log_start", "config", "recovery_point", "flush_at", "last_append", "starts", "bases"}),
    Replica: frozenset(
        {"broker", "leo", "log_start", "last_caught_up_time", "last_fetch_leader_leo", "last_fetch_time", "broker_epoch"}
    ),
    SessionPartition: frozenset(
        {
            "tp", "topic", "number", "asked", "dirty", "told_high_watermark", "told_log_start", "sent_end", "sent_total",
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
    ProducerBatch: frozenset(
        {
            "acks", "attempt", "bytes", "cause", "correlation", "count", "created", "id", "connecting", "overdue", "producer_epoch", "queued_at", "refused", "sent_at", "sent_to", "sequence",
            "tp",
        }
    ),
    PartitionAccount: frozenset(
        {
            "accepted", "committed_end", "registered_leader", "elected_by", "acked_count", "lost_count", "lost_acknowledged", "lost_read", "duplicated", "leader",
            "leader_epoch", "under_since", "under_total", "offline_since", "offline_total",
        }
    ),
}  # fmt: skip
"""Fields that only hold constants; a test watches that they do."""

OWNED: Final[dict[type, dict[str, str]]] = {
    Partition: {"remotes": "dict", "sessions": "dict", "consumers": "map", "delayed": "deque"},
    ReplicaLog: {"epochs": "epochs"},
    FetchSession: {"partitions": "dict", "dirty": "list"},
    Intervals: {"starts": "constants", "ends": "constants"},
    PartitionAccount: {"acked": "intervals", "read": "intervals", "lost": "intervals", "committed": "intervals", "dooms": "list"},
}
"""Fields with a container, or None, that nobody else refers to: taken as part of their object. What the container holds:
`constants` a list of them, `list` and `deque` anything, `dict` anything under constant keys, `map` anything under any keys,
`intervals` offsets by term; `epochs` is a log's leader epoch cache."""

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
        back: gives the very object that was taken its state back. What it holds is refilled or replaced, never what the state holds.
    """

    take: Callable[[Any, Container[int], Visit], State]
    fill: Callable[[Any, State, Renewed, Find], None]
    back: Callable[[Any, State], None]

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
        take, fill, back, taken = [], [], [], []
        for i, name in enumerate(names):
            taken.append(f"v{i}")
            if name in plain:
                take.append(f"v{i} = each.{name}")
                anew = same = f"v{i}"
            elif name in growing:
                take.append(f"v{i} = each.{name}; n{i} = len(v{i})")
                taken.append(f"n{i}")
                anew, same = f"v{i}[:n{i}]", f"v{i} if len(v{i}) == n{i} else v{i}[:n{i}]"
            elif name in owned:
                take += _TAKE[owned[name]].format(i=i, name=name).split("\n")
                anew, same = FILL[owned[name]].format(v=f"v{i}"), BACK[owned[name]].format(v=f"v{i}")
            else:
                take.append(f"v{i} = each.{name}")
                take.append(f"if v{i} is not None and id(v{i}) not in known: visit(v{i})")
                anew, same = f"None if v{i} is None else find(id(v{i})) or renewed(v{i})", f"v{i}"
            fill.append(f"put(new, {name!r}, {anew})" if frozen else f"new.{name} = {anew}")
            back.append(f"put(each, {name!r}, {same})" if frozen else f"each.{name} = {same}")
        state = "".join(f"{name}, " for name in taken)
        unpack = f"{state}= state" if state else "pass"
        scope: dict[str, Any] = dict(NAMES)
        exec(function("take(each, known, visit)", [*take, f"return ({state})"]), scope)
        exec(function("fill(new, state, renewed, find)", [unpack, *fill]), scope)
        exec(function("back(each, state)", [unpack, *back]), scope)
        self.take = scope["take"]
        self.fill = scope["fill"]
        self.back = scope["back"]


NAMES: Final[dict[str, Any]] = {"put": object.__setattr__, "LeaderEpochCache": LeaderEpochCache, "Intervals": Intervals, "deque": deque}
"""What written-out functions refer to."""

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
    "intervals": "v{i} = each.{name}\nif v{i}:\n    v{i} = tuple([(t, tuple(x.starts), tuple(x.ends)) for t, x in v{i}.items()])\n"
    "    for x in v{i}:\n        if id(x[0]) not in known: visit(x[0])\nelse: v{i} = ()",
}
_TAKE["deque"] = _TAKE["list"]
FILL: Final = {
    "constants": "None if {v} is None else list({v})",
    "epochs": "LeaderEpochCache.restored(*{v})",
    "list": "None if {v} is None else [find(id(x)) or renewed(x) for x in {v}]",
    "deque": "None if {v} is None else deque([find(id(x)) or renewed(x) for x in {v}])",
    "dict": "None if {v} is None else dict(zip({v}[0], [find(id(x)) or renewed(x) for x in {v}[1]])) if {v}[0] else {{}}",
    "map": "None if {v} is None else dict(zip(map(renewed, {v}[0]), map(renewed, {v}[1]))) if {v}[0] else {{}}",
    "intervals": "{{renewed(t): Intervals(list(x), list(y)) for t, x, y in {v}}}",
}
"""A container of a new cluster, of what was taken of it."""

BACK: Final = {
    "constants": FILL["constants"],
    "epochs": FILL["epochs"],
    "list": "None if {v} is None else list({v})",
    "deque": "None if {v} is None else deque({v})",
    "dict": "None if {v} is None else dict(zip(*{v}))",
    "map": "None if {v} is None else dict(zip(*{v}))",
    "intervals": "{{t: Intervals(list(x), list(y)) for t, x, y in {v}}}",
}
"""The same in the cluster that it was taken of, where all objects are still the same."""


def function(head: str, lines: list[str]) -> str:
    """The text of a function."""
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

    def back(self, each: Any, state: State) -> None:
        names, own = state[0], each.__dict__
        own.update(zip(names, state[1], strict=True))
        if len(own) > len(names):
            for name in own.keys() - set(names):
                del own[name]
        for name, value in state[2]:
            object.__setattr__(each, name, value)


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

    def back(self, each: Any, state: State) -> None:
        each.clear()
        each.update(zip(state[0], state[1], strict=True))


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

    def back(self, each: Any, state: State) -> None:
        each[:] = state


class OfDeque(OfSequence):
    """Deques, with how long they may become."""

    def take(self, each: Any, known: Container[int], visit: Visit) -> State:
        return (each.maxlen, *super().take(each, known, visit))

    def blank(self, state: State) -> Any:
        return deque(maxlen=state[0])

    def fill(self, new: Any, state: State, renewed: Renewed, find: Find) -> None:
        new.extend(map(renewed, state[1:]))

    def back(self, each: Any, state: State) -> None:
        each.clear()
        each.extend(state[1:])


class OfSet(OfSequence):
    """Sets; nobody asks them for an order."""

    def fill(self, new: Any, state: State, renewed: Renewed, find: Find) -> None:
        new.update(map(renewed, state))

    def back(self, each: Any, state: State) -> None:
        each.clear()
        each.update(state)


class OfRandom(Kind):
    """Random streams."""

    def take(self, each: Any, known: Container[int], visit: Visit) -> State:
        return (each.getstate(),)

    def blank(self, state: State) -> Any:
        return random.Random(0)

    def fill(self, new: Any, state: State, renewed: Renewed, find: Find) -> None:
        new.setstate(state[0])

    def back(self, each: Any, state: State) -> None:
        each.setstate(state[0])


class OfMetadataLog(Kind):
    """The metadata log: its records, of which the indexes are made again."""

    def take(self, each: Any, known: Container[int], visit: Visit) -> State:
        return (each.records, len(each.records))

    def blank(self, state: State) -> Any:
        return MetadataLog()

    def fill(self, new: Any, state: State, renewed: Renewed, find: Find) -> None:
        for record in state[0][: state[1]]:
            new.append(record)

    def back(self, each: Any, state: State) -> None:
        if each.records is not state[0] or len(each.records) != state[1]:
            empty = MetadataLog()
            for name in slots_of(MetadataLog):
                setattr(each, name, getattr(empty, name))
            self.fill(each, state, _same, _unknown)


def _same(value: Any) -> Any:
    return value


def _unknown(_: int) -> None:
    return None


class OfJournal(Kind):
    """The journal, without where its events go, and what is known of keyframes."""

    def take(self, each: Any, known: Container[int], visit: Visit) -> State:
        return (each.seq, each.now, each.cause)

    def fill(self, new: Any, state: State, renewed: Renewed, find: Find) -> None:
        new.seq, new.now, new.cause = state
        new.sink, new.stirred, new.changed, new.keyframed = nobody, True, {}, None
        new.moves, new.moved = unasked, []

    def back(self, each: Any, state: State) -> None:
        each.seq, each.now, each.cause = state


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

    def back(self, each: Any, state: State) -> None:
        latencies = each.latencies
        super().back(each, state)
        each.latencies = back_to_lengths(latencies, state[3])


def back_to_lengths(mine: dict[Any, list[int]], taken: dict[Any, tuple[list[int], int]]) -> dict[Any, list[int]]:
    """Lists that grow, as long as they were; one that has grown since is copied: who took it shares it."""
    mine.clear()
    mine.update((key, grown if len(grown) == count else grown[:count]) for key, (grown, count) in taken.items())
    return mine


class OfClient(OfDict):
    """Clients: what they know of partitions are lists and dicts of constants, as long as there are partitions."""

    def take(self, each: Any, known: Container[int], visit: Visit) -> State:
        own, flat, queues = {**getattr(each, "__dict__", {})}, {}, None
        for name in slots_of(self.cls):  # where it is compiled
            own[name] = getattr(each, name)
        for name in FLAT[self.cls]:
            flat[name] = own.pop(name).copy()
        if "queues" in own:
            queued = own.pop("queues")
            queues = (tuple(queued), [tuple(queue) for queue in queued.values()])
            for queue in queues[1]:
                for batch in queue:
                    if id(batch) not in known:
                        visit(batch)
        for value in own.values():
            if type(value) not in CONSTANT and id(value) not in known:
                visit(value)
        return (own, flat, queues)

    def fill(self, new: Any, state: State, renewed: Renewed, find: Find) -> None:
        own, flat, queues = state
        for name, value in own.items():
            setattr(new, name, renewed(value))
        for name, value in flat.items():
            setattr(new, name, value.copy())
        if queues is not None:
            new.queues = {key: deque(map(renewed, queue)) for key, queue in zip(*queues, strict=True)}

    def back(self, each: Any, state: State) -> None:
        self.fill(each, state, _same, _unknown)


FLAT: Final[dict[type, tuple[str, ...]]] = {
    Producer: ("leaders", "_reconnect", "_partition_in_flight", "_waiting", "_muted", "_wakes", "_epochs", "_next_sequence"),
    Consumer: (
        "leaders", "_reconnect", "positions", "_read_epochs", "_validated", "_validating", "in_flight", "_backing_off", "_resetting", "_read_replicas",
    ),
}  # fmt: skip
"""Lists and dicts of clients that hold constants only, or tuples of them."""


SPECIAL: Final[dict[type, type[Kind]]] = {
    dict: OfMapping, OrderedDict: OfMapping, list: OfSequence, deque: OfDeque, set: OfSet, random.Random: OfRandom,
    MetadataLog: OfMetadataLog, Journal: OfJournal, Account: OfAccount, Producer: OfClient, Consumer: OfClient,
}  # fmt: skip
"""Kinds of classes that are not taken by their fields alone."""

found: Final[dict[type, Kind | None]] = {}
"""Kinds of the classes met so far."""


def kind_of(cls: type) -> Kind | None:
    """How objects of a class are taken; None if they never change and refer to nothing that does.

    Raises:
        TypeError: there is no way to take them.
    """
    if cls in found:
        return found[cls]
    kind: Kind | None
    if cls in CONSTANT or issubclass(cls, (enum.Enum, acts.Act)):
        kind = None
    elif cls in SPECIAL:
        kind = SPECIAL[cls](cls)
    elif not cls.__module__.startswith("core."):
        raise TypeError(f"a cluster's state holds a {cls.__module__}.{cls.__name__}, of which no keyframe can be made")
    else:
        kind = OfDict(cls) if cls.__dictoffset__ else OfSlots(cls)
    found[cls] = kind
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
