"""Fetches with read_committed at a leader: PRD-26 and PRD-27 (ReplicaManagerTest)."""

from __future__ import annotations

from core.kafka.ids import broker_address
from core.kafka.log.control_record import ABORT, COMMIT, EndTransactionMarker
from core.kafka.messages import ConsumerFetchRequest, ConsumerFetchResponse, FetchedPartition, ProduceRequest
from core.kafka.transaction.transaction_messages import TxnMarkerEntry, WriteTxnMarkersRequest
from core.sim.units import US_PER_MS
from tests.core.node_bench import CLIENT, TP, BrokerBench

PID = 234


class CommittedBench(BrokerBench):
    """Broker 1 leads `TP` with follower 2. Batches need no verification."""

    def __init__(self) -> None:
        super().__init__(settings={"transaction.partition.verification.enable": False})
        self.partition_is((1, 2), (1, 2))
        for sequence in range(3):
            self.broker.handle(
                ProduceRequest(sequence, CLIENT, TP, 1, 100, 1, 30_000, sequence, 1, PID, 0, sequence, -1, "a"), CLIENT
            )  # fmt: skip

    def end(self, control_type: int) -> None:
        """Deliver a marker."""
        entry = TxnMarkerEntry("a", PID, 0, EndTransactionMarker(control_type, 0), (TP,), 0)
        self.broker.handle(WriteTxnMarkersRequest(1, (entry,)), broker_address(3))

    def read(self, position: int = 0, wait_ms: int = 0) -> FetchedPartition | None:
        """Fetch as a consumer with read_committed. Return None if there is no response yet."""
        self._correlation += 1
        request = ConsumerFetchRequest(self._correlation, CLIENT, ((TP, position, -1),), wait_ms * US_PER_MS, read_committed=True)
        self.broker.handle(request, CLIENT)
        self.run(wait_ms)
        parts = self.one_sent(ConsumerFetchResponse, CLIENT).partitions
        return parts[0] if parts and parts[0].records else None


def test_prd_26_nothing_above_the_last_stable_offset() -> None:
    """PRD-26: testReadCommittedFetchLimitedAtLSO."""
    bench = CommittedBench()
    bench.fetch(2, 3)
    assert (bench.log.high_watermark, bench.log.last_stable_offset()) == (3, 0)
    assert bench.read() is None
    assert bench.read(wait_ms=1_000) is None
    bench.end(COMMIT)
    assert bench.read() is None
    bench.fetch(2, 4)
    assert bench.log.last_stable_offset() == 4
    part = bench.read()
    assert part is not None
    assert (part.records[0].start, part.records[-1].end, part.aborted) == (0, 4, ())


def test_prd_27_the_aborted_transactions_come_along() -> None:
    """PRD-27: testDelayedFetchIncludesAbortedTransactions."""
    bench = CommittedBench()
    bench.end(ABORT)
    bench.fetch(2, 4)
    assert bench.log.last_stable_offset() == 4
    part = bench.read()
    assert part is not None
    assert (part.records[0].start, part.records[-1].end, part.aborted) == (0, 4, ((PID, 0),))
