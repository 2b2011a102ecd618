"""Plays a recorded drill in the model, and records the model's state at each of the recording's points.

The model runs for `LEAD` before the drill's time 0, so that heartbeats and fetches are in progress. Times that depend on the recording
machine (the time that the start of a process takes) are taken from the recording. Times that were not recorded are constants of this
module.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import attrs

from core.kafka.broker.broker_state import BrokerState
from core.kafka.clients.client_config import client_config
from core.kafka.clients.client_settings import PRODUCER
from core.kafka.events import PartitionChanged, ProduceAcked, decode
from core.kafka.ids import NO_LEADER, TopicPartition, broker_address
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import ClusterSpec, NetworkSpec
from core.lab.views.cluster_view import ClusterView
from core.sim.errors import ActRefused
from core.sim.units import SECOND, US_PER_MS
from scenarios.describe.parse import parse_describe
from scenarios.describe.spec import to_cluster_spec
from tests.fidelity.recording import TOPIC_PREFIX, RecordedAct, Recording, State, partition_named, release_of

LEAD: Final = 12 * SECOND
"""The time in µs that the model runs before the drill begins."""

NETWORK: Final = NetworkSpec(latency=300, jitter=100)
"""The one-way latency of loopback, in µs."""

STARTUP: Final = 4 * SECOND
"""The time from the start of a process to its registration, in µs, if the recording does not contain the time."""

UNFENCING: Final = SECOND
"""The time from a broker's registration until it is unfenced, in µs (measured: 0.9 to 1.2 s)."""

HEARTBEAT: Final = 500 * US_PER_MS
"""broker.heartbeat.interval.ms of the drills, in µs."""

PHASE: Final = 137 * US_PER_MS
"""The difference between the phases of the heartbeats of two started brokers, in µs."""

METADATA_MAX_AGE: Final = "5000"
"""metadata.max.age.ms of the drills' producers."""

CONTROLLER_RESTART: Final = 50 * US_PER_MS
"""The time from the controller's kill to its start, in µs."""

CONTROLLER: Final = "c1"
"""The only dedicated controller of a KRaft drill."""

AFTERWARDS: Final = 10 * SECOND
"""The time in µs that the model runs after the last act, so that every producer gets its response."""

SAMPLE: Final = 100 * US_PER_MS
"""The time between two checks of the high watermarks, in µs."""

CHECKPOINT_INTERVAL: Final = 5 * SECOND + SAMPLE
"""replica.high.watermark.checkpoint.interval.ms in µs, plus the time between two checks."""


class OtherController(Exception):
    """In the model, another broker has become controller than in the recording."""


@attrs.frozen
class ReplicaOnDisk:
    """A log on a disk of the model: log end offset and leader-epoch entries."""

    leo: int
    epochs: tuple[tuple[int, int], ...]


@attrs.frozen
class ModelPoint:
    """The model's state at a point.

    Attributes:
        view: the view of the whole cluster.
        disks: the logs on the disks of all brokers, also of those that have no process, by broker and partition. A broker that has no
            process keeps the logs of replicas that were removed in the meantime.
        checkpointed: the possible high watermarks in the checkpoint file, by broker and partition. There are several, because the recording
            does not show when the broker wrote the checkpoint within the last interval.
    """

    view: ClusterView
    disks: dict[int, dict[TopicPartition, ReplicaOnDisk]]
    checkpointed: dict[int, dict[TopicPartition, range]]


@attrs.frozen
class Replayed:
    """The behavior of the model.

    Attributes:
        points: its state at each of the recording's points.
        refused: the reason why the model refused an act, by act.
        acknowledged: the number of records that were acknowledged to the producer, by act and partition.
        metadata: every state that the controller committed, by partition, with its time in µs since the drill began.
    """

    points: tuple[ModelPoint, ...]
    refused: dict[int, str]
    acknowledged: dict[int, dict[TopicPartition, int]]
    metadata: dict[TopicPartition, tuple[tuple[int, State], ...]]


