"""ListTransactions, DescribeTransactions, and the search for hanging transactions: TXM-16 (TransactionsCommandTest), KIP-664, KIP-994."""

from __future__ import annotations

import pytest

from core.kafka.ids import TopicPartition
from core.kafka.log.producer_state import ActiveProducer
from core.kafka.transaction.transaction_metadata import TransactionMetadata
from core.kafka.transaction.transaction_queries import (
    OpenTransaction,
    describe_transaction,
    hanging_transactions,
    list_transactions,
    open_transactions,
)
from core.sim.units import US_PER_MS
from tests.core.kafka.transaction.coordinator_bench import ID, T0, CoordinatorBench, State

FOO5, FOO10 = TopicPartition("foo", 5), TopicPartition("foo", 10)
MINUTE = 60_000 * US_PER_MS
OPEN = ActiveProducer(132, 5, 19, 3, 10 * MINUTE, 29_384)
NOW = 70 * MINUTE


def owner(*partitions: TopicPartition) -> TransactionMetadata:
    made = TransactionMetadata("id", 132, MINUTE, 0)
    made.partitions = partitions
    return made


@pytest.mark.parametrize(
    ("known", "hangs"),
    [({}, True), ({132: owner(FOO10)}, True), ({132: owner(FOO5)}, False), ({132: None}, True)],
    ids=["no-id", "without-the-partition", "with-the-partition", "not-describable"],
)
def test_txm_16_find_hanging(known: dict[int, TransactionMetadata | None], hangs: bool) -> None:
    """TXM-16: testFindHanging…: the producer has been idle for 60 minutes, and the limit is 15 minutes."""
    candidates = open_transactions(FOO5, [OPEN], NOW, 15 * MINUTE)
    assert candidates == [OpenTransaction(FOO5, OPEN)]
    assert hanging_transactions(candidates, known) == (candidates if hangs else [])


@pytest.mark.parametrize(("limit", "count"), [(59, 1), (60, 0), (0, 1)])
def test_txm_16_only_what_is_idle_for_longer(limit: int, count: int) -> None:
    """TXM-16: the limit is exclusive, and with the limit 0 a transaction is listed immediately."""
    assert len(open_transactions(FOO5, [OPEN, OPEN._replace(open_from=-1)], NOW, limit * MINUTE)) == count


def test_the_filters_of_a_listing() -> None:
    """The filters are producer IDs and, since 3.8, the duration. An ID that is being removed is neither listed nor described."""
    bench = CoordinatorBench()
    states = bench.coordinator.states
    bench.ongoing(0, transactional_id="a")
    second = bench.init(transactional_id="c")[1]
    bench.wait(1_000)
    now = bench.journal.now

    def names(**filters: object) -> list[str]:
        return [each.transactional_id for each in list_transactions(states, now, **filters)]  # type: ignore[arg-type]

    assert names() == ["a", "c"]
    assert names(producer_ids=[second]) == ["c"]
    assert names(longer_than=999 * US_PER_MS) == ["a", "c"]
    assert names(longer_than=1_000 * US_PER_MS) == ["c"], "an ID without a transaction passes, because its start is -1"
    bench.metadata_of("c").state = State.DEAD
    assert names() == ["a"]
    assert describe_transaction(states, "c") is None


def test_a_hanging_transaction_is_found_and_aborted() -> None:
    """j-late-3.5.2: with the idle limit 0, the row appears immediately. The marker that `abort` writes ends the transaction."""
    bench = CoordinatorBench()
    bench.broker.context.config.verifies_transactions = False
    pid = bench.ongoing()
    bench.send(pid, 0, 0)
    bench.end(pid, 0, commit=False)
    assert bench.send(pid, 0, 1) == ("NONE", 2)
    bench.wait(1)
    log = bench.data().log

    def hanging() -> list[OpenTransaction]:
        candidates = open_transactions(T0, log.ensure_producer_state().active_producers(), bench.journal.now, 0)
        return hanging_transactions(candidates, {pid: describe_transaction(bench.coordinator.states, ID)})

    (row,) = hanging()
    assert row.producer == (pid, 0, 0, 1, 0, 2)
    assert bench.marker(pid, row.producer.producer_epoch, commit=False, ce=row.producer.coordinator_epoch) == "NONE"
    assert hanging() == []
    assert log.last_stable_offset() == log.leo
