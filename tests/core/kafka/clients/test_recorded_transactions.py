"""The model does what recorded producers and consumers of real clusters saw, act by act: states, epochs, offsets, and what is read.

A line is `producer call = result`: of `init`, `commit`, and `abort`, the state and the epoch; of `send partition records`, the first offset, or the
error. `offsets partition = HW LSO`; `committed` and `uncommitted partition` list the offsets that a new consumer reads, and its position.
"""

from __future__ import annotations

import pytest

from core.kafka import events
from core.kafka.features import TRANSACTION_VERSION
from core.kafka.ids import TopicPartition
from core.kafka.release import RELEASES
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.errors import ActRefused
from core.sim.units import SECOND

BASIC_0 = """
p init = READY 0; offsets 0 = 0 0; p begin; p commit = READY 0; p begin; p send 0 3 = 0; p send 1 2 = 0; offsets 0 = 3 0; offsets 1 = 2 0
committed 0 = to 0; uncommitted 0 = 0 1 2 to 3; uncommitted 1 = 0 1 to 2; n send 0 2 = 3; offsets 0 = 5 0; committed 0 = to 0
p commit = READY 0; offsets 0 = 6 6; offsets 1 = 3 3; offsets 2 = 0 0; committed 0 = 0 1 2 3 4 to 6; committed 1 = 0 1 to 3
uncommitted 0 = 0 1 2 3 4 to 6; p begin; p send 0 2 = 6; p send 2 1 = 0; p abort = READY 0; offsets 0 = 9 9; offsets 1 = 3 3
offsets 2 = 2 2; committed 0 = 0 1 2 3 4 to 9; committed 2 = to 2; uncommitted 0 = 0 1 2 3 4 6 7 to 9; uncommitted 2 = 0 to 2
p begin; p abort = READY 0; offsets 0 = 9 9; p begin; p send 0 1 = 9; p commit = READY 0; offsets 0 = 11 11
"""

BASIC_2 = """
p init = READY 0; p begin; p commit = READY 0; p begin; p send 0 3 = 0; p send 1 2 = 0; offsets 0 = 3 0; offsets 1 = 2 0; n send 0 2 = 3
offsets 0 = 5 0; committed 0 = to 0; uncommitted 0 = 0 1 2 3 4 to 5; p commit = READY 1; offsets 0 = 6 6; offsets 1 = 3 3
committed 0 = 0 1 2 3 4 to 6; committed 1 = 0 1 to 3; p begin; p send 0 2 = 6; p send 2 1 = 0; p abort = READY 2; offsets 0 = 9 9
offsets 2 = 2 2; committed 0 = 0 1 2 3 4 to 9; committed 2 = to 2; uncommitted 0 = 0 1 2 3 4 6 7 to 9; p begin; p abort = READY 2
q init = READY 0; p begin; q begin; q send 0 1 = 9; p send 0 1 = 10; offsets 0 = 11 9; p commit = READY 3; offsets 0 = 12 9
committed 0 = 0 1 2 3 4 to 9; q abort = READY 1; offsets 0 = 13 13; committed 0 = 0 1 2 3 4 10 to 13
uncommitted 0 = 0 1 2 3 4 6 7 9 10 to 13
"""

ZOMBIE = """
p1 init = READY 0; p1 begin; p1 send 0 2 = 0; offsets 0 = 2 0; p2 init = READY 2; offsets 0 = 3 3; p1 send 0 1 = INVALID_PRODUCER_EPOCH
offsets 0 = 3 3; p1 commit = refused INVALID_PRODUCER_EPOCH; p1 abort = FATAL_ERROR PRODUCER_FENCED; p1 begin = refused PRODUCER_FENCED
p2 begin; p2 send 0 1 = 3; p2 send 1 1 = 0; p2 commit = READY 3; offsets 0 = 5 5; offsets 1 = 2 2; committed 0 = 3 to 5
uncommitted 0 = 0 1 3 to 5; p3 init = READY 4; offsets 1 = 2 2; p2 begin; p2 send 1 1 = INVALID_PRODUCER_EPOCH
p2 commit = refused INVALID_PRODUCER_EPOCH; p2 abort = FATAL_ERROR PRODUCER_FENCED; offsets 1 = 2 2; p3 begin; p3 send 1 1 = 2
p4 init = READY 6; p3 commit = FATAL_ERROR PRODUCER_FENCED; p3 abort = refused PRODUCER_FENCED; offsets 0 = 5 5; offsets 1 = 4 4
committed 0 = 3 to 5; committed 1 = 0 to 4; uncommitted 1 = 0 2 to 4
"""

