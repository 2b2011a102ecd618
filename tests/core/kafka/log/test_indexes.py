"""Offset, time, and transaction indexes, and the files of segments: IDX-02 to IDX-07, IDX-10, IDX-14."""

from __future__ import annotations

import random

import attrs
import pytest

from core.kafka.log.control_record import ABORT, EndTransactionMarker
from core.kafka.log.index.offset_index import OffsetIndex, OffsetPosition
from core.kafka.log.index.segment_indexes import SegmentIndexes
from core.kafka.log.index.sparse_index import SparseIndex
from core.kafka.log.index.time_index import TimeIndex
from core.kafka.log.index.transaction_index import collect_aborted
from core.kafka.log.leader_term import Batch, Term
from core.kafka.log.log_config import DEFAULT, LogConfig
from core.kafka.log.replica_log import ReplicaLog
from core.kafka.log.segment_files import (
    LOG,
    OFFSET_INDEX,
    PRODUCER_SNAPSHOT,
    TIME_INDEX,
    TRANSACTION_INDEX,
    aborted_transactions,
    file_name,
    segment_files,
)
from core.kafka.log.segment_rolling import _rolled_batch_by_batch, rolled

BASE = 45


def offset_index(*entries: tuple[int, int], room: int = 30) -> OffsetIndex:
    index = OffsetIndex(BASE, room * 8)
    for entry in entries:
        index.append(*entry)
    return index


def time_index() -> TimeIndex:
    """Return the index of IDX-06: 29 of 30 entries, (10i, 45+10i)."""
    index = TimeIndex(BASE, 30 * 12)
    for number in range(1, 30):
        index.maybe_append(10 * number, BASE + 10 * number)
    return index


# --- the offset index ----------------------------------------------------------------------------------------------


def test_idx_02_without_an_entry_up_to_the_offset_the_segment_is_read_from_its_start() -> None:
    assert offset_index().lookup(92) == (BASE, 0)
    index = offset_index((47, 10), (50, 20))
    assert index.lookup(46) == (BASE, 0)
    assert [index.lookup(offset) for offset in (47, 49, 50, 51)] == [(47, 10), (47, 10), (50, 20), (50, 20)]


def test_idx_03_the_upper_bound_of_a_fetch() -> None:
    index = offset_index((45, 0), (46, 10), (47, 23), (48, 37))
    first, second, fourth = index.entry(0), index.entry(1), index.entry(3)
    asked = [(first, 5), (first, 10), (first, 22), (first, 23), (second, 24)]
    assert [bound and bound.offset for bound in (index.fetch_upper_bound_offset(*each) for each in asked)] == [46, 46, 47, 47, 48]
    assert [index.fetch_upper_bound_offset(*each) for each in ((fourth, 1), (first, 200), (second, 200))] == [None] * 3
    assert offset_index().fetch_upper_bound_offset(OffsetPosition(0, 0), 5) is None


def test_idx_04_an_index_ascends_and_has_a_limit() -> None:
    index = offset_index((51, 0))
    with pytest.raises(ValueError, match="not larger"):
        index.append(50, 1)
    full = offset_index(*((BASE + number, number) for number in range(1, 31)))
    assert full.is_full
    with pytest.raises(ValueError, match="full: it has 30 entries"):
        full.append(100, 100)


def test_idx_05_the_entry_at_the_truncation_offset_goes() -> None:
    index = OffsetIndex(0, 10 * 8)
    for offset in range(1, 10):
        index.append(offset, offset)
    index.truncate_to(12)
    assert index.last_offset == 9
    index.append(10, 10)
    index.truncate_to(10)
    assert index.last_offset == 9
    index.truncate_to(9)
    assert index.last_offset == 8
    index.append(9, 9)
    index.truncate_to(5)
    assert index.last_offset == 4
    index.truncate_to(0)
    assert (index.entries, index.last_offset) == (0, 0)


