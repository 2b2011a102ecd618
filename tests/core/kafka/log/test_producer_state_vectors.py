"""`ProducerStateManager`, by Kafka's own vectors: PSM, PRD-07 to PRD-29 if they concern a single log, BAT-03, and recorded answers."""

from __future__ import annotations

import pytest

from core.kafka import errors
from core.kafka.log.log_config import LogConfig
from core.kafka.log.producer_state_entry import MAX_SEQUENCE, decrement_sequence, increment_sequence
from core.kafka.log.segments import delete_old_segments
from core.kafka.release import RELEASES, Release
from core.sim.units import US_PER_MS
from tests.core.kafka.log.producers import OUT_OF_ORDER, ProducerLog

UNKNOWN = errors.UNKNOWN_PRODUCER_ID
DAY = 86_400_000 * US_PER_MS


def test_bat_03_sequences_wrap() -> None:
    """BAT-03: testIncrementSequence, testDecrementSequence."""
    found = [increment_sequence(*each) for each in ((0, 1), (5, 5), (MAX_SEQUENCE, 1), (MAX_SEQUENCE - 5, 10))]
    assert found == [1, 10, 0, 4]
    assert [decrement_sequence(*each) for each in ((5, 5), (0, 1))] == [0, MAX_SEQUENCE]


# --- sequences and epochs ----------------------------------------------------------------------------------------------


def test_psm_01_a_check_does_not_change_the_state() -> None:
    """PSM-01: testPrepareUpdateDoesNotMutate."""
    log = ProducerLog()
    log.plain(15)
    assert log.state.validate(1, 0, 0) == "NONE"
    assert not log.state.entries
    log.send(0, 6)
    assert (log.entry().batches[0].first_sequence, log.entry().last_sequence, log.entry().last_data_offset) == (0, 5, 20)
    log.plain(5)
    assert log.state.validate(1, 0, 6) == "NONE"
    assert log.entry().last_sequence == 5
    log.send(6, 5)
    assert (log.entry().batches[0].first_sequence, log.entry().last_sequence, log.entry().last_data_offset) == (0, 10, 30)


def test_psm_02_a_transaction_is_updated() -> None:
    """PSM-02: updateProducerTransactionState."""
    log = ProducerLog()
    log.plain(9)
    log.send(0)
    log.plain(6)
    assert log.send(1, 5, txn=True) == "NONE"
    assert log.entry().open_from == 16
    log.plain(5)
    assert log.send(6, 5, txn=True) == "NONE"
    assert log.entry().open_from == 16
    log.plain(9)
    assert log.end(ce=15) == "NONE"
    assert log.state.unreplicated == {16: 40}
    assert not log.state.aborted
    assert (log.entry().last_sequence, log.entry().coordinator_epoch, log.entry().open_from) == (10, 15, -1)


def test_prd_07_a_marker_without_producer_state() -> None:
    """PRD-07: testAppendTxnMarkerWithNoProducerState."""
    log = ProducerLog()
    assert log.end(epoch=2) == "NONE"
    assert log.entry().last_sequence == -1
    assert log.send(0, epoch=0) == errors.INVALID_PRODUCER_EPOCH
    assert log.send(17, epoch=2) == OUT_OF_ORDER
    assert log.send(0, epoch=2) == "NONE"


@pytest.mark.parametrize(
    ("release", "error"), [("0.11", OUT_OF_ORDER), ("2.0", OUT_OF_ORDER), ("2.1", UNKNOWN), ("2.4", UNKNOWN), ("2.7", OUT_OF_ORDER)]
)
def test_prd_07_only_a_marker_is_left_by_release(release: str, error: str) -> None:
    """PRD-07 by release: KAFKA-7298 made it UNKNOWN_PRODUCER_ID, KIP-360 undid that."""
    log = ProducerLog(Release.named(release))
    log.end(epoch=2)
    assert log.send(17, epoch=2) == error


