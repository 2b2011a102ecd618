"""The transaction index: IDX-01, and the entries that a real broker wrote (drills-transactions: n-aborted-index)."""

from __future__ import annotations

import pytest

from core.kafka.log.index.transaction_index import AbortedTransaction, collect_aborted
from core.kafka.release import Release
from tests.core.kafka.log.producers import ProducerLog

ENTRIES = (
    AbortedTransaction(0, 0, 10, 11),
    AbortedTransaction(1, 5, 15, 13),
    AbortedTransaction(2, 18, 35, 25),
    AbortedTransaction(3, 32, 50, 40),
)


@pytest.mark.parametrize(
    ("start", "end", "found", "complete"),
    [
        (0, 100, (0, 1, 2, 3), False),
        (0, 32, (0, 1, 2), True),
        (0, 35, (0, 1, 2, 3), True),
        (10, 35, (0, 1, 2, 3), True),
        (11, 35, (1, 2, 3), True),
        (20, 41, (2, 3), False),
    ],
)
def test_idx_01_collects_what_overlaps(start: int, end: int, found: tuple[int, ...], complete: bool) -> None:
    """IDX-01: TransactionIndexTest.testCollectAbortedTransactions."""
    search = collect_aborted(ENTRIES, start, end)
    assert tuple(entry.producer_id for entry in search.aborted) == found
    assert search.complete is complete


def recorded() -> ProducerLog:
    """Return the batches of n-aborted-index: three producers x, y, and z under transaction.version 2."""
    log = ProducerLog()
    x, y, z = 5008, 4011, 8000
    for pid, records, sequence in ((x, 2, 0), (y, 1, 0), (z, 1, 0), (x, 1, 2)):
        assert log.send(sequence, records, pid=pid, txn=True) == "NONE"
    assert log.commit_to(log.leo) == 0
    log.end(commit=False, pid=y, epoch=1, ce=6)
    assert log.commit_to(log.leo) == 0
    log.end(commit=True, pid=x, epoch=1, ce=13)
    assert log.commit_to(log.leo) == 3
    assert log.send(0, 2, pid=y, epoch=1, txn=True) == "NONE"
    log.end(commit=False, pid=z, epoch=1, ce=12)
    assert log.commit_to(log.leo) == 7
    assert log.send(0, 1, pid=x, epoch=1, txn=True) == "NONE"
    log.end(commit=False, pid=x, epoch=2, ce=13)
    assert log.commit_to(log.leo) == 7
    log.end(commit=False, pid=y, epoch=2, ce=6)
    assert log.commit_to(log.leo) == 13
    return log


def test_the_entries_are_those_that_a_broker_wrote() -> None:
    """n-aborted-index: the LSO is 0, 0, 3, 7, 7, and 13 in turn. The entries of the first segment are also compared."""
    log = recorded()
    assert log.state.aborted == [(4011, 2, 5, 0), (8000, 3, 9, 7), (5008, 10, 11, 7), (4011, 7, 12, 13)]
    rows = [
        (each.producer_id, each.producer_epoch, each.coordinator_epoch, each.last_sequence, each.open_from)
        for each in log.state.active_producers()
    ]
    assert rows == [(5008, 2, 13, -1, -1), (4011, 2, 6, -1, -1), (8000, 1, 12, -1, -1)]


def test_a_truncation_cuts_the_index_and_a_restart_keeps_it() -> None:
    log = recorded()
    entries = list(log.state.aborted)
    log.reopen()
    assert log.state.aborted == entries
    log.truncate_to(12)
    assert log.state.aborted == entries[:3]
    log.truncate_to(9)
    assert log.state.aborted == entries[:1]
    assert log.state.ongoing == {3: 8000, 7: 4011}


@pytest.mark.parametrize(("release", "entries"), [("2.7", [(1, 0, 0, 1)]), ("2.8", [])])
def test_an_empty_abort_leaves_an_entry_before_2_8(release: str, entries: list[tuple[int, int, int, int]]) -> None:
    """KAFKA-10702: a marker without an open transaction counted as a transaction without records."""
    log = ProducerLog(Release.named(release))
    log.end(commit=False)
    assert log.state.aborted == entries
    assert log.commit_to(1) == 1