ABORTED_INDEX = """
x init = READY 0; y init = READY 0; z init = READY 0; x begin; y begin; z begin; x send 0 2 = 0; y send 0 1 = 2; z send 0 1 = 3
x send 0 1 = 4; offsets 0 = 5 0; y abort = READY 1; offsets 0 = 6 0; x commit = READY 1; offsets 0 = 7 3; y begin; y send 0 2 = 7
z abort = READY 1; offsets 0 = 10 7; x begin; x send 0 1 = 10; x abort = READY 2; offsets 0 = 12 7; y abort = READY 2; offsets 0 = 13 13
committed 0 = 0 1 4 to 13; uncommitted 0 = 0 1 2 3 4 7 8 10 to 13; x begin; x send 0 1 = 13; z begin; z send 0 1 = 14; x send 0 1 = 15
offsets 0 = 16 13; x abort = READY 3; offsets 0 = 17 14; z commit = READY 2; offsets 0 = 18 18; committed 0 = 0 1 4 14 to 18
uncommitted 0 = 0 1 2 3 4 7 8 10 13 14 15 to 18
"""

LEADER_KILLED = """
p init = READY 0; p begin; p send 0 2 = 0; p send 1 1 = 0; offsets 0 = 2 0; offsets 1 = 1 0; kill 0; p send 0 2 = 2; offsets 0 = 4 0
p commit = READY 1; offsets 0 = 5 5; offsets 1 = 2 2; committed 0 = 0 1 2 3 to 5; committed 1 = 0 to 2; start; p begin; p send 0 1 = 5
kill 0; p abort = READY 2; offsets 0 = 7 7; start; committed 0 = 0 1 2 3 to 7; uncommitted 0 = 0 1 2 3 5 to 7
"""

COORDINATOR_KILLED = """
p init = READY 0; p begin; p send 0 2 = 0; p send 1 1 = 0; offsets 0 = 2 0; kill coordinator; p commit = READY 1; p begin; p send 0 1 = 3
p commit = READY 2; offsets 0 = 5 5; offsets 1 = 2 2; start; offsets 0 = 5 5; offsets 1 = 2 2
"""

TIMEOUT_2 = """
p init = READY 0; p begin; p send 0 2 = 0; wait; p send 0 1 = INVALID_PRODUCER_EPOCH; p commit = refused INVALID_PRODUCER_EPOCH
p abort = READY 1; p begin; p send 0 1 = 3; p commit = READY 2; p2 init = READY 3; p2 begin; p2 send 0 1 = 5; wait
p2 commit = FATAL_ERROR INVALID_TXN_STATE; p2 abort = refused INVALID_TXN_STATE
"""

TIMEOUT_0 = """
p init = READY 0; p begin; p send 0 2 = 0; wait; p send 0 1 = INVALID_PRODUCER_EPOCH; p commit = refused INVALID_PRODUCER_EPOCH
p abort = FATAL_ERROR PRODUCER_FENCED; p begin = refused PRODUCER_FENCED; p2 init = READY 2; p2 begin; p2 send 0 1 = 3; wait
p2 commit = FATAL_ERROR PRODUCER_FENCED; p2 abort = refused PRODUCER_FENCED
"""

IDS = {"p": "ta", "q": "tb", "x": "nx", "y": "ny", "z": "nz", "p1": "tz", "p2": "tz", "p3": "tz", "p4": "tz"}
"""The transactional.id of each producer; n has none."""


