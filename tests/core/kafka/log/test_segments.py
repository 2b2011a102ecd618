"""Segments, flushing, retention, and the log start of a single log: PRD-30, EPO-21, EPO-23, FOL-23, and L3 and L4 for a single log."""

from __future__ import annotations

import random

import pytest

from core.kafka.errors import KafkaError
from core.kafka.log import segments
from core.kafka.log.leader_term import Batch, Term, fetched_ranges
from core.kafka.log.log_config import LogConfig
from core.kafka.log.replica_log import ReplicaLog
from tests.core.node_bench import log_of

SIZE = 100


def log_with(**config: int) -> ReplicaLog:
    log = ReplicaLog()
    log.configure(LogConfig(**config))
    return log


def grow(log: ReplicaLog, term: Term, records: int = 1, *, at: int = 0, bytes_each: int = SIZE) -> None:
    log.append_as_leader(term, Batch(log.leo, records, bytes_each * records, "p", log.leo, at))


def epoch_log() -> ReplicaLog:
    """Return the log of EPO-23: segments of five records, epochs 0@0, 1@5, 2@10."""
    log = log_with(segment_bytes=5 * SIZE, retention_bytes=10 * SIZE)
    for epoch in range(3):
        for _ in range(5):
            grow(log, term := Term(epoch, 1)) if log.leo % 5 == 0 else grow(log, term)
    log.update_high_watermark(log.leo)
    return log


# --- rolling -------------------------------------------------------------------------------------------------------


def test_a_segment_is_closed_before_it_grows_past_segment_bytes() -> None:
    log, term = log_with(segment_bytes=250), Term(0, 1)
    for _ in range(5):
        grow(log, term)
    assert log.roll() == (0, 2, 4)
    grow(log, term, 10)
    assert log.roll() == (0, 2, 4, 5), "a batch larger than a segment has one for itself"


def test_a_segment_is_closed_when_its_first_batch_is_older_than_segment_ms() -> None:
    log, term = log_with(segment_us=1_000), Term(0, 1)
    for at in (0, 1_000, 1_001, 2_001, 2_002):
        grow(log, term, at=at)
    assert log.roll() == (0, 2, 4)


def test_boundaries_do_not_depend_on_when_they_are_asked_for() -> None:
    draw = random.Random("segments")
    for _ in range(50):
        late, eager = log_with(segment_bytes=1_000, segment_us=40), log_with(segment_bytes=1_000, segment_us=40)
        terms = [Term(0, 1), Term(0, 1)]
        at = 0
        for epoch in range(60):
            at += draw.randrange(12)
            records, size = draw.randrange(1, 6), draw.randrange(10, 200)
            if not draw.randrange(8):
                terms = [Term(epoch + 1, 1), Term(epoch + 1, 1)]
            if not draw.randrange(10):
                cut = draw.randrange(late.leo + 1)
                late.truncate_to(cut)
                eager.truncate_to(cut)
                terms = [Term(epoch + 1, 1), Term(epoch + 1, 1)]
            for log, term in zip((late, eager), terms, strict=True):
                grow(log, term, records, at=at, bytes_each=size)
            eager.roll()
        assert late.roll() == eager.roll()
        assert late.recovery_point == eager.recovery_point


def test_other_settings_hold_from_their_change_on() -> None:
    log, term = log_with(segment_bytes=2 * SIZE), Term(0, 1)
    for _ in range(5):
        grow(log, term)
    log.configure(LogConfig(segment_bytes=3 * SIZE))
    for _ in range(5):
        grow(log, term)
    assert log.roll() == (0, 2, 4, 7)


# --- flushing ------------------------------------------------------------------------------------------------------


def test_a_log_is_flushed_where_a_segment_is_closed() -> None:
    log, term = log_with(segment_bytes=2 * SIZE), Term(0, 1)
    for _ in range(5):
        grow(log, term)
    log.roll()
    assert log.recovery_point == 4
    log.truncate_to(3)
    assert (log.recovery_point, log.roll()) == (3, (0, 2))


def test_flush_messages_flushes_after_so_many_records() -> None:
    log, term = log_with(flush_messages=3), Term(0, 1)
    for records, flushed in ((1, 0), (1, 0), (1, 3), (2, 3), (4, 9)):
        grow(log, term, records)
        assert log.recovery_point == flushed
    follower = log_with(flush_messages=3)
    follower.append_as_follower((0, 2, term, 200, None))
    assert follower.recovery_point == 0
    follower.append_as_follower((2, 9, term, 700, None))
    assert follower.recovery_point == 9, "one append, one flush"


@pytest.mark.parametrize("follows", [False, True], ids=["leader", "follower"])
def test_a_flush_is_due_exactly_at_flush_messages(follows: bool) -> None:
    """`UnifiedLog#append`: `if (localLog.unflushedMessages >= config.flushInterval) flush()`, on leaders and followers."""
    log, term = log_with(flush_messages=3), Term(0, 1)

    def append(records: int) -> None:
        if follows:
            term.append(Batch(log.leo, records, SIZE * records, "p", log.leo, 0))
            log.append_as_follower((log.leo, log.leo + records, term, SIZE * records, None))
        else:
            grow(log, term, records)

    for records, flushed in ((2, 0), (1, 3), (3, 6), (2, 6), (1, 9), (4, 13), (2, 13)):
        append(records)
        assert log.recovery_point == flushed
    log.truncate_to(14)
    append(1)
    assert log.recovery_point == 13, "a record that went counts no more"
    append(1)
    assert log.recovery_point == 16


