"""The acts in a script: the models' faults, the acts of an operator, and the requests from clients.

The acts of the models are built from the fields of their classes, so a new act requires no change to this module except in `MODEL_ACTS`.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Final

import attrs

from core.lab.acts import ACTS as KAFKA_ACTS
from core.lab.acts import Act as KafkaAct
from core.models import acts
from core.models.mysql.system import Follow, PromoteAtOnce, PurgeBinlogs, Rebuild, StartApplier, StopApplier
from core.models.quorum.system import StartElection
from core.sim.units import SECOND, US_PER_MS
from scenarios.errors import did_you_mean
from scenarios.language.acts import as_written, required
from scenarios.language.acts import read_acts as read_kafka_acts
from scenarios.language.budget import check_requests
from scenarios.language.nodes import Fields, Items, Node, Text, shortened
from scenarios.language.values import as_bool, as_duration, as_fields, as_int, as_items, as_text

DEFAULT_KEY: Final = "k"
"""The key that a request reads or writes if the script does not specify a key."""


@attrs.frozen
class WriteRequest:
    """A client writes the next version of one or more keys.

    Attributes:
        client: the client that sends the requests.
        key: the key to which the request applies. If there are several writes, each key is `key` followed by a number, counted from 0.
        server: the server that the client sends the write to; by default, the client's preferred server.
        count: the number of keys.
        versions: the number of versions of each key. By default, all versions are sent at the same time.
        every: the time between two writes of this act, in µs.
        limit: the time limit of each write, in µs.
    """

    word: ClassVar[str] = "write"
    client: str
    key: str = DEFAULT_KEY
    server: str = ""
    count: int = 1
    versions: int = 1
    every: int = 0
    limit: int = 120 * SECOND


@attrs.frozen
class ReadRequest:
    """A client reads the latest version of one or more keys.

    Attributes:
        client, key, server, count, limit: the same as in `WriteRequest`.
        how: one of the model's read modes.
    """

    word: ClassVar[str] = "read"
    client: str
    server: str = ""
    key: str = DEFAULT_KEY
    how: str = ""
    count: int = 1
    limit: int = 120 * SECOND


@attrs.frozen
class Load:
    """A client writes versions of a key at fixed times. The client skips a scheduled write if its previous write is still outstanding.

    Attributes:
        client, key, limit: the same as in `WriteRequest`.
        every: the time between two writes, in µs.
        lasts: how long the load lasts, in µs; 0 for the rest of the run.
    """

    word: ClassVar[str] = "load"
    client: str
    key: str = DEFAULT_KEY
    every: int = 10 * US_PER_MS
    lasts: int = 0
    limit: int = 120 * SECOND


@attrs.frozen
class Reads:
    """A client reads a key at fixed times.

    Attributes:
        client, key, every, lasts, how, limit: the same as in `Load` and `ReadRequest`.
        servers: the servers that the client reads from in turn.
    """

    word: ClassVar[str] = "reads"
    client: str
    key: str = DEFAULT_KEY
    servers: tuple[str, ...] = ()
    how: str = ""
    every: int = 10 * US_PER_MS
    lasts: int = 0
    limit: int = 120 * SECOND


@attrs.frozen
class Probe:
    """A client measures when writes are possible: it sends writes at fixed times, even if earlier writes are outstanding.

    Attributes:
        client: the client that sends the requests.
        every: the time between two writes, in µs.
        limit: the time limit of each write, in µs.
    """

    word: ClassVar[str] = "probe"
    client: str
    every: int = 100 * US_PER_MS
    limit: int = SECOND


@attrs.frozen
class Destroy:
    """Kill a server's process, and destroy the server's machine with all of its data. Nothing can start the server again."""

    word: ClassVar[str] = "destroy"
    server: str


@attrs.frozen
class LoseMessage:
    """Lose the next message from one server to another, although the link is not cut."""

    word: ClassVar[str] = "lose-message"
    a: str
    b: str


@attrs.frozen
class Rest:
    """End all faults and the load, and wait until the system no longer changes.

    Attributes:
        quiet: the time for which the system must not change, in µs.
    """

    word: ClassVar[str] = "rest"
    quiet: int = 60 * SECOND


@attrs.frozen
class KafkaActs:
    """Perform acts on Kafka's brokers, in the notation of scripts for Kafka clusters, for example `{arrive: {follower: 2, leader: 1}}`."""

    word: ClassVar[str] = "kafka"
    acts: tuple[KafkaAct, ...]


Request = WriteRequest | ReadRequest | Load | Reads | Probe
"""The type of an act that is a request by a client or a loop of requests."""

ScriptAct = acts.Act | Request | Destroy | LoseMessage | Rest | KafkaActs
"""An act of a script."""

MODEL_ACTS: Final = (PromoteAtOnce, Follow, StopApplier, StartApplier, Rebuild, PurgeBinlogs, StartElection)
"""The acts that only some models support."""