@pytest.mark.parametrize(
    ("release", "error"), [("0.11", OUT_OF_ORDER), ("1.1", UNKNOWN), ("2.4", UNKNOWN), ("2.7", "NONE"), ("4.3", "NONE")]
)
def test_an_unknown_producer_by_release(release: str, error: str) -> None:
    log = ProducerLog(Release.named(release))
    assert log.send(5) == error
    assert log.send(0) == ("NONE" if error != "NONE" else OUT_OF_ORDER)


@pytest.mark.parametrize(("release", "repeats"), [("0.11", 1), ("1.1", 5), ("4.3", 5)])
def test_the_last_batches_are_known_as_duplicates(release: str, repeats: int) -> None:
    log = ProducerLog(Release.named(release))
    for sequence in range(7):
        log.send(sequence)
    answers = [log.send(sequence) for sequence in reversed(range(7))]
    assert answers == ["DUPLICATE"] * repeats + [OUT_OF_ORDER] * (7 - repeats)


def test_recorded_answers_to_an_idempotent_producer() -> None:
    """i-idempotent-raw: repeated batches, gaps, epochs, and an unknown producer, with the responses of a broker of 4.1.1."""
    log = ProducerLog()
    for sequence in range(7):
        assert log.send(sequence) == "NONE"
    assert [log.send(each) for each in (6, 2)] == ["DUPLICATE", "DUPLICATE"]
    assert [log.send(each) for each in (1, 0)] == [OUT_OF_ORDER, OUT_OF_ORDER]
    assert log.send(3, 2) == OUT_OF_ORDER, "3 and 4 were never one batch"
    assert [log.send(each) for each in (9, 7)] == [OUT_OF_ORDER, "NONE"]
    assert log.send(0, epoch=1) == "NONE"
    assert log.send(8, epoch=0) == errors.INVALID_PRODUCER_EPOCH
    assert [log.send(each, epoch=2) for each in (5, 0)] == [OUT_OF_ORDER, "NONE"]
    assert [log.send(each, pid=987_654) for each in (5, 4)] == ["NONE", OUT_OF_ORDER]
    log.reopen()
    assert [log.send(0, epoch=2), log.send(1, epoch=2), log.send(1, epoch=2)] == ["DUPLICATE", "NONE", "DUPLICATE"]
    assert log.send(0, epoch=1) == errors.INVALID_PRODUCER_EPOCH


def test_prd_10_no_plain_batch_while_a_transaction_is_open() -> None:
    """PRD-10: testNonTransactionalAppendWithOngoingTransaction."""
    log = ProducerLog()
    log.send(0, txn=True)
    assert log.send(1) == errors.INVALID_TXN_STATE
    assert log.send(3) == OUT_OF_ORDER, "the sequence is checked first"


def test_prd_16_markers_of_old_epochs_and_old_coordinators() -> None:
    """PRD-16: testOldEpochForControlRecord, testCoordinatorFencing."""
    log = ProducerLog()
    log.send(0, epoch=5, txn=True)
    assert log.end(epoch=3) == errors.INVALID_PRODUCER_EPOCH
    assert [log.end(epoch=5, ce=ce) for ce in (1, 1, 2)] == ["NONE"] * 3
    assert log.end(epoch=5, ce=1) == errors.TRANSACTION_COORDINATOR_FENCED


def test_psm_11_the_coordinator_epoch_survives_a_restart() -> None:
    """PSM-11: testCoordinatorFencedAfterReload."""
    log = ProducerLog()
    log.plain(99)
    log.send(0, txn=True)
    log.end(ce=1)
    log.take_producer_snapshot()
    log.reopen()
    assert log.end(ce=0) == errors.TRANSACTION_COORDINATOR_FENCED


def test_a_marker_of_kip_1228_must_have_a_greater_epoch() -> None:
    """KIP-1228: an equal epoch passes only if no transaction is open; the coordinator epoch is checked after it."""
    log = ProducerLog()
    log.send(0, txn=True)
    assert log.end(ce=-1, must_rise=True) == errors.INVALID_PRODUCER_EPOCH
    assert log.end(epoch=1, must_rise=True) == "NONE"
    assert log.end(epoch=1, must_rise=True) == "NONE", "the repetition"


