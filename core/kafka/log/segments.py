"""The segments of a log, found out late: where they begin follows from the batches, so an append does nothing for them.

Kafka rolls while it appends. Here the boundaries are worked out when somebody asks (retention, a checkpoint, the loss of
power, recovery), by bisection over the batches appended since the last time; the outcome is the same, because a boundary
depends only on the batches before it and on settings that are applied before they change.
"""

from __future__ import annotations

from bisect import bisect_right
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from core.kafka.log.term import Batch, Term

if TYPE_CHECKING:
    from core.kafka.log.replica_log import ReplicaLog


_timestamp: Final = itemgetter(Batch._fields.index("timestamp"))


class Deleted(NamedTuple):
    """Segments [start, end) that retention deleted, and by which setting; `log_start` means DeleteRecords had moved past them."""

    start: int
    end: int
    segments: int
    rule: str


def roll(log: ReplicaLog) -> tuple[int, ...]:
    """The base offsets of a log's segments, rolled up to its end (`UnifiedLog#maybeRoll`, `LogSegment#shouldRoll`).

    A batch begins the next segment if the active one is not empty and would grow past segment.bytes, or its first batch is
    older by more than segment.ms. A roll flushes what is before it: the recovery point moves to the new base.
    """
    bases = _rolled(log)
    if len(bases) > 1:
        log.bases = bases
    if bases[-1] > log.recovery_point:
        log.recovery_point = bases[-1]
    return bases


def known(log: ReplicaLog) -> tuple[tuple[int, ...], int]:
    """The base offsets and the recovery point that `roll` would find, for who only looks: the log stays as it is."""
    bases = _rolled(log)
    return bases, max(log.recovery_point, bases[-1])


def _rolled(log: ReplicaLog) -> tuple[int, ...]:
    """The bases known, and those of the segments that began since."""
    config = log.config
    bases = (log.first_offset,) if log.bases is None else log.bases
    new: list[int] = []
    base = bases[-1]
    used, since = 0, -1
    for run in log.physical_runs(base):
        term, at = run.term, max(run.start, base)
        while at < run.end:
            i = bisect_right(term.ends, at)
            if since < 0:
                since = term.batch(i).timestamp
            floor = term.bytes_before(at)
            full = bisect_right(term.totals, floor + config.segment_bytes - used, i)
            aged = _first_younger(term, since + config.segment_us, i)
            first = max(min(full, aged), i + (used == 0))
            if first == len(term.written) or term.batch(first).base >= run.end:
                used += term.bytes_before(run.end) - floor
                at = run.end
            else:
                base = at = max(at, term.batch(first).base)
                new.append(base)
                used, since = 0, -1
    return (*bases, *new) if new else bases


def delete_old_segments(log: ReplicaLog, now: int) -> list[Deleted]:
    """Delete the segments that need not be kept, oldest first, none that reaches above the high watermark (`UnifiedLog#deleteOldSegments`).

    The active segment goes only if it has records; a new one is rolled first.
    """
    deleted = []
    for rule, wanted in (
        ("log-start", _below_log_start),
        ("retention.bytes", _too_large),
        ("retention.ms", _too_old),
    ):
        bases = roll(log)
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
        left -= log.bytes_between(base, _end(log, bases, number))
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


def _first_younger(term: Term, time: int, first: int) -> int:
    """Index of the first batch, from one on, whose timestamp is past a time."""
    if not term.stamped:
        return bisect_right(term.written, time, first, key=_timestamp)
    return next((i for i in range(first, len(term.written)) if _timestamp(term.written[i]) > time), len(term.written))


def largest_timestamp(log: ReplicaLog, start: int, end: int) -> int:
    """The largest timestamp of the records from one offset up to another, µs; 0 where there is none."""
    if not log.starts or end <= log.starts[0]:
        return 0
    runs = log.physical_runs(start)
    if any(run.term.stamped for run in runs if run.start < end):
        within = (run.term.batches_within(max(start, run.start), min(end, run.end)) for run in runs if run.start < end)
        return max((batch.timestamp for batches in within for batch in batches), default=0)
    term = log.terms[bisect_right(log.starts, end - 1) - 1]
    return term.batch(bisect_right(term.ends, end - 1)).timestamp


def batch_boundary(log: ReplicaLog, offset: int) -> int:
    """The largest offset up to this one at which a batch begins or the log ends: recovery cuts a torn batch off whole."""
    if not log.starts or offset >= log.leo or offset <= log.starts[0]:
        return min(offset, log.leo)
    at = bisect_right(log.starts, offset) - 1
    term = log.terms[at]
    return max(log.starts[at], term.batch(bisect_right(term.ends, offset)).base)
