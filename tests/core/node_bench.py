"""A test bench for one real node: a clock that the test advances, a network from which the test takes the messages, and peers that the test
plays.

No rule is replaced: the broker or controller under test is the real one, handles real messages, and sends real messages into a real
network, from whose agenda the test takes them. Times are in ms, as in Kafka's tests.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

from core.kafka import errors
from core.kafka.broker.broker import Broker
from core.kafka.broker.broker_setup import BrokerSetup
from core.kafka.broker.kraft_metadata_cache import KRaftMetadataCache
from core.kafka.broker.partition import Partition
from core.kafka.broker.replica import Replica
from core.kafka.controller.metadata_log import BrokerRegistration, ConfigRecord, MetadataLog, PartitionRecord
from core.kafka.controller.quorum_controller import QuorumController
from core.kafka.ids import CONTROLLER, NO_EPOCH, TopicPartition, broker_address
from core.kafka.log.leader_term import Batch, Term
from core.kafka.log.replica_log import ReplicaLog
from core.kafka.messages import (
    LATEST,
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    ConsumerFetchRequest,
    ConsumerFetchResponse,
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataFetchResponse,
    ProduceRequest,
    ProduceResponse,
)
from core.kafka.partition_registration import PartitionRegistration
from core.kafka.release import CURRENT, Release
from core.kafka.settings.settings import Settings
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab.accounts.durability_account import DurabilityAccount
from core.sim.agenda import Agenda
from core.sim.journal import Journal
from core.sim.kernel_messages import Opened, Opening
from core.sim.network import Network
from core.sim.node import Node
from core.sim.units import US_PER_MS

TP = TopicPartition("t", 0)
"""The partition of a bench that needs only one partition."""

CLIENT = "client"
"""The address of a producer or consumer that the test plays."""

M = TypeVar("M")


class NodeBench:
    """The surroundings of one node: journal, clock, network, metadata log."""

    node: Node

    def __init__(self, release: Release = CURRENT, settings: dict[str, object] | None = None) -> None:
        self.events: list[tuple] = []
        self.journal = Journal(sink=self.events.append)
        self.agenda = Agenda()
        self.network = Network(self.agenda, 0, 0, 0, random.Random("bench"))
        self.network.alive[CLIENT] = True
        self.metadata = MetadataLog()
        self.settings = Settings(release)
        for name, value in (settings or {}).items():
            self.settings.set(name, value)
        self.account = DurabilityAccount(self.journal)

    def wait(self, ms: int) -> None:
        """Advance the clock. Nothing runs."""
        self.journal.now += ms * US_PER_MS

    def run(self, ms: int) -> None:
        """Advance the clock, and run the node's own timers that expire."""
        end = self.journal.now + ms * US_PER_MS
        while True:
            due = [e for e in self.agenda.entries if e.time <= end and e.node == e.sender == self.node.address]
            if not due:
                break
            entry = min(due)
            self.agenda.entries.remove(entry)
            self.journal.now = max(self.journal.now, entry.time)
            if entry.connection == self.node.incarnation:
                self.node.handle(entry.message, entry.sender)
        self.journal.now = end

    def sent(self, kind: type[M], to: str | None = None) -> list[M]:
        """Take the messages of a type that the node has sent, oldest first. New connections open at once."""
        while handshakes := [e for e in self.agenda.entries if type(e.message) in (Opening, Opened)]:
            for e in handshakes:
                self.agenda.entries.remove(e)
                self.network.receive(e.sender, e.node, e.connection, e.message, self.journal.now, e.cause)
        taken = sorted(
            e
            for e in self.agenda.entries
            if type(e.message) is kind and e.sender == self.node.address and e.node != e.sender and to in (None, e.node)
        )
        for entry in taken:
            self.agenda.entries.remove(entry)
        return [entry.message for entry in taken]  # type: ignore[misc]

    def one_sent(self, kind: type[M], to: str | None = None) -> M:
        """Take the only message of a type that the node has sent."""
        (message,) = self.sent(kind, to)
        return message

    def told(self, kind: type) -> list[tuple]:
        """Return the columns of the journal's events of a kind so far."""
        return [event[4:] for event in self.events if event[3] == kind.kind]  # type: ignore[attr-defined]


