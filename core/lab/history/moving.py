"""What plain replication moves: the few fields that a keyframe reads anew when nothing else has happened since the last one.

Nearly all of what a cluster does is to append, to fetch, to acknowledge and to say that one lives. Of a partition that moves a few
numbers at each of its replicas; who leads, who follows, sessions and settings stay as they are. So a keyframe is a whole one
(`core.lab.history.keyframe.Base`), and what has moved since: a row of values for each of a few groups of objects, here.

What may move, and what not, is decided by kind: whoever handles something else than `PLAIN` says so (`Journal.stirred`), and so does,
at the spot, who in handling one of those changes something that no row holds: a role, an ISR, a log's runs, a session's
partitions. The next keyframe is then a whole one. Whoever moves a row tells which (`Journal.moves`). A test looks after every step at all
that a keyframe would share, and finds of each line that tells of a change that it is needed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, cast

from core.kafka.broker.partition import Partition
from core.kafka.clients.producer import Producer
from core.kafka.controller.controller import Controller
from core.kafka.ids import TopicPartition
from core.kafka.messages import (
    ConsumerFetchRequest,
    ConsumerFetchResponse,
    FetchRequest,
    FetchResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    MetadataRequest,
    MetadataResponse,
    ProduceRequest,
    ProduceResponse,
)
from core.lab.history.kinds import BACK, FILL, NAMES, Find, Renewed, back_to_lengths, function
from core.sim.journal import HEARTBEATS, Journal, unasked

if TYPE_CHECKING:
    from core.kafka.broker.broker import Broker
    from core.kafka.broker.disk import Disk
    from core.kafka.controller.zookeeper.control import ZooKeeperControl
    from core.lab.nodes import ClusterNodes

PLAIN: Final[set[type]] = {
    FetchRequest, FetchResponse, ProduceRequest, ProduceResponse, ConsumerFetchRequest, ConsumerFetchResponse,
    HeartbeatRequest, HeartbeatResponse, MetadataRequest, MetadataResponse,
}  # fmt: skip
"""Messages that, unless whoever handles them says otherwise, change nothing but what rows hold. A control plane adds its own."""

PLAIN_TIMERS: Final[frozenset[str]] = frozenset(
    {
        "fetch-expiry", "fetcher-watch", "produce-expiry", "consumer-fetch-expiry", "heartbeat", "isr-expiration", "checkpoint",
        "log-checkpoint", "log-start-checkpoint", "retention", "session-check", "zookeeper-ping", "session",
        "load", "watch", "retry", "again", "metadata", "metadata-timeout", "metadata-age",
    }
)  # fmt: skip
"""Timers likewise; the last line is of clients."""

TOGETHER: Final = 8
"""Fetch sessions and fetchers that are read together, at most: what reads more at once would take long to write out."""

MOST_MOVED: Final = 256
"""What was told of movements is gathered to places at a timer when it is more than so many messages: they need not be held longer."""

Fields = tuple[tuple[str, str], ...]
"""Names, and what each holds: `plain` constants, `one` an object or None, `new` one that may be new, `grown` a list that only grows,
`lengths` lists of that sort by key, `queues` of a producer; or a container as `core.lab.history.kinds.OWNED` has it. A container that is
never replaced is filled again: `listed` a list of constants, `flat` constants by constants; an empty name is the object itself, a list
or dict: `keys` an ordered set of constants, `values` objects or tuples by constants, `fresh` the same if they may be new, `agenda` a list of tuples."""


def _plain(*names: str) -> Fields:
    return tuple((name, "plain") for name in names)


SPECS: Final[dict[str, Fields]] = {
    "partition": (
        *_plain(
            "last_high_watermark",
            "uncommitted_since",
            "has_quiet_followers",
            "steady_epoch",
            "produce_timer_due",
        ),
        ("delayed", "deque"),
        ("consumers", "map"),
    ),
    "follower": (("consumers", "map"),),
    "log": (
        *_plain("leo", "high_watermark", "noted", "last_append", "recovery_point", "flush_at", "bases", "starts"),
        *_plain("epochs._epochs", "epochs._starts"),
        ("terms", "one"),
        ("tail", "one"),
    ),
    "fetch-state": _plain("sent_epoch", "checked", "steady", "leader_high_watermark"),
    "replica": (
        *_plain("leo", "log_start", "last_caught_up_time", "last_fetch_leader_leo", "last_fetch_time", "broker_epoch"),
        *_plain("last_sent_high_watermark"),
        ("session", "one"),
    ),
    "entry": (
        *_plain("asked", "dirty", "told_high_watermark", "told_log_start", "sent_end", "sent_total"),
        ("partition", "one"),
        ("replica", "one"),
    ),
    "term": (("written", "grown"), ("_ends", "grown"), ("_totals", "grown"), *_plain("bytes", "stamped")),
    "account": (
        *_plain("accepted", "acked_count", "duplicated", "committed_end"),
        ("acked", "intervals"),
        ("read", "intervals"),
        ("committed", "intervals"),
    ),
    "session": (
        *_plain("last_fetch_time", "parked", "deadline", "cause", "timer_due"),
        ("dirty", "list"),
        ("quiet", "new"),
    ),
    "fetcher": (
        *_plain("in_flight", "sent_at", "sent_cause", "watch_at", "waking_at", "prepared", "full"),
        ("quiet", "new"),
    ),
    "broker": _plain("_correlation", "fenced"),
    "disk": _plain("checkpoints"),
    "agenda-counts": _plain("order", "at", "in_order", "moment", "since"),
    "accounts": (("latencies", "lengths"),),
    "controller": _plain("_check_due"),
    "heartbeat": _plain("fenced", "metadata_offset", "controlled_shutdown_offset", "last_contact"),
    "zookeeper-session": _plain("last_heard"),
    "client": (
        *_plain(
            "incarnation", "config", "clock", "by_hand", "_correlation", "_next_broker", "_asking", "_metadata_correlation", "_wait_armed"
        ),
        ("leaders", "listed"),
        ("_reconnect", "flat"),
        ("_connected", "flat"),
    ),
    "producer": (
        *_plain("acks", "rate", "every", "record_bytes", "newer_client", "idempotent", "producer_id", "_id_asked", "last_latency"),
        *_plain("sent", "acked", "failed", "retries", "_batch_id", "_owed", "_next_partition", "_load", "_watching"),
        ("_waiting", "listed"),
        *((name, "flat") for name in ("_partition_in_flight", "_muted", "_wakes", "_epochs", "_next_sequence")),
        ("queues", "queues"),
        ("in_flight", "fresh"),
    ),
    "consumer": (
        *_plain("reset", "read", "stopped", "validates", "client_rack", "since"),
        ("positions", "listed"),
        *(
            (name, "flat")
            for name in ("_read_epochs", "_validated", "_validating", "in_flight", "_backing_off", "_resetting", "_read_replicas")
        ),
    ),
    "parked": (("", "fresh"),),
    "keys": (("", "keys"),),
    "flat": (("", "flat"),),
    "values": (("", "values"),),
    "agenda": (("", "agenda"),),
}
"""What moves of each sort of object."""

Row = tuple[Any, ...]

Places = dict[TopicPartition | int, int]
"""At which place of a keyframe's rows lies what a journal is told of: partitions, brokers' checkpoints, the controller."""


class Reader:
    """Reads groups of objects of the same sorts, and writes what it read: written out, so that a group takes one call.

    Attributes:
        take: the row of a group; visits what may be new in it.
        back: writes a row to the group that it was taken of.
        fill: writes it to the group's counterpart in a new cluster.
    """

    def __init__(self, specs: tuple[str, ...]) -> None:
        take: list[str] = []
        values: list[str] = []
        back: list[str] = []
        fill: list[str] = []
        number = 0
        for at, spec in enumerate(specs):
            for name, how in SPECS[spec]:
                v, x = f"v{number}", f"o{at}.{name}" if name else f"o{at}"
                number += 1
                if how in _SIMPLE:
                    values.append(x)
                elif how in ("grown", "lengths"):
                    values.append(x if how == "grown" else f"{{key: (grown, len(grown)) for key, grown in {x}.items()}}")
                    if how == "grown":
                        values.append(f"len({x})")
                        number += 1
                elif how in _TAKE:
                    values.append(_TAKE[how].format(x=x))
                else:
                    values.append(v)
                if how in _VISIT:
                    take += _VISIT[how].format(v=v, x=x).split("\n")
                for lines, write in ((back, _WRITE_BACK), (fill, _WRITE)):
                    lines.append(write.get(how, "{x} = {v}").format(v=v, x=x, n=f"v{number - 1}"))
        objects = "".join(f"o{at}, " for at in range(len(specs)))
        row = "".join(f"v{at}, " for at in range(number))
        scope: dict[str, Any] = {**NAMES, "NOTHING": ((), ()), "lengths": back_to_lengths, "queues": queues_of}
        exec(function("take(objects, known, visit)", [f"{objects}= objects", *take, f"return ({', '.join(values)},)"]), scope)
        exec(function("back(objects, row)", [f"{objects}= objects", f"{row}= row", *back]), scope)
        exec(function("fill(objects, row, renewed, find)", [f"{objects}= objects", f"{row}= row", *fill]), scope)
        self.take = scope["take"]
        self.back = scope["back"]
        self.fill = scope["fill"]


_SIMPLE: Final = ("plain", "one")
_BY_KEY = "(tuple({x}), tuple({x}.values())) if {x} else NOTHING"
_TAKE: Final = {
    "deque": "None if {x} is None else tuple({x}) if {x} else ()",
    "list": "tuple({x}) if {x} else ()",
    "keys": "tuple({x}) if {x} else ()",
    "listed": "tuple({x}) if {x} else ()",
    "flat": _BY_KEY,
    "values": _BY_KEY,
    "agenda": "tuple({x})",
}
_VISIT: Final = {
    "new": "{v} = {x}\nif {v} is not None and id({v}) not in known: visit({v})",
    "map": "{v} = {x}\nif {v}:\n    {v} = (tuple({v}), tuple({v}.values()))\n    for y in {v}[0]:\n        if id(y) not in known: visit(y)\n"
    "else: {v} = NOTHING",
    "fresh": "{v} = NOTHING\nif {x}:\n    {v} = (tuple({x}), tuple({x}.values()))\n    for y in {v}[1]:\n        if id(y) not in known: visit(y)",
    "intervals": "{v} = ()\nif {x}:\n    for t, y in {x}.items(): {v} += ((t, tuple(y.starts), tuple(y.ends)),)",
    "queues": "{v} = {x}\n{v} = (tuple({v}), [(z, tuple(y)) for z, y in {v}.items() if y] if any({v}.values()) else ())\n"
    "for _, z in {v}[1]:\n    for y in z:\n        if id(y) not in known: visit(y)",
}
_WRITE_BACK: Final = {how: "{x} = " + text for how, text in BACK.items()} | {
    "map": "if {v}[0] or {x}: {x} = dict(zip(*{v}))",
    "intervals": "if {v} or {x}: {x} = " + BACK["intervals"],
    "grown": "{x} = {v} if len({v}) == {n} else {v}[:{n}]",
    "lengths": "lengths({x}, {v})",
    "keys": "{x}.clear(); {x}.update(dict.fromkeys({v}))",
    "flat": "{x}.clear(); {x}.update(zip(*{v}))",
    "values": "{x}.clear(); {x}.update(zip(*{v}))",
    "fresh": "{x}.clear(); {x}.update(zip(*{v}))",
    "agenda": "{x}[:] = {v}",
    "listed": "{x}[:] = {v}",
    "queues": "{x} = queues({x}, *{v})",
}
_WRITE: Final = {how: "{x} = " + text for how, text in FILL.items()} | {
    "one": "{x} = None if {v} is None else find(id({v})) or renewed({v})",
    "new": "{x} = None if {v} is None else find(id({v})) or renewed({v})",
    "grown": "{x} = {v}[:{n}]",
    "lengths": "{x} = {{key: grown[:count] for key, (grown, count) in {v}.items()}}",
    "keys": _WRITE_BACK["keys"],
    "flat": _WRITE_BACK["flat"],
    "values": "{x}.clear(); {x}.update(zip({v}[0], map(renewed, {v}[1])))",
    "fresh": "{x}.clear(); {x}.update(zip({v}[0], map(renewed, {v}[1])))",
    "agenda": "{x}[:] = map(renewed, {v})",
    "listed": _WRITE_BACK["listed"],
    "queues": "{x} = queues({{}}, {v}[0], [(y, map(renewed, z)) for y, z in {v}[1]])",
}


def queues_of(mine: dict[int, deque[Any]], keys: tuple[int, ...], filled: list[tuple[int, Iterable[Any]]]) -> dict[int, deque[Any]]:
    """A producer's queues, few of which hold anything; those at hand are used again."""
    if tuple(mine) == keys:
        for queue in mine.values():
            if queue:
                queue.clear()
    else:
        mine = {key: deque() for key in keys}
    for key, batches in filled:
        mine[key].extend(batches)
    return mine


