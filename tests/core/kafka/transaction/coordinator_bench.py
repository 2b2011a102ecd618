"""A real broker that coordinates transactions and leads data partitions; the test plays the clients and the other brokers.

Broker 1 leads both partitions of `__transaction_state` and the partitions of topic `t`; broker 2 leads those of topic `far`, whose markers
the test answers.
"""

from __future__ import annotations

from core.kafka import errors
from core.kafka.broker.partition import Partition
from core.kafka.ids import TopicPartition, broker_address
from core.kafka.log.control_record import EndTransactionMarker
from core.kafka.messages import AllocateProducerIdsRequest, AllocateProducerIdsResponse, ProduceRequest, ProduceResponse
from core.kafka.release import CURRENT, Release
from core.kafka.transaction.transaction_coordinator import TransactionCoordinator
from core.kafka.transaction.transaction_log import TRANSACTION_STATE_TOPIC
from core.kafka.transaction.transaction_messages import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
    InitTransactionalIdRequest,
    InitTransactionalIdResponse,
    TxnMarkerEntry,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from core.kafka.transaction.transaction_metadata import TransactionMetadata, TransactionTransit
from core.kafka.transaction.transaction_state import TransactionState
from core.sim.units import US_PER_MS
from tests.core.node_bench import CLIENT, BrokerBench

T0 = TopicPartition("t", 0)
FAR = TopicPartition("far", 0)
ID = "a"
PID = 1_000
MINUTE = 60_000

CONCURRENT = errors.CONCURRENT_TRANSACTIONS
FENCED = errors.PRODUCER_FENCED
INVALID = errors.INVALID_TXN_STATE

State = TransactionState