class BrokerBench(NodeBench):
    """One real broker among registered ones that the test plays.

    Args:
        me: the broker under test.
        brokers: all registered brokers, which are unfenced.
        log: the log of `TP` on its disk before it learns of the partition.
        racks: the racks of the brokers.
    """

    def __init__(
        self,
        release: Release = CURRENT,
        *,
        me: int = 1,
        brokers: Sequence[int] = (1, 2, 3, 4),
        settings: dict[str, object] | None = None,
        log: ReplicaLog | None = None,
        racks: dict[int, str | None] | None = None,
    ) -> None:
        super().__init__(release, settings)
        self.me = me
        self.node = self.broker = Broker(
            BrokerSetup(
                me,
                (racks or {}).get(me),
                1,
                self.settings,
                KRaftMetadataCache(self.metadata, release, racks or {}),
                self.network,
                self.journal,
                self.account,
                by_hand=False,
            )
        )
        self.network.alive[CONTROLLER] = True
        self.epochs: dict[int, int] = {}
        for broker in brokers:
            self.network.alive[broker_address(broker)] = True
            self.register(broker, tell=False)
        if log is not None:
            self.broker.disk.logs[TP] = log
        self.broker.boot(self.epochs[me], 0, len(self.metadata))
        self._correlation = 0

    # --- the controller's side -------------------------------------------------------------------------------------

    def register(self, broker: int, *, fenced: bool = False, shutting_down: bool = False, anew: bool = True, tell: bool = True) -> int:
        """Register a broker in the metadata, and return its epoch. `anew` creates a new broker epoch."""
        epoch = len(self.metadata) if anew else self.epochs[broker]
        self.epochs[broker] = epoch
        self.metadata.append(BrokerRegistration(broker, epoch, 0, fenced, shutting_down))
        if tell:
            self.tell()
        return epoch

    def tell(self) -> None:
        """Let the broker read the metadata log to its end."""
        self.broker.handle(MetadataFetchResponse(len(self.metadata)), CONTROLLER)

    def partition_is(
        self,
        replicas: tuple[int, ...],
        isr: tuple[int, ...],
        *,
        leader: int | None = None,
        leader_epoch: int = 5,
        partition_epoch: int = 1,
        tp: TopicPartition = TP,
    ) -> None:
        """Set the state of a partition in the metadata. The broker under test leads unless another leader is named."""
        registration = PartitionRegistration(replicas, isr, self.me if leader is None else leader, leader_epoch, partition_epoch)
        self.metadata.append(PartitionRecord(tp, registration, self.journal.seq))
        self.tell()

    def configure(self, name: str, value: str, topic: str | None = None) -> None:
        """Change a setting while the broker runs."""
        self.metadata.append(ConfigRecord(name, value, topic, None))
        self.tell()

    def proposal(self) -> AlterPartitionRequest:
        """Take the only ISR proposal that the broker has sent."""
        return self.one_sent(AlterPartitionRequest, CONTROLLER)

    def decide(self, request: AlterPartitionRequest, error: str = errors.NONE, *, partition_epoch: int | None = None) -> None:
        """Answer a proposal: commit each item (by default at the next partition epoch), or refuse it with an error."""
        items = []
        for item in request.items:
            replicas = self.partition(item.tp).replicas
            epoch = item.partition_epoch + 1 if partition_epoch is None else partition_epoch
            committed = PartitionRegistration(replicas, item.isr, self.me, item.leader_epoch, epoch)
            items.append((item.tp, error, committed if error == errors.NONE else None, 0))
        self.broker.handle(AlterPartitionResponse(request.correlation, errors.NONE, tuple(items)), CONTROLLER)

    # --- followers and clients -------------------------------------------------------------------------------------

    def fetch(
        self,
        follower: int,
        offset: int,
        *,
        leader_epoch: int | None = None,
        last_epoch: int = NO_EPOCH,
        broker_epoch: int | None = None,
        tp: TopicPartition = TP,
    ) -> FetchedPartition:
        """Let a follower fetch in a new session, and return the immediate response."""
        request = self.fetch_request(follower, offset, leader_epoch=leader_epoch, last_epoch=last_epoch, broker_epoch=broker_epoch, tp=tp)
        self.broker.handle(request, broker_address(follower))
        (part,) = self.one_sent(FetchResponse, broker_address(follower)).parts()
        return part

    def fetch_request(
        self,
        follower: int,
        offset: int,
        *,
        leader_epoch: int | None = None,
        last_epoch: int = NO_EPOCH,
        broker_epoch: int | None = None,
        max_wait_ms: int = 0,
        tp: TopicPartition = TP,
    ) -> FetchRequest:
        """Return a follower's fetch of one partition that opens a session. By default, the epochs are correct."""
        self._correlation += 1
        asked = FetchPartition(tp, offset, self.partition(tp).leader_epoch if leader_epoch is None else leader_epoch, last_epoch, 0)
        epoch = self.epochs[follower] if broker_epoch is None else broker_epoch
        return FetchRequest(
            self._correlation, follower, 0, epoch, True, (asked,), (), max_wait_ms * US_PER_MS, 1, 10_000_000, 1_000_000, 0
        )  # fmt: skip

    def answered(self, follower: int) -> FetchResponse | None:
        """Return the response to a waiting fetch, if it has arrived in the meantime."""
        answers = self.sent(FetchResponse, broker_address(follower))
        assert len(answers) <= 1
        return answers[0] if answers else None

    def produce(self, records: int, acks: int = 1, *, timeout_ms: int = 30_000, tp: TopicPartition = TP) -> ProduceResponse | None:
        """Let a producer write. Return the response, or None while the write waits or if no response is requested."""
        self._correlation += 1
        request = ProduceRequest(
            self._correlation, CLIENT, tp, records, 100 * records, acks, timeout_ms * US_PER_MS, self._correlation, 1
        )  # fmt: skip
        self.broker.handle(request, CLIENT)
        return self.produced()

    def produced(self) -> ProduceResponse | None:
        """Return the response to a produce request, if it has arrived in the meantime."""
        answers = self.sent(ProduceResponse, CLIENT)
        assert len(answers) <= 1
        return answers[0] if answers else None

    def consume(self, position: int, *, leader_epoch: int = NO_EPOCH) -> FetchedPartition | None:
        """Let a consumer fetch without waiting. Return None if there is no response."""
        self._correlation += 1
        self.broker.handle(ConsumerFetchRequest(self._correlation, CLIENT, ((TP, position, leader_epoch),), 0), CLIENT)
        parts = self.one_sent(ConsumerFetchResponse, CLIENT).partitions
        return parts[0] if parts else None

    def ask(self, position: int, rack: str | None, *, max_wait_ms: int = 0, leader_epoch: int = NO_EPOCH) -> ConsumerFetchResponse | None:
        """Let a consumer in a rack fetch ("": no rack; None: the consumer does not report its rack). Return None while the fetch waits."""
        self._correlation += 1
        asked = ((TP, position, leader_epoch),)
        self.broker.handle(ConsumerFetchRequest(self._correlation, CLIENT, asked, max_wait_ms * US_PER_MS, rack), CLIENT)
        return self.told_consumer()

    def told_consumer(self) -> ConsumerFetchResponse | None:
        """Return the response to a consumer's fetch, if it has arrived in the meantime."""
        answers = self.sent(ConsumerFetchResponse, CLIENT)
        assert len(answers) <= 1
        return answers[0] if answers else None

    def list_offsets(self, replica: int = -1, *, leader_epoch: int = NO_EPOCH, since_ms: int | None = None) -> ListOffsetsResponse:
        """Send ListOffsets of a consumer (-1) or of a broker, by default for the end or, if a time is given, for the first record since
        that time.
        """
        self._correlation += 1
        sender = CLIENT if replica < 0 else broker_address(replica)
        timestamp = LATEST if since_ms is None else since_ms * US_PER_MS
        self.broker.handle(ListOffsetsRequest(self._correlation, replica, 0, TP, leader_epoch, timestamp), sender)
        return self.one_sent(ListOffsetsResponse, sender)

    # --- looking ---------------------------------------------------------------------------------------------------

    def partition(self, tp: TopicPartition = TP) -> Partition:
        """Return the partition on the broker."""
        return self.broker.partitions[tp]

    @property
    def log(self) -> ReplicaLog:
        """Return the partition's log."""
        return self.partition().log

    def remote(self, follower: int) -> Replica:
        """Return the leader's state of a follower."""
        replica = self.partition().replica(follower)
        assert replica is not None
        return replica