_readers: dict[tuple[str, ...], Reader] = {}


class Group:
    """Objects that are read together."""

    __slots__ = ("objects", "reader", "specs", "take")

    def __init__(self, members: list[tuple[Any, str]]) -> None:
        specs = tuple(spec for _, spec in members)
        reader = _readers.get(specs)
        if reader is None:
            reader = _readers[specs] = Reader(specs)
        self.reader, self.specs, self.take = reader, specs, reader.take
        self.objects = tuple(each for each, _ in members)

    def fill(self, row: Row, renewed: Renewed, find: Find) -> None:
        """Let their counterparts in a new cluster be so."""
        self.reader.fill([find(id(each)) for each in self.objects], row, renewed, find)


def is_plain(cluster: ClusterNodes) -> bool:
    """Whether nothing but plain replication has happened since the last keyframe, and rows are enough for that here."""
    journal = cluster.journal
    return not journal.stirred and journal.keyframed.suffices


def suffices(cluster: ClusterNodes) -> bool:
    """Whether rows are enough for plain replication in a cluster, until somebody stirs it."""
    if cluster.quorum is not None:
        return False
    return all(broker.leader_quota is None and broker.follower_quota is None for broker in cluster.brokers.values())


def groups_of(cluster: ClusterNodes) -> tuple[list[Group], Places]:
    """What plain replication moves in a cluster, as long as nobody stirs it: first what is read each time, then what is told of."""
    agenda, account = cluster.agenda, cluster.account
    members: list[list[tuple[Any, str]]] = [
        [(agenda, "agenda-counts"), (agenda.entries, "agenda"), (account, "accounts"), (account._open, "values")]
    ]
    told: dict[Any, list[tuple[Any, str]]] = {}
    controller = cluster.controller
    if cluster.zookeeper:
        controller = cast("ZooKeeperControl", controller)
        members.append([(session, "zookeeper-session") for session in controller.zookeeper.sessions.values()])
    elif type(controller) is Controller:
        heartbeats = controller.heartbeats
        told[HEARTBEATS] = [(controller, "controller"), (controller.last_contact, "flat"), (heartbeats._unfenced, "values")]
        told[HEARTBEATS] += [(state, "heartbeat") for state in heartbeats._brokers.values()]
    for client in cluster.clients.values():
        members.append([(client, "client"), (client, "producer" if isinstance(client, Producer) else "consumer")])
    partitions: dict[Any, list[tuple[Any, str]]] = {tp: [(row, "account")] for tp, row in account.partitions.items()}
    for broker in cluster.brokers.values():
        members += _of_broker(broker)
        told[broker.id] = _of_disk(broker.disk)
        for tp, partition in broker.partitions.items():
            group = partitions.setdefault(tp, [])
            group.append((partition.log, "log"))
            if partition.is_leader:
                group.append((partition, "partition"))
                if partition.term is not None:
                    group.append((partition.term, "term"))
                group += [(replica, "replica") for replica in partition.remotes.values()]
                group += [(entry, "entry") for entry in partition.sessions.values()]
            else:
                group.append((partition, "follower"))
                if partition.fetcher is not None:
                    group.append((partition.fetcher.states[tp], "fetch-state"))
    groups = [Group(group) for group in members if group]
    for group in partitions.values():
        group.sort(key=_spec)  # so that few sorts of groups have to be written out
    told |= partitions
    return groups + [Group(group) for group in told.values()], {what: at for at, what in enumerate(told, len(groups))}


