"""Plays the acts of a recording of transactions in the model.

If the real client waited for a call of a producer, the player also waits for it. If the model takes longer than the real cluster, all later
acts are delayed by the same amount. In the model, all data partitions of a recording are partitions of one topic, in alphabetical order. If
a recording deletes a topic, they keep their topics.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from core.kafka import events
from core.kafka.controller.feature_control_manager import feature_level
from core.kafka.errors import COORDINATOR_LOAD_IN_PROGRESS, REQUEST_TIMED_OUT
from core.kafka.features import TRANSACTION_VERSION
from core.kafka.ids import TopicPartition
from core.kafka.settings.registry import SETTINGS as KAFKA_SETTINGS
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.kafka.transaction.transaction_log import GROUP_METADATA_TOPIC, partition_for
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec, NetworkSpec
from core.sim.errors import ActRefused
from core.sim.units import SECOND, US_PER_MS
from tests.fidelity.transactions.group_clients import OFFSETS_PARTITIONS, GroupClients
from tests.fidelity.transactions.producer_ids import ProducerIds
from tests.fidelity.transactions.raw_client import RawClient, answer_of
from tests.fidelity.transactions.raw_request import COORDINATED, RawRequest
from tests.fidelity.transactions.reading import read_all
from tests.fidelity.transactions.recording import STATE_TOPIC, TransactionAct, TransactionRecording, described_rows

TOPIC: Final = "t"
"""The topic of the data partitions."""

STATE_PARTITIONS: Final = 5
"""transaction.state.log.num.partitions of the recordings."""

LEAD: Final = 12 * SECOND
"""The time in µs that the model runs before the drill begins."""

PHASE: Final = 270 * US_PER_MS
"""The difference between the start times of two seeds, in µs. With different start times, heartbeats and scans have different phases."""

STEP: Final = 20 * US_PER_MS
"""The time between two checks of whether a call has been answered, in µs."""

GRAIN: Final = 250
"""The time between two moments at which the player checks whether anything has happened, in µs."""

LATE_METADATA: Final = 40 * US_PER_MS
"""With every second seed, the time in µs that the metadata takes to reach a broker that continues after a pause. Its fetch of metadata has
timed out, so the broker ignores the response that is waiting for it, and fetches again (`KafkaRaftClient`), while its heartbeat unfences it
at once."""

PATIENCE: Final = 40 * SECOND
"""The maximum time to wait for the response to a call, in µs."""

STATE_CONFIG: Final = (("cleanup.policy", "compact"), ("min.insync.replicas", "2"), ("unclean.leader.election.enable", "false"))
"""The settings of `__transaction_state`."""

SETTINGS: Final = (
    ("transaction.state.log.num.partitions", STATE_PARTITIONS),
    ("broker.session.timeout.ms", 4000),
    ("broker.heartbeat.interval.ms", 500),
    ("replica.lag.time.max.ms", 4000),
    ("auto.leader.rebalance.enable", False),
)
"""The settings of the recorded brokers."""

CLIENTS: Final = (("request.timeout.ms", "4000"), ("delivery.timeout.ms", "20000"), ("transaction.timeout.ms", "60000"))
"""The settings of the recorded clients."""

CALLS: Final = {"p.begin": acts.BeginTransaction, "p.commit": acts.CommitTransaction, "p.abort": acts.AbortTransaction}
"""The calls of a transactional producer that need only its name."""

PRODUCER_CONFIG: Final = (
    "acks", "enable.idempotence", "transaction.timeout.ms", "max.block.ms", "default.api.timeout.ms", "linger.ms", "batch.size",
    "compression.type",
)  # fmt: skip
"""The settings of producers that a recording can contain. The model has no compression: the recordings contain the sizes of batches."""

BUSY: Final = ("INITIALIZING", "COMMITTING_TRANSACTION", "ABORTING_TRANSACTION")
"""The states of a producer whose call has not been answered."""


class Player:
    """The model of one recording.

    Attributes:
        recording: the recording.
        cluster: the model.
        events: all events so far.
        producers: the transactional.id of each producer, by the producer's name; empty if it has none.
        settings: the settings of each producer, by the producer's name.
        ids: the producer IDs of the model that stand for the recorded ones.
        lead: the time at which the drill begins, in µs.
        raw: the client that sends handwritten requests.
        shift: the delay of the model relative to the recording, in µs.
        happened: the function that is called after something has happened.
    """

    def __init__(self, recording: TransactionRecording, seed: int = 0) -> None:
        self.recording = recording
        self.events: list[Any] = []
        self.producers: dict[str, str] = {}
        self.settings: dict[str, dict[str, str]] = {}
        self.shift = 0
        self.ids = ProducerIds()
        self.lead = LEAD + seed * PHASE
        self.happened: Callable[[], None] = lambda: None
        self._seen = 0
        self._late_metadata = bool(seed % 2)
        self._begun: dict[int, Any] = {}
        self._processes = 0
        self._names: dict[str, str] = {}
        self.cluster = Cluster(_spec(recording), recording.release, seed=seed, sink=self.events.append)
        self.raw = RawClient(self.cluster.network, self.cluster.journal)
        self.cluster.nodes[self.raw.address] = self.raw
        self.groups = GroupClients(self)
        self.cluster.run_until(self.lead)

    # --- names -----------------------------------------------------------------------------------------------------

    def partition(self, name: str) -> TopicPartition:
        """Return the model's partition for a recorded one."""
        return partition_in(self.recording, name)

    def recorded_name(self, tp: TopicPartition) -> str:
        """Return the recorded name of a data partition of the model, or the name of an internal partition."""
        if tp.topic.startswith("__"):
            return str(tp)
        return next(name for name in self.recording.partitions if self.partition(name) == tp)

    # --- time ------------------------------------------------------------------------------------------------------

    def due(self, seconds: float) -> int:
        """Return the model's time for a recorded time."""
        return self.lead + self.shift + round(seconds * SECOND)

    def run_to(self, seconds: float) -> None:
        """Run until a recorded time."""
        self.advance(self.due(seconds))

    def advance(self, until: int) -> None:
        """Run until a moment, if it has not passed yet, and report everything that happens."""
        while self.cluster.now < until:
            self.cluster.run_until(min(self.cluster.now + GRAIN, until))
            if len(self.events) != self._seen:
                self._seen = len(self.events)
                self.happened()

    # --- acts ------------------------------------------------------------------------------------------------------

    def play(self, act: TransactionAct) -> Any:
        """Execute an act. Return its response in the words of the recording, or None if the act has no response to compare."""
        op, _, when = act.op.partition(" (")
        if when != "answered)":
            self.run_to(act.at)
        if op.startswith("p.") and act.words[0] not in self.producers and op != "p.new" and when != "answered)":
            raise ValueError(f"{self.recording.name}: act {act.number} names an unknown producer: {act.words[0]}")
        match op:
            case "p.new":
                self._new(act)
            case "p.close":
                return None
            case "p.state":
                return self._state(act.words[0])
            case "p.init" | "p.begin" | "p.commit" | "p.abort" | "p.send" | "p.offsets":
                return self._call(act, op, when)
            case "kafka-features":
                return self._features(act)
            case "kill -9 process":
                self._processes += 1
                self._settle(act)
            case "c.new":
                return self.groups.new(act.words)
            case "c.poll":
                self._settle(act)
                return self.groups.poll(act.words[0], self._reads)
            case "c.commit":
                return self.groups.commit(act.words)
            case "c.close":
                return None
            case "kill" | "stop" | "start" | "pause" | "cont":
                self._process(op, int(act.words[0][1:]), act)
            case "wait":
                return self._wait(act)
            case "dump":
                self._settle(act)
            case "kafka-transactions abort":
                self._abort_hanging(act)
            case "delete topic":
                self.cluster.do(acts.DeleteTopic(act.words[0]))
                self._settle(act)
            case "delete records":
                name, _, offset = act.words
                self.cluster.do(acts.DeleteRecords(self.partition(name), int(offset)))
                self._settle(act)
                return f"low_watermark: {self.leader_log(name).log_start}"
            case _ if op.startswith("process "):
                return None
            case _ if op.startswith("raw "):
                return self._raw(act)
            case _:
                raise ValueError(f"{self.recording.name}: act {act.number} is not known: {act.op}")
        return None

    def leader_log(self, name: str) -> Any:
        """Return the log of a data partition's leader."""
        tp = self.partition(name)
        return self.cluster.brokers[self.cluster.partition_view(tp).leader].disk.logs[tp]

    def _new(self, act: TransactionAct) -> None:
        name, *words = act.words
        settings = dict(word.split("=") for word in words if "=" in word)
        for setting in settings:
            if setting not in PRODUCER_CONFIG:
                raise ValueError(f"{self.recording.name}: act {act.number} has a setting that is not known: {setting}")
        ids = [word for word in words if "=" not in word]
        self.settings[name] = settings
        self._names[name] = f"{name} of process {self._processes + 1}" if self._processes else name
        coordinated = tuple(self.recording.coordinators())
        # A recording whose script did not name the id shows it in what it describes.
        self.producers[name] = coordinated[0] if ids == ["None"] else "".join(ids)
        for look in act.seen:
            for row in described_rows(look):
                if row["epoch"] > 0:
                    self._raise_epoch(row["id"], row["epoch"])

    def _raise_epoch(self, transactional_id: str, epoch: int) -> None:
        """Raise the epoch of an ID to the epoch that it had when the drill began, because of earlier requests."""
        timeout = ("transaction.timeout.ms", str(self.recording.timeouts()[transactional_id]))
        self._do(acts.InitTransactions(TOPIC, transactional_id, "before", (timeout,)))
        self.cluster.run_until(self.cluster.now + SECOND)
        for broker in self.cluster.brokers.values():
            metadata = broker.transactions.states.get(transactional_id)
            if metadata is not None:
                metadata.producer_epoch = epoch

    def _call(self, act: TransactionAct, op: str, when: str) -> str | None:
        if when == "answered)":
            begun = int(act.words[1])
            if isinstance(self._begun[begun], str):
                return self._begun[begun]
            return self._answer(self.recording.acts[begun], self._begun[begun], act.done)
        name = act.words[0]
        if op == "p.offsets":
            partition, offset = act.words[2].split("=")
            self._producer(name).send_offsets(act.words[1], ((self.partition(partition), int(offset), -1),))
            return self._answer(act, len(self.events), act.done)
        asked: acts.Act
        if op == "p.send":
            target, records = self.partition(act.words[1]), int(act.words[2])
            given = {} if self.producers[name] else self.settings[name]
            acks = given.get("acks")
            idempotence = given["enable.idempotence"] == "true" if "enable.idempotence" in given else None
            keys, value = "", ""
            if self.recording.is_compacted:
                value, keys = ("none" if act.words[3] == "<null>" else act.words[3]), act.words[4]
            size, config = 100, ()
            if self.recording.collects_records:
                size, keys = content_of(act)
                config = tuple((key, each) for key, each in self.settings[name].items() if key in ("linger.ms", "batch.size"))
            asked = acts.Produce(
                target.topic, records, target.partition, acks, size, self._names[name], idempotence, config=config, keys=keys, value=value
            )
        elif op == "p.init":
            config = tuple((key, value) for key, value in self.settings[name].items() if key in ("transaction.timeout.ms", "max.block.ms"))
            topic = self.partition(self.recording.partitions[0]).topic
            asked = acts.InitTransactions(topic, self.producers[name], self._names[name], config)
        else:
            asked = CALLS[op](self._names[name])
        start = len(self.events)
        refusal = self._do(asked)
        if when == "begun)":
            self._begun[act.number] = start if refusal is None else f"EXC {_exception(refusal)}"
            return None
        if refusal is not None:
            return f"EXC {_exception(refusal)}"
        return self._answer(act, start, act.done)

    def _answer(self, act: TransactionAct, start: int, done: float) -> str:
        """Wait for the response to a call, and return it."""
        self.run_to(done)
        begun = self.cluster.now
        while (answer := self._answered(act, start)) is None and self.cluster.now < begun + PATIENCE:
            self.advance(self.cluster.now + STEP)
        self.shift = max(self.shift, self.cluster.now - self.lead - round(done * SECOND))
        return answer or "no answer"

    def _answered(self, act: TransactionAct, start: int) -> str | None:
        name, op = act.words[0], act.op.partition(" (")[0]
        if op == "p.offsets":
            return None if self._producer(name).sends_offsets else "ok"
        if op != "p.send":
            if any(event[3] == events.TransactionCallTimedOut.kind and event[4] == self._names[name] for event in self.events[start:]):
                return f"EXC {REQUEST_TIMED_OUT}"
            return self._state(name) if op == "p.begin" or self._producer(name).state.value not in BUSY else None
        acknowledged: list[str] = []
        for event in self.events[start:]:
            if (
                event[3] == events.ProduceAcked.kind
                and event[4] == self._names[name]
                and TopicPartition(*event[5:7]) == self.partition(act.words[1])
            ):
                acknowledged += map(str, range(event[7], event[8]))
            if event[3] == events.ProduceGivenUp.kind and event[4] == self._names[name]:
                return f"EXC {event[9]}"
        return f"ok {act.words[1]} {','.join(acknowledged)}" if len(acknowledged) >= int(act.words[2]) else None

    def _producer(self, name: str) -> Any:
        found = self.cluster.clients.producer(self._names[name])
        assert found is not None, name
        assert found.transactions is not None, name
        return found.transactions

    def _state(self, name: str) -> str:
        found = self._producer(name)
        if found.last_error and found.state.value in ("FATAL_ERROR", "ABORTABLE_ERROR"):
            return f"EXC {found.last_error} state={found.state.value} pid={found.producer_id} epoch={found.producer_epoch}"
        return f"state={found.state.value} pid={found.producer_id} epoch={found.producer_epoch}"

    def _process(self, op: str, broker: int, act: TransactionAct) -> None:
        kinds = {"kill": acts.Kill, "stop": acts.Shutdown, "start": acts.Start, "pause": acts.Pause, "cont": acts.Resume}
        node = self.cluster.brokers[broker]
        late = op == "cont" and self._late_metadata
        if late:
            self.cluster.network.disconnect(node.address, self.cluster.controller_address)
        self.cluster.do(kinds[op](broker))
        if late:
            self.advance(self.cluster.now + LATE_METADATA)
            node.ask_controller_again()
        self._settle(act)

    def _features(self, act: TransactionAct) -> str:
        """Change a feature level, or describe the feature."""
        if act.words[0] == "describe":
            return f"FinalizedVersionLevel: {feature_level(self.cluster.metadata, self.cluster.release, TRANSACTION_VERSION)}"
        feature, level = act.words[2].split("=")
        upgrade_type = {"upgrade": "upgrade", "downgrade": "safe-downgrade"}[act.words[0]]
        self.cluster.do(acts.UpdateFeature(feature, int(level), upgrade_type))
        self._settle(act)
        return f"{feature} was {act.words[0]}d to {level}."

    def _settle(self, act: TransactionAct) -> None:
        self.run_to(act.done)

    def _wait(self, act: TransactionAct) -> str | None:
        if "Ongoing" not in act.words:
            self.run_to(act.done)
            return None
        (transactional_id,) = set(self.producers.values())
        end = self.cluster.now + PATIENCE
        while (state := self.state_of(transactional_id)) == "Ongoing" and self.cluster.now < end:
            self.advance(self.cluster.now + STEP)
        # When the scan for timeouts comes is no evidence: the clock of the recording is set to the model's.
        self.shift = self.cluster.now - self.lead - round(act.done * SECOND)
        return state

    def _reads(self, isolation: str) -> dict[str, tuple[list[int], int]]:
        return read_all(self.cluster, {name: self.partition(name) for name in self.recording.partitions}, isolation)

    def state_of(self, transactional_id: str) -> str | None:
        """Return the coordinator's state of an ID."""
        found = {each.transactional_id: each for each in self.cluster.transaction_report().transactions}
        return found[transactional_id].state if transactional_id in found else None

    def _raw(self, act: TransactionAct) -> list[Any]:
        """Send a handwritten request, and wait for the response."""
        request = RawRequest.of(act, self.recording)
        tp = self.partition(request.partition) if request.partition in self.recording.partitions else TopicPartition("nope", 0)
        answer = self._ask(request, tp)
        while request.api == "InitProducerId" and answer[0] == COORDINATOR_LOAD_IN_PROGRESS != act.result[0]:
            answer = self._ask(request, tp)  # a block of producer IDs was fetched meanwhile
        return answer

    def _ask(self, request: RawRequest, tp: TopicPartition) -> list[Any]:
        number, end = self.raw.next_number(), self.cluster.now + PATIENCE
        if request.api in COORDINATED and request.transactional_id:
            state = TopicPartition(STATE_TOPIC, partition_for(request.transactional_id, STATE_PARTITIONS))
            broker = self.cluster.partition_view(state).leader
        else:
            broker = self.cluster.partition_view(tp).leader if tp.topic == TOPIC else 1
        pid = self.ids.in_the_model(request.pid, request.pid)
        self.raw.ask(broker, request.message(number, pid, tp))
        while not self.raw.answers and self.cluster.now < end:
            self.cluster.run_until(self.cluster.now + US_PER_MS)
        return answer_of(self.raw.answers[0], request.partition) if self.raw.answers else ["no answer"]

    def _abort_hanging(self, act: TransactionAct) -> None:
        options = dict(zip(act.words[::2], act.words[1::2], strict=True))
        name = f"{options['--topic']}-{options['--partition']}"
        self.cluster.do(acts.AbortHanging(self.partition(name), int(options["--start-offset"].strip("[]"))))
        self._settle(act)

    def _do(self, act: acts.Act) -> str | None:
        """Execute an act. If a producer refuses it, return the error."""
        try:
            self.cluster.do(act)
        except ActRefused as refusal:
            return str(refusal).partition("error state: ")[2].partition(";")[0] or str(refusal)
        return None