class ControllerBench(NodeBench):
    """The real controller, with registered brokers that the test plays.

    Args:
        brokers: the brokers that are registered at the start, which are unfenced unless they are in `fenced`.
    """

    def __init__(
        self,
        release: Release = CURRENT,
        *,
        brokers: Sequence[int] = (0, 1, 2),
        fenced: Sequence[int] = (),
        settings: dict[str, object] | None = None,
    ) -> None:
        super().__init__(release, settings)
        racks: dict[int, str | None] = dict.fromkeys(range(10))
        self.node = self.controller = QuorumController(
            self.settings, self.metadata, self.network, self.journal, self.account, racks, seed=0, by_hand=False
        )
        self.replication = self.controller.replication
        for broker in brokers:
            self.network.alive[broker_address(broker)] = True
            self.controller.boot_broker(broker, up=broker not in fenced)
        self.controller.boot(0)

    def create(self, *replicas: tuple[int, ...], topic: str = "t", **config: str) -> None:
        """Create a topic with manually placed partitions. In the names of configs, _ stands for a dot."""
        spec = TopicSpec(
            topic,
            assignment=tuple(PartitionSpec(each) for each in replicas),
            config=tuple((name.replace("_", "."), value) for name, value in config.items()),
        )
        self.replication.create_topic(spec)

    def partition(self, number: int = 0, topic: str = "t") -> PartitionRegistration:
        """Return the state of a partition in the metadata."""
        return self.controller.registry.partitions[TopicPartition(topic, number)]

    def heartbeat(self, broker: int, *, want_shutdown: bool = False, read_to: int | None = None) -> BrokerHeartbeatResponse:
        """Send a broker's heartbeat. By default, the broker has read the metadata log to its end; otherwise, to `read_to`."""
        offset = len(self.metadata) if read_to is None else read_to
        address = broker_address(broker)
        self.controller.handle(
            BrokerHeartbeatRequest(broker, self.controller.cluster_control.brokers[broker].epoch, offset, want_shutdown), address
        )
        return self.one_sent(BrokerHeartbeatResponse, address)

    def fence(self, *brokers: int) -> None:
        """Let the sessions of the given brokers expire."""
        for broker in brokers:
            self.controller.fence(broker, by_session=True)


def log_of(*epochs: tuple[int, int], leo: int, high_watermark: int = 0, keeps_epochs: bool = True) -> ReplicaLog:
    """Return a log with the given (epoch, start offset) entries, one batch per epoch, and records up to `leo`."""
    log = ReplicaLog(keeps_epochs=keeps_epochs)
    if epochs and epochs[0][1]:
        log.truncate_fully_and_start_at(epochs[0][1])
    ends = [*(start for _, start in epochs[1:]), leo]
    for (epoch, start), end in zip(epochs, ends, strict=True):
        if end > start:
            log.append_as_leader(Term(epoch, 9), Batch(start, end - start, 100 * (end - start), CLIENT, start, 0))
        elif keeps_epochs:
            log.epochs.assign(epoch, start)
    log.update_high_watermark(high_watermark)
    return log
