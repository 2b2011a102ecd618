"""A single producer with idempotence or a transactional.id. The test plays the brokers and the coordinator."""

from __future__ import annotations

from typing import Any, TypeVar

from core.kafka import errors, events
from core.kafka.clients.client_config import client_config
from core.kafka.clients.client_context import ClientContext
from core.kafka.clients.client_settings import PRODUCER
from core.kafka.clients.producer.producer import Producer
from core.kafka.clients.producer.producer_sequences import PartitionSequences, ProducerSequences
from core.kafka.clients.producer.producer_transaction_state import ProducerTransactionState
from core.kafka.clients.producer.transaction_manager import TransactionManager
from core.kafka.ids import TopicPartition
from core.kafka.log.leader_term import Term
from core.kafka.messages import (
    InitProducerIdRequest,
    InitProducerIdResponse,
    MetadataRequest,
    MetadataResponse,
    ProduceRequest,
    ProduceResponse,
)
from core.kafka.release import RELEASES, Release
from core.kafka.transaction.transaction_messages import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    InitTransactionalIdRequest,
    InitTransactionalIdResponse,
)
from core.sim.units import SECOND
from tests.core.node_bench import NodeBench

PRODUCER_ID = 13131
EPOCH = 1
TP0, TP1 = TopicPartition("t", 0), TopicPartition("t", 1)

M = TypeVar("M")


class SenderBench(NodeBench):
    """A bench with an idempotent producer of topic t, whose two partitions are led by broker 1 in epoch 5. Brokers 1 and 2 run."""

    def __init__(self, release: str = "3.3", producer_id: int = PRODUCER_ID, epoch: int = EPOCH) -> None:
        super().__init__(RELEASES[release])
        for broker in ("b1", "b2"):
            self.network.alive[broker] = True
        self.release: Release = RELEASES[release]
        self.node = self.producer = Producer("p", "t", -1, ClientContext((1, 2), self.network, self.journal, self.account))
        self.producer.config = client_config(PRODUCER, (("enable.idempotence", "true"),), self.release)
        self.term = Term(5, 1)
        self.enable()
        self.producer.refresh_metadata()
        self.answer_metadata()
        self.sequences.set_producer_id(producer_id, epoch)

    def enable(self) -> None:
        """Switch idempotence on."""
        self.producer.enable_idempotence(self.release)

    @property
    def sequences(self) -> ProducerSequences:
        """Return the sequence numbers of the producer."""
        assert self.producer.sender.sequences is not None
        return self.producer.sender.sequences

    def of(self, partition: int) -> PartitionSequences:
        """Return the sequence numbers of one partition."""
        return self.sequences.of(TopicPartition("t", partition))

    def answer_metadata(self) -> None:
        """Answer all metadata requests."""
        for request in self.sent(MetadataRequest):
            self.producer.handle(MetadataResponse(request.correlation, "t", ((1, 5), (1, 5))), "b1")

    def answer_producer_id(self, producer_id: int) -> None:
        """Give an idempotent producer another ID."""
        request = self.one_sent(InitProducerIdRequest)
        self.producer.handle(InitProducerIdResponse(request.correlation, producer_id), "b1")

    def batches(self, partition: int, count: int = 1) -> list[ProduceRequest]:
        """Produce some batches of one record, and take their requests."""
        for _ in range(count):
            self.producer.produce(1, 100, partition)
        return self.sent(ProduceRequest)

    def acked(self, request: ProduceRequest, base: int = 0) -> None:
        """Acknowledge a batch."""
        self.producer.handle(ProduceResponse(request.correlation, request.tp, errors.NONE, base, self.term), "b1")

    def refused(self, request: ProduceRequest, error: str, log_start: int = -1) -> None:
        """Refuse a batch."""
        self.producer.handle(ProduceResponse(request.correlation, request.tp, error, -1, None, log_start), "b1")


class TransactionBench(SenderBench):
    """A bench with a producer in state READY whose transactional.id is tx. Broker 2 coordinates the ID."""

    def __init__(self, release: str = "3.3", *, version: int = 0, ready: bool = True) -> None:
        super().__init__(release)
        self.manager.version = version
        if ready:
            self.initialize()

    def enable(self) -> None:
        """Give the producer its transactional.id."""
        self.producer.enable_transactions(self.release, "tx", 60 * SECOND)

    @property
    def manager(self) -> TransactionManager:
        """Return the transaction manager."""
        assert self.producer.transactions is not None
        return self.producer.transactions

    @property
    def state(self) -> ProducerTransactionState:
        """The state of the transaction manager."""
        return self.manager.state

    def request(self, kind: type[M], wait: int = 0) -> M:
        """Wait for the given time in ms, and take the single request of a type."""
        self.run(wait)
        return self.one_sent(kind)

    def find_coordinator(self, error: str = errors.NONE, broker: int = 2) -> None:
        """Answer FindCoordinator."""
        request = self.one_sent(FindCoordinatorRequest)
        found = FindCoordinatorResponse(request.correlation, request.key, error, broker if error == errors.NONE else -1)
        self.producer.handle(found, "b1")

    def initialize(self, producer_id: int = PRODUCER_ID, epoch: int = EPOCH) -> None:
        """Call initTransactions, and let it succeed."""
        self.manager.init()
        self.find_coordinator()
        self.answer_init(producer_id, epoch)

    def answer_init(self, producer_id: int = PRODUCER_ID, epoch: int = EPOCH, error: str = errors.NONE) -> InitTransactionalIdRequest:
        """Answer InitProducerId."""
        request = self.one_sent(InitTransactionalIdRequest)
        self.producer.handle(InitTransactionalIdResponse(request.correlation, error, producer_id, epoch), "b2")
        return request

    def answer_add_partitions(self, *found: str) -> AddPartitionsToTxnRequest:
        """Answer AddPartitionsToTxn with one error for all partitions, or with one error for each partition."""
        request = self.one_sent(AddPartitionsToTxnRequest)
        each = found if len(found) > 1 else (found or (errors.NONE,)) * len(request.partitions)
        results = tuple(zip(request.partitions, each, strict=True))
        self.producer.handle(AddPartitionsToTxnResponse(request.correlation, "tx", results), "b2")
        return request

    def answer_end(self, error: str = errors.NONE, producer_id: int = -1, epoch: int = -1) -> EndTxnRequest:
        """Answer EndTxn."""
        request = self.one_sent(EndTxnRequest)
        self.producer.handle(EndTxnResponse(request.correlation, error, producer_id, epoch), "b2")
        return request

    def begin(self, *partitions: int) -> list[ProduceRequest]:
        """Begin a transaction, send a batch of one record to each partition, and take their requests."""
        self.manager.begin()
        for partition in partitions:
            self.producer.produce(1, 100, partition)
            if self.manager.version < 2 and TopicPartition("t", partition) not in self.manager.partitions:
                self.answer_add_partitions()
        return self.sent(ProduceRequest)

    def errors_told(self) -> list[Any]:
        """Return the states and errors that the journal contains."""
        return [each[3:] for each in self.told(events.ProducerStateChanged)]