@attrs.frozen
class _Due:
    """An action in the model.

    Attributes:
        at: its time in µs.
        number: the number of the recorded act that it belongs to.
        act: the act.
        startup: for the start of a process, the time from its start to its registration, in µs.
    """

    at: int
    number: int
    act: acts.Act
    startup: int = STARTUP


def replay(recording: Recording, *, seed: int = 0, controller: str = "", same_controllers: bool = False) -> Replayed:
    """Play a drill.

    Args:
        recording: the recording of the drill.
        seed: the seed of the network's jitter and of the phases of timers. It also delays each start by a part of a heartbeat interval,
            because the phase of the heartbeats of a started broker is not recorded. With 0, nothing is delayed.
        controller: under ZooKeeper, the address of the broker that is controller at the start; empty for the first.
        same_controllers: under ZooKeeper, to stop if another broker is controller than in the recording.

    Raises:
        OtherController: `same_controllers` is true, and at one of the points, another broker is controller than in the recording.
    """
    events: list[Any] = []
    cluster = Cluster(cluster_spec(recording, controller), recording.release, seed=seed, sink=events.append)
    _start_producers(cluster, recording, seed)
    due = sorted(_due(recording, seed), key=lambda one: one.at)
    points: list[ModelPoint] = []
    refused: dict[int, str] = {}
    watermarks = Watermarks(cluster)
    for point in recording.points:
        moment = _time(point.at)
        while due and due[0].at <= moment:
            watermarks.watch_until(due[0].at)
            refused.update(_do(cluster, due.pop(0)))
        watermarks.watch_until(moment)
        if same_controllers and point.controller is not None and cluster.controller_address not in ("", broker_address(point.controller)):
            raise OtherController(f"after act {point.after}, {cluster.controller_address} is the controller and not b{point.controller}")
        points.append(ModelPoint(cluster.view(), _disks(cluster), watermarks.checkpointed()))
    for rest in due:
        cluster.run_until(rest.at)
        refused.update(_do(cluster, rest))
    cluster.run_until(cluster.now + AFTERWARDS)
    return Replayed(tuple(points), refused, _acknowledged(recording, events), _committed(recording, events))


def _disks(cluster: Cluster) -> dict[int, dict[TopicPartition, ReplicaOnDisk]]:
    return {
        number: {tp: ReplicaOnDisk(log.leo, log.epochs.entries()) for tp, log in (*broker.disk.logs.items(), *broker.disk.offline.items())}
        for number, broker in cluster.brokers.items()
    }


def cluster_spec(recording: Recording, controller: str) -> ClusterSpec:
    """Return the recorded cluster before its first act."""
    spec, _ = to_cluster_spec(parse_describe(recording.initial, recording.name), settings=_settings(recording), network=NETWORK)
    clients = tuple((name, str(value)) for name, value in recording.producer.items())
    spec = attrs.evolve(spec, startup=STARTUP, recovery=0, clients=(*clients, ("metadata.max.age.ms", METADATA_MAX_AGE)))
    if recording.control_plane == "kraft":
        return attrs.evolve(spec, controllers=(CONTROLLER,))
    return attrs.evolve(spec, controller=controller)


def _settings(recording: Recording) -> tuple[tuple[str, Any], ...]:
    return (*recording.settings.items(), ("auto.leader.rebalance.enable", False))


def _time(seconds: float) -> int:
    return LEAD + round(seconds * SECOND)


# --- acts ------------------------------------------------------------------------------------------------------------


def _do(cluster: Cluster, due: _Due) -> dict[int, str]:
    """Execute an act. Return its number, and the reason if the model refuses it."""
    cluster.spec = attrs.evolve(cluster.spec, startup=due.startup)
    try:
        cluster.do(due.act)
    except ActRefused as refusal:
        return {due.number: str(refusal)}
    return {}


def _due(recording: Recording, seed: int) -> Iterator[_Due]:
    for number, act in enumerate(recording.acts):
        for at, asked in _in_the_model(act):
            yield _Due(at, number, asked, _startup(act) + seed * (number + 1) * PHASE % HEARTBEAT)


def _startup(act: RecordedAct) -> int:
    """Return the time from the start of the act's process to its registration, in µs."""
    return max(act.running_after - (UNFENCING if act.op == "start" else CONTROLLER_RESTART), US_PER_MS) if act.running_after else STARTUP