ACTS: Final[dict[str, Any]] = {
    act.word: act for act in (*acts.ACTS, *MODEL_ACTS, WriteRequest, ReadRequest, Load, Reads, Probe, Destroy, LoseMessage, Rest, KafkaActs)
}
"""The classes of the acts, keyed by the words that scripts use."""

DURATIONS: Final = frozenset({"latency", "write_time", "every", "lasts", "limit", "quiet"})
"""The fields of acts that contain durations in µs."""


def read_acts(word: str, node: Node) -> tuple[ScriptAct, ...]:
    """Read the acts of the script entry that has the key `word` and the value `node`.

    A single value sets the first field of an act. Depending on the act, a list contains the servers, the two ends of a link, or a value for
    each of several acts.
    """
    act = ACTS[word]
    fields = attrs.fields(act)
    if act is KafkaActs:
        return (KafkaActs(tuple(each for item in (node if isinstance(node, Items) else (node,)) for each in _kafka_acts(item))),)
    if isinstance(node, Fields):
        return (_from_fields(act, node),)
    first = fields[0].name if fields else ""
    given = ("a", "b") if first == "a" else (first,)
    missing = [name for name in required(act) if name not in given]
    if missing and not (isinstance(node, Text) and node.empty):
        example = ", ".join(f"{as_written(name)}: {_example(name)}" for name in required(act))
        raise node.error(f"{word} needs {', '.join(map(as_written, missing))}", f"for example {word}: {{{example}}}")
    if not fields and not (isinstance(node, Text) and node.empty):
        raise node.error(f"{word} has no fields", f"write '{word}:'")
    if isinstance(node, Items):
        if first == "a":
            ends = [as_text(item) for item in as_items(node, "write two servers, for example [n1, n2]")]
            if len(ends) != 2:
                raise node.error(f"{len(ends)} servers", "a link has two ends, for example [n1, n2]")
            return (act(*ends),)
        if first == "servers":
            return (act(tuple(as_text(item) for item in node)),)
        return tuple(act(_value(item, first)) for item in node)
    assert isinstance(node, Text)
    if node.empty:
        missing = required(act)
        if missing:
            raise node.error(f"{word} needs {', '.join(map(as_written, missing))}", f"for example '{word}: {_example(missing[0])}'")
        return (act(),)
    if first in ("a", "servers"):
        raise node.error(f"{node.what()} is not enough for {word}", "write a list, for example [n1, n2]")
    return (act(_value(node, first)),)


def _kafka_acts(node: Node) -> list[KafkaAct]:
    fields = as_fields(node, "for example {arrive: {follower: 2, leader: 1}}")
    fields.only(*KAFKA_ACTS)
    with node.document.together():
        found = [value.tried(partial(read_kafka_acts, word), ()) for word, value in fields.values.items() if word in KAFKA_ACTS]
    return [each for one in found for each in one]


def _example(field: str) -> str:
    return {"client": "c", "b": "n2", "source": "n2"}.get(field, "100ms" if field in DURATIONS else "n1")


def _from_fields(act: Any, node: Fields) -> ScriptAct:
    fields = {as_written(field.name): field for field in attrs.fields(act)}
    node.only(*fields)
    values: dict[str, Any] = {}
    with node.document.together():
        for written, field in fields.items():
            value = node.get(written)
            if value is not None:
                values[field.name] = value.tried(partial(_value, name=field.name), None)
            elif field.default is attrs.NOTHING:
                node.document.add(node.error(f"'{written}' is missing", f"{act.word} needs it"))
    made: ScriptAct = act(**values)
    if isinstance(made, WriteRequest):
        check_requests(made.count * made.versions, node)
    return made


def _value(node: Node, name: str) -> Any:
    if name in DURATIONS:
        return as_duration(node)
    if name in ("closes", "accept_data_loss", "drop_relay_log"):
        return as_bool(node)
    if name in ("count", "versions"):
        return as_int(node, 1, 100_000)
    if name in ("servers", "clients"):
        return tuple(as_text(item) for item in node) if isinstance(node, Items) else (as_text(node),)
    return as_text(node, "write a name")


def check_names(act: ScriptAct, node: Node, servers: frozenset[str], clients: frozenset[str]) -> None:
    """Refuse an act that names a server or a client that does not exist."""
    known: tuple[frozenset[str], ...]
    for field in attrs.fields(type(act)):
        value = getattr(act, field.name)
        if field.name in ("client", "clients"):
            known, what = (clients,), "client"
        elif field.name in ("server", "servers", "source"):
            known, what = (servers,), "server"
        elif field.name in ("a", "b"):
            known, what = (servers, clients), "server"
        else:
            continue
        for name in value if isinstance(value, tuple) else (value,):
            if name and not any(name in names for names in known):
                raise node.error(f"unknown {what} '{shortened(name)}'", did_you_mean(name, sorted(frozenset().union(*known))))
