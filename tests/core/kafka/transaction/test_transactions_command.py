"""What `kafka-transactions` lists: TXM-16, and rows as recorded (drills-transactions)."""

from __future__ import annotations

import pytest

from core.kafka import errors
from core.kafka.ids import TopicPartition
from core.kafka.log.producer_state import ActiveProducer
from core.kafka.transaction.transaction_state import TransactionState
from core.kafka.transaction.transactions_command import (
    HANGING_COLUMNS,
    HangingTransaction,
    ProducerDescription,
    TransactionDescription,
    TransactionListing,
    abort_coordinator_epoch,
    describe_producers,
    describe_transaction,
    find_hanging,
    list_transactions,
    printed_table,
)
from core.sim.units import US_PER_MS
from tests.core.kafka.transaction.coordinator_bench import T0, CoordinatorBench, State

FOO5, FOO10 = TopicPartition("foo", 5), TopicPartition("foo", 10)
MINUTE = 60_000 * US_PER_MS
OPEN = ActiveProducer(132, 5, 19, 3, 10 * MINUTE, 29_384)
NOW = 70 * MINUTE
ROW = HangingTransaction("foo", 5, 132, 5, 19, 29_384, 600_000, 60)


def described(*partitions: TopicPartition) -> TransactionDescription:
    return TransactionDescription(1, "id", 132, 5, TransactionState.ONGOING, 60_000, 0, 0, partitions)


@pytest.mark.parametrize(
    ("listed", "description", "rows"),
    [
        ((), None, (ROW,)),
        (("id",), described(FOO10), (ROW,)),
        (("id",), described(FOO5), ()),
        (("id",), None, (ROW,)),
    ],
    ids=["no-id", "without-the-partition", "with-the-partition", "not-describable"],
)
def test_txm_16_find_hanging(
    listed: tuple[str, ...], description: TransactionDescription | None, rows: tuple[HangingTransaction, ...]
) -> None:
    """TXM-16: testFindHanging…: idle 60 min, limit 15 min."""
    listings = [TransactionListing(each, 1, 132, TransactionState.ONGOING) for each in listed]
    assert find_hanging([(FOO5, OPEN)], listings, lambda _: description, NOW) == rows


@pytest.mark.parametrize(("limit", "count"), [(59, 1), (60, 0), (0, 1)])
def test_txm_16_only_what_is_idle_for_longer(limit: int, count: int) -> None:
    """TXM-16: the limit is exclusive, and 0 lists at once."""
    assert len(find_hanging([(FOO5, OPEN), (FOO10, OPEN._replace(open_from=-1))], [], lambda _: None, NOW, limit * MINUTE)) == count


def test_the_rows_are_printed_as_the_tool_prints_them() -> None:
    lines = printed_table(HANGING_COLUMNS, [ROW.cells()]).split("\n")
    assert lines == [
        "Topic\tPartition\tProducerId\tProducerEpoch\tCoordinatorEpoch\tStartOffset\tLastTimestamp\tDuration(min)\t",
        "foo  \t5        \t132       \t5            \t19              \t29384      \t600000       \t60           \t",
    ]
    assert printed_table(HANGING_COLUMNS, []).count("\n") == 0, "without a hit, only the header"
    assert (abort_coordinator_epoch(ROW), abort_coordinator_epoch(ROW._replace(coordinator_epoch=-1))) == (19, 0)


def test_listing_and_describing_follow_a_transaction() -> None:
    """a-basic: Empty has no start; Complete keeps the last start, and its duration grows."""
    bench = CoordinatorBench(version=2)
    states = bench.coordinator.states
    pid = bench.init()[1]
    bench.wait(1_000)
    assert list_transactions([states], bench.journal.now) == (("a", 1, pid, State.EMPTY),)
    _, row = describe_transaction(states, "a", bench.journal.now)
    assert row is not None
    assert row.cells() == ("1", "a", str(pid), "0", "Empty", "60000", "None", "None", "")
    bench.send(pid, 0, 0)
    bench.wait(500)
    _, row = describe_transaction(states, "a", bench.journal.now)
    assert row is not None
    assert row.cells() == ("1", "a", str(pid), "0", "Ongoing", "60000", "1000", "500", "t-0")
    producers = describe_producers(bench.data().log.ensure_producer_state().active_producers())
    assert [each.cells() for each in producers] == [(str(pid), "0", "-1", "0", "1000", "0")]
    bench.end(pid, 0)
    bench.wait(500)
    _, row = describe_transaction(states, "a", bench.journal.now)
    assert row is not None
    assert row.cells() == ("1", "a", str(pid), "1", "CompleteCommit", "60000", "1000", "1000", "")
    producers = describe_producers(bench.data().log.ensure_producer_state().active_producers())
    assert producers == (ProducerDescription(pid, 1, 0, -1, 1_500, None),)
    assert producers[0].cells()[-1] == "None"


def test_the_filters_of_a_listing() -> None:
    """KIP-664 and KIP-994: states, producer IDs, duration; an ID that is being removed is never listed."""
    bench = CoordinatorBench()
    states = bench.coordinator.states
    first = bench.ongoing(0, transactional_id="a")
    second = bench.init(transactional_id="c")[1]
    bench.wait(1_000)
    now = bench.journal.now

    def names(**filters: object) -> list[str]:
        return [each.transactional_id for each in list_transactions([states], now, **filters)]  # type: ignore[arg-type]

    assert names() == ["a", "c"]
    assert names(states=frozenset({State.ONGOING})) == ["a"]
    assert names(producer_ids=frozenset({second})) == ["c"]
    assert names(longer_than=999 * US_PER_MS) == ["a", "c"]
    assert names(longer_than=1_000 * US_PER_MS) == ["c"], "an ID without a transaction passes, because its start is -1"
    bench.metadata_of("c").state = State.DEAD
    assert names() == ["a"]
    assert describe_transaction(states, "c", now)[0] == errors.TRANSACTIONAL_ID_NOT_FOUND
    assert describe_transaction(states, "", now)[0] == errors.INVALID_REQUEST
    assert first != second


def test_a_hanging_transaction_is_found_and_aborted() -> None:
    """j-late-3.5.2: with the idle limit 0 the row is listed at once; the marker of `abort` ends it."""
    bench = CoordinatorBench()
    bench.broker.verifies_transactions = False
    pid = bench.ongoing()
    bench.send(pid, 0, 0)
    bench.end(pid, 0, commit=False)
    bench.wait(1)
    assert bench.send(pid, 0, 1) == ("NONE", 2)
    bench.wait(1)
    log, states, now = bench.data().log, bench.coordinator.states, bench.journal.now

    def hanging() -> tuple[HangingTransaction, ...]:
        producers = [(T0, each) for each in log.ensure_producer_state().active_producers()]
        return find_hanging(producers, list_transactions([states], now), lambda each: describe_transaction(states, each, now)[1], now, 0)

    (row,) = hanging()
    assert row.cells() == ("t", "0", str(pid), "0", "0", "2", "1", "0")
    assert bench.marker(pid, row.producer_epoch, commit=False, ce=abort_coordinator_epoch(row)) == "NONE"
    assert hanging() == ()
    assert log.last_stable_offset() == log.leo