def content_of(act: TransactionAct) -> tuple[int, str]:
    """Return the size of a sent record, in bytes, and the keys: `@text:100`, `abc key`, or `abc k#` for the keys k#0, k#1, and so on."""
    value, *keys = act.words[3:]
    size = int(value.partition(":")[2]) if value.startswith("@") else len(f"{value}0")  # the client numbers the values
    if not keys:
        return size, ""
    named = [f"{keys[0]}{number}" if keys[0].endswith("#") else keys[0] for number in range(int(act.words[2]))]
    return size + len(named[0]), ",".join(dict.fromkeys(named))


def partition_in(recording: TransactionRecording, name: str) -> TopicPartition:
    """Return the model's partition for a recorded one."""
    if name.startswith("__"):
        return TopicPartition.parse(name)
    if recording.deletes_a_topic:
        topic, _, number = name.rpartition("-")
        return TopicPartition(topic, int(number))
    return TopicPartition(TOPIC, recording.partitions.index(name))


def _exception(refusal: str) -> str:
    """Return the kind of exception that a call ended with, if the model names it, or else the reason why the model refused the call."""
    return "ILLEGAL_STATE" if refusal.startswith("Cannot attempt operation") else refusal


def _spec(recording: TransactionRecording) -> ClusterSpec:
    topics: dict[str, list[PartitionSpec]] = {}
    for name in recording.partitions:
        topics.setdefault(partition_in(recording, name).topic, []).append(PartitionSpec(recording.replicas_of(name)))
    leaders = {partition_for(each, STATE_PARTITIONS): broker for each, broker in recording.coordinators().items()}
    epochs = {partition_for(each, STATE_PARTITIONS): epoch for each, epoch in recording.coordinator_epochs().items()}
    state = []
    for number in range(STATE_PARTITIONS):
        leader = leaders.get(number, 1)
        replicas = (leader, *(broker for broker in (1, 2, 3) if broker != leader))
        state.append(PartitionSpec(replicas, leader_epoch=epochs.get(number, 0)))
    return ClusterSpec(
        tuple(BrokerSpec(broker) for broker in (1, 2, 3)),
        (
            *(TopicSpec(name, assignment=tuple(data), config=tuple(recording.config.items())) for name, data in topics.items()),
            TopicSpec(STATE_TOPIC, assignment=tuple(state), config=STATE_CONFIG),
            *_offsets_topic(recording),
        ),
        settings=(
            *SETTINGS,
            *((name, value) for name, value in recording.settings.items() if name in KAFKA_SETTINGS and isinstance(value, int)),
            *((("log.cleaner.backoff.ms", 1000),) if recording.is_compacted else ()),
        ),
        network=NetworkSpec(latency=300, jitter=100),
        features=recording.features,
        clients=CLIENTS,
    )


def _offsets_topic(recording: TransactionRecording) -> tuple[TopicSpec, ...]:
    """Return `__consumer_offsets` if the recording has groups."""
    if not any(act.op == "p.offsets" for act in recording.acts):
        return ()
    replicas = tuple(PartitionSpec((number % 3 + 1, (number + 1) % 3 + 1, (number + 2) % 3 + 1)) for number in range(OFFSETS_PARTITIONS))
    return (TopicSpec(GROUP_METADATA_TOPIC, assignment=replicas, config=(("cleanup.policy", "compact"),)),)