def _spec(member: tuple[Any, str]) -> str:
    return member[1]


def places_of(moved: list[Any], places: Places) -> dict[int, None]:
    """The places of what may have moved, of what a journal was told of that (`Journal.moves`).

    In any of these forms: a leader's partition, a partition's name, what followers' sessions ask, parts of what followers or consumers
    are told or ask, each with the partition's name first; the id of a broker whose checkpoints were written, `HEARTBEATS`; or places
    that were gathered.
    """
    if len(moved) >= 8 * len(places):
        return dict.fromkeys(places.values())  # quicker than to look
    found: dict[int, None] = {}
    for each in moved:
        if type(each) is Partition:
            found[places[each.tp]] = None
        elif type(each) is TopicPartition:
            found[places[each]] = None
        elif type(each) is dict:
            found.update(each)
        elif type(each) is int:
            at = places.get(each)
            if at is not None:
                found[at] = None
        elif type(each) is list:
            for entry in each:
                at = places.get(entry.tp)
                if at is not None:
                    found[at] = None
        else:
            for part in each:
                at = places.get(part[0])
                if at is not None:
                    found[at] = None
    return found


def gather(journal: Journal) -> None:
    """Keep of what moved since the last keyframe the places only; nothing, if the next one cannot share with it anyway."""
    places = {} if journal.stirred else journal.keyframed.places
    found = places_of(journal.moved, places) if places else {}
    journal.moved[:] = [found]
    if len(found) == len(places):
        journal.moves = unasked


