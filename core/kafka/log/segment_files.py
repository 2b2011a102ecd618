"""The files of each segment of a log: their names and sizes, the position of each batch, and the index entries (Kafka: `LogSegment`, `LogFileUtils`).

A position is the sum of the `bytes` of all earlier batches in the file. The setting segment.bytes, retention, and events also use the size
in `bytes`. `record_format.wire_size` returns the size in Kafka's format.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from typing import Final, NamedTuple

from core.kafka.log.cleaner.compacted_term import retained_within
from core.kafka.log.index.segment_indexes import SegmentIndexes
from core.kafka.log.index.time_index import NO_TIMESTAMP
from core.kafka.log.index.transaction_index import AbortedTransaction
from core.kafka.log.leader_term import Batch
from core.kafka.log.producer_state import ProducerStateManager
from core.kafka.log.replica_log import ReplicaLog
from core.kafka.log.segments import largest_timestamp
from core.kafka.log.wire.record_format import wire_size
from core.sim.units import US_PER_MS

LOG: Final = ".log"
OFFSET_INDEX: Final = ".index"
TIME_INDEX: Final = ".timeindex"
TRANSACTION_INDEX: Final = ".txnindex"
PRODUCER_SNAPSHOT: Final = ".snapshot"


def file_name(base: int, suffix: str) -> str:
    """Return the name of a file, which consists of the base offset with 20 digits and a suffix
    (`LogFileUtils#filenamePrefixFromOffset`)."""
    return f"{base:020d}{suffix}"


class PositionedBatch(NamedTuple):
    """A batch in a segment file.

    Attributes:
        batch: the fields of the batch.
        start: the batch's first offset in the log.
        end: the offset after the batch's last record in the log. A log can contain only part of a batch if the size of a fetch was limited.
        position: the batch's position in the segment file.
        bytes: the batch's size in the segment file.
        leader_epoch: the epoch of the leader that appended the batch.
        offsets: the offsets of the records that are left after log compaction; empty if none is left.
        horizon: the delete horizon, in µs; NO_HORIZON if none is set.
    """

    batch: Batch
    start: int
    end: int
    position: int
    bytes: int
    leader_epoch: int
    offsets: Sequence[int]
    horizon: int

    @property
    def last_offset(self) -> int:
        """The last offset of the batch, which does not change when records are removed."""
        return self.end - 1

    @property
    def records(self) -> int:
        """The number of records."""
        return len(self.offsets)

    @property
    def timestamp(self) -> int:
        """The timestamp of the batch's records, in ms."""
        return self.batch.timestamp // US_PER_MS

    @property
    def wire_size(self) -> int:
        """The size of the batch in Kafka's format."""
        return wire_size(self.batch, self.records, self.bytes)


class SegmentFiles:
    """The files of one segment. Batches and index entries are computed when they are first read.

    Attributes:
        base: the base offset.
        end: the base offset of the next segment, or the LEO.
        active: whether the segment is the one that the log appends to.
    """

    base: Final[int]
    end: Final[int]
    active: Final[bool]

    def __init__(self, log: ReplicaLog, base: int, end: int, aborted: tuple[AbortedTransaction, ...], *, active: bool) -> None:
        self._log = log
        self._aborted = aborted
        self.base = base
        self.end = end
        self.active = active

    def name(self, suffix: str = LOG) -> str:
        """Return the name of the file that has the given suffix."""
        return file_name(self.base, suffix)

    @cached_property
    def size(self) -> int:
        """The size of the segment file."""
        return self._log.records.bytes_between(self.base, self.end)

    @cached_property
    def largest_timestamp(self) -> int:
        """The largest timestamp among the records, in ms; NO_TIMESTAMP if there are none (`LogSegment#largestTimestamp`)."""
        return largest_timestamp(self._log, self.base, self.end) // US_PER_MS if self.base < self.end else NO_TIMESTAMP

    @cached_property
    def batches(self) -> tuple[PositionedBatch, ...]:
        """The batches, in the order of their positions."""
        found: list[PositionedBatch] = []
        position = 0
        for run in self._log.records.runs_from(self.base, self._log.leo):
            low, high = max(run.start, self.base), min(run.end, self.end)
            if low >= high:
                continue
            for batch, offsets, horizon in retained_within(run.term, low, high):
                start, end = max(batch.base, low), min(batch.base + batch.records, high)
                whole = end - start == batch.records
                size = batch.bytes if whole else run.term.bytes_before(end) - run.term.bytes_before(start)
                found.append(PositionedBatch(batch, start, end, position, size, run.term.epoch, offsets, horizon))
                position += size
        return tuple(found)

    @cached_property
    def indexes(self) -> SegmentIndexes:
        """The offset index and the time index."""
        indexes = SegmentIndexes(self.base, self._log.config)
        for each in self.batches:
            indexes.append(each.last_offset, each.batch.timestamp, each.bytes)
        if not self.active:
            indexes.close()
        return indexes

    @cached_property
    def transactions(self) -> tuple[AbortedTransaction, ...]:
        """The entries of the transaction index: the aborted transactions whose marker is in this segment."""
        return tuple(entry for entry in self._aborted if self.base <= entry.last_offset < self.end)

    @property
    def has_snapshot(self) -> bool:
        """Whether the directory has a snapshot of the producers' state at the base offset."""
        producers = self._log.producers
        return producers is not None and any(snapshot.offset == self.base for snapshot in producers.snapshots)

    def batch_at(self, position: int) -> int:
        """Return the index of the first batch at or after a position."""
        return bisect_left(self.batches, position, key=lambda each: each.position)


def segment_files(log: ReplicaLog) -> list[SegmentFiles]:
    """Return the segments of a log, oldest first. The last segment in the result is the active segment. `segment_files` does not change the
    log.
    """
    bases, _ = log.known_segments()
    ends = [*bases[1:], log.leo]
    aborted = aborted_transactions(log)
    return [SegmentFiles(log, base, end, aborted, active=base == bases[-1]) for base, end in zip(bases, ends, strict=True)]


def aborted_transactions(log: ReplicaLog) -> tuple[AbortedTransaction, ...]:
    """Return the entries of the transaction indexes of all segments, in the order of the markers. `aborted_transactions` does not change
    the log."""
    if not any(term.has_producer_ids for term in log.records.terms):
        return ()
    first, producers = log.first_offset, log.producers
    if producers is None or producers.end_offset < log.leo:
        producers = ProducerStateManager(first)
        producers.replay(log.producer_batches(first, log.leo))
    return tuple(entry for entry in producers.aborted if first <= entry.last_offset < log.leo)
