"""Operations on segments: retention deletes old segments, and recovery removes a torn batch from the last one."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from core.kafka.log.replica_log import ReplicaLog


class Deleted(NamedTuple):
    """The offsets [start, end) of segments that retention deleted, and the setting that caused the deletion.

    The rule `log-start` means that DeleteRecords had moved the log start past the segments.
    """

    start: int
    end: int
    segments: int
    rule: str


def delete_old_segments(log: ReplicaLog, now: int) -> list[Deleted]:
    """Apply retention: delete old segments, oldest first, but none above the high watermark (`UnifiedLog#deleteOldSegments`).

    If cleanup.policy does not contain `delete`, only segments below the log start are deleted.
    The active segment is deleted only if it has records; in that case, a new segment is rolled first.
    """
    deleted = []
    for rule, wanted in (
        ("log-start", _below_log_start),
        ("retention.bytes", _too_large),
        ("retention.ms", _too_old),
    )[: 3 if log.config.delete else 1]:
        bases = log.roll()
        count = wanted(log, bases, now)
        while count and _end(log, bases, count - 1) > log.high_watermark:
            count -= 1
        if count == len(bases) and bases[-1] == log.leo:
            count -= 1
        if count:
            end = _end(log, bases, count - 1)
            deleted.append(Deleted(bases[0], end, count, rule))
            log.bases = bases[count:] or (log.leo,)
            log.drop_below(log.bases[0])
    return deleted


def _end(log: ReplicaLog, bases: tuple[int, ...], number: int) -> int:
    return bases[number + 1] if number + 1 < len(bases) else log.leo


def _below_log_start(log: ReplicaLog, bases: tuple[int, ...], now: int) -> int:
    return sum(1 for base in bases[1:] if base <= log.log_start)


def _too_large(log: ReplicaLog, bases: tuple[int, ...], now: int) -> int:
    limit = log.config.retention_bytes
    if limit < 0:
        return 0
    left = log.size - limit
    for number, base in enumerate(bases):
        left -= log.records.bytes_between(base, _end(log, bases, number))
        if left < 0:
            return number
    return len(bases)


def _too_old(log: ReplicaLog, bases: tuple[int, ...], now: int) -> int:
    limit = log.config.retention_us
    if limit < 0:
        return 0
    for number in range(len(bases)):
        if now - largest_timestamp(log, bases[number], _end(log, bases, number)) <= limit:
            return number
    return len(bases)


def largest_timestamp(log: ReplicaLog, start: int, end: int) -> int:
    """Return the largest timestamp among the records in [start, end), in µs; 0 if there are none."""
    if not log.records.starts or end <= log.records.starts[0]:
        return 0
    runs = log.records.runs_from(start, log.leo)
    if any(run.term.stamped for run in runs if run.start < end):
        within = (run.term.batches_within(max(start, run.start), min(end, run.end)) for run in runs if run.start < end)
        return max((batch.timestamp for batches in within for batch in batches), default=0)
    if any(run.term.compacted for run in runs if run.start < end):
        last = [batch for run in runs if run.start < end for batch in run.term.batches_within(max(start, run.start), min(end, run.end))]
        return last[-1].timestamp if last else 0
    term = log.records.terms[bisect_right(log.records.starts, end - 1) - 1]
    return term.batch(term.number_after(end - 1)).timestamp


def batch_boundary(log: ReplicaLog, offset: int) -> int:
    """Return the largest offset at or below `offset` where a batch starts or the log ends. Recovery removes a torn batch as a whole."""
    if not log.records.starts or offset >= log.leo or offset <= log.records.starts[0]:
        return min(offset, log.leo)
    at = bisect_right(log.records.starts, offset) - 1
    term = log.records.terms[at]
    number = term.number_after(offset)
    base = term.batch(number).base if number < term.count else offset
    return max(log.records.starts[at], min(offset, base))
