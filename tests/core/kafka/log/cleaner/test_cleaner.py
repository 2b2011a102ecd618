"""One pass of the cleaner, by Kafka's own vectors (CLN) and on a recorded log."""

from __future__ import annotations

import pytest

from core.kafka.log.cleaner.cleanable_offsets import OffsetsToClean, log_to_clean
from core.kafka.log.cleaner.cleaner import clean
from core.kafka.log.cleaner.offset_map import OffsetMap
from core.kafka.log.cleaner.retention import MARKER_KEYS
from core.kafka.log.cleaner.segment_groups import grouped_by_size
from core.kafka.log.control_record import COMMIT
from core.kafka.log.leader_term import Term
from core.kafka.log.log_config import LogConfig
from core.kafka.log.replica_log import ReplicaLog
from core.kafka.release import Release
from tests.core.kafka.log.cleaner.cleaned_log import NEVER, RETENTION, CleanedLog

BEFORE_KIP_534 = Release.named("2.8")


def test_cln_01_a_repeated_batch_is_known_after_cleaning() -> None:
    log = CleanedLog()
    log.put(1, 2, 3, pid=1)
    log.put(3, 1, 4, pid=2)
    log.put(1, 4, pid=3)
    log.roll()
    log.clean()
    assert (log.batches, log.keys, log.offsets) == ([2, 5, 7], [2, 3, 1, 4], [1, 3, 6, 7])
    assert log.last_sequences() == {1: 2, 2: 2, 3: 1}
    assert [log.repeat(1, 0, 3), log.repeat(3, 0, 2), log.repeat(2, 0, 3)] == [(0, 2), (6, 7), (3, 5)]
    log.put(2, pid=4)
    log.roll()
    log.clean()
    assert (log.batches, log.offsets) == ([2, 5, 7, 8], [3, 6, 7, 8])


def test_cln_02_aborted_records_go_and_hide_nothing() -> None:
    log = CleanedLog()
    log.put(1, 2, pid=1, txn=True)
    log.put(2, 3, pid=2, txn=True)
    log.put(3, 4, pid=1, txn=True)
    log.abort(1)
    log.commit(2)
    log.put(2, pid=1, txn=True)
    log.commit(1)
    log.roll()
    log.clean()
    assert (log.keys, log.offsets) == ([3, 2], [3, 6, 7, 8, 9])


def log_of_cln_03(release: Release) -> CleanedLog:
    log = CleanedLog(release, delete_retention_us=50_000)
    log.put(1, 2, pid=1, txn=True)
    log.put(2, 3, pid=2, txn=True)
    log.put(3, 4, pid=1, txn=True)
    log.commit(1)
    log.commit(2)
    log.put(2, 3, pid=1, txn=True)
    log.abort(1)
    log.put(4, 5, pid=2, txn=True)
    log.put(5, 6, pid=1, txn=True)
    log.commit(1)
    log.abort(2)
    log.put(6, 7, pid=2, txn=True)
    log.commit(2)
    log.roll()
    return log


def test_cln_03_and_04_passes_with_a_small_map_keep_the_index_until_the_data_is_gone() -> None:
    log = log_of_cln_03(Release.named("3.3"))
    log.clean(0, slots=4)
    assert (log.dirty, log.offsets) == (4, [0, 2, 3, 4, 5, 6, 7, 10, *range(13, 20)])
    assert log.aborted == [(1, 8, 10, 11), (2, 11, 16, 17)]
    log.clean(4, slots=4)
    assert (log.dirty, log.offsets, log.aborted) == (14, [0, 2, 4, 5, 6, 7, 10, *range(13, 20)], [])
    log.now += 50_000
    log.clean(14, slots=4)
    assert (log.dirty, log.offsets) == (20, [0, 2, 4, 5, 6, 7, 13, 15, 17, 18, 19]), "the ABORT markers are gone"