# --- replication -------------------------------------------------------------------------------------------------------


def test_a_replicated_marker_can_lower_the_epoch() -> None:
    """Replicas only warn (KIP-360) and accept what the leader has written."""
    log = ProducerLog()
    log.replicate(0, epoch=3)
    log.mark(epoch=2)
    assert (log.entry().epoch, log.entry().last_sequence) == (2, -1)


def test_a_batch_that_arrives_in_two_fetches_counts_once_it_is_whole() -> None:
    leader, follower = ProducerLog(), ProducerLog()
    leader.send(0, 5, txn=True)
    leader.send(5, 2, txn=True)
    for start, end in ((0, 3), (3, 6), (6, 7)):
        follower.append_as_follower((start, end, leader.term, 1, None))
        whole = [batch.first_sequence for batch in follower.state.entries[1].batches] if 1 in follower.state.entries else []
        assert whole == {3: [], 6: [0], 7: [0, 5]}[end]
    assert follower.state.ongoing == leader.state.ongoing == {0: 1}


# --- stable offsets ----------------------------------------------------------------------------------------------------


def test_prd_14_a_transaction_is_open_again_after_a_truncation() -> None:
    """PRD-14: testFirstUnstableOffsetAfterTruncation."""
    log = ProducerLog()
    log.plain(99)
    log.send(0, txn=True)
    log.plain(5)
    log.end()
    log.update_high_watermark(106)
    assert log.unstable() == -1
    log.truncate_to(106)
    assert log.unstable() == -1
    log.truncate_to(100)
    assert log.unstable() == 99


def test_prd_18_empty_transactions_leave_no_trace() -> None:
    """PRD-18: testSkipEmptyTransactions."""
    log = ProducerLog()
    log.plain(16)
    log.replicate(0, 5, txn=True)
    log.mark(commit=True)
    log.mark(commit=True)
    log.mark(commit=False)
    log.replicate(5, 4, txn=True)
    log.mark(commit=False)
    log.mark(commit=False)
    log.replicate(9, 2, txn=True)
    assert log.state.unreplicated == {16: 21, 24: 28}
    assert [(each.first_offset, each.last_offset) for each in log.state.aborted] == [(24, 28)]
    log.update_high_watermark(32)
    assert log.unstable() == 30


def test_prd_19_late_transactions() -> None:
    """PRD-19: testHasLateTransaction: the oldest open transaction counts, from its last batch on."""
    limit = 900_000 * US_PER_MS
    late = limit + 300_000 * US_PER_MS
    log = ProducerLog()
    assert not log.state.has_late_transaction(10 * late, limit)
    log.send(0, pid=1, txn=True)
    log.now = 500 * US_PER_MS
    log.send(0, pid=2, txn=True)
    assert not log.state.has_late_transaction(late, limit)
    assert log.state.has_late_transaction(late + 1, limit)
    log.end(pid=1)
    assert not log.state.has_late_transaction(late + 500 * US_PER_MS, limit)
    assert log.state.has_late_transaction(late + 500 * US_PER_MS + 1, limit)
    log.end(pid=2)
    assert not log.state.has_late_transaction(10 * late, limit)


# --- snapshots ---------------------------------------------------------------------------------------------------------


def offsets(log: ProducerLog) -> list[int]:
    return [each.offset for each in log.state.snapshots]


def test_psm_07_a_full_truncation_forgets_everything() -> None:
    """PSM-07: testTruncateFullyAndStartAt."""
    log = ProducerLog()
    for sequence in range(3):
        log.send(sequence)
        if sequence:
            log.take_producer_snapshot()
    assert offsets(log) == [2, 3]
    log.truncate_fully_and_start_at(0)
    assert offsets(log) == []
    assert log.send(0) == "NONE"
    log.take_producer_snapshot()
    assert offsets(log) == [1]


@pytest.mark.parametrize(("bases", "left"), [((5,), [5, 42]), ((42,), [42])])
def test_psm_08_stray_snapshots_are_removed(bases: tuple[int, ...], left: list[int]) -> None:
    """PSM-08: removeStraySnapshots."""
    log = ProducerLog()
    for end in (2, 5, 42):
        log.plain(end - log.leo)
        log.ensure_producer_state()
        log.take_producer_snapshot()
    log.state.remove_stray_snapshots(bases)
    assert offsets(log) == left