def test_a_search_tries_the_warm_end_first_and_needs_few_probes() -> None:
    index = OffsetIndex(0, 10_485_760)
    for offset in range(0, 2 * index.max_entries, 2):
        index.append(offset, offset)
    assert index.entries == 1_310_720
    last = index.keys[-1]
    for target in (-1, 0, 1, 777_777, last - 2_050, last - 2_048, last - 3, last, last + 9):
        found = index.search(target)
        assert found.slot == min(target // 2, index.entries - 1)
        assert found.probes <= 23, "two at the ends, and 21 for 1310720 entries"
        assert found.warm is (target > last - 2_048)


def test_how_many_entries_a_search_compares() -> None:
    assert offset_index().search(92) == (-1, 0, True)
    two = offset_index((47, 10), (50, 20))
    assert [two.search(offset) for offset in (46, 47, 48, 50)] == [(-1, 2, True), (0, 2, True), (0, 2, True), (1, 2, True)]


# --- the time index ------------------------------------------------------------------------------------------------


def test_idx_06_the_time_index() -> None:
    empty = TimeIndex(BASE, 30 * 12)
    assert empty.lookup(100) == empty.last_entry == (-1, BASE)
    index = time_index()
    assert [index.lookup(timestamp) for timestamp in (9, 25, 30)] == [(-1, 45), (20, 65), (30, 75)]
    index.truncate_to(55)
    assert (index.entries, index.last_entry) == (0, (-1, BASE))


def test_idx_07_one_slot_is_reserved_for_the_roll() -> None:
    index = time_index()
    assert index.is_full
    with pytest.raises(ValueError, match="full: it has 29 entries"):
        index.maybe_append(10_000, 1_000)
    index.maybe_append(10_000, 1_000, skip_full_check=True)
    with pytest.raises(ValueError, match="offset 999 is smaller"):
        index.maybe_append(10_000, 999, skip_full_check=True)
    with pytest.raises(ValueError, match="timestamp 9999 is smaller"):
        index.maybe_append(9_999, 1_000, skip_full_check=True)
    index.maybe_append(10_000, 1_001, skip_full_check=True)
    assert index.entries == 30, "an equal timestamp adds nothing"


# --- the transaction index -----------------------------------------------------------------------------------------


def transactional_log() -> ReplicaLog:
    """Return a log with segments of three batches. Producer 7 aborts offsets 0 to 3 with a marker at 4, in the second segment."""
    log, term = ReplicaLog(), Term(0, 1)
    log.configure(LogConfig(segment_bytes=300))
    term.has_producer_ids = True
    for base in range(4):
        log.append_as_leader(term, Batch(base, 1, 100, "p", base, base, 7, 0, base, True))
    log.append_as_leader(term, Batch(4, 1, 78, "p", 4, 4, 7, 0, -1, True, EndTransactionMarker(ABORT, 0)))
    return log


def test_an_aborted_transaction_is_in_the_segment_of_its_marker() -> None:
    log = transactional_log()
    before = (log.producers, log.bases, log.recovery_point)
    first, second = segment_files(log)
    assert (first.base, first.end, second.base, second.end) == (0, 3, 3, 5)
    assert first.transactions == ()
    assert second.transactions == ((7, 0, 4, 5),)
    assert collect_aborted(first.transactions + second.transactions, 0, 3).aborted == ((7, 0, 4, 5),), "the data are in an earlier segment"
    assert (log.producers, log.bases, log.recovery_point) == before, "a look changes nothing"
    log.producer_state()
    assert aborted_transactions(log) == ((7, 0, 4, 5),)


# --- the files of segments -----------------------------------------------------------------------------------------


def log_of_sets(count: int, config: LogConfig, step_us: int = 10_000, bytes_each: int = 100) -> ReplicaLog:
    log, term = ReplicaLog(), Term(0, 1)
    log.configure(config)
    for base in range(count):
        log.append_as_leader(term, Batch(base, 1, bytes_each, "p", base, base * step_us))
    return log


def test_idx_10_a_closed_segment_has_an_entry_for_each_set_but_the_first() -> None:
    log = log_of_sets(20, LogConfig(segment_bytes=1_000, index_interval_bytes=99))
    closed, active = segment_files(log)
    assert (closed.active, active.active) == (False, True)
    for index, size in ((closed.indexes.offsets, 8), (closed.indexes.times, 12)):
        assert (index.entries, index.max_entries, index.file_bytes) == (9, 9, 9 * size)
    assert closed.indexes.offsets.lookup(5) == (5, 500)
    log.truncate_to(0)
    (only,) = segment_files(log)
    assert only.active
    assert only.indexes.offsets.max_entries == DEFAULT.segment_index_bytes // 8
    assert only.indexes.times.max_entries == DEFAULT.segment_index_bytes // 12
    closed.indexes.offsets.resize(80)
    assert (closed.indexes.offsets.entries, closed.indexes.offsets.max_entries) == (9, 10), "a resized index keeps its entries"


def test_idx_14_names_of_files() -> None:
    assert file_name(0, LOG) == "00000000000000000000.log"
    suffixes = (LOG, OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX, PRODUCER_SNAPSHOT)
    names = [file_name(1_234_567, suffix) for suffix in suffixes]
    assert names == [f"00000000000001234567{suffix}" for suffix in (".log", ".index", ".timeindex", ".txnindex", ".snapshot")]


def test_entries_are_sparse_and_name_the_last_offset_of_a_batch() -> None:
    log, term = ReplicaLog(), Term(0, 1)
    for number in range(30):
        log.append_as_leader(term, Batch(log.leo, 10, 1_000, "p", number, number * 1_000_000))
    (segment,) = segment_files(log)
    offsets = segment.indexes.offsets
    assert [*zip(offsets.keys, offsets.values, strict=True)] == [(59, 5_000), (109, 10_000), (159, 15_000), (209, 20_000), (259, 25_000)]
    assert segment.indexes.times.keys == [5_000, 10_000, 15_000, 20_000, 25_000]
    assert segment.indexes.times.values == offsets.keys
    assert [batch.position for batch in segment.batches] == [*range(0, 30_000, 1_000)]
    assert segment.size == 30_000


def test_a_closed_segment_gets_a_last_time_entry() -> None:
    log = log_of_sets(25, LogConfig(segment_bytes=1_000, index_interval_bytes=250))
    closed = segment_files(log)[0]
    assert closed.indexes.offsets.keys == [3, 6, 9]
    assert closed.indexes.times.keys == [30, 60, 90]
    log = log_of_sets(25, LogConfig(segment_bytes=1_000, index_interval_bytes=350))
    closed = segment_files(log)[0]
    assert closed.indexes.offsets.keys == [4, 8]
    assert closed.indexes.times.keys == [40, 80, 90]
    assert segment_files(log)[-1].indexes.times.keys == [240], "an active segment does not"


def test_a_replica_with_a_part_of_a_batch_has_positions_of_that_part() -> None:
    log, first, second = ReplicaLog(), Term(0, 1), Term(1, 2)
    first.append(Batch(0, 10, 1_000, "p", 0, 0))
    second.append(Batch(4, 2, 200, "p", 1, 0))
    log.append_as_follower((0, 4, first, 400, None))
    log.append_as_follower((4, 6, second, 200, None))
    (segment,) = segment_files(log)
    assert [(each.start, each.end, each.position, each.bytes, each.leader_epoch) for each in segment.batches] == [
        (0, 4, 0, 400, 0),
        (4, 6, 400, 200, 1),
    ]


# --- a full index rolls a segment ----------------------------------------------------------------------------------


def test_a_full_index_starts_a_new_segment() -> None:
    log = log_of_sets(20, LogConfig(index_interval_bytes=99, segment_index_bytes=60, segment_bytes=10**6))
    assert log.roll() == (0, 5, 10, 15), "the time index has room for five entries, and one is reserved"
    log = log_of_sets(20, LogConfig(index_interval_bytes=0, segment_index_bytes=40, segment_bytes=10**6), step_us=0)
    assert log.roll() == (0, 6, 12, 18), "without new timestamps the offset index is full first"
    for segment in segment_files(log):
        assert segment.indexes.offsets.entries <= 5


def test_with_the_defaults_an_index_is_never_full_before_its_segment() -> None:
    assert not DEFAULT.index_can_fill
    assert not LogConfig(segment_bytes=2**31 - 1).index_can_fill
    assert LogConfig(segment_index_bytes=4_096).index_can_fill


def test_visiting_every_batch_finds_the_same_bases_while_no_index_is_full() -> None:
    draw = random.Random("rolling")
    for _ in range(60):
        log = ReplicaLog()
        config = LogConfig(segment_bytes=draw.randrange(200, 2_000), segment_us=draw.randrange(20, 200))
        log.configure(config)
        at = 0
        for epoch in range(draw.randrange(1, 6)):
            term = Term(epoch, 1)
            term.stamped = draw.random() < 0.3
            for _ in range(draw.randrange(1, 30)):
                at = draw.randrange(100) if term.stamped else at + draw.randrange(15)
                log.append_as_leader(term, Batch(log.leo, draw.randrange(1, 6), draw.randrange(1, 500), "p", 0, at))
        known = (log.first_offset,)
        runs = log.records.runs_from(0, log.leo)
        assert _rolled_batch_by_batch(known, runs, config) == rolled(known, runs, config)


def test_searches_agree_with_a_scan() -> None:
    draw = random.Random("searches")
    for _ in range(30):
        index = SparseIndex(0, 10**6, draw.choice((8, 4_000)))
        index.keys = sorted(draw.sample(range(500), draw.randrange(1, 60)))
        index.values = index.keys
        for target in range(-1, 501, 7):
            assert index.search(target).slot == sum(key <= target for key in index.keys) - 1


def test_a_closed_time_index_takes_no_further_entries() -> None:
    """Closing a segment trims the file of the index to its entries."""
    indexes = SegmentIndexes(0, attrs.evolve(DEFAULT, segment_index_bytes=2 * 12, index_interval_bytes=0))
    for number in range(2):
        indexes.append(number, (number + 1) * 1_000_000, 10)
        indexes.close()
        assert indexes.times.entries == 1