def test_kafka_13727_before_the_fix_a_partial_pass_lost_the_aborted_transactions_above_it() -> None:
    log = log_of_cln_03(Release.named("2.7"))
    log.clean(0, slots=4)
    assert (log.dirty, log.aborted) == (4, []), "records 8, 9, 11 and 12 now count as committed"
    assert {8, 9, 11, 12} <= set(log.offsets)


def test_cln_06_a_commit_marker_outlives_its_data() -> None:
    log = CleanedLog()
    log.put(1, pid=1, txn=True)
    log.put(2, 3, pid=1, txn=True)
    log.commit(1)
    log.put(2, pid=1, txn=True)
    log.commit(1)
    log.roll()
    log.clean()
    assert (log.keys, log.offsets) == ([1, 3, 2], [0, 2, 3, 4, 5])
    log.put(1, 3, pid=1, txn=True)
    log.commit(1)
    log.roll()
    log.clean()
    assert log.offsets == [*range(3, 9)]
    log.clean()
    assert (log.offsets, log.horizons) == ([*range(3, 9)], {3: log.now + RETENTION})
    log.clean(now=NEVER)
    assert log.offsets == [*range(4, 9)], "marker 5 guards key 2 at 4"


def test_cln_07_and_08_empty_batches_stay_for_the_last_sequence_of_a_producer() -> None:
    log = CleanedLog()
    log.put(2, 3, pid=1, txn=True)
    log.roll()
    log.put(2, 3, pid=2, txn=True)
    log.commit(2)
    log.roll()
    log.put(2)
    log.put(3)
    log.commit(1)
    log.roll()
    for _ in range(2):
        log.clean()
        assert (log.offsets, log.batches) == ([4, 5, 6, 7], [1, 3, 4, 5, 6, 7])
    log.put(1, pid=2, txn=True)
    log.commit(2)
    log.roll()
    log.clean()
    assert (log.offsets, log.batches) == ([*range(4, 10)], [1, *range(4, 10)]), "batch 3 goes, its marker not yet"
    log.clean_twice()
    assert (log.offsets, log.batches) == ([*range(5, 10)], [1, *range(5, 10)])


def test_cln_09_the_last_marker_of_a_producer_is_emptied() -> None:
    log = CleanedLog()
    log.commit(1)
    log.put(2)
    log.put(3)
    log.roll()
    log.clean_twice()
    assert (log.offsets, log.batches) == ([1, 2], [0, 1, 2])


def test_cln_10_an_aborted_transaction_over_two_segments() -> None:
    log = CleanedLog()
    log.put(1, pid=1, txn=True)
    log.roll()
    log.abort(1)
    log.roll()
    log.clean()
    assert (log.offsets, log.batches) == ([1], [0, 1])
    log.clean(now=NEVER)
    assert (log.offsets, log.batches) == ([1], [0, 1])


def test_cln_11_an_abort_marker_goes_after_its_data() -> None:
    log = CleanedLog()
    log.put(1, pid=1, txn=True)
    log.put(2, 3, pid=1, txn=True)
    log.abort(1)
    log.put(3, pid=1, txn=True)
    log.commit(1)
    log.roll()
    log.clean()
    assert log.offsets == [3, 4, 5]
    log.clean_twice()
    assert log.offsets == [4, 5]


def log_of_cln_12(release: Release) -> CleanedLog:
    log = CleanedLog(release)
    for key in (1, 2):
        log.put(key, pid=1, txn=True, seq=0)
        log.commit(1)
    log.put(1)
    log.put(2)
    log.roll()
    return log


def test_cln_12_an_empty_batch_goes_although_its_sequence_is_used_again() -> None:
    log = log_of_cln_12(Release.named("3.3"))
    log.clean()
    assert (log.offsets, log.batches) == ([1, 3, 4, 5], [1, 2, 3, 4, 5])
    log.clean_twice()
    assert (log.offsets, log.batches) == ([3, 4, 5], [2, 3, 4, 5])


