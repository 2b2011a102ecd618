"""The part of a log that can be cleaned now (Kafka: `LogCleanerManager.cleanableOffsets`, `LogToClean`)."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from core.kafka.ids import NO_OFFSET
from core.kafka.log.replica_log import ReplicaLog
from core.kafka.log.segments import largest_timestamp
from core.kafka.release import Release


class OffsetsToClean(NamedTuple):
    """The range of offsets that can be cleaned.

    Attributes:
        first_dirty: the first offset that has never been cleaned.
        first_uncleanable: the first offset that cannot be cleaned yet.
        resets_checkpoint: whether the cleaner resets the checkpoint to the log start, which it does if the checkpoint is outside the log.
    """

    first_dirty: int
    first_uncleanable: int
    resets_checkpoint: bool


def cleanable_offsets(log: ReplicaLog, checkpoint: int | None, now: int, release: Release) -> OffsetsToClean:
    """Return the range of offsets that can be cleaned. `checkpoint` is the offset in the cleaner's checkpoint; None if there is none.

    The range ends before the active segment, before open transactions, and before segments that are younger than min.compaction.lag.ms.
    """
    first_dirty = log.log_start if checkpoint is None else checkpoint
    reset = not log.log_start <= first_dirty <= log.leo
    if reset:
        first_dirty = log.log_start
    bases = log.roll()
    first_uncleanable = bases[-1]
    stable = _first_unstable(log, release)
    if stable != NO_OFFSET:
        first_uncleanable = min(first_uncleanable, stable)
    lag = log.config.min_compaction_lag_us
    if lag > 0:
        for base, end in _dirty_segments(bases, first_dirty):
            if largest_timestamp(log, base, end) > now - lag:
                first_uncleanable = min(first_uncleanable, base)
                break
    return OffsetsToClean(first_dirty, max(first_dirty, first_uncleanable), reset)


def _first_unstable(log: ReplicaLog, release: Release) -> int:
    """Return the first offset that cannot be cleaned because of a transaction or, since KAFKA-13194, because of the high watermark. If
    neither a transaction nor the high watermark prevents cleaning, return NO_OFFSET.
    """
    if release.cleans_below_high_watermark:
        return log.last_stable_offset()
    producers = log.producer_state()
    return NO_OFFSET if producers is None else producers.first_unstable_offset(log.high_watermark)


def _dirty_segments(bases: tuple[int, ...], first_dirty: int) -> list[tuple[int, int]]:
    """Return the segments from the one that contains the first dirty offset up to, but not including, the active segment."""
    first = bisect_right(bases, first_dirty) - 1
    return [*zip(bases[first:-1], bases[first + 1 :], strict=True)]


class LogToClean(NamedTuple):
    """The part of a log that one cleaning pass covers.

    Attributes:
        log: the log to clean.
        first_dirty: the first offset that was never cleaned.
        first_uncleanable: the base offset of the first segment that cannot be cleaned yet.
        clean_bytes: the size of the part that was cleaned before.
        cleanable_bytes: the size of the part that can be cleaned.
        is_due: whether the oldest dirty segment is older than max.compaction.lag.ms.
    """

    log: ReplicaLog
    first_dirty: int
    first_uncleanable: int
    clean_bytes: int
    cleanable_bytes: int
    is_due: bool

    @property
    def ratio(self) -> float:
        """The fraction of dirty bytes, from 0 to 1."""
        total = self.clean_bytes + self.cleanable_bytes
        return self.cleanable_bytes / total if total else 0.0

    @property
    def is_candidate(self) -> bool:
        """Whether the cleaner cleans the log at its next run."""
        return self.ratio > self.log.config.min_cleanable_ratio or (self.is_due and self.cleanable_bytes > 0)


def log_to_clean(log: ReplicaLog, offsets: OffsetsToClean, now: int) -> LogToClean:
    """Return the part of a log that a cleaning pass would cover. The pass ends before the segment that contains the first uncleanable
    offset."""
    bases = log.roll()
    floor = bases[bisect_right(bases, offsets.first_uncleanable) - 1]
    first = bases[bisect_right(bases, min(offsets.first_dirty, floor)) - 1]
    clean_until = next((base for base in bases if base >= offsets.first_dirty), log.leo)  # a segment that is partly clean counts twice
    return LogToClean(
        log,
        offsets.first_dirty,
        floor,
        log.records.bytes_between(bases[0], clean_until),
        log.records.bytes_between(first, floor),
        _is_due(log, bases, offsets.first_dirty, now),
    )


def _is_due(log: ReplicaLog, bases: tuple[int, ...], first_dirty: int, now: int) -> bool:
    """Return whether the oldest dirty segment is older than max.compaction.lag.ms (`LogCleanerManager.maxCompactionDelay`)."""
    until = now - log.config.max_compaction_lag_us
    return until > 0 and any(0 < first_timestamp(log, base, end) < until for base, end in _dirty_segments(bases, first_dirty))


def first_timestamp(log: ReplicaLog, start: int, end: int) -> int:
    """Return the timestamp of the first batch in [start, end), in µs; 0 if there is none."""
    for run in log.records.runs_from(start, log.leo):
        if run.start >= end:
            break
        for batch in run.term.batches_within(max(start, run.start), min(end, run.end)):
            return batch.timestamp
    return 0
