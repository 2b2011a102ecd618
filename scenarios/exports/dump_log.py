"""Prints the files of a segment in the same way as kafka-dump-log in Kafka 4.0 (Kafka: `DumpLogSegments`).

The laboratory does not store the contents of records or the CRCs of batches. Therefore, `crc` and `isvalid` of a batch, the key and the
payload of a record, and the sizes of the keys and values of internal topics are omitted. The name of a file is printed without its
directory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from core.kafka.ids import NO_OFFSET
from core.kafka.log.cleaner.compacted_term import NO_HORIZON
from core.kafka.log.producer_state import ProducerSnapshot
from core.kafka.log.producer_state_entry import NO_SEQUENCE, increment_sequence
from core.kafka.log.replica_log import ReplicaLog
from core.kafka.log.segment_files import LOG, OFFSET_INDEX, PRODUCER_SNAPSHOT, TIME_INDEX, TRANSACTION_INDEX, PositionedBatch, SegmentFiles
from core.sim.units import US_PER_MS
from scenarios.errors import InputError

OMITTED: Final = "The laboratory stores neither CRCs nor the contents of records, so crc, isvalid, key, and payload are omitted."
"""The note that lists the fields that the dump omits."""

SUFFIXES: Final = (LOG, OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX, PRODUCER_SNAPSHOT)


def dump_lines(log: ReplicaLog, segments: Sequence[SegmentFiles], name: str, *, deep: bool) -> Iterator[str]:
    """Yield the lines that kafka-dump-log prints for a file.

    Args:
        log: the replica's log.
        segments: the segments of the log.
        name: the name of the file; leading zeros can be omitted.
        deep: whether to also print the records of each batch (`--deep-iteration`).

    Raises:
        InputError: the log has no file with this name.
    """
    digits, dot, ending = name.rpartition(".")
    suffix = dot + ending
    if suffix not in SUFFIXES or not (digits.isascii() and digits.isdecimal()) or len(digits) > 20:
        raise InputError(f"--dump: '{name[:80]}' is not a file of a segment; write its name, for example {segments[-1].name()}")
    base = int(digits)
    if suffix == PRODUCER_SNAPSHOT:
        snapshots = () if log.producers is None else log.producers.snapshots
        snapshot = next((each for each in snapshots if each.offset == base), None)
        if snapshot is not None:
            return iter([f"Dumping {base:020d}{suffix}", *_snapshot_lines(snapshot)])
    segment = next((each for each in segments if each.base == base), None)
    if segment is None or suffix == PRODUCER_SNAPSHOT or (suffix == TRANSACTION_INDEX and not segment.transactions):
        raise InputError(
            f"--dump: there is no file {base:020d}{suffix}; the segments are {', '.join(str(each.base) for each in segments[-20:])}"
        )
    return _segment_lines(segment, suffix, deep=deep)


def _segment_lines(segment: SegmentFiles, suffix: str, *, deep: bool) -> Iterator[str]:
    yield f"Dumping {segment.name(suffix)}"
    if suffix == LOG:
        yield f"Log starting offset: {segment.base}"
        for each in segment.batches:
            yield _batch_line(each)
            if deep:
                yield from _record_lines(each)
    elif suffix == OFFSET_INDEX:
        offsets = segment.indexes.offsets
        if not offsets.entries:
            yield f"{segment.name(suffix)} is empty."
        for offset, position in zip(offsets.keys, offsets.values, strict=True):
            yield f"offset: {offset} position: {position}"
    elif suffix == TIME_INDEX:
        times = segment.indexes.times
        for timestamp, offset in zip(times.keys, times.values, strict=True):
            yield f"timestamp: {timestamp} offset: {offset}"
    else:
        for entry in segment.transactions:
            yield (
                f"version: 0 producerId: {entry.producer_id} firstOffset: {entry.first_offset} lastOffset: {entry.last_offset} "
                f"lastStableOffset: {entry.last_stable_offset}"
            )


def _true(value: bool) -> str:
    return "true" if value else "false"


def _batch_line(each: PositionedBatch) -> str:
    batch = each.batch
    first = batch.first_sequence
    last = first if first == NO_SEQUENCE else increment_sequence(first, each.last_offset - each.start)
    horizon = "OptionalLong.empty" if each.horizon == NO_HORIZON else f"OptionalLong[{each.horizon // US_PER_MS}]"
    return (
        f"baseOffset: {each.start} lastOffset: {each.last_offset} count: {each.records} baseSequence: {first} lastSequence: {last} "
        f"producerId: {batch.producer_id} producerEpoch: {batch.producer_epoch} partitionLeaderEpoch: {each.leader_epoch} "
        f"isTransactional: {_true(batch.transactional)} isControl: {_true(batch.marker is not None)} deleteHorizonMs: {horizon} "
        f"position: {each.position} CreateTime: {each.timestamp} size: {each.bytes} magic: 2 compresscodec: none"
    )


def _record_lines(each: PositionedBatch) -> Iterator[str]:
    batch = each.batch
    value, larger = divmod(each.bytes, max(each.records, 1))
    for number, offset in enumerate(each.offsets):
        sequence = (
            batch.first_sequence if batch.first_sequence == NO_SEQUENCE else increment_sequence(batch.first_sequence, offset - batch.base)
        )
        head = f"| offset: {offset} CreateTime: {each.timestamp}"
        tail = f"sequence: {sequence} headerKeys: []"
        if batch.marker is not None:
            yield f"{head} keySize: 4 valueSize: 6 {tail} endTxnMarker: {batch.marker.name} coordinatorEpoch: {batch.marker.coordinator_epoch}"
        elif batch.content is None:
            yield f"{head} keySize: -1 valueSize: {value + (number < larger)} {tail}"
        else:
            yield f"{head} {tail}"


def _snapshot_lines(snapshot: ProducerSnapshot) -> Iterator[str]:
    for entry in snapshot.entries:
        line = (
            f"producerId: {entry.producer_id} producerEpoch: {entry.epoch} coordinatorEpoch: {entry.coordinator_epoch} "
            f"currentTxnFirstOffset: {'None' if entry.open_from == NO_OFFSET else f'Some({entry.open_from})'} "
            f"lastTimestamp: {entry.last_timestamp // US_PER_MS} "
        )
        for batch in list(entry.batches)[:1]:
            line += (
                f"firstSequence: {batch.first_sequence} lastSequence: {batch.last_sequence} lastOffset: {batch.last_offset} "
                f"offsetDelta: {batch.last_offset - batch.first_offset} timestamp: {batch.timestamp // US_PER_MS}"
            )
        yield line