def test_kafka_8335_before_the_fix_the_empty_batch_stayed() -> None:
    log = log_of_cln_12(Release.named("2.1"))
    log.clean()
    assert log.batches == [0, 1, 2, 3, 4, 5]
    log.clean_twice()
    assert log.batches == [0, 1, 2, 3, 4, 5]


def test_cln_14_the_last_sequence_of_each_producer_stays() -> None:
    log = CleanedLog()
    log.put(0)
    for pid in (1, 2, 3):
        log.put(0, pid=pid)
    log.put(1, pid=2)
    log.roll()
    log.clean()
    assert (log.offsets, log.batches) == ([3, 4], [1, 3, 4])
    assert log.last_sequences() == {1: 0, 2: 1, 3: 0}


def test_cln_17_a_full_map_ends_the_pass() -> None:
    log = CleanedLog()
    for key in (0, 1, 0, 1, 0):
        log.put(key)
    log.roll()
    for dirty, left in ((2, [1, 2, 3, 4]), (3, [2, 3, 4]), (4, [3, 4])):
        log.clean(dirty, slots=2)
        assert (log.offsets, log.dirty) == (left, dirty + 1)


@pytest.mark.parametrize("release", ["0.10.2", "2.8", "3.3", "4.3"])
def test_cln_18_timestamps_of_records_do_not_matter_for_tombstones(release: str) -> None:
    log = CleanedLog(Release.named(release))
    log.now = 10 * RETENTION
    log.put(0, at=log.now + RETENTION + 10_000_000)
    log.put(0, value=None, at=log.now - RETENTION - 10_000_000)
    log.put(1)
    log.roll()
    log.clean()
    log.clean(3)
    assert log.offsets == [1, 2]
    log.clean(1)
    assert (log.offsets, log.batches[0]) == ([1, 2], 1)


def test_a_tombstone_goes_after_its_delete_horizon() -> None:
    log = CleanedLog()
    log.put("a", "b")
    log.put("a", value=None)
    log.put("c")
    log.roll()
    log.clean()
    assert (log.offsets, log.horizons) == ([1, 2, 3], {2: log.now + RETENTION})
    log.clean(now=log.now + RETENTION - 1)
    assert log.offsets == [1, 2, 3]
    log.clean(now=log.now + RETENTION)
    assert log.offsets == [1, 3]


def test_before_kip_534_the_modification_time_of_the_last_clean_segment_decides() -> None:
    log = CleanedLog(BEFORE_KIP_534)
    log.put("a", value=None)
    log.roll()
    log.clean()
    log.now += 2 * RETENTION
    log.put("b")
    log.roll()
    log.clean(log.dirty)
    assert log.offsets == [0, 1], "segment 0 is the last clean one, and it is not older than itself"
    log.put("c")
    log.roll()
    log.clean(log.dirty)
    assert log.offsets == [0, 1, 2], "0 and 1 were joined: their segment now has the time of the younger one"


def test_before_kip_534_a_tombstone_in_an_old_segment_goes() -> None:
    log = CleanedLog(BEFORE_KIP_534, segment_bytes=100)
    log.put("a", value=None)
    log.roll()
    log.now += 2 * RETENTION
    log.put("b")
    log.roll()
    log.clean()
    assert log.offsets == [0, 1]
    log.put("c")
    log.roll()
    log.clean(log.dirty)
    assert log.offsets == [1, 2]


def test_records_without_keys_are_dropped() -> None:
    log = CleanedLog()
    log.log.append_as_leader(log.term, (0, 3, 300, "p", 0, log.now, -1, -1, -1, False, None))
    log.log.update_high_watermark(3)
    log.put("a")
    log.roll()
    log.clean()
    assert log.offsets == [3]


@pytest.mark.parametrize(("release", "batches"), [("3.9", [0]), ("4.0", [0, 2])])
def test_kafka_17076_the_last_batch_of_the_cleaned_range_stays(release: str, batches: list[int]) -> None:
    log = CleanedLog(Release.named(release))
    log.put("a")
    log.put("b")
    log.put("b", value=None)
    log.roll()
    log.clean_twice()
    assert (log.offsets, log.batches) == ([0], batches)


