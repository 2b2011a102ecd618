"""Scripts that are valid, of every kind: Kafka by a timeline and by hand, groups, transactions, services, and other replication models.

Most mutations of a script are refused when it is read. These scripts are read and run, so that they test what a script does: acts in any
order, at any time, with any of their fields. An act that the cluster refuses is a failed expectation, and the run goes on.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs

from core.kafka.ids import TopicPartition
from core.lab import acts
from core.lab.acts import ACTS
from core.lab.acts.act import Act
from core.sim.units import SECOND, US_PER_MS
from scenarios.language.acts import SERVICE_WORDS, WORDS, act_as_data
from scenarios.language.cluster import write_yaml

ACTS_OF_A_SCRIPT: Final = 18
"""The maximum number of drawn acts after the opening."""

LASTS: Final = 40
"""The maximum time of a drawn act in seconds of virtual time."""

FAULTS: Final = (
    "kill", "power-loss", "shutdown", "start", "start", "start", "pause", "resume", "resume", "cut", "heal", "heal", "isolate", "link", "hold", "release",
    "clock", "fail-dir", "repair-dir", "slow-disk", "kill-controller", "start-controller", "pause-controller", "resume-controller",
    "fail-zone", "restore-zone", "cut-zone", "heal-zone",
)  # fmt: skip
ADMINISTRATION: Final = (
    "set", "create-topic", "create-partitions", "delete-topic", "elect", "reassign", "cancel-reassignment", "unregister", "delete-records", "clean",
    "move-replica", "update-feature",
)  # fmt: skip
CLIENTS: Final = ("produce", "produce", "load", "stop-load", "acks", "consume", "stop-consume")
BY_HAND: Final = ("fetch", "fetch", "fetch", "arrive", "answer", "fence", "bounce", "checkpoint", "check-isr", "produce", "produce")
GROUPS: Final = (
    "join-group", "join-group", "close-consumer", "kill-consumer", "freeze-consumer", "thaw-consumer", "processing-time", "stall-consumer", "commit-offsets",
    "pause-partitions", "resume-partitions", "remove-member", "reset-offsets", "delete-offsets", "delete-group", "produce",
)  # fmt: skip
TRANSACTIONS: Final = (
    "init-transactions", "begin-transaction", "begin-transaction", "produce", "produce", "commit-transaction", "commit-transaction", "abort-transaction", "abort-hanging",
    "join-group", "kill-consumer",
)  # fmt: skip
SERVICES: Final = (
    "process", "stop-process", "kill-process", "delay-service", "produce-delayed", "produce-delayed", "retry-service", "fail-processing", "stop-service",
    "kill-service", "stall-consumer", "processing-time", "produce",
)  # fmt: skip

TOPICS: Final = {"t": 3, "u": 2, "jobs": 2, "out": 2}
"""The topics of a cluster, with their partitions."""

BROKERS: Final = (1, 2, 3, 4)
SHORT: Final = {"session.timeout.ms": "8000", "heartbeat.interval.ms": "2000", "max.poll.interval.ms": "12000"}
"""Short timeouts of consumers, so that they expire in a script."""

Draw = Callable[[random.Random], Any]


def _pick(*values: Any) -> Draw:
    return lambda draw: draw.choice(values)


def _partition(draw: random.Random) -> TopicPartition:
    topic = draw.choice(tuple(TOPICS))
    return TopicPartition(topic, draw.randrange(TOPICS[topic]))


def _time(least: int, most: int) -> Draw:
    return lambda draw: draw.randrange(least, most) * US_PER_MS


def _link(draw: random.Random) -> tuple[str, str]:
    one, other = draw.sample([*(f"b{broker}" for broker in BROKERS), "controller"], 2)
    return one, other


def _replicas(draw: random.Random) -> tuple[int, ...]:
    return tuple(draw.sample(BROKERS, draw.randrange(1, 4)))


def _topics(draw: random.Random) -> tuple[str, ...]:
    return tuple(draw.sample(("t", "u", "jobs"), draw.choice((1, 1, 2))))


FIELDS: Final[dict[str, Draw]] = {
    "broker": _pick(*BROKERS), "follower": _pick(*BROKERS), "leader": _pick(*BROKERS), "to": _pick(*BROKERS), "node": _pick("b1", "b2", "b3", "controller"),
    "zone": _pick("north", "south"), "other": _pick("north", "south"),
    "between": _link, "topic": _pick("t", "t", "u", "jobs"), "topics": _topics, "source": _pick("t", "u"), "output": _pick("out"), "replicas": _replicas,
    "records": _pick(1, 2, 5, 20), "rate": _pick(5, 20, 50), "every": _time(20, 500), "acks": _pick(*WORDS["acks"]), "partitions": _pick(1, 2, 4),
    "replication_factor": _pick(1, 2, 3), "level": _pick(0, 1, 2), "feature": _pick("transaction.version", "group.version"), "dir": _pick(1, 2), "offset": _pick(0, 1, 3, 10),
    "start_offset": _pick(0, 1, 5), "producer": _pick("p", "q", "app"), "consumer": _pick("m1", "m2", "m3", "m4"), "group": _pick("g", "g", "h"), "service": _pick("delay", "app"),
    "process": _pick("copy"), "instance_id": _pick("i1", "i2"), "transactional_id": _pick("x", "y"), "skew": _time(-2000, 2000), "drift_ppm": _pick(-500, 1000),
    "loss_ppm": _pick(0, 10_000, 200_000), "duplicate_ppm": _pick(0, 10_000), "reorder_ppm": _pick(0, 10_000), "latency": _time(0, 200), "jitter": _time(0, 50),
    "messages": _pick(1, 3), "delay": _time(1, 500), "stall_time": _time(500, 20_000), "poll_time": _time(0, 3000), "record_time": _time(0, 50), "assign_time": _time(0, 2000),
    "after": _time(1000, 20_000), "share_ppm": _pick(100_000, 500_000, 1_000_000), "lasting": _time(1000, 10_000), "tries": _pick(0, 1, 3), "crash_after_records": _pick(3, 20),
    "bytes": _pick(1, 100, 2000), "copies": _pick(1, 2), "instances": _pick(1, 2), "assignors": _pick(("range",), ("roundrobin",), ("sticky",), ("cooperative-sticky",)),
    "remote_assignor": _pick("uniform", "range"), "commit_records": _pick(3, 10), "max_poll_records": _pick(1, 10, 100), "bound": _pick(5, 100), "commit_every": _time(500, 5000),
    "shift_by": _pick("-2", "3"), "since": _time(0, 5000),
}  # fmt: skip
"""A function that draws a value, by the name of a field. Fields that are not in here get words of the language, or keep their defaults."""

CLIENT_FIELDS: Final = ("producer", "consumer", "process", "service")
"""Fields that contain the name of a client."""

STARTS: Final = frozenset(
    {"load", "produce", "consume", "join-group", "init-transactions", "process", "delay-service", "retry-service", "produce-delayed"}
)
"""The acts that start a client if it does not exist."""

ALWAYS: Final = frozenset({"producer", "consumer", "group", "service"})
"""Fields that get a drawn value even if they have a default."""

VALUES: Final = {
    "min.insync.replicas": ("1", "2", "3"),
    "unclean.leader.election.enable": ("true", "false"),
    "retention.ms": ("2000", "60000"),
}
"""The settings of topics that are set."""


def drawn_act(word: str, draw: random.Random) -> Act:
    """Return an act with a given word. Required fields, and some others, have drawn values."""
    kind = ACTS[word]
    if kind is acts.Set:
        name = draw.choice(tuple(VALUES))
        return acts.Set(name, draw.choice(VALUES[name]), topic=draw.choice(("t", "u")))
    if kind is acts.CreateTopic:
        return acts.CreateTopic(draw.choice(("t", "v", "w")), draw.randrange(1, 4), draw.randrange(1, 4))
    if kind is acts.ResetOffsets:
        how = draw.choice(
            (
                {"offset": draw.choice(("earliest", "latest", "current", "3"))},
                {"shift_by": draw.choice(("-2", "3"))},
                {"by_duration": "PT5S"},
            )
        )
        return acts.ResetOffsets(draw.choice(("g", "h")), topics=_topics(draw), **how)
    given: dict[str, Any] = {}
    for field in attrs.fields(kind):
        required = field.default is attrs.NOTHING
        if not required and field.name not in ALWAYS and draw.random() < 0.8:
            continue
        if (value := _value(kind, field.name, str(field.type), draw)) is not None:
            given[field.name] = value
        elif required:
            raise LookupError(f"no values are known for the field {field.name} of {word}")
    if given.get("idempotence"):
        given.pop("acks", None)
    if kind is acts.Link and len(given) < 2:
        given["latency"] = 50 * US_PER_MS
    if kind is acts.ProcessingTime and "poll_time" not in given and "record_time" not in given:
        given["poll_time"] = SECOND
    if kind in (acts.JoinGroup, acts.StartProcess):
        given["config"] = tuple(SHORT.items())
        if given.get("protocol") == "consumer":
            given.pop("assignors", None)
            given["config"] = ()
        else:
            given.pop("remote_assignor", None)
    return kind(**given)


def _value(kind: type[Act], name: str, annotation: str, draw: random.Random) -> Any:
    if "TopicPartition" in annotation and name == "partition":
        return _partition(draw)
    if name == "partition":
        return draw.randrange(2)
    if annotation == "bool":
        return draw.random() < 0.5
    words = (SERVICE_WORDS.get(name) if kind in (acts.StartDelayService, acts.StartRetryService) else None) or WORDS.get(name)
    if words is not None and name not in FIELDS:
        return draw.choice(words)
    if name == "replicas" and not annotation.startswith("tuple[int"):
        return None
    return FIELDS[name](draw) if name in FIELDS else None


def _cluster(draw: random.Random, *, by_hand: bool = False) -> dict[str, Any]:
    topics: dict[str, Any] = {
        name: {
            "partitions": count, "replication-factor": draw.choice((2, 3)),
            "config": {"min.insync.replicas": draw.choice((1, 1, 2)), "unclean.leader.election.enable": draw.random() < 0.2},
        }
        for name, count in TOPICS.items()
    }  # fmt: skip
    cluster: dict[str, Any] = {"brokers": len(BROKERS), "topics": topics}
    if by_hand:
        return cluster | {"pace": "by-hand"}
    cluster["network"] = {"latency": draw.choice(("500us", "2ms")), "jitter": draw.choice(("0s", "1ms"))}
    if draw.random() < 0.3:
        cluster["controllers"] = draw.choice((1, 3))
    cluster["zones"] = {"north": [1, 2], "south": [3, "c1"] if cluster.get("controllers") else [3]}
    if draw.random() < 0.5:
        cluster["network"]["between-zones"] = {"north": {"south": "5ms"}}
    if draw.random() < 0.3:
        cluster["log-dirs"] = 2
    return cluster


def _timeline(
    draw: random.Random, opening: Sequence[Act], words: Sequence[str], timed: Sequence[tuple[int, Act]] = ()
) -> list[dict[str, Any]]:
    """Return the steps: the opening, acts with their times (ms), and drawn acts at drawn times between them."""
    steps: list[dict[str, Any]] = [{act.word: act_as_data(act)} for act in opening]
    every = [*opening, *(act for _, act in timed)]
    drawn = _of_known_clients([drawn_act(draw.choice(words), draw) for _ in range(draw.randrange(4, ACTS_OF_A_SCRIPT))], every)
    steps += [
        {"at": f"{at}ms", act.word: act_as_data(act) or None}
        for at, act in sorted([*timed, *((draw.randrange(200, LASTS * 1000), act) for act in drawn)], key=lambda step: step[0])
    ]
    steps.append({"at": f"{LASTS}s"})
    return steps


def _of_known_clients(drawn: Sequence[Act], opening: Sequence[Act] = ()) -> list[Act]:
    """Return the acts whose client is started by an act: a script that names another client is refused, because the name is mistyped."""
    started = {_client(act) for act in (*drawn, *opening) if act.word in STARTS}
    return [act for act in drawn if act.word in STARTS or not _client(act) or _client(act) in started]


def _client(act: Act) -> str:
    return next((str(value) for name in CLIENT_FIELDS if (value := getattr(act, name, None))), "")


def _loads(draw: random.Random, *topics: str) -> list[Act]:
    return [
        acts.Load(topic, draw.choice((5, 20, 50)), draw.choice(("1", "all", "all")), 100 * US_PER_MS, producer=f"load-{topic}")
        for topic in topics
    ]  # fmt: skip


def _kafka(draw: random.Random, words: Sequence[str], opening: Sequence[Act], timed: Sequence[tuple[int, Act]] = ()) -> dict[str, Any]:
    faults = draw.choice(((), FAULTS, (*FAULTS, *ADMINISTRATION), ADMINISTRATION))
    return {"cluster": _cluster(draw), "timeline": _timeline(draw, opening, (*words, *words, *words, *faults), timed)}


def _plain(draw: random.Random) -> dict[str, Any]:
    return _kafka(draw, CLIENTS, _loads(draw, "t", *draw.choice(((), ("u",)))))


def _by_hand(draw: random.Random) -> dict[str, Any]:
    words = (*BY_HAND, *BY_HAND, "kill", "start", "start", "pause", "resume", "shutdown", "elect", "set", "reassign", "cut", "heal")
    drawn = _of_known_clients([drawn_act(draw.choice(words), draw) for _ in range(draw.randrange(4, 40))])
    return {"cluster": _cluster(draw, by_hand=True), "steps": [{act.word: act_as_data(act) or None} for act in drawn]}


def _groups(draw: random.Random) -> dict[str, Any]:
    opening = _loads(draw, "t", "u")
    protocol = draw.choice(("classic", "classic", "consumer"))
    assignors = draw.choice((("range",), ("roundrobin",), ("sticky",), ("cooperative-sticky",), ()))
    for member in draw.sample(("m1", "m2", "m3", "m4"), draw.randrange(1, 5)):
        opening.append(
            acts.JoinGroup(
                draw.choice((("t",), ("t", "u"))), member, "g", assignors if protocol == "classic" else (), protocol=protocol,
                config=tuple(SHORT.items()) if protocol == "classic" else (), isolation=draw.choice(WORDS["isolation"]), commit=draw.choice(("auto", "after", "async")),
            )
        )  # fmt: skip
    timed: list[tuple[int, Act]] = []
    for member in ("m1", "m2", "m3", "m4"):
        for _ in range(draw.randrange(3)):  # it leaves in one way or another, and another process takes its place
            at = draw.randrange(3000, 30_000)
            timed.append((at, draw.choice((acts.CloseConsumer, acts.KillConsumer))(member)))
            timed.append((at + draw.choice((500, 3000, 9000)), attrs.evolve(opening[-1], consumer=member)))
    return _kafka(draw, GROUPS, opening, timed)


def _transactions(draw: random.Random) -> dict[str, Any]:
    opening: list[Act] = [
        acts.InitTransactions("t", "x", "p"),
        acts.Consume("t", "plain", isolation="read_committed"),
        acts.JoinGroup(("t", "u"), "reader", "readers", isolation="read_committed", config=tuple(SHORT.items())),
    ]
    if draw.random() < 0.6:
        opening.append(
            acts.Load("t", 20, "all", 200 * US_PER_MS, producer="bank", transactional_id="bank", commit_records=draw.choice((2, 7)))
        )
    timed: list[tuple[int, Act]] = []
    at = 1000
    while at < LASTS * 1000 - 3000:
        timed.append((at, acts.BeginTransaction("p")))
        for topic in draw.sample(("t", "u", "jobs"), draw.randrange(1, 4)):
            timed.append((at + draw.randrange(300), acts.Produce(topic, draw.randrange(1, 6), producer="p")))
        if draw.random() < 0.95:
            timed.append(
                (at + draw.choice((400, 2000)), draw.choice((acts.CommitTransaction, acts.CommitTransaction, acts.AbortTransaction))("p"))
            )
        at += draw.choice((1000, 2500))
    return _kafka(draw, TRANSACTIONS, opening, timed)


def _services(draw: random.Random) -> dict[str, Any]:
    opening: list[Act] = _loads(draw, "t", "jobs")
    if draw.random() < 0.7:
        opening.append(acts.StartProcess("t", "out", "copy", delivery=draw.choice(WORDS["delivery"]), config=tuple(SHORT.items())))
    if draw.random() < 0.6:
        opening.append(acts.StartRetryService("jobs", ("1s", "3s"), "app", transactional=draw.random() < 0.3))
    if draw.random() < 0.5:
        opening.append(acts.StartDelayService("u", service="delay"))
    return _kafka(draw, SERVICES, opening)


SERVERS: Final = ("n1", "n2", "n3")


def _models(draw: random.Random) -> dict[str, Any]:
    """Return a script of one of the other models: load, faults in any order, and rest."""
    steps: list[dict[str, Any]] = [{"load": {"client": "c", "every": "50ms", "lasts": "20s", "limit": "2s"}}]
    for at in sorted(draw.randrange(500, 20_000) for _ in range(draw.randrange(2, 9))):
        server, (one, other) = draw.choice(SERVERS), draw.sample(SERVERS, 2)
        steps.append(
            {"at": f"{at}ms"}
            | draw.choice(
                (
                    {"kill": server}, {"restart": server}, {"restart": server}, {"pause": server}, {"resume": server}, {"cut": [one, other]}, {"heal": [one, other]},
                    {"heal-all": None}, {"power-loss": [one, other]}, {"slow-link": {"a": one, "b": other, "latency": "80ms"}}, {"promote": {"server": server}},
                    {"slow-disk": {"server": server, "write-time": "20ms"}}, {"isolate": {"server": server, "clients": ["r"]}}, {"lose-message": [one, other]},
                    {"write": {"client": "c", "count": 3, "limit": "1s"}}, {"read": {"client": "r", "server": server, "limit": "1s"}},
                )
            )
        )  # fmt: skip
    steps.append({"at": "60s", "rest": None})
    model = draw.choice(("mysql", "elasticsearch", "quorum", "kafka"))
    return {"model": model, "clients": {"c": list(SERVERS), "r": list(SERVERS)}, "timeline": steps}


KINDS: Final[dict[str, Callable[[random.Random], dict[str, Any]]]] = {
    "timeline": _plain, "by-hand": _by_hand, "groups": _groups, "transactions": _transactions, "services": _services, "models": _models,
}  # fmt: skip
"""The functions that draw a script, by kind."""


def valid_script(kind: str, draw: random.Random) -> str:
    """Return the text of a valid script of a kind."""
    return write_yaml({"scenario": f"fuzz-{kind}", **KINDS[kind](draw)})