class Recording:
    """A cluster of three brokers on which the acts of a recording are repeated."""

    def __init__(self, release: str, level: int | None, **ids: str) -> None:
        self.events: list[tuple] = []
        self.ids = IDS | ids
        settings = (("transaction.state.log.num.partitions", 5), ("broker.session.timeout.ms", 4000), ("broker.heartbeat.interval.ms", 500))
        topic = TopicSpec("t", 3, 3, config=(("min.insync.replicas", "2"),))
        features = () if level is None else ((TRANSACTION_VERSION, level),)
        spec = ClusterSpec(
            tuple(BrokerSpec(broker) for broker in (1, 2, 3)), (topic,), settings=settings, features=features,
            clients=(("request.timeout.ms", "4000"), ("delivery.timeout.ms", "20000"), ("transaction.timeout.ms", "60000")),
        )  # fmt: skip
        self.cluster = Cluster(spec, RELEASES[release], sink=self.events.append)
        self.killed = 0
        self.readers = 0
        self.wait(1)

    def wait(self, seconds: int) -> None:
        """Let time pass."""
        self.cluster.run_until(self.cluster.now + seconds * SECOND)

    def play(self, line: str) -> str:
        """Execute one act, and return the result that a recording contains."""
        words = line.split()
        match words:
            case ["wait"]:
                self.wait(75)
            case ["start"]:
                self.cluster.do(acts.Start(self.killed))
                self.wait(20)
            case ["kill", "coordinator"]:
                (found,) = [each.id for each in self.cluster.brokers.values() if each.transactions.states.get("ta") is not None]
                self._kill(found)
            case ["kill", partition]:
                self._kill(self.cluster.partition_view(TopicPartition("t", int(partition))).leader)
            case ["offsets", partition]:
                log = self.cluster.brokers[self.cluster.partition_view(TopicPartition("t", int(partition))).leader].disk.logs[
                    TopicPartition("t", int(partition))
                ]
                return f"{log.high_watermark} {log.last_stable_offset()}"
            case [("committed" | "uncommitted") as isolation, partition]:
                return self._read(f"read_{isolation}", int(partition))
            case [producer, "send", partition, records]:
                return self._send(producer, int(partition), int(records))
            case [producer, call]:
                return self._call(producer, call)
        return ""

    def _kill(self, broker: int) -> None:
        self.killed = broker
        self.cluster.do(acts.Kill(broker))

    def _call(self, producer: str, call: str) -> str:
        act: acts.Act
        if call == "init":
            act = acts.InitTransactions("t", self.ids[producer], producer)
        else:
            act = {"begin": acts.BeginTransaction, "commit": acts.CommitTransaction, "abort": acts.AbortTransaction}[call](producer)
        try:
            self.cluster.do(act)
        except ActRefused as refusal:
            return "refused " + str(refusal).partition("error state: ")[2].partition(";")[0]
        self.wait(10 if self.killed else 2)
        found = self.cluster.clients.producer(producer)
        assert found is not None
        assert found.transactions is not None
        if call == "begin":
            return ""
        state = found.transactions
        return f"{state.state.value} {state.last_error or state.producer_epoch}"

    def _send(self, producer: str, partition: int, records: int) -> str:
        start = len(self.events)
        self.cluster.do(acts.Produce("t", records, partition, producer=producer))
        self.wait(10 if self.killed else 2)
        for event in self.events[start:]:
            if event[3] == events.ProduceAcked.kind:
                return str(event[7])
            if event[3] == events.ProduceGivenUp.kind:
                return str(event[9])
        return "no answer"

    def _read(self, isolation: str, partition: int) -> str:
        self.readers += 1
        name, start = f"reader{self.readers}", len(self.events)
        self.cluster.do(acts.Consume("t", name, isolation=isolation))
        self.wait(2)
        self.cluster.do(acts.StopConsume(name))
        consumer = self.cluster.clients.consumer(name)
        assert consumer is not None
        read = [
            offset
            for event in self.events[start:]
            if event[3] == events.Consumed.kind and event[4] == name and event[6] == partition
            for offset in range(event[8], event[9])
        ]
        return " ".join([*map(str, read), "to", str(consumer.positions[partition])])


@pytest.mark.parametrize(
    ("drill", "text", "release", "level"),
    [
        ("a-basic-tv0", BASIC_0, "4.1", 0),
        ("a-basic-tv0", BASIC_0, "3.6", None),
        ("a-basic-tv2", BASIC_2, "4.1", None),
        ("b-zombie-tv2", ZOMBIE, "4.1", None),
        ("b-zombie-tv2-4.3.1", ZOMBIE, "4.3", None),
        ("c-timeout-tv0", TIMEOUT_0, "4.1", 0),
        ("c-timeout-tv2", TIMEOUT_2, "4.1", None),
        ("c-timeout-tv2-4.3.1", TIMEOUT_2, "4.3", None),
        ("d-coordinator-killed-before-commit", COORDINATOR_KILLED, "4.1", None),
        ("e-leader-killed", LEADER_KILLED, "4.1", None),
        ("n-aborted-index", ABORTED_INDEX, "4.1", None),
    ],
    ids=lambda value: "" if "\n" in str(value) else str(value),
)
def test_a_recording(drill: str, text: str, release: str, level: int | None) -> None:
    recording = Recording(release, level, **({"p2": "ta"} if drill.startswith("c-") else {}))
    lines = [line.strip() for line in text.strip().replace("\n", ";").split(";")]
    told = []
    for line in lines:
        act, _, _ = line.partition(" = ")
        found = recording.play(act)
        told.append(f"{act} = {found}" if found else act)
    assert told == lines
