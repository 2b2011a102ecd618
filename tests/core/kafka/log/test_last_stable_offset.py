"""The last stable offset of one log: LSO, PRD-21, PRD-23, PRD-24, and a recorded deletion (drills-transactions: n-delete-records)."""

from __future__ import annotations

import pytest

from core.kafka import errors
from core.kafka.log.cleaner.compacted_term import CompactedTerm, RetainedBatch
from core.kafka.log.leader_term import Term
from core.kafka.log.log_config import LogConfig
from core.kafka.log.replica_log import ReplicaLog
from core.kafka.release import CURRENT
from tests.core.kafka.log.producers import ProducerLog


def test_lso_01_unstable_until_the_marker_is_committed() -> None:
    """LSO-01: testFirstUnstableOffsetWithTransactionalData."""
    log = ProducerLog()
    log.send(0, 3, txn=True)
    log.send(3, 1, txn=True)
    assert log.unstable() == 0
    log.end()
    assert log.unstable() == 0
    assert log.commit_to(5) == 5
    assert log.unstable() == -1


def test_lso_05_the_state_is_rebuilt_from_the_log() -> None:
    """LSO-05: testRebuildTransactionalState: after an unclean shutdown, only the log is left."""
    log = ProducerLog()
    log.send(0, 3, txn=True)
    log.end(commit=False)
    entries = list(log.state.aborted)
    log.producers = None
    log.reopen()
    assert log.commit_to(4) == 4
    assert log.unstable() == -1
    assert log.state.aborted == entries == [(1, 0, 3, 4)]


def test_lso_06_active_producers() -> None:
    """LSO-06: testActiveProducers."""
    log = ProducerLog()
    log.send(0, 5, epoch=5, txn=True)
    assert log.state.active_producers() == ((1, 5, -1, 4, 0, 0),)
    log.end(epoch=5, ce=15)
    log.send(0, 3, pid=2, epoch=5)
    assert log.state.active_producers() == ((1, 5, 15, 4, 0, -1), (2, 5, -1, 2, 0, -1))


def test_lso_07_a_late_batch_hangs() -> None:
    """LSO-07: before 3.6 a late batch of the same epoch opens a transaction that nobody ends; with transaction.version 2 it is fenced."""
    log = ProducerLog()
    log.send(0, txn=True)
    log.end(commit=False)
    assert log.send(1, txn=True) == "NONE"
    log.plain(97)
    assert log.commit_to(100) == 2
    bumped = ProducerLog()
    bumped.send(0, txn=True)
    bumped.end(commit=False, epoch=1)
    assert bumped.send(1, txn=True) == errors.INVALID_PRODUCER_EPOCH
    assert bumped.commit_to(2) == 2


def test_lso_07_since_3_6_the_late_batch_lacks_a_guard() -> None:
    """LSO-07: the late append fails the verification."""
    log = ProducerLog(verifies=True)
    log.replicate(0, txn=True)
    log.end(commit=False)
    assert log.send(1, txn=True) == errors.INVALID_TXN_STATE


def test_lso_08_an_unclean_election_loses_the_marker() -> None:
    """LSO-08: a transaction that is committed elsewhere counts as aborted after the tool's marker."""
    former = ProducerLog()
    former.send(0, 5, txn=True)
    former.end(commit=True, ce=3)
    assert former.commit_to(6) == 6
    new = ProducerLog()
    new.append_as_follower((0, 5, former.term, 500, None))
    assert new.commit_to(5) == 0
    assert new.unstable() == 0
    assert new.end(commit=False, ce=3) == "NONE"
    assert new.commit_to(6) == 6
    assert new.state.aborted == [(1, 0, 5, 6)]


def test_lso_09_a_follower_is_one_fetch_behind() -> None:
    """LSO-09: the marker is at offset 5. The LSO stays at 0 until the followers have fetched up to 6. A follower's own LSO moves with its
    high watermark.
    """
    leader, follower = ProducerLog(), ReplicaLog(release=CURRENT)
    leader.send(0, 5, txn=True)
    leader.update_high_watermark(5)
    leader.end()
    assert (leader.leo, leader.last_stable_offset()) == (6, 0)
    follower.append_as_follower((0, 6, leader.term, 578, None))
    follower.update_high_watermark(5)
    assert leader.commit_to(6) == 6
    assert follower.last_stable_offset() == 0
    follower.update_high_watermark(6)
    assert follower.last_stable_offset() == 6


