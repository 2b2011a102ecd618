"""Recordings of failure drills on real clusters: one JSON file for each drill, as `drills/README.md` describes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import attrs

from core.kafka.ids import TopicPartition
from core.kafka.release import RELEASES, Release
from core.sim.units import SECOND

TOPIC_PREFIX: Final = "t-"
"""The prefix of the recorded names of topics, which the acts leave out."""


@attrs.frozen
class RecordedAct:
    """An action on the cluster.

    Attributes:
        op: the kind of action: kill, stop, start, pause, cont, produce, config, elect, controller, reassign, delete, delete-topic, or
            create-topic.
        at: the time since the drill began, in seconds; done: the time at which the tool returned.
        fields: the targets of the action, by the names in the recording.
        output: the output of the tool; empty for acts without a tool.
        results: the responses to the producer by partition, for `produce`.
        running_after: for `start`, the time from a broker's start until the controller unfenced it (KRaft) or until it logged that it had
            started (ZooKeeper); for `controller`, the time from its start until it logged that it had started; in µs; 0 if it was not
            measured.
    """

    op: str
    at: float
    done: float
    fields: dict[str, Any]
    output: str
    results: dict[TopicPartition, int]
    running_after: int

    @property
    def refused(self) -> bool:
        """Whether the tool printed an error and therefore changed nothing."""
        return any(line.startswith("Error") or "Exception" in line or "\terror: " in line for line in self.output.splitlines())


@attrs.frozen
class RecordedReplica:
    """A replica on disk: log end offset, leader-epoch entries (None if the file could not be read), and checkpointed high watermark (0 also
    if the checkpoint has no entry)."""

    leo: int
    epochs: tuple[tuple[int, int], ...] | None
    checkpointed: int


@attrs.frozen
class RecordedPartition:
    """A partition in the metadata that a broker returned. Its leader epoch is `NO_EPOCH` if the response did not contain the epoch."""

    leader: int
    epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...] | None
    last_known_elr: tuple[int, ...] | None


@attrs.frozen
class Znode:
    """The state znode of a partition in ZooKeeper, with its version."""

    leader: int
    epoch: int
    isr: tuple[int, ...]
    version: int


@attrs.frozen
class Point:
    """A settled state.

    Attributes:
        after: the number of the act before it.
        at, end: the start and the end of a time during which nothing changed, in seconds.
        live: the brokers whose process was running.
        text: the output of `kafka-topics --describe`; filters: the four filtered outputs by the filter's name.
        partitions, disks: by partition, and by broker and partition.
        znodes: the state znodes by partition, if they were recorded.
        controller: under ZooKeeper, the controller; None if it was not recorded.
        latest, earliest: the offsets that a client received, if it received a number.
    """

    after: int
    at: float
    end: float
    live: tuple[int, ...]
    text: str | None
    filters: dict[str, str]
    partitions: dict[TopicPartition, RecordedPartition]
    disks: dict[int, dict[TopicPartition, RecordedReplica]]
    znodes: dict[TopicPartition, Znode]
    controller: int | None
    latest: dict[TopicPartition, int]
    earliest: dict[TopicPartition, int]


@attrs.frozen
class Recording:
    """A drill.

    Attributes:
        name: `<kafka version>-<drill>`.
        version: the Kafka version of the brokers, such as 4.1.1.
        clients: the Kafka version of the producers.
        control_plane: `kraft` or `zookeeper`.
        settings: the settings of brokers that differed from Kafka's defaults; producer: the same for producers.
        initial: the describe output before the first act.
        controller: under ZooKeeper, the broker that was controller at the start; None if it was not recorded.
        acts, points: the acts and the points, in chronological order.
        metadata: every committed (leader, ISR, ELR, LastKnownElr) by partition, with its time in µs since the drill began; only for KRaft.
    """

    name: str
    version: str
    clients: str
    control_plane: str
    settings: dict[str, int]
    producer: dict[str, int]
    initial: str
    controller: int | None
    acts: tuple[RecordedAct, ...]
    points: tuple[Point, ...]
    metadata: dict[TopicPartition, tuple[tuple[int, State], ...]]

    @property
    def lists_dead_replicas(self) -> bool:
        """Whether brokers return also the replicas that are not alive (since version 1 of Metadata, 0.10)."""
        return _numbers(self.version) >= (0, 10)

    @property
    def lists_replicas_in_order(self) -> bool:
        """Whether brokers return the replicas of a partition in their order. Before 0.11, the metadata cache keeps them as a set."""
        return _numbers(self.version) >= (0, 11)

    @property
    def release(self) -> Release:
        """The newest profile that is not newer than the version."""
        return release_of(self.version)

    def later(self, seconds: float) -> Recording:
        """Return the same drill, but with acts and points that are some seconds later."""
        return attrs.evolve(
            self,
            acts=tuple(attrs.evolve(act, at=act.at + seconds, done=act.done + seconds) for act in self.acts),
            points=tuple(attrs.evolve(point, at=point.at + seconds, end=point.end + seconds) for point in self.points),
        )


@attrs.frozen
class State:
    """A state that the controller committed for a partition."""

    leader: int
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    last_known_elr: tuple[int, ...]


def release_of(version: str) -> Release:
    """Return the newest profile that is not newer than a version, such as 4.1.1."""
    numbers = _numbers(version)
    return next((release for name, release in reversed(RELEASES.items()) if _numbers(name) <= numbers), next(iter(RELEASES.values())))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in version.split("."))


def partition_named(name: str) -> TopicPartition:
    """Return the partition with a given name: both `t-a-0` and `a-0` are partition 0 of topic `t-a`."""
    topic, _, number = name.rpartition("-")
    return TopicPartition(topic if topic.startswith(TOPIC_PREFIX) else TOPIC_PREFIX + topic, int(number))


def read_recording(path: Path) -> Recording:
    """Read a recording from its file.

    Raises:
        ValueError: the file is not a recording. The message names the file.
    """
    try:
        raw = json.loads(path.read_text("utf-8"))
        return _recording(path.stem, raw)
    except (KeyError, TypeError, ValueError, AttributeError) as wrong:
        raise ValueError(
            f"{path}: not a recording of a drill ({type(wrong).__name__}: {wrong}); see tests/fidelity/drills/README.md"
        ) from wrong


def _recording(name: str, raw: dict[str, Any]) -> Recording:
    settings = raw["settings"]
    acts = tuple(_act(act) for act in raw["acts"])
    return Recording(
        name=name,
        version=raw["kafka"],
        clients=raw.get("clients", raw["kafka"]),
        control_plane=raw["control_plane"],
        settings={key: value for key, value in settings.items() if not key.startswith("producer ")},
        producer={key.removeprefix("producer "): value for key, value in settings.items() if key.startswith("producer ")},
        initial=raw["initial"],
        controller=_controller(raw),
        acts=acts,
        points=tuple(_point(point, zookeeper=raw["control_plane"] == "zookeeper") for point in raw["points"]),
        metadata=_states(raw.get("metadata", []), acts),
    )


def _controller(raw: dict[str, Any]) -> int | None:
    """Return the controller at the start. If it is not recorded, but the controller of the first point is, no act before that point can
    have moved it unless a broker ended."""
    if raw.get("controller", -1) >= 0:
        return int(raw["controller"])
    first = raw["points"][0]
    moved = any(act["op"] in ("kill", "stop", "pause") for act in raw["acts"][: first["k"] + 1])
    found = re.search(r'"brokerid":(\d+)', str(first.get("zk_controller", "")))
    return None if moved or found is None else int(found[1])


def _act(raw: dict[str, Any]) -> RecordedAct:
    result = raw["result"]
    fields = {key: value for key, value in raw.items() if key not in ("op", "t", "done", "settle", "result")}
    told = result.get("result", {}) if raw["op"] == "produce" else {}
    return RecordedAct(
        op=raw["op"],
        at=raw["t"],
        done=raw["done"],
        fields=fields,
        output=result.get("out", ""),
        results={partition_named(name): int(count[1]) for name, text in told.items() if (count := re.match(r"acked=(\d+)", text))},
        running_after=round((result.get("unfenced_s") or result.get("up_s") or 0) * SECOND),
    )


def _point(raw: dict[str, Any], *, zookeeper: bool) -> Point:
    offsets = {partition_named(name): value for name, value in raw["offsets"].items()}
    return Point(
        after=raw["k"],
        at=raw["t"],
        end=raw["end"],
        live=tuple(raw["live"]),
        text=raw["text"],
        filters=raw["filters"],
        partitions={
            partition_named(name): RecordedPartition(
                part["leader"],
                part["epoch"],
                tuple(part["replicas"]),
                tuple(part["isr"]),
                None if part["elr"] is None else tuple(part["elr"]),
                None if part["lkelr"] is None else tuple(part["lkelr"]),
            )
            for name, part in raw["parts"].items()
        },
        disks={
            int(broker): {
                partition_named(name): RecordedReplica(
                    replica["leo"],
                    None if replica["epochs"] is None else tuple((epoch, start) for epoch, start in replica["epochs"]),
                    replica["hwck"] or 0,
                )
                for name, replica in replicas.items()
            }
            for broker, replicas in raw["disk"].items()
        },
        znodes={
            partition_named(name): Znode(state["leader"], state["leader_epoch"], tuple(state["isr"]), state["zversion"])
            for name, state in raw.get("zk", {}).items()
        },
        controller=raw["controller"] if zookeeper and raw.get("controller", -1) >= 0 else None,
        latest={tp: int(value["latest"]) for tp, value in offsets.items() if str(value.get("latest")).isdecimal()},
        earliest={tp: int(value["earliest"]) for tp, value in offsets.items() if str(value.get("earliest")).isdecimal()},
    )


def _states(records: list[list[Any]], acts: tuple[RecordedAct, ...]) -> dict[TopicPartition, tuple[tuple[int, State], ...]]:
    found: dict[TopicPartition, list[tuple[int, State]]] = {}
    if all(kind != "CLEAR_ELR_RECORD" for _, kind, _, _ in records):
        records = sorted([*records, *_clears(acts)], key=lambda record: record[0])
    for seconds, kind, name, fields in records:
        time = round(seconds * SECOND)
        if kind == "PARTITION_RECORD":
            found.setdefault(partition_named(name), []).append((time, State(fields["leader"], tuple(fields["isr"]), (), ())))
        elif kind == "PARTITION_CHANGE_RECORD":
            states = found[partition_named(name)]
            known = states[-1][1]
            changed = State(
                fields.get("leader", known.leader),
                tuple(fields.get("isr", known.isr)),
                tuple(fields.get("eligibleLeaderReplicas", known.elr)),
                tuple(fields.get("lastKnownElr", known.last_known_elr)),
            )
            states.append((time, changed))
        elif kind == "CLEAR_ELR_RECORD":
            for tp, states in found.items():
                if name in ("", tp.topic):
                    states.append((time, attrs.evolve(states[-1][1], elr=(), last_known_elr=())))
    return {tp: tuple(states) for tp, states in found.items()}


def _clears(acts: tuple[RecordedAct, ...]) -> Iterator[list[Any]]:
    """Return the records that clear an ELR when min.insync.replicas is set. The first recordings left out these records."""
    for act in acts:
        if act.op == "config" and act.fields["name"] == "min.insync.replicas":
            yield [act.done, "CLEAR_ELR_RECORD", TOPIC_PREFIX + act.fields["topic"], {}]