def _in_the_model(act: RecordedAct) -> Iterator[tuple[int, acts.Act]]:
    """Return the model's act for an act of the recording. The act of a tool takes effect when the tool returns; it has no effect if the
    tool printed an error.

    Raises:
        ValueError: the kind of act is not known.
    """
    fields = act.fields
    begun, done = _time(act.at), _time(act.done)
    match act.op:
        case "kill":
            yield (begun, acts.Kill(fields["broker"]))
        case "stop":
            yield (begun, acts.Shutdown(fields["broker"]))
        case "start":
            yield (begun, acts.Start(fields["broker"]))
        case "pause":
            yield (begun, acts.Pause(fields["broker"]))
        case "cont":
            yield (begun, acts.Resume(fields["broker"]))
        case "controller":
            yield (begun, acts.KillController(CONTROLLER))
            yield (begun + CONTROLLER_RESTART, acts.StartController(CONTROLLER))
        case "produce":
            for name, records, acknowledged in fields["what"]:
                tp = partition_named(name)
                idempotent = acknowledged == "alli"
                yield (
                    begun,
                    acts.Produce(
                        tp.topic,
                        records,
                        tp.partition,
                        acks=_acks(acknowledged),
                        producer=_name(acknowledged),
                        idempotence=idempotent,
                    ),
                )
        case "elect":
            chosen = fields.get("partition")
            yield (done, acts.Elect(fields["kind"], None if chosen is None else partition_named(chosen)))
        case "config" if not act.refused:
            yield (done, acts.Set(fields["name"], fields["value"], topic=TOPIC_PREFIX + fields["topic"]))
        case "reassign" if not act.refused:
            by_api = act.output.strip() == "Successfully started"
            yield (done, acts.Reassign(partition_named(fields["partition"]), tuple(fields["replicas"]), admin_api=by_api))
        case "delete" if not act.refused:
            yield (done, acts.DeleteRecords(partition_named(fields["partition"]), fields["offset"]))
        case "delete-topic" if not act.refused:
            yield (done, acts.DeleteTopic(TOPIC_PREFIX + fields["topic"]))
        case "create-topic" if not act.refused:
            assignment = tuple(tuple(replicas) for replicas in fields["assignment"])
            config = tuple(fields["configs"].items())
            yield (done, acts.CreateTopic(TOPIC_PREFIX + fields["topic"], len(assignment), len(assignment[0]), assignment, config))
        case "config" | "reassign" | "delete" | "delete-topic" | "create-topic":
            return
        case other:
            raise ValueError(f"an act of a drill is not known: {other}")


def _acks(word: str) -> str:
    return "all" if word == "alli" else word


def _name(acknowledged: str) -> str:
    return f"acks-{acknowledged}"


def _start_producers(cluster: Cluster, recording: Recording, seed: int) -> None:
    """Start a producer for each value of acks with which the drill produces records. Each of them knows all topics. The seed chooses the
    broker that a producer asks next for metadata, which Kafka draws at random."""
    first, *others = (topic.name for topic in cluster.spec.topics)
    for acknowledged in sorted({word for act in recording.acts for _, _, word in act.fields.get("what", ())}):
        name = _name(acknowledged)
        cluster.do(acts.Load(first, 1, acks=_acks(acknowledged), producer=name, idempotence=acknowledged == "alli"))
        cluster.do(acts.StopLoad(name))
        producer = cluster.clients.producer(name)
        assert producer is not None
        release = release_of(recording.clients)
        given = (*cluster.spec.clients, ("acks", _acks(acknowledged)), ("enable.idempotence", str(acknowledged == "alli").lower()))
        producer.configure(client_config(PRODUCER, given, release), release)
        producer.next_broker += seed
        for topic in others:
            producer.write_topic(topic)


# --- what came of it -------------------------------------------------------------------------------------------------