def test_prd_21_the_first_open_transaction_bounds_what_is_stable() -> None:
    """PRD-21: testFetchUpToLastStableOffset."""
    log = ProducerLog()
    log.send(0, 5, pid=1, txn=True)
    log.plain(3)
    log.send(0, 2, pid=2, txn=True)
    log.send(5, 4, pid=1, txn=True)
    log.plain(2)
    log.send(9, 10, pid=1, txn=True)
    assert log.commit_to(log.leo) == 0
    log.end(commit=True, pid=1)
    assert log.last_stable_offset() == 0
    assert log.commit_to(log.leo) == 8
    log.end(commit=False, pid=2)
    assert log.last_stable_offset() == 8
    assert log.commit_to(log.leo) == log.leo


def test_prd_23_mixed_producers() -> None:
    """PRD-23: testLastStableOffsetWithMixedProducerData."""
    log = ProducerLog()
    log.send(0, 3, pid=1, txn=True)
    log.plain(3)
    log.send(0, 3, pid=2, txn=True)
    assert log.unstable() == 0
    log.end(commit=False, pid=1)
    log.update_high_watermark(10)
    assert log.unstable() == 6
    log.end(commit=True, pid=2)
    log.update_high_watermark(11)
    assert log.unstable() == -1


@pytest.mark.parametrize(("start", "stable"), [(5, 5), (8, 8)], ids=["mid-segment", "segment-boundary"])
def test_prd_24_the_log_start_bounds_it_from_below(start: int, stable: int) -> None:
    """PRD-24: testLastStableOffsetDoesNotExceedLogStartOffsetMidSegment and …SegmentBoundary."""
    log = ProducerLog()
    log.configure(LogConfig(segment_bytes=800))
    for sequence in range(10):
        log.send(sequence, txn=True)
    log.update_high_watermark(10)
    assert log.last_stable_offset() == 0
    log.maybe_increment_log_start(start)
    assert log.last_stable_offset() == stable


def test_recorded_deletions_below_an_open_transaction() -> None:
    """n-delete-records: the LSO is never below the base of the batch that contains the log start. It is 0, 3, 3, 7, and 8 after the abort."""
    log = ProducerLog()
    log.send(0, 3, txn=True)
    log.plain(3)
    assert log.commit_to(6) == 0
    log.maybe_increment_log_start(2)
    assert log.last_stable_offset() == 0
    log.maybe_increment_log_start(5)
    assert log.last_stable_offset() == 3
    log.send(3, txn=True)
    assert log.commit_to(7) == 3
    log.maybe_increment_log_start(7)
    assert log.last_stable_offset() == 7
    log.end(commit=False, epoch=1, ce=14)
    assert log.commit_to(8) == 8
    assert log.state.aborted == [(1, 0, 7, 8)]


def test_an_open_transaction_in_a_log_without_records_holds_back_nothing() -> None:
    """`UnifiedLog#maybeIncrementFirstUnstableOffset` puts the first unstable offset at the log start, which is the end here."""
    log = ProducerLog()
    log.send(0, 5, txn=True)
    assert log.commit_to(5) == 0
    log.drop_below(5)
    assert (log.log_start, log.leo, log.first_offset) == (5, 5, 5)
    assert log.unstable() == 0
    assert log.last_stable_offset() == 5


@pytest.mark.parametrize("log_start", [4, 5])
def test_a_log_start_inside_the_first_batch_of_a_transaction_leaves_the_last_stable_offset_at_its_base(log_start: int) -> None:
    """Below the batch at offset 3, the log has a batch of the same leader and one of its predecessor."""
    log = ProducerLog()
    log.plain(2)
    log.term = Term(1, 2)
    log.plain()
    log.send(0, 3, txn=True)
    assert log.commit_to(6) == 3
    assert log.maybe_increment_log_start(log_start)
    assert log.last_stable_offset() == 3


def test_a_log_start_in_a_gap_of_a_compacted_log_puts_the_last_stable_offset_at_the_next_batch() -> None:
    log = ProducerLog()
    log.send(0, 3, txn=True)
    log.plain(3)
    log.plain(3)
    assert log.commit_to(9) == 0
    source = log.records.terms[0]
    kept = [batch for batch in source.batches if batch.base != 3]
    log.records.terms = (CompactedTerm(source, tuple(RetainedBatch(batch, range(batch.base, batch.base + 3)) for batch in kept)),)
    log.records.tail = log.records.terms[0]
    assert log.maybe_increment_log_start(4)
    assert log.last_stable_offset() == 6
    assert log.maybe_increment_log_start(7)
    assert log.last_stable_offset() == 6