def test_a_segment_that_rolls_is_flushed_and_the_count_begins_there() -> None:
    """`UnifiedLog#roll` flushes up to the base of the new segment, and the count of unflushed messages decreases accordingly."""
    log, term = log_with(flush_messages=4, segment_bytes=3 * SIZE), Term(0, 1)
    for records, flushed in ((1, 0), (1, 0), (1, 0), (1, 3), (1, 3), (1, 3), (1, 6)):
        grow(log, term, records)
        log.roll()
        assert log.recovery_point == flushed


# --- truncation (EPO-21, FOL-23) -----------------------------------------------------------------------------------


def test_epo_21_truncating_to_the_end_drops_an_epoch_without_records() -> None:
    log = log_of((19, 27), leo=29)
    for epoch in (20, 24):
        log.epochs.assign(epoch, log.leo)
        assert not log.truncate_to(log.leo)
        assert (log.epochs.latest_epoch, log.leo) == (19, 29)


def test_fol_23_append_below_the_log_start() -> None:
    log, term = ReplicaLog(), Term(0, 1)
    log.truncate_fully_and_start_at(5)
    with pytest.raises(ValueError, match="cannot append records at offset 3"):
        log.append_as_follower((3, 4, term, SIZE, None))
    log.append_as_follower((4, 7, term, 3 * SIZE, None))
    assert (log.log_start, log.leo) == (4, 7)
    log.append_as_follower((7, 8, term, SIZE, None))
    with pytest.raises(ValueError, match="cannot append records at offset 3"):
        log.append_as_follower((3, 4, term, SIZE, None))
    log.append_as_follower((8, 9, term, SIZE, None))
    assert log.leo == 9


# --- retention and the log start -----------------------------------------------------------------------------------


def test_epo_23_deleted_segments_take_their_epochs_with_them() -> None:
    log = epoch_log()
    assert segments.delete_old_segments(log, 0) == [segments.Deleted(0, 5, 1, "retention.bytes")]
    assert (log.log_start, log.epochs.entries()) == (5, ((1, 5), (2, 10)))


def test_epo_23_an_epoch_that_goes_on_begins_at_the_log_start() -> None:
    log = log_of((0, 0), (1, 7), (2, 10), leo=15, high_watermark=15)
    log.maybe_increment_log_start(5)
    assert log.epochs.entries() == ((0, 5), (1, 7), (2, 10))
    assert [(run.start, run.end) for run in log.runs()] == [(5, 7), (7, 10), (10, 15)]


def test_prd_30_the_log_start_stays_below_the_high_watermark() -> None:
    log = log_of((0, 0), leo=100, high_watermark=25)
    with pytest.raises(KafkaError) as refused:
        log.maybe_increment_log_start(26)
    assert refused.value.code == "OFFSET_OUT_OF_RANGE"
    assert log.maybe_increment_log_start(25)
    assert (log.log_start, log.first_offset) == (25, 0), "records stay until their segment is deleted"


def test_prd_30_no_segment_at_or_above_the_high_watermark_is_deleted() -> None:
    log, term = log_with(segment_bytes=7 * SIZE, retention_us=999), Term(0, 1)
    for _ in range(100):
        grow(log, term)
    for high_watermark in range(101):
        log.update_high_watermark(high_watermark)
        segments.delete_old_segments(log, 1_000)
        assert log.log_start <= high_watermark
        assert log.log_start == (high_watermark // 7 * 7 if high_watermark < 100 else 100)
    assert (log.roll(), log.size, log.runs()) == ((100,), 0, ())
    grow(log, term)
    assert (next(fetched_ranges(log.records.read(100, 101, 10**6))).start, log.epochs.entries()) == (100, ((0, 100),))


def test_retention_by_bytes_keeps_at_least_so_much() -> None:
    log, term = log_with(segment_bytes=4 * SIZE, retention_bytes=9 * SIZE), Term(0, 1)
    for _ in range(20):
        grow(log, term)
    log.update_high_watermark(20)
    assert segments.delete_old_segments(log, 0) == [segments.Deleted(0, 8, 2, "retention.bytes")]
    assert log.size == 12 * SIZE
    assert [(run.start, run.end) for run in log.records.runs_from(0, log.leo)] == [(8, 20)], (
        "the run begins at the first segment that is left"
    )


def test_segments_below_the_log_start_go() -> None:
    log, term = log_with(segment_bytes=4 * SIZE), Term(0, 1)
    for _ in range(10):
        grow(log, term)
    log.update_high_watermark(10)
    log.maybe_increment_log_start(8)
    assert segments.delete_old_segments(log, 0) == [segments.Deleted(0, 8, 2, "log-start")]


def test_a_log_start_that_was_not_checkpointed_falls_back_to_the_first_segment() -> None:
    log = log_of((0, 0), leo=10, high_watermark=10)
    log.maybe_increment_log_start(6)
    log.open_at(0)
    assert (log.log_start, [(run.start, run.end) for run in log.runs()]) == (0, [(0, 10)])
    log.open_at(4)
    assert log.log_start == 4


def test_a_torn_batch_is_removed_as_a_whole_in_every_epoch() -> None:
    """Recovery ends a log at the largest batch boundary at or below the offset up to which the data is on disk."""
    log = log_of((0, 10), (1, 20), (2, 30), leo=40)
    boundaries = {5: 5, 10: 10, 11: 10, 19: 10, 20: 20, 29: 20, 30: 30, 39: 30, 40: 40, 41: 40}
    assert {offset: segments.batch_boundary(log, offset) for offset in boundaries} == boundaries


def test_a_log_that_ends_below_its_checkpointed_start_begins_there() -> None:
    log = log_of((0, 0), leo=10, high_watermark=10)
    log.maybe_increment_log_start(8)
    log.truncate_to(9)
    log.open_at(20)
    assert (log.log_start, log.leo) == (20, 20)