@attrs.define
class Watermarks:
    """The range of each replica's high watermark in the last checkpoint interval during which its broker was running.

    After a broker restarts, a replica has the high watermark of the checkpoint, which is equally uncertain, until its high watermark moves.

    Attributes:
        cluster: the model.
        seen: each high watermark, by broker and partition, with the last time at which the replica had it, in µs.
        restored: the high watermark that a replica started with and still has, by broker and partition.
        stopped: brokers without a process.
    """

    cluster: Cluster
    seen: dict[tuple[int, TopicPartition], dict[int, int]] = attrs.field(factory=dict)
    restored: dict[tuple[int, TopicPartition], int] = attrs.field(factory=dict)
    stopped: set[int] = attrs.field(factory=set)

    def watch_until(self, moment: int) -> None:
        """Run the model until a moment, and check the high watermarks on the way."""
        while self.cluster.now < moment:
            self.cluster.run_until(min(self.cluster.now + SAMPLE, moment))
            for number, broker in self.cluster.brokers.items():
                if broker.context.state is BrokerState.STOPPED:
                    self.stopped.add(number)
                elif broker.address not in self.cluster.paused:
                    self._look(number)
                    self.stopped.discard(number)

    def _look(self, number: int) -> None:
        now, partitions = self.cluster.now, self.cluster.controller.registry.partitions
        for tp, log in self.cluster.brokers[number].disk.logs.items():
            place = (number, tp)
            held = self.seen.setdefault(place, {})
            # The checkpoint has no entry for a log that is no replica (any more): a broker keeps it if it had no process at its removal.
            watermark = log.high_watermark if tp in partitions and number in partitions[tp].replicas else 0
            if number in self.stopped:
                self.restored[place] = watermark
            if self.restored.get(place) == watermark:
                held.update(dict.fromkeys(held, now))
            else:
                self.restored.pop(place, None)
            held[watermark] = now
            for value in [value for value, last in held.items() if last < now - CHECKPOINT_INTERVAL]:
                del held[value]

    def checkpointed(self) -> dict[int, dict[TopicPartition, range]]:
        """Return the possible current contents of the checkpoint files."""
        found: dict[int, dict[TopicPartition, range]] = {number: {} for number in self.cluster.brokers}
        for (number, tp), held in self.seen.items():
            found[number][tp] = range(min(held), max(held) + 1)
        return found


def _acknowledged(recording: Recording, events: list[Any]) -> dict[int, dict[TopicPartition, int]]:
    """Return, by act, the results that its producers received before they produced again."""
    produced = [(number, act) for number, act in enumerate(recording.acts) if act.op == "produce"]
    told: dict[int, dict[TopicPartition, int]] = {number: dict.fromkeys(act.results, 0) for number, act in produced}
    acknowledged = [(event[1], decode(event)) for event in events if event[3] == ProduceAcked.kind]
    for place, (number, act) in enumerate(produced):
        until = _time(produced[place + 1][1].at) if place + 1 < len(produced) else None
        names = {_name(word) for _, _, word in act.fields["what"]}
        for at, event in acknowledged:
            assert isinstance(event, ProduceAcked)
            if at >= _time(act.at) and (until is None or at < until) and event.producer in names:
                tp = TopicPartition(event.topic, event.partition)
                told[number][tp] = told[number].get(tp, 0) + event.records
    return told


def _committed(recording: Recording, events: list[Any]) -> dict[TopicPartition, tuple[tuple[int, State], ...]]:
    found = {tp: [(-LEAD, state)] for tp, state in _initial(recording).items()}
    for changed in events:
        if changed[3] == PartitionChanged.kind:
            event = decode(changed)
            assert isinstance(event, PartitionChanged)
            state = State(event.leader, event.isr, event.elr, event.last_known_elr)
            found[TopicPartition(event.topic, event.partition)].append((changed[1] - LEAD, state))
    return {tp: tuple(states) for tp, states in found.items()}


def _initial(recording: Recording) -> dict[TopicPartition, State]:
    return {
        TopicPartition(row.topic, row.partition): State(
            row.leader if row.has_leader else NO_LEADER, row.isr, row.elr or (), row.last_known_elr or ()
        )
        for topic in parse_describe(recording.initial, recording.name).topics
        for row in topic.rows
    }