def test_no_snapshot_is_taken_at_the_log_start() -> None:
    """`ProducerStateManager#takeSnapshot` compares `lastMapOffset` with `lastSnapOffset`, which is the log start if there is no snapshot
    (`#loadFromSnapshot`, `#onLogStartOffsetIncremented`)."""
    empty = ProducerLog()
    empty.ensure_producer_state()
    empty.take_producer_snapshot()
    assert offsets(empty) == []
    log = ProducerLog()
    log.send(0, 3)
    log.update_high_watermark(3)
    log.maybe_increment_log_start(3)
    log.take_producer_snapshot()
    assert offsets(log) == []
    log.send(3)
    log.take_producer_snapshot()
    assert offsets(log) == [4]


def test_a_snapshot_keeps_only_the_newest_batch() -> None:
    log = ProducerLog()
    for sequence in range(3):
        log.send(sequence)
    log.take_producer_snapshot()
    log.reopen()
    assert [log.send(sequence) for sequence in (2, 1)] == ["DUPLICATE", OUT_OF_ORDER]


# --- verification ------------------------------------------------------------------------------------------------------


def test_psm_12_a_guard_opens_one_transaction() -> None:
    """PSM-12: testTransactionIsOngoingAndVerificationGuard."""
    log = ProducerLog(verifies=True)
    guard = log.state.verification_guard(23, 2, 1, 0)
    assert log.send(0, 2, pid=23, epoch=1) == "NONE"
    assert log.state.verifies(23, guard)
    assert not log.state.has_ongoing_transaction(23, 1)
    assert log.send(2, 2, pid=23, epoch=1, txn=True, guard=guard) == "NONE"
    assert log.state.has_ongoing_transaction(23, 1)
    assert not log.state.verifies(23, guard)
    assert log.send(4, pid=23, epoch=1, txn=True) == "NONE", "the transaction is open: no guard is needed"
    log.end(pid=23, epoch=1)
    assert not log.state.has_ongoing_transaction(23, 1)
    other = log.state.verification_guard(23, 5, 1, 0)
    assert other != guard
    assert not log.state.verifies(23, guard)


def test_psm_13_an_empty_transaction_clears_the_guard() -> None:
    """PSM-13: testEmptyTransactionStillClearsVerificationGuard."""
    log = ProducerLog(verifies=True)
    guard = log.state.verification_guard(1, 0, 0, 0)
    log.end()
    assert log.send(0, txn=True, guard=guard) == errors.INVALID_TXN_STATE


def test_prd_20_verification_entries() -> None:
    """PRD-20: reuse of the guard, a lower sequence, a higher and a lower epoch, a batch above the lowest sequence, which waits, and the
    expiry.
    """
    state = ProducerLog(verifies=True).state
    guard = state.verification_guard(1, 3, 1, 0)
    assert state.verification_guard(1, 5, 1, 0) == guard
    entry = state.verifications[1]
    assert (entry.lowest_sequence, entry.epoch) == (3, 1)
    state.verification_guard(1, 1, 1, 0)
    assert entry.lowest_sequence == 1
    state.verification_guard(1, 4, 2, 0)
    assert (entry.lowest_sequence, entry.epoch) == (4, 2)
    state.verification_guard(1, 0, 1, 0)
    assert (entry.lowest_sequence, entry.epoch) == (4, 2)
    state.remove_expired(DAY - 1, DAY)
    assert state.verifies(1, guard)
    state.remove_expired(DAY, DAY)
    assert not state.verifies(1, guard)


def test_prd_20_only_the_lowest_of_the_waiting_batches_opens_the_transaction() -> None:
    """PRD-20: append with sequence 4 while the lowest seen is 0."""
    log = ProducerLog(verifies=True)
    guard = log.state.verification_guard(1, 0, 0, 0)
    assert log.send(4, txn=True, guard=guard) == OUT_OF_ORDER
    assert log.send(0, 4, txn=True, guard=guard) == "NONE"
    assert log.send(4, txn=True, guard=guard) == "NONE"


