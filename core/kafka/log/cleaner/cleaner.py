"""One cleaning pass over one log (Kafka: `Cleaner#doClean`).

The pass reads the dirty part of the log and records the last offset of each key. Then the pass copies the segments, starting with the
oldest segment. The copied segments leave out records whose key has a newer record, records of aborted transactions, and tombstones and
markers that have been kept long enough.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Final, NamedTuple

from core.kafka.log.cleaner.cleanable_offsets import LogToClean
from core.kafka.log.cleaner.cleaned_transactions import CleanedTransactions
from core.kafka.log.cleaner.compacted_term import NO_HORIZON, CompactedTerm, RetainedBatch, retained_within
from core.kafka.log.cleaner.offset_map import OffsetMap
from core.kafka.log.cleaner.retention import BatchRetention, Retention
from core.kafka.log.cleaner.segment_groups import Segments, grouped_by_size, last_modified
from core.kafka.log.index.transaction_index import AbortedTransaction
from core.kafka.log.leader_term import Run, Term
from core.kafka.log.replica_log import ReplicaLog
from core.kafka.release import Release


class Cleaned(NamedTuple):
    """The result of a cleaning pass.

    Attributes:
        start: the first offset that was dirty before the pass.
        end: the first offset that is dirty after the pass.
        removed: the number of records that the pass removed.
        tombstones: the number of removed records that were tombstones.
        markers: the number of removed records that were markers.
        bytes_removed: the size of the removed records and batches.
        horizon: the delete horizon that the pass set in batches, in µs; NO_HORIZON if it set none.
    """

    start: int
    end: int
    removed: int
    tombstones: int
    markers: int
    bytes_removed: int
    horizon: int


def held_batches(log: ReplicaLog, start: int, end: int) -> Iterator[tuple[Run, RetainedBatch]]:
    """Yield the batches in [start, end), each together with the run that contains it."""
    for run in log.records.runs_from(start, log.leo):
        low, high = max(run.start, start), min(run.end, end)
        if low < high:
            for each in retained_within(run.term, low, high):
                yield run, each


def build_offset_map(log: ReplicaLog, start: int, end: int, offsets: OffsetMap, *, skips_gaps: bool = True) -> None:
    """Record the last offset of each key in [start, end), until the map is full (`Cleaner#buildOffsetMap`).

    Records of aborted transactions, markers, and records without keys do not enter the map. With `skips_gaps`, the map also covers offsets
    before `end` for which the log has no record.
    """
    transactions = CleanedTransactions(_aborted_between(log, start, end))
    for run, each in held_batches(log, start, end):
        if each.batch.marker is not None:
            transactions.read_marker(each)
        elif not transactions.read_batch(each):
            for offset in each.offsets:
                record = each.record(offset)
                if record is not None and offset >= start and not offsets.put(record[0], offset):
                    return
        offsets.covers_up_to(min(each.end, run.end) - 1)
    if start < end and skips_gaps:
        offsets.covers_up_to(end - 1)


def _aborted_between(log: ReplicaLog, start: int, end: int) -> tuple[AbortedTransaction, ...]:
    producers = log.producer_state()
    if producers is None:
        return ()
    return tuple(entry for entry in producers.aborted if entry.last_offset >= start and entry.first_offset < end)


class Pass:
    """A cleaning pass over one log."""

    def __init__(self, to_clean: LogToClean, offsets: OffsetMap, now: int, release: Release) -> None:
        self.log: Final = to_clean.log
        self.to_clean: Final = to_clean
        self.offsets: Final = offsets
        self.now: Final = now
        self.release: Final = release
        self.removed = self.tombstones = self.markers = 0
        self.horizon = NO_HORIZON

    def run(self) -> Cleaned:
        """Clean the log, and return what was removed."""
        log, offsets, start = self.log, self.offsets, self.to_clean.first_dirty
        size = log.size
        legacy_horizon = self._legacy_horizon()
        build_offset_map(log, start, self.to_clean.first_uncleanable, offsets, skips_gaps=self.release.cleaner_skips_gaps)
        end = max(offsets.latest_offset + 1, start)
        groups = grouped_by_size(log, end)
        if groups:
            self._copy(groups, legacy_horizon)
        return Cleaned(start, end, self.removed, self.tombstones, self.markers, size - log.size, self.horizon)

    def _legacy_horizon(self) -> int:
        """Return the delete horizon, in µs, that applies in releases before KIP-534. Segments that were last modified at or before this
        time lose their tombstones and markers.
        """
        bases = self.log.roll()
        number = bisect_left(bases, self.to_clean.first_dirty)
        if not number:
            return 0
        end = bases[number] if number < len(bases) else self.log.leo
        return last_modified(self.log, bases[number - 1], end, self.now) - self.log.config.delete_retention_us

    def _copy(self, groups: list[Segments], legacy_horizon: int) -> None:
        """Replace the segments with cleaned copies (`Cleaner#cleanSegments`)."""
        log = self.log
        end = groups[-1][-1][1]
        known = end if self.release.cleans_with_whole_index else self.offsets.latest_offset + 1
        transactions = CleanedTransactions(_aborted_between(log, groups[0][0][0], known))
        retention = Retention(log.producer_state(), transactions, self.offsets, self.to_clean.first_uncleanable, self.now, self.release)
        pieces: dict[Run, list[RetainedBatch]] = {run: [] for run in log.records.runs_from(groups[0][0][0], log.leo) if run.start < end}
        for segment in (each for group in groups for each in group):
            if not self.release.cleaner_carries_transactions:
                retention.transactions = transactions.starting_anew(_aborted_between(log, segment[0], min(segment[1], known)))
            retention.keeps_legacy_deletes = last_modified(log, *segment, self.now) > legacy_horizon
            for run, each in held_batches(log, *segment):
                left = self._left_of(each, retention)
                if left is not None:
                    pieces[run].append(left)
        self._replace(groups, pieces, end)
        producers = log.producers
        if producers is not None:
            producers.aborted = [*transactions.index, *(entry for entry in producers.aborted if entry.last_offset >= end)]

    def _left_of(self, each: RetainedBatch, retention: Retention) -> RetainedBatch | None:
        """Return what remains of a batch, or None if nothing remains (`MemoryRecords#filterTo`)."""
        kept, marker_without_data = retention.of_batch(each)
        offsets = each.offsets
        if kept is not BatchRetention.DELETE:
            offsets = tuple(offset for offset in offsets if retention.keeps_record(each, offset))
            has_tombstone = any(_is_tombstone(each, offset) for offset in offsets)
        else:
            offsets, has_tombstone = (), False
        gone = len(each.offsets) - len(offsets)
        self.removed += gone
        if each.batch.marker is not None:
            self.markers += gone
        elif gone:
            left = set(offsets)
            self.tombstones += sum(1 for offset in each.offsets if offset not in left and _is_tombstone(each, offset))
        if not offsets:
            return each.with_records((), NO_HORIZON) if kept is BatchRetention.RETAIN_EMPTY else None
        horizon = each.horizon
        if self.release.delete_horizon_in_batches and horizon == NO_HORIZON and (has_tombstone or marker_without_data):
            self.horizon = horizon = self.now + self.log.config.delete_retention_us
        elif not gone:
            return each._replace(offsets=offsets)
        return each.with_records(offsets, horizon)

    def _replace(self, groups: list[Segments], pieces: dict[Run, list[RetainedBatch]], end: int) -> None:
        log = self.log
        kept: list[tuple[int, Term, list[RetainedBatch]]] = []
        for run, batches in pieces.items():
            if kept and kept[-1][1] is run.term.origin:
                kept[-1][2].extend(batches)
            else:
                kept.append((run.start, run.term.origin, batches))
        ends = [*(start for start, _, _ in kept[1:]), end]
        runs = [Run(start, stop, CompactedTerm(origin, tuple(batches))) for (start, origin, batches), stop in zip(kept, ends, strict=True)]
        runs += [run._replace(start=max(run.start, end)) for run in log.records.runs_from(end, log.leo) if run.end > end]
        bases = log.roll()
        log.replace_segments((*(group[0][0] for group in groups), *bases[bisect_right(bases, end - 1) :]), tuple(runs))


def _is_tombstone(each: RetainedBatch, offset: int) -> bool:
    record = each.record(offset)
    return record is not None and record[1] is None


def clean(to_clean: LogToClean, offsets: OffsetMap, now: int, release: Release) -> Cleaned:
    """Clean a log, starting with an empty offset map. Return counts of the removed records."""
    return Pass(to_clean, offsets, now, release).run()
