"""Lookups in a log, step by step: the segment, the index entry, the scan, and the answer (Kafka: `LocalLog#read`, `LogSegment#read`).

Each step reports, as data and as a sentence, which file it reads and what it finds there. Each step does the same work as a broker: it
searches an index with a binary search, or reads the headers of a few batches.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Final, NamedTuple

from core.kafka import errors
from core.kafka.log.index.offset_index import OffsetPosition
from core.kafka.log.index.sparse_index import WARM_BYTES, Found
from core.kafka.log.index.time_index import NO_TIMESTAMP, TimestampOffset
from core.kafka.log.index.transaction_index import collect_aborted
from core.kafka.log.replica_log import ReplicaLog
from core.kafka.log.segment_files import LOG, OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX, PositionedBatch, SegmentFiles, segment_files

SEGMENT: Final = "segment"
SCAN: Final = "scan"
ANSWER: Final = "answer"

MAX_BYTES: Final = 1_048_576
"""The default of max.partition.fetch.bytes, which limits the size of the answer to a lookup by offset."""

NOT_FOUND: Final = -1
"""The offset that a lookup returns if it finds no record."""


class LookupStep(NamedTuple):
    """One step of a lookup.

    Attributes:
        step: `segment`, `index`, `timeindex`, `txnindex`, `scan`, or `answer`.
        file: the name of the file that the step reads; empty if it reads none.
        offset: the offset that the step finds; NOT_FOUND if there is none.
        timestamp: the timestamp that the step finds, in ms; NO_TIMESTAMP if there is none.
        position: the position in the segment file that the step finds; -1 if it finds none.
        probes: the number of index entries that the step compares.
        batches: the number of batch headers that the step reads.
        bytes: the number of bytes in the segment file from the first batch that the step reads up to the batch that the step finds.
        sentence: a sentence that describes the step.
    """

    step: str
    file: str
    offset: int
    timestamp: int
    position: int
    probes: int
    batches: int
    bytes: int
    sentence: str


class Lookup(NamedTuple):
    """A lookup and its result.

    Attributes:
        steps: the steps of the lookup, in order.
        error: OFFSET_OUT_OF_RANGE, or NONE.
        offset: for a lookup by offset, the first offset in the answer's first batch; for a lookup by timestamp, the offset of the record;
            NOT_FOUND if there is none.
        timestamp: the timestamp of the record at `offset`, in ms; NO_TIMESTAMP if there is none.
        segment: the segment that contains the answer; None if there is no record.
        batch: the first batch in the answer; None if there is no record.
        bytes: the number of bytes that a fetch gets from the segment; 0 for a lookup by timestamp.
        end: the offset after the last complete batch that a fetch gets.
    """

    steps: tuple[LookupStep, ...]
    error: str = errors.NONE
    offset: int = NOT_FOUND
    timestamp: int = NO_TIMESTAMP
    segment: SegmentFiles | None = None
    batch: PositionedBatch | None = None
    bytes: int = 0
    end: int = NOT_FOUND


def lookup_by_offset(log: ReplicaLog, offset: int, max_bytes: int = MAX_BYTES) -> Lookup:
    """Look up the batches starting at an offset, as a fetch does. A fetch gets batches from one segment: at most `max_bytes` bytes, but at
    least one batch.
    """
    if not log.log_start <= offset <= log.leo:
        side = f"below the log start offset {log.log_start}" if offset < log.log_start else f"above the log end offset {log.leo}"
        return Lookup((_step(ANSWER, "", f"Offset {offset} is {side}, so the answer is OFFSET_OUT_OF_RANGE."),), errors.OFFSET_OUT_OF_RANGE)
    segments = segment_files(log)
    number = bisect_right(segments, offset, key=lambda each: each.base) - 1
    segment = segments[number]
    steps = [
        _step(
            SEGMENT, segment.name(),
            f"Among {_count(len(segments), 'segment')}, {segment.name()} has the greatest base offset that is at most {offset}.",
            offset=segment.base, position=0,
        )
    ]  # fmt: skip
    while True:
        entry = _read_offset_index(segment, max(offset, segment.base), steps)
        found = _scan_for_offset(segment, entry, offset, steps)
        if found is not None:
            lookup = _fetched(segment, found, offset, max_bytes, steps)
            _collect_aborted(log, segments[number:], lookup, steps)
            return lookup._replace(steps=tuple(steps))
        number += 1
        if number == len(segments):
            steps.append(_step(ANSWER, "", f"Offset {offset} is the log end offset, so there is no record to read yet."))
            return Lookup(tuple(steps))
        segment = segments[number]
        steps.append(_step(SEGMENT, segment.name(), f"{segment.name()} is the next segment.", offset=segment.base, position=0))


def _read_offset_index(segment: SegmentFiles, offset: int, steps: list[LookupStep]) -> OffsetPosition:
    """Find the last entry in the offset index that is at or before an offset, or the start of the segment."""
    index, name = segment.indexes.offsets, segment.name(OFFSET_INDEX)
    search = index.search(offset)
    if search.slot < 0:
        entry = OffsetPosition(segment.base, 0)
        empty = f"{name} has no entry" + (f" at or before offset {offset}" if index.entries else "")
        words = f"{empty}, so the scan starts at position 0 of the segment."
    else:
        entry = index.entry(search.slot)
        words = (
            f"{name} has {_count(index.entries, 'entry')}. After {_searched(search)}, the search finds entry {search.slot + 1}, the last one at or "
            f"before offset {offset}: offset {entry.offset} is at position {entry.position}."
        )
    steps.append(_step("index", name, words, offset=entry.offset, position=entry.position, probes=search.probes))
    return entry


def _scan_for_offset(segment: SegmentFiles, entry: OffsetPosition, offset: int, steps: list[LookupStep]) -> PositionedBatch | None:
    """Read batch headers, starting at an index entry, up to the first batch whose last offset is at or above an offset."""
    batches = segment.batches
    first = segment.batch_at(entry.position)
    at = bisect_right(batches, offset - 1, first, key=lambda each: each.last_offset)
    if at == len(batches):
        words = (
            f"The scan from position {entry.position} reads {_count(at - first, 'batch header')} and reaches the end of the segment without "
            f"finding offset {offset} or a later one."
        )
        steps.append(_step(SCAN, segment.name(), words, batches=at - first, size=segment.size - entry.position))
        return None
    found = batches[at]
    steps.append(_scanned(segment, first, found, at, f"is the first one that ends at or above offset {offset}"))
    return found


def _scanned(segment: SegmentFiles, first: int, found: PositionedBatch, at: int, why: str) -> LookupStep:
    start = segment.batches[first].position
    words = (
        f"The scan of {segment.name()} reads {_count(at - first + 1, 'batch header')}, starting at position {start}. The batch with "
        f"{_offsets(found)}, at position {found.position}, {why}."
    )
    return _step(
        SCAN, segment.name(), words, offset=found.start, timestamp=found.timestamp, position=found.position, batches=at - first + 1,
        size=found.position - start,
    )  # fmt: skip


def _fetched(segment: SegmentFiles, found: PositionedBatch, offset: int, max_bytes: int, steps: list[LookupStep]) -> Lookup:
    """Return the answer to a fetch that starts with the given batch."""
    available = segment.size - found.position
    size = min(max(max_bytes, found.bytes), available)
    first = segment.batch_at(found.position)
    after = bisect_right(segment.batches, found.position + size, first, key=lambda each: each.position + each.bytes)
    end = segment.batches[after - 1].end
    if size == available:
        limit = f"up to the end of the {'log' if segment.active else 'segment'}"
    else:
        limit = "because a fetch returns at most that many bytes" if size == max_bytes else "because a fetch returns at least one batch"
    words = f"A fetch gets {_count(size, 'byte')}, starting at position {found.position}, {limit}. The last complete batch ends at offset {end - 1}"
    skipped = bisect_left(found.offsets, offset)
    words += f". The client skips the {_count(skipped, 'record')} below offset {offset}." if skipped else "."
    steps.append(_step(ANSWER, segment.name(), words, offset=found.start, timestamp=found.timestamp, position=found.position, size=size))
    return Lookup(tuple(steps), errors.NONE, found.start, found.timestamp, segment, found, size, end)


def _collect_aborted(log: ReplicaLog, segments: Sequence[SegmentFiles], lookup: Lookup, steps: list[LookupStep]) -> None:
    """Read the transaction indexes, if any, starting at the segment that contains the answer. Kafka reads transaction indexes only for
    fetches by read_committed consumers."""
    entries = [entry for segment in segments for entry in segment.transactions]
    first, found = lookup.segment, lookup.batch
    if not entries or first is None or found is None:
        return
    end = aborted_upper_bound(log, first, OffsetPosition(found.start, found.position), lookup.bytes)
    aborted = collect_aborted(entries, found.start, end).aborted
    name = next(segment for segment in segments if segment.transactions).name(TRANSACTION_INDEX)
    which = ", ".join(f"offsets {each.first_offset} to {each.last_offset} of producer ID {each.producer_id}" for each in aborted)
    words = (
        f"For a read_committed consumer, the search covers the transaction indexes starting with {name}, up to offset {end}. The consumer skips "
        f"{which or 'nothing'}."
    )
    steps.append(_step("txnindex", name, words, offset=aborted[0].first_offset if aborted else NOT_FOUND, probes=len(entries)))


def lookup_by_timestamp(log: ReplicaLog, timestamp: int) -> Lookup:
    """Look up the first record at or after a timestamp in ms, as ListOffsets does (`UnifiedLog#searchOffsetInLocalLog`).

    Only the first segment whose largest timestamp is at or after the requested timestamp is searched. A broker hides a result at or above
    the high watermark (or the last stable offset) from consumers.
    """
    segments = segment_files(log)
    number = next((number for number, each in enumerate(segments) if each.largest_timestamp >= timestamp), len(segments))
    if number == len(segments):
        largest = max(each.largest_timestamp for each in segments)
        words = f"The largest timestamp in {_count(len(segments), 'segment')} is {largest}, which is before {timestamp}, so the answer is unknown (-1)."
        return Lookup((_step(ANSWER, "", words),))
    segment = segments[number]
    words = (
        f"Among {_count(len(segments), 'segment')}, {segment.name()} is the first one whose largest timestamp, {segment.largest_timestamp}, is at or "
        f"after {timestamp}."
    )
    steps = [_step(SEGMENT, segment.name(), words, offset=segment.base, timestamp=segment.largest_timestamp, position=0)]
    mark = _read_time_index(segment, timestamp, steps)
    entry = _read_offset_index(segment, max(mark.offset, log.log_start), steps)
    return _scan_for_timestamp(segment, entry, timestamp, log.log_start, steps)


def _read_time_index(segment: SegmentFiles, timestamp: int, steps: list[LookupStep]) -> TimestampOffset:
    """Find the last entry in the time index that is at or before a timestamp."""
    index, name = segment.indexes.times, segment.name(TIME_INDEX)
    search = index.search(timestamp)
    if search.slot < 0:
        mark = TimestampOffset(NO_TIMESTAMP, segment.base)
        words = f"{name} has no entry at or before timestamp {timestamp}, so the search starts at base offset {segment.base}."
    else:
        mark = index.entry(search.slot)
        words = (
            f"{name} has {_count(index.entries, 'entry')}. After {_searched(search)}, the search finds entry {search.slot + 1}, the last one at or "
            f"before timestamp {timestamp}: the largest timestamp up to offset {mark.offset} is {mark.timestamp}."
        )
    steps.append(_step("timeindex", name, words, offset=mark.offset, timestamp=mark.timestamp, probes=search.probes))
    return mark


def _scan_for_timestamp(segment: SegmentFiles, entry: OffsetPosition, timestamp: int, least: int, steps: list[LookupStep]) -> Lookup:
    """Read batch headers, starting at an index entry, up to the first batch whose timestamp is late enough and that has records at or above
    offset `least`."""
    first = segment.batch_at(entry.position)
    for at in range(first, len(segment.batches)):
        found = segment.batches[at]
        number = bisect_left(found.offsets, least)
        if found.timestamp >= timestamp and number < found.records:
            steps.append(_scanned(segment, first, found, at, f"is the first one with a timestamp at or after {timestamp}"))
            offset = found.offsets[number]
            words = f"The answer is offset {offset} with timestamp {found.timestamp}."
            steps.append(_step(ANSWER, segment.name(), words, offset=offset, timestamp=found.timestamp, position=found.position))
            return Lookup(tuple(steps), errors.NONE, offset, found.timestamp, segment, found)
    words = f"No batch that starts at position {entry.position} or later has a readable record at or after timestamp {timestamp}, so the answer is unknown (-1)."
    steps.append(_step(ANSWER, segment.name(LOG), words, batches=len(segment.batches) - first, size=segment.size - entry.position))
    return Lookup(tuple(steps))


def aborted_upper_bound(log: ReplicaLog, segment: SegmentFiles, start: OffsetPosition, size: int) -> int:
    """Return the offset up to which a fetch collects aborted transactions (`LogSegment#fetchUpperBoundOffset`).

    The result is the offset in the first index entry whose position is at least `size` bytes after the position in `start`. If no index
    entry meets this condition, the result is the base offset of the next segment or, in the last segment, the LEO.
    """
    entry = segment.indexes.offsets.fetch_upper_bound_offset(start, size)
    if entry is not None:
        return entry.offset
    return log.leo if segment.active else segment.end


def _step(
    step: str, file: str, sentence: str, *, offset: int = NOT_FOUND, timestamp: int = NO_TIMESTAMP, position: int = -1, probes: int = 0,
    batches: int = 0, size: int = 0,
) -> LookupStep:  # fmt: skip
    return LookupStep(step, file, offset, timestamp, position, probes, batches, size, sentence)


def _count(number: int, word: str) -> str:
    """Return a count as text, such as `1 batch` or `3 batches`."""
    plural = {"entry": "entries", "batch": "batches"}.get(word, word + "s")
    return f"{number} {word if number == 1 else plural}"


def _searched(search: Found) -> str:
    return _count(search.probes, "comparison") + (f" in the last {WARM_BYTES} bytes" if search.warm else "")


def _offsets(batch: PositionedBatch) -> str:
    return f"offset {batch.start}" if batch.end - batch.start == 1 else f"offsets {batch.start} to {batch.last_offset}"