def test_prd_28_an_unknown_producer_may_begin_anywhere_with_a_guard() -> None:
    """PRD-28: testAllowNonZeroSequenceOnFirstAppendNonZeroEpoch. With transaction.version 2, it begins with 0."""
    log = ProducerLog(verifies=True)
    guard = log.state.verification_guard(23, 3, 1, 0)
    assert log.send(3, pid=23, epoch=1, txn=True, guard=guard) == "NONE"
    guard = log.state.verification_guard(24, 3, 1, 0, begins_at_0=True)
    assert log.send(3, pid=24, epoch=1, txn=True, guard=guard) == OUT_OF_ORDER
    assert log.send(0, pid=24, epoch=1, txn=True, guard=guard) == "NONE"


@pytest.mark.parametrize(
    ("release", "error"), [("3.6", errors.INVALID_TXN_STATE), ("4.0", errors.INVALID_TXN_STATE), ("4.1", errors.INVALID_PRODUCER_EPOCH)]
)
def test_a_stale_epoch_without_guard_by_release(release: str, error: str) -> None:
    """KAFKA-19690: the epoch is checked before the guard."""
    log = ProducerLog(Release.named(release), verifies=True)
    log.end(epoch=2)
    assert log.send(0, epoch=1, txn=True) == error


# --- expiry ------------------------------------------------------------------------------------------------------------


def test_prd_15_an_open_transaction_does_not_expire() -> None:
    """PRD-15: testProducersWithOngoingTransactionsDontExpire."""
    log = ProducerLog()
    log.send(0, txn=True)
    log.state.remove_expired(10 * DAY, DAY)
    assert 1 in log.state.entries
    log.end()
    log.state.remove_expired(10 * DAY, DAY)
    assert not log.state.entries


def test_psm_18_idle_producers_expire_at_the_periodic_check() -> None:
    """PSM-18: testPeriodicProducerIdExpiration: producers expire after 200 ms, a check runs every 100 ms, and nothing is appended."""
    log = ProducerLog()
    log.send(0)
    for now, active in ((100, True), (199, True), (200, False)):
        log.state.remove_expired_if_due(now * US_PER_MS, 200 * US_PER_MS, 100 * US_PER_MS)
        assert (1 in log.state.entries) is active, now


def test_psm_18_between_two_checks_nothing_expires() -> None:
    """PSM-18: at +250 ms, the producer has been idle for 200 ms, but the next check runs at +300 ms."""
    log = ProducerLog()
    log.now = 50 * US_PER_MS
    log.send(0)
    for now, active in ((200, True), (299, True), (300, False)):
        log.state.remove_expired_if_due(now * US_PER_MS, 200 * US_PER_MS, 100 * US_PER_MS)
        assert (1 in log.state.entries) is active, now


def test_psm_18_the_first_look_at_a_new_log_counts_only_the_checks_that_are_over() -> None:
    """PSM-18: at +299 ms, the producer has been idle for 249 ms, but at +200 ms, the last check found it idle for only 150 ms."""
    log = ProducerLog()
    log.now = 50 * US_PER_MS
    log.send(0)
    log.state.remove_expired_if_due(299 * US_PER_MS, 200 * US_PER_MS, 100 * US_PER_MS)
    assert 1 in log.state.entries


def test_psm_18_an_expired_producer_is_not_shown() -> None:
    """PSM-18: a check runs every 600 s. DescribeProducers shows the producers that the last check has left, although nothing was appended
    since.
    """
    log = ProducerLog()
    log.send(0)
    check, expiration = 600_000 * US_PER_MS, 700_000 * US_PER_MS
    shown = [len(log.state.active_producers(now, expiration)) for now in (check, expiration, 2 * check - 1, 2 * check)]
    assert shown == [1, 1, 1, 0]
    assert len(log.state.active_producers()) == 1


