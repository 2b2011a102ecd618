"""The base offsets of a log's segments. The base offsets are computed from the batches on demand, so that appends stay fast.

Kafka rolls segments while it appends. isrlab computes the base offsets when it needs them, for example for retention or recovery. It
bisects the batches that were appended since the last computation. The result is the same as in Kafka, because a base offset depends only on
the settings and on the batches before it, and isrlab updates the base offsets before the settings change.
"""

from __future__ import annotations

from core.kafka.log.index.segment_indexes import SegmentIndexes
from core.kafka.log.leader_term import Run, Term, timestamp_of
from core.kafka.log.log_config import LogConfig


def rolled(bases: tuple[int, ...], runs: tuple[Run, ...], config: LogConfig) -> tuple[int, ...]:
    """Return the base offsets of all segments: those in `bases`, which are already known, and those of newer segments
    (`LogSegment#shouldRoll`).

    A batch starts a new segment if the active segment is not empty and one of these conditions is true: the batch would make the segment
    larger than segment.bytes, the batch is more than segment.ms newer than the segment's first batch, or an index of the segment is full.
    """
    if config.index_can_fill:
        return _rolled_batch_by_batch(bases, runs, config)
    new: list[int] = []
    base = bases[-1]
    used, since = 0, -1
    for run in runs:
        term, at = run.term, max(run.start, base)
        while at < run.end:
            i = term.number_after(at)
            if i == term.count:  # log compaction removed the rest of the run
                break
            if since < 0:
                since = term.batch(i).timestamp
            floor = term.bytes_before(at)
            full = max(i, term.number_above(floor + config.segment_bytes - used))
            aged = _first_younger(term, since + config.segment_us, i)
            first = max(min(full, aged), i + (used == 0))
            if first == term.count or term.batch(first).base >= run.end:
                used += term.bytes_before(run.end) - floor
                at = run.end
            else:
                base = at = max(at, term.batch(first).base)
                new.append(base)
                used, since = 0, -1
    return (*bases, *new) if new else bases


def _rolled_batch_by_batch(bases: tuple[int, ...], runs: tuple[Run, ...], config: LogConfig) -> tuple[int, ...]:
    """Return the same result as `rolled`, but examine every batch, because each batch affects whether an index is full."""
    found = [*bases]
    indexes, since = SegmentIndexes(found[-1], config), -1
    for run in runs:
        term, start = run.term, max(run.start, bases[-1])
        for batch in term.batches_within(start, run.end) if start < run.end else ():
            first, end = max(batch.base, start), batch.base + batch.records
            floor = term.bytes_before(first)
            if indexes.size:
                large = indexes.size + term.bytes_before(end) - floor > config.segment_bytes
                if large or batch.timestamp > since + config.segment_us or indexes.is_full:
                    found.append(first)
                    indexes, since = SegmentIndexes(first, config), -1
            if since < 0:
                since = batch.timestamp
            end = min(end, run.end)
            indexes.append(end - 1, batch.timestamp, term.bytes_before(end) - floor)
    return tuple(found)


def _first_younger(term: Term, time: int, first: int) -> int:
    """Return the index of the first batch, starting at index `first`, whose timestamp is after `time`."""
    if not term.stamped:
        return max(first, term.number_later(time))
    return next((i for i in range(first, term.count) if timestamp_of(term.fields(i)) > time), term.count)
