"""The part of a log that can be cleaned, by Kafka's own vectors (CLN)."""

from __future__ import annotations

import pytest

from core.kafka.log.cleaner.cleanable_offsets import cleanable_offsets, log_to_clean
from core.kafka.log.cleaner.cleaner import clean
from core.kafka.log.cleaner.offset_map import OffsetMap
from core.kafka.release import CURRENT, Release
from core.sim.units import US_PER_MS
from tests.core.kafka.log.cleaner.cleaned_log import CleanedLog

LAG = 3_600_000 * US_PER_MS


def bounds(log: CleanedLog, checkpoint: int | None = None) -> tuple[int, int]:
    found = cleanable_offsets(log.log, checkpoint, log.now, log.release)
    return found.first_dirty, found.first_uncleanable


def test_cln_21_undecided_records_are_not_cleanable() -> None:
    log = CleanedLog(min_compaction_lag_us=LAG)
    for key in "abc":
        log.put(key, pid=1, txn=True)
    log.roll()
    log.now += LAG + 1
    assert bounds(log) == (0, 0)
    log.abort(1)
    log.roll()
    assert bounds(log) == (0, 3), "the marker is younger than min.compaction.lag.ms"
    log.now += LAG + 1
    assert bounds(log) == (0, 4)


@pytest.mark.parametrize(("start", "checkpoint", "dirty", "resets"), [(10, 15, 15, False), (20, 15, 20, True), (0, 25, 0, True)])
def test_cln_23_a_checkpoint_outside_of_the_log_is_reset(start: int, checkpoint: int, dirty: int, resets: bool) -> None:
    log = CleanedLog()
    for key in range(20):
        log.put(key)
    log.log.maybe_increment_log_start(start)
    found = cleanable_offsets(log.log, checkpoint, log.now, CURRENT)
    assert (found.first_dirty, found.resets_checkpoint) == (dirty, resets)


def log_of_cln_24(release: str) -> CleanedLog:
    """Return a log in which key k has value v1 at 0, below the high watermark 5, and v2 at 7, which is not replicated."""
    log = CleanedLog(Release.named(release))
    log.put("k", value="v1")
    for key in "abcdef":
        log.put(key)
    log.put("k", value="v2")
    log.log.high_watermark = 5
    log.roll()
    offsets = cleanable_offsets(log.log, None, log.now, log.release)
    clean(log_to_clean(log.log, offsets, log.now), OffsetMap(1000), log.now, log.release)
    log.log.truncate_to(5)
    return log


@pytest.mark.parametrize(("release", "value"), [("2.8", None), ("3.3", "v1"), ("4.3", "v1")])
def test_cln_24_a_record_that_is_not_replicated_removes_nothing_since_kafka_13194(release: str, value: str | None) -> None:
    assert log_of_cln_24(release).committed().get("k") == value


def test_the_part_that_is_dirty_decides_whether_a_log_is_cleaned() -> None:
    log = CleanedLog()
    for key in range(4):
        log.put(key)
        log.roll()
    half = log_to_clean(log.log, cleanable_offsets(log.log, 2, log.now, CURRENT), log.now)
    assert (half.ratio, half.is_candidate) == (0.5, False), "it must be more than min.cleanable.dirty.ratio"
    assert log_to_clean(log.log, cleanable_offsets(log.log, 1, log.now, CURRENT), log.now).is_candidate


def test_max_compaction_lag_makes_an_old_segment_due() -> None:
    log = CleanedLog(max_compaction_lag_us=LAG)
    for key in range(4):
        log.put(key)
        log.roll()
    assert not log_to_clean(log.log, cleanable_offsets(log.log, 3, log.now, CURRENT), log.now).is_candidate
    log.now += 2 * LAG
    assert log_to_clean(log.log, cleanable_offsets(log.log, 3, log.now, CURRENT), log.now).is_candidate


def test_an_open_transaction_inside_a_segment_holds_back_the_whole_segment() -> None:
    log = CleanedLog()
    log.put("a")
    log.roll()
    log.put("a")
    log.put("b", pid=1, txn=True)
    log.roll()
    offsets = cleanable_offsets(log.log, None, log.now, CURRENT)
    assert (offsets.first_uncleanable, log_to_clean(log.log, offsets, log.now).first_uncleanable) == (2, 1)