def test_prd_11_the_first_check_after_a_restart_is_due_at_once() -> None:
    """PRD-11: testRemoveExpiredPidsOnReload."""
    log = ProducerLog()
    log.send(0)
    log.send(1)
    log.reopen()
    log.state.remove_expired_if_due(DAY + 1, DAY, 10 * DAY)
    assert log.send(2) == "NONE"
    assert len(log.entry().batches) == 1


@pytest.mark.parametrize(("release", "known"), [("2.1", False), ("2.4", True)])
def test_t8_a_marker_without_time_expires_at_once(release: str, known: bool) -> None:
    """T8, KAFKA-9144: the entry that a marker made has no time before 2.4.1, and its epochs are forgotten at the next check."""
    log = ProducerLog(Release.named(release))
    log.now = 1_000 * US_PER_MS
    log.send(0, txn=True)
    log.end(epoch=1, ce=3)
    log.state.remove_expired(2_000 * US_PER_MS, DAY)
    assert (1 in log.state.entries) is known
    zombie = log.send(0, epoch=0, txn=True)
    old_coordinator = log.end(epoch=1, ce=2)
    assert (zombie, old_coordinator) == (
        (errors.INVALID_PRODUCER_EPOCH, errors.TRANSACTION_COORDINATOR_FENCED) if known else ("NONE", "NONE")
    )


def test_t8_a_marker_of_the_same_epoch_leaves_the_time_of_the_data() -> None:
    """T8: data of that epoch remains, so the entry has a time."""
    log = ProducerLog(Release.named("2.1"))
    log.now = 1_000 * US_PER_MS
    log.send(0, txn=True)
    log.now = 5_000 * US_PER_MS
    log.end()
    assert log.entry().last_timestamp == 1_000 * US_PER_MS


@pytest.mark.parametrize("release", RELEASES)
def test_psm_17_t6_a_producer_and_the_segment_of_its_last_record(release: str) -> None:
    """PSM-17: testProducerIdExpirationOnSegmentDeletion; T6, KAFKA-7190: before 2.4, the producer left with the segment."""
    log = ProducerLog(Release.named(release))
    log.configure(LogConfig(segment_bytes=100, retention_bytes=200))
    log.send(0, pid=1)
    log.send(0, pid=2)
    log.send(1, pid=2)
    log.update_high_watermark(3)
    assert [each.segments for each in delete_old_segments(log, 0)] == [1]
    outlives = RELEASES[release].order >= RELEASES["2.4"].order
    assert list(log.state.entries) == ([1, 2] if outlives else [2])
    unknown = {"0.11": OUT_OF_ORDER}.get(release, UNKNOWN)
    if RELEASES[release].order >= RELEASES["0.11"].order:
        assert log.send(1, pid=1) == ("NONE" if outlives else unknown)


@pytest.mark.parametrize(("release", "left"), [("2.1", [2]), ("2.4", [1, 2])])
def test_t6_deleted_records_take_producers_along(release: str, left: list[int]) -> None:
    """T6: DeleteRecords has the same effect, batch by batch, and an open transaction is forgotten together with its producer."""
    log = ProducerLog(Release.named(release))
    log.send(0, pid=1, txn=True)
    log.send(0, pid=2)
    log.send(1, pid=2)
    log.update_high_watermark(3)
    log.maybe_increment_log_start(2)
    assert list(log.state.entries) == left
    assert len(log.entry(2).batches) == len(left)
    assert log.last_stable_offset() == (3 if left == [2] else 2)


def test_snapshots_and_index_entries_leave_with_their_segments() -> None:
    log = ProducerLog()
    log.configure(LogConfig(segment_bytes=178, retention_bytes=178))
    for number in range(3):
        log.send(number, txn=True)
        log.end(commit=False)
    log.update_high_watermark(6)
    log.roll()
    assert offsets(log) == [2, 4]
    assert [each.segments for each in delete_old_segments(log, 0)] == [2]
    assert offsets(log) == [4]
    assert [each.last_offset for each in log.state.aborted] == [5]
    log.reopen()
    assert log.send(3) == "NONE", "the producer is still known"