def listen(journal: Journal, keyframed: Any) -> None:
    """From here on the next keyframe may share with one: what moves is noted, and nothing was stirred yet."""
    journal.keyframed, journal.stirred = keyframed, False
    journal.changed.clear()
    journal.moved = []
    journal.moves = journal.moved.append


def _of_broker(broker: Broker) -> Iterator[list[tuple[Any, str]]]:
    disk, fetches = broker.disk, broker.fetch_manager
    yield [
        (broker, "broker"), (disk, "disk"), (disk.changed, "keys"), (broker.replicas.behind, "keys"), (fetches.played, "values"),
        (broker.replicas.consumer_fetches, "parked"),
    ]  # fmt: skip
    sessions, fetchers = [*fetches.sessions.values()], [*broker.fetcher_manager.fetchers.values()]
    for at in range(0, max(len(sessions), len(fetchers)), TOGETHER):
        group: list[tuple[Any, str]] = [(session, "session") for session in sessions[at : at + TOGETHER]]
        for fetcher in fetchers[at : at + TOGETHER]:
            group += [(fetcher, "fetcher"), (fetcher.unsent, "flat"), (fetcher.forgotten, "keys"), (fetcher.preparing, "keys")]
        yield group


def _of_disk(disk: Disk) -> list[tuple[Any, str]]:
    """What is read when a checkpoint was written."""
    return [
        (disk.touched, "keys"), (disk.moved_starts, "keys"), (disk.high_watermarks, "flat"), (disk.recovery_points, "flat"),
        (disk.log_starts, "flat"),
    ]  # fmt: skip


def roots_of(cluster: ClusterNodes) -> list[Any]:
    """Objects that are taken whole each time, with all that is reached through them only: they change as they like."""
    network = cluster.network
    roots: list[Any] = []
    for broker in cluster.brokers.values():
        roots += [partition.producers for partition in broker.partitions.values() if partition.producers is not None]
    if network.links or not network.plain:
        roots += [network.links, network.random]
    if network.lose_next:
        roots.append(network.lose_next)
    return roots


def passing_of(cluster: ClusterNodes) -> list[Any]:
    """Objects that change too, but come and go: whatever rows still refer to is taken."""
    passing: list[Any] = []
    for client in cluster.clients.values():
        if isinstance(client, Producer):
            passing += [*client.in_flight.values(), *(batch for queue in client.queues.values() for batch in queue)]
    for broker in cluster.brokers.values():
        passing += broker.replicas.consumer_fetches.values()
    return passing