class CoordinatorBench(BrokerBench):
    """A bench with broker 1 under test. `version` is the transaction.version of the clients."""

    def __init__(
        self, release: Release = CURRENT, version: int = 0, *, partitions: int = 2, settings: dict[str, object] | None = None
    ) -> None:
        super().__init__(release, settings=settings)
        self.version = version
        for number in range(partitions):
            self.partition_is((1,), (1,), tp=TopicPartition(TRANSACTION_STATE_TOPIC, number), leader_epoch=0)
        self.partition_is((1,), (1,), tp=T0, leader_epoch=0)
        self.partition_is((2,), (2,), leader=2, tp=FAR, leader_epoch=0)
        self.next_block = PID

    @property
    def coordinator(self) -> TransactionCoordinator:
        """Return the coordinator on broker 1."""
        return self.broker.transactions

    def metadata_of(self, transactional_id: str = ID) -> TransactionMetadata:
        """Return the coordinator's state of an ID."""
        metadata = self.coordinator.states.get(transactional_id)
        assert metadata is not None
        return metadata

    def state(self, transactional_id: str = ID) -> tuple[str, int, int]:
        """Return the state, producer ID, and epoch of an ID."""
        metadata = self.metadata_of(transactional_id)
        return metadata.state.value, metadata.producer_id, metadata.producer_epoch

    def records(self, transactional_id: str = ID) -> list[TransactionTransit | None]:
        """Return the records of an ID in the transaction log."""
        return [
            value
            for number in range(2)
            for key, value in self.broker.replicas.contents(TopicPartition(TRANSACTION_STATE_TOPIC, number))
            if key == transactional_id
        ]

    # --- the cluster -----------------------------------------------------------------------------------------------

    def settle(self, ms: int = 0) -> None:
        """Deliver the broker's messages to itself, answer its requests for producer IDs, and run the timers that are due."""
        end = self.journal.now + ms * US_PER_MS
        while True:
            for _ in self.sent(AllocateProducerIdsRequest):
                self.broker.handle(AllocateProducerIdsResponse(self.next_block, 1_000), "controller")
                self.next_block += 1_000
            due = [e for e in self.agenda.entries if e.time <= end and e.node == e.sender == self.node.address]
            if not due:
                break
            entry = min(due)
            self.agenda.entries.remove(entry)
            self.journal.now = max(self.journal.now, entry.time)
            if entry.connection == self.node.incarnation or not isinstance(entry.message, tuple) or hasattr(entry.message, "_fields"):
                self.node.handle(entry.message, entry.sender)
        self.journal.now = end

    def lead(self, tp: TopicPartition, epoch: int, *, leader: int = 1) -> None:
        """Begin another leader epoch of a partition."""
        self.partition_is((1, 2), (1, 2) if tp.topic == TRANSACTION_STATE_TOPIC else (1,), leader=leader, tp=tp, leader_epoch=epoch)

    def shrink_state_log(self, min_isr: int) -> None:
        """Set min.insync.replicas of the transaction log: 2 makes writes fail."""
        self.configure("min.insync.replicas", str(min_isr), TRANSACTION_STATE_TOPIC)

    def far_markers(self) -> list[TxnMarkerEntry]:
        """Take the markers that the coordinator has sent to broker 2."""
        self.requests = self.sent(WriteTxnMarkersRequest, broker_address(2))
        return [entry for request in self.requests for entry in request.entries]

    def answer_far(self, error: str = errors.NONE) -> None:
        """Let broker 2 answer all markers of the requests that were taken last."""
        for request in self.requests:
            results = tuple((entry.producer_id, tp, error) for entry in request.entries for tp in entry.partitions)
            self.broker.handle(WriteTxnMarkersResponse(request.correlation, results), broker_address(2))
        self.settle()

    # --- the clients -----------------------------------------------------------------------------------------------

    def correlation(self) -> int:
        """Return a new correlation ID."""
        self._correlation += 1
        return self._correlation

    def init(self, pid: int = -1, epoch: int = -1, *, transactional_id: str = ID, timeout_ms: int = MINUTE) -> tuple[str, int, int]:
        """Send InitProducerId, and repeat it while the broker waits for a block of producer IDs."""
        for _ in range(3):
            answer = self.init_once(pid, epoch, transactional_id=transactional_id, timeout_ms=timeout_ms)
            if answer[0] != errors.COORDINATOR_LOAD_IN_PROGRESS:
                return answer
        raise AssertionError("no producer IDs")

    def init_once(self, pid: int = -1, epoch: int = -1, *, transactional_id: str = ID, timeout_ms: int = MINUTE) -> tuple[str, int, int]:
        """Send InitProducerId once."""
        request = InitTransactionalIdRequest(
            self.correlation(), CLIENT, transactional_id, timeout_ms * US_PER_MS, pid, epoch, self.version
        )  # fmt: skip
        self.broker.handle(request, CLIENT)
        self.settle()
        answer = self.one_sent(InitTransactionalIdResponse, CLIENT)
        return answer.error, answer.producer_id, answer.producer_epoch

    def add(self, pid: int, epoch: int, *partitions: TopicPartition, transactional_id: str = ID, verify_only: bool = False) -> list[str]:
        """Send AddPartitionsToTxn, and return the error of each partition."""
        self.broker.handle(
            AddPartitionsToTxnRequest(self.correlation(), transactional_id, pid, epoch, partitions or (T0,), verify_only, self.version),
            CLIENT,
        )
        self.settle()
        return [error for _, error in self.one_sent(AddPartitionsToTxnResponse, CLIENT).results]

    def end(self, pid: int, epoch: int, *, commit: bool = True, transactional_id: str = ID) -> tuple[str, int, int]:
        """Send EndTxn."""
        self.broker.handle(EndTxnRequest(self.correlation(), transactional_id, pid, epoch, commit, self.version), CLIENT)
        self.settle()
        answer = self.one_sent(EndTxnResponse, CLIENT)
        return answer.error, answer.producer_id, answer.producer_epoch

    def send(
        self, pid: int, epoch: int, sequence: int, records: int = 1, *, tp: TopicPartition = T0, transactional_id: str = ID, acks: int = -1
    ) -> tuple[str, int] | None:
        """Send a transactional batch. Return None while the batch waits."""
        self._correlation += 1
        request = ProduceRequest(
            self._correlation, CLIENT, tp, records, 100 * records, acks, 30_000 * US_PER_MS, self._correlation, 1, pid, epoch, sequence, -1,
            transactional_id, self.version >= 2,
        )  # fmt: skip
        self.broker.handle(request, CLIENT)
        self.settle()
        return self.sent_answer()

    def sent_answer(self) -> tuple[str, int] | None:
        """Return the response to a produce request, if it has arrived in the meantime."""
        answers = self.sent(ProduceResponse, CLIENT)
        assert len(answers) <= 1
        return (answers[0].error, answers[0].base) if answers else None

    def marker(self, pid: int, epoch: int, *, commit: bool, ce: int, tp: TopicPartition = T0, version: int = 0) -> str:
        """Send a WriteTxnMarkers request of another coordinator, and return its error."""
        entry = TxnMarkerEntry("raw", pid, epoch, EndTransactionMarker(int(commit), ce), (tp,), version)
        self.broker.handle(WriteTxnMarkersRequest(self.correlation(), (entry,)), broker_address(3))
        self.settle()
        ((_, _, error),) = self.one_sent(WriteTxnMarkersResponse, broker_address(3)).results
        return error

    def ongoing(self, epoch: int = 0, *partitions: TopicPartition, transactional_id: str = ID) -> int:
        """Bring an ID to Ongoing at an epoch, and return its producer ID."""
        answer = self.init(transactional_id=transactional_id)
        while answer[2] < epoch:
            answer = self.init(transactional_id=transactional_id)
        assert self.add(answer[1], epoch, *partitions, transactional_id=transactional_id) == ["NONE"] * max(len(partitions), 1)
        return answer[1]

    def data(self, tp: TopicPartition = T0) -> Partition:
        """Return a data partition on the broker."""
        return self.broker.partitions[tp]