def test_segments_are_joined_up_to_segment_bytes() -> None:
    log = CleanedLog(segment_bytes=200)
    for number in range(6):
        log.put(number % 2)
        log.roll()
    log.clean()
    assert (log.log.roll(), log.offsets) == ((0, 2, 4, 6), [4, 5])
    log.clean()
    assert log.log.roll() == (0, 6)


@pytest.mark.parametrize(("records", "groups"), [(2**31 - 2, 1), (2**31 - 1, 2)])
def test_segments_are_joined_while_offsets_fit_into_the_index(records: int, groups: int) -> None:
    """An index stores an offset relative to the first one of the new segment in 31 bits (`Cleaner#groupSegmentsBySize`)."""
    log = ReplicaLog()
    log.configure(LogConfig(compact=True, delete=False))
    for base, count in ((0, 2), (2, records), (2 + records, 1)):
        log.append_as_leader(Term(0, 1), (base, count, 100, "p", base, 0, -1, 0, -1, False, ()))
        log.bases = (*log.roll(), log.leo)
    assert len(grouped_by_size(log, 2 + records)) == groups


@pytest.mark.parametrize(("release", "offsets"), [("2.1", [0, 1, 2, 4, 5]), ("2.4", [0, 1, 2, 3, 4, 5])])
def test_kafka_8351_a_commit_marker_in_the_next_segment(release: str, offsets: list[int]) -> None:
    """Before the fix, the marker is removed, so the transaction is open again for a process that reads the log from its beginning."""
    log = CleanedLog(Release.named(release), delete_retention_us=0)
    log.put("x")
    log.roll()
    log.clean()
    log.put("a", "b", pid=1, txn=True)
    log.roll()
    log.commit(1)
    log.put("c")
    log.roll()
    log.put("d")
    log.clean(log.dirty)
    assert log.offsets == offsets
    log.last_sequences()
    producers = log.log.producer_state()
    assert producers is not None
    assert bool(producers.ongoing) is (release == "2.1")


@pytest.mark.parametrize(("release", "end"), [("2.1", 2), ("2.4", 4)])
def test_kafka_8764_a_segment_without_its_last_offsets(release: str, end: int) -> None:
    """A replica that fetched from a cleaned leader lacks the last offsets of a segment. Before the fix, no pass gets beyond them."""
    log = CleanedLog(Release.named("2.1"))
    log.put("a")
    log.put("b")
    log.put("c")
    log.put("d")
    log.roll()
    log.put("c", "d")
    log.roll()
    log.put("e")
    log.clean()
    log.log.bases = (0, 4, 6)
    log.release = Release.named(release)
    to_clean = log_to_clean(log.log, OffsetsToClean(0, 4, False), log.now)
    done = clean(to_clean, OffsetMap(100), log.now, log.release)
    assert (done.removed, done.end) == (0, end)


def test_a_pass_gets_beyond_markers_whatever_the_release() -> None:
    log = CleanedLog(Release.named("2.1"))
    log.put("a", pid=1, txn=True)
    log.commit(1)
    log.roll()
    log.put("b")
    assert log.clean().end == 2, "the map covers each batch (`Cleaner#buildOffsetMapForSegment`)"


@pytest.mark.parametrize(("release", "kept"), [("2.8", False), ("3.3", True)])
def test_kafka_14055_a_key_that_equals_the_key_of_a_marker(release: str, kept: bool) -> None:
    log = CleanedLog(Release.named(release))
    log.put("a", pid=1, txn=True)
    log.commit(1)
    log.put(MARKER_KEYS[COMMIT])
    log.roll()
    log.put("b")
    log.clean()
    assert log.offsets == ([0, 1, 2, 3] if kept else [0, 2, 3])
