"""One replica's log (Kafka: `UnifiedLog`): runs of terms, LEO, high watermark, log start, recovery point, and leader-epoch cache.

A run is a pair (start offset, term). The replica has that term's records from the start offset up to the start of the next run. An append
only extends the last run, so it takes as long to append ten million records as to append ten.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Final

from core.kafka import errors
from core.kafka.ids import NO_OFFSET
from core.kafka.log.leader_epoch_cache import LeaderEpochCache
from core.kafka.log.leader_term import Batch, BatchFields, FetchedRecords, Run, Term
from core.kafka.log.log_config import DEFAULT, LogConfig
from core.kafka.log.producer_state import ProducerStateManager
from core.kafka.log.segment_rolling import rolled
from core.kafka.release import CURRENT, Release
from core.kafka.settings.setting import MAX_LONG
from core.sim.journal import Column


class ReplicaLog:
    """A replica's log.

    Attributes:
        keeps_epochs: whether the log has a leader-epoch cache (since 0.11).
        release: the rules of Kafka's release for the state of the producers.
        leo: the log end offset, which is the offset of the next record.
        high_watermark: the offset up to which (exclusive) this replica knows the records to be committed.
        log_start: the first readable offset; records below it are waiting to be deleted.
        epochs: the leader-epoch cache.
        starts, terms: the start offsets and the terms of the runs, in offset order, starting at the first segment's base. Like `bases`,
            they are immutable and shared with snapshots.
        tail: the last run's term; None if the log is empty.
        high_watermark_moved: whether the high watermark may have moved since the last checkpoint.
        config: the settings for segments, flushes, and retention; set by `configure`.
        bases: the base offsets of the segments that have been computed (`roll`); None means a single segment that starts at the first
            offset.
        producers: the state of the producers up to `producers.end_offset`; None while the log has no batch with a producer ID.
        recovery_point: the offset below which all records have been flushed to disk, so that they survive a power loss.
        last_flush: the time when the flush scheduler last flushed the log, µs.
        last_append: the sequence number of the event that last moved the LEO, as far as this process knows.
        flush_at: the LEO at which there are so many unflushed records that the log is flushed; None if this never happens.
    """

    __slots__ = (
        "bases", "config", "epochs", "flush_at", "high_watermark", "high_watermark_moved", "keeps_epochs", "last_append", "last_flush", "leo", "log_start",
        "producers", "recovery_point", "release", "starts", "tail", "terms",
    )  # fmt: skip

    keeps_epochs: Final[bool]
    epochs: Final[LeaderEpochCache]
    release: Final[Release]

    def __init__(self, keeps_epochs: bool = True, release: Release = CURRENT) -> None:
        self.keeps_epochs = keeps_epochs
        self.release = release
        self.leo = 0
        self.last_append: Column = 0
        self.high_watermark = 0
        self.high_watermark_moved = False
        self.log_start = 0
        self.epochs = LeaderEpochCache()
        self.starts: tuple[int, ...] = ()
        self.terms: tuple[Term, ...] = ()
        self.tail: Term | None = None
        self.producers: ProducerStateManager | None = None
        self.config: LogConfig = DEFAULT
        self.bases: tuple[int, ...] | None = None
        self.recovery_point = 0
        self.flush_at: int | None = None
        self.last_flush = 0

    def configure(self, config: LogConfig) -> None:
        """Change the settings. Existing segments keep the former settings."""
        if self.leo > self.log_start:
            self.roll()
        self.config = config
        self._flush_after(self.recovery_point)

    def append_as_leader(self, term: Term, batch: BatchFields) -> Column:
        """Append a batch as the leader. Return the new LEO (`UnifiedLog#appendAsLeader`)."""
        end = term.append(batch)
        if term is not self.tail:
            self._begin_run(term)
        self.leo = end
        if self.flush_at is not None and self.leo >= self.flush_at:
            self._maybe_flush()
        return end

    def append_as_follower(self, records: FetchedRecords) -> Column:
        """Append fetched records, with their offsets and epochs. Return the new LEO (`UnifiedLog#appendAsFollower`).

        If the log is empty and its start is inside a batch, the log takes the whole batch and begins with it.

        Raises:
            ValueError: the first record is not at the LEO (Kafka's UnexpectedAppendOffset).
        """
        first, end, term, _, following = records
        start: int = first
        if start != self.leo:
            if self.starts or not start < self.log_start == self.leo < end:
                raise ValueError(f"append at {start}, but the log ends at {self.leo}")
            self._restart_at(start)
        if term is not self.tail:
            self._begin_run(term)
        self.leo = end
        if following is not None:
            return self.append_as_follower(following)
        if self.flush_at is not None and self.leo >= self.flush_at:
            self._maybe_flush()
        return end

    def _begin_run(self, term: Term) -> None:
        """At the LEO, start a run that refers to another term."""
        self.starts = (*self.starts, self.leo)
        self.terms = (*self.terms, term)
        self.tail = term
        if self.keeps_epochs:
            self.epochs.assign(term.epoch, self.leo)

    # --- segments --------------------------------------------------------------------------------------------------

    def known_segments(self) -> tuple[tuple[int, ...], int]:
        """Return the base offsets and the recovery point that `roll` would find, without changing the log."""
        known = (self.first_offset,) if self.bases is None else self.bases
        bases = rolled(known, self.physical_runs(known[-1]), self.config)
        return bases, max(self.recovery_point, bases[-1])

    def roll(self) -> tuple[int, ...]:
        """Compute where the segments start, up to the end of the log, and return their base offsets (`UnifiedLog#maybeRoll`).

        Rolling a segment flushes all earlier segments, so the recovery point moves to the base of the new segment.
        """
        bases, self.recovery_point = self.known_segments()
        if len(bases) > 1:
            if self.producers is not None:
                self._take_producer_snapshots(bases)
            self.bases = bases
        return bases

    # --- flushing --------------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Flush all records to disk (`UnifiedLog#flush`)."""
        self.recovery_point = self.leo
        self._flush_after(self.leo)

    def _flush_after(self, recovery_point: int) -> None:
        messages = self.config.flush_messages
        self.flush_at = None if messages == MAX_LONG else recovery_point + messages

    def _maybe_flush(self) -> None:
        """Flush if at least flush.messages records are unflushed, unless a new segment started among them (`UnifiedLog#append`)."""
        self.roll()
        if self.leo - self.recovery_point >= self.config.flush_messages:
            self.flush()
        else:
            self._flush_after(self.recovery_point)

    # --- reading ---------------------------------------------------------------------------------------------------

    def read(self, start: int, end: int, max_bytes: int, max_records: int = 0) -> FetchedRecords | None:
        """Return the records from `start` up to `end` that fit the limits, but at least one record if there is any (`UnifiedLog#read`,
        minOneMessage).

        If log compaction removed the records at `start`, the result begins with the next batch.
        """
        if max_records:
            compacted = any(term.compacted for term in self.terms)
            end = min(end, (self.next_record(start) if compacted else start) + max_records)
        term = self.tail
        if term is not None:
            latest = term.latest
            if start == latest[0] and end == latest[1] and latest[3] <= max_bytes:
                return latest
        if start >= end:
            return None
        found: list[tuple[Column, Column, Term, int]] = []
        starts = self.starts
        i = len(starts) - 1 if starts[-1] <= start else bisect_right(starts, start) - 1
        while start < end:
            term = self.terms[i]
            i += 1
            stop = end if i == len(starts) else min(end, starts[i])
            floor = term.bytes_before(start)
            size = term.bytes_before(stop) - floor
            if size > max_bytes:
                if found and max_bytes <= 0:
                    break
                upto = term.offset_within(start, stop, floor + max_bytes)
                found.append((start, upto, term, term.bytes_before(upto) - floor))
                break
            found.append((start, stop, term, size))
            max_bytes -= size
            start = stop
        while found and found[-1][2].compacted:  # a fetch does not return offsets after its last batch
            start, stop, term, size = found.pop()
            stop = term.last_end(start, stop)
            if stop > start:
                found.append((start, stop, term, size))
                break
        total = 0
        records: FetchedRecords | None = None
        for low, high, term, size in reversed(found):
            total += size
            records = (low, high, term, total, records)
        return records

    def bytes_between(self, start: int, end: int) -> int:
        """Return the size of the records in [start, end) in bytes."""
        total = 0
        for run in self.physical_runs(start):
            low, high = max(start, run.start), min(end, run.end)
            if low < high:
                total += run.term.bytes_before(high) - run.term.bytes_before(low)
        return total

    @property
    def first_offset(self) -> int:
        """The first offset on disk, which is the base of the oldest segment."""
        if self.bases is not None:
            return self.bases[0]
        return self.starts[0] if self.starts else self.log_start

    @property
    def size(self) -> int:
        """The size on disk in bytes."""
        return self.bytes_between(self.first_offset, self.leo)

    def next_record(self, offset: int) -> int:
        """Return the first offset at or after `offset` whose record log compaction has not removed; the LEO if there is none."""
        for run in self.physical_runs(offset):
            if not run.term.compacted:
                return max(offset, run.start)
            for low, _ in run.term.surviving(max(offset, run.start), run.end):
                return low
        return self.leo

    def physical_runs(self, offset: int) -> tuple[Run, ...]:
        """Return the runs on disk, starting with the run that contains an offset. Records below the log start are included.

        Where the log was cleaned or was copied from a cleaned log, the term of a run is a `CompactedTerm`.
        """
        starts = self.starts
        if not starts:
            return ()
        first = max(bisect_right(starts, offset) - 1, 0)
        ends = [*starts[first + 1 :], self.leo]
        return tuple(
            Run(start, end, term) for start, end, term in zip(starts[first:], ends, self.terms[first:], strict=True) if start < end
        )

    def runs(self) -> tuple[Run, ...]:
        """Return all runs at and above the log start, as if log compaction had removed nothing."""
        runs = self.readable_runs()
        return _originals(runs) if any(run.term.compacted for run in runs) else runs

    def readable_runs(self) -> tuple[Run, ...]:
        """Return all runs at and above the log start. Where the log was cleaned, the term of a run is a `CompactedTerm`."""
        start = self.log_start
        runs = self.physical_runs(start)
        if runs and runs[0].start < start:
            runs = (runs[0]._replace(start=start), *runs[1:])
        return runs if not runs or runs[0].start < runs[0].end else runs[1:]

    def term_at(self, offset: int) -> Term | None:
        """Return the term of the record at an offset, even if log compaction has removed the record; None if there was none."""
        if not self.log_start <= offset < self.leo:
            return None
        return self.terms[bisect_right(self.starts, offset) - 1].origin

    def offset_for_timestamp(self, timestamp: int) -> int:
        """Return the offset of the first record, at or above the log start, whose timestamp is at or after a time in µs; -1 if there is
        none.

        Kafka: `UnifiedLog#fetchOffsetByTimestamp`.
        """
        for run in self.runs():
            found = run.term.first_since(run.start, run.end, timestamp)
            if found >= 0:
                return found
        return -1

    def update_high_watermark(self, offset: int) -> bool:
        """Set the high watermark, limited to the offsets in the log. Return True if it moved up or down
        (`UnifiedLog#maybeUpdateHighWatermark`)."""
        if offset > self.leo:
            offset = self.leo
        if offset < self.log_start:
            offset = self.log_start
        if offset == self.high_watermark:
            return False
        self.high_watermark = offset
        self.high_watermark_moved = True
        return True

    def maybe_increment_high_watermark(self, offset: int) -> bool:
        """Raise the high watermark to an offset in the log. Return False if the high watermark is not below that offset
        (`UnifiedLog#maybeIncrementHighWatermark`).
        """
        if offset <= self.high_watermark:
            return False
        self.high_watermark = offset
        self.high_watermark_moved = True
        return True

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """Return (epoch, end offset) of the largest epoch up to the requested epoch (`LeaderEpochFileCache#endOffsetFor`)."""
        return self.epochs.end_offset_for(epoch, self.leo)

    def truncate_to(self, offset: int) -> bool:
        """Truncate the log to a new LEO. Return True if this removed records (`UnifiedLog#truncateTo`).

        If `offset` is at or above the LEO, no records are removed. However, epoch entries that start at the LEO are removed. Such entries
        come from leaders that appended nothing.
        """
        if offset < 0:
            raise ValueError(f"cannot truncate to {offset}")
        if offset >= self.leo:
            self.epochs.truncate_from_end(self.leo)
            return False
        if offset < self.log_start:
            self.truncate_fully_and_start_at(offset)
            return True
        bases = self.roll()
        self.bases = bases[: max(1, bisect_right(bases, offset))]
        left = bisect_left(self.starts, offset)
        self.starts, self.terms = self.starts[:left], self.terms[:left]
        self.tail = self.terms[-1] if self.terms else None
        self.leo = offset
        self.epochs.truncate_from_end(offset)
        self.high_watermark = min(self.high_watermark, offset)
        self.high_watermark_moved = True
        self._recovery_point_at_most(offset)
        self.reload_producers()
        return True

    def _recovery_point_at_most(self, offset: int) -> None:
        if self.recovery_point > offset:
            self.recovery_point = offset
            self._flush_after(offset)

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Remove all records and restart the log at an offset (`UnifiedLog#truncateFullyAndStartAt`)."""
        self._restart_at(offset)
        self.high_watermark_moved = True

    def _restart_at(self, offset: int) -> None:
        self.starts, self.terms, self.tail = (), (), None
        self.producers = None
        self.epochs.clear()
        self.leo = self.high_watermark = self.log_start = self.recovery_point = offset
        self.bases = None
        self._flush_after(offset)

    # --- producers -------------------------------------------------------------------------------------------------

    def producer_state(self) -> ProducerStateManager | None:
        """Return the state of the producers, up to the LEO; None if no batch has a producer ID."""
        producers = self.producers
        if producers is None:
            if not any(term.has_producer_ids for term in self.terms):
                return None
            producers = self.producers = ProducerStateManager(self.log_start, self.release)
        if producers.end_offset < self.leo:
            self._replay_producers(producers, self.leo)
            if producers.unreplicated:
                producers.high_watermark_updated(self.high_watermark)
        return producers

    def _replay_producers(self, producers: ProducerStateManager, end: int) -> None:
        """Update a producer state by replaying the batches up to an offset."""
        producers.replay(self.producer_batches(producers.end_offset, end))
        producers.end_offset = end

    def ensure_producer_state(self) -> ProducerStateManager:
        """Return `producer_state`, or an empty state if no batch has a producer ID yet."""
        producers = self.producer_state()
        if producers is None:
            producers = self.producers = ProducerStateManager(self.leo, self.release)
        return producers

    def producer_batches(self, start: int, end: int) -> Iterator[Batch]:
        """Return the batches with a producer ID that end in (start, end].

        If the log holds only part of a batch because the size of a fetch was limited, this batch is left out.
        """
        for run in self.physical_runs(start):
            if run.term.has_producer_ids and run.start < end:
                stop = min(run.end, end)
                for batch in run.term.batches_within(max(run.start, start), stop):
                    if batch.producer_id >= 0 and run.start <= batch.base and batch.base + batch.records <= stop:
                        yield batch

    def reload_producers(self, *, restarted: bool = False) -> None:
        """After a truncation or in a new process, rebuild the state of the producers from the newest snapshot and the batches after it.

        Kafka: `UnifiedLog#rebuildProducerState`.
        """
        producers = self.producer_state() if restarted else self.producers
        if producers is not None:
            if restarted:
                producers.remove_stray_snapshots(self.known_segments()[0])
            producers.truncate_and_reload(self.log_start, self.leo, restarted=restarted)
            self._replay_producers(producers, self.leo)
            producers.take_snapshot()

    def take_producer_snapshot(self) -> None:
        """Write a snapshot of the producers' state at the LEO. A clean shutdown does this (`ProducerStateManager#takeSnapshot`)."""
        producers = self.producer_state()
        if producers is not None:
            producers.take_snapshot()

    def _take_producer_snapshots(self, bases: tuple[int, ...]) -> None:
        """Write a snapshot of the producers' state at the base of each new segment (`UnifiedLog#roll`)."""
        producers = self.producer_state()
        if producers is not None:
            newest = producers.snapshots[-1].offset if producers.snapshots else -1
            for base in bases[1:]:
                if base > newest:
                    state = producers.before(self.log_start, base)
                    self._replay_producers(state, base)
                    state.take_snapshot()
                    producers.snapshots = state.snapshots

    def last_stable_offset(self) -> int:
        """Return the offset below which consumers with isolation level read_committed can read (`UnifiedLog#lastStableOffset`)."""
        high_watermark = self.high_watermark
        producers = self.producer_state()
        if producers is None:
            return high_watermark
        first = producers.first_unstable_offset(high_watermark)
        if first == NO_OFFSET:
            return high_watermark
        return min(max(first, self._base_of_log_start()), high_watermark)

    def _base_of_log_start(self) -> int:
        """Return the first offset of the batch that contains the log start. Deleting records inside a batch does not split the batch."""
        if not self.log_start < self.leo:
            return self.log_start
        term = self.terms[bisect_right(self.starts, self.log_start) - 1]
        found = term.batches_within(self.log_start, self.log_start + 1)
        return found[0].base if found else self.log_start

    # --- compaction ------------------------------------------------------------------------------------------------

    def replace_segments(self, bases: tuple[int, ...], runs: tuple[Run, ...]) -> None:
        """Replace segments with their cleaned versions (`UnifiedLog#replaceSegments`)."""
        self.bases = bases
        self.starts = tuple(run.start for run in runs)
        self.terms = tuple(run.term for run in runs)
        self.tail = self.terms[-1] if self.terms else None

    # --- the log start ---------------------------------------------------------------------------------------------

    def maybe_increment_log_start(self, offset: int) -> bool:
        """Move the log start forward. Return True if it moved (`UnifiedLog#maybeIncrementLogStartOffset`).

        Raises:
            KafkaError: OFFSET_OUT_OF_RANGE, if the offset is above the high watermark.
        """
        if offset > self.high_watermark:
            raise errors.KafkaError(
                errors.OFFSET_OUT_OF_RANGE,
                f"Cannot increment the log start offset to {offset} since it is larger than the high watermark {self.high_watermark}",
            )
        if offset <= self.log_start:
            return False
        self._start_at(offset)
        return True

    def _start_at(self, offset: int) -> None:
        """Move the log start. Before 2.3, this forgets producers that have no records above it (KAFKA-7190)."""
        self.log_start = offset
        self.epochs.truncate_from_start(offset)
        if not self.release.producers_outlive_segments:
            producers = self.producer_state()
            if producers is not None:
                producers.truncate_head(offset)

    def drop_below(self, offset: int) -> None:
        """Drop deleted segments. If the log start is below the base of the first remaining segment, move it there."""
        producers = self.producer_state()
        if producers is not None:
            producers.segments_deleted(offset)
        count = bisect_right(self.starts, offset)
        if count == len(self.starts) and offset >= self.leo:
            self.starts, self.terms, self.tail = (), (), None
        elif count:
            self.starts = (max(self.starts[count - 1], offset), *self.starts[count:])
            self.terms = self.terms[count - 1 :]
        if offset > self.log_start:
            self._start_at(offset)

    def open_at(self, log_start: int) -> None:
        """Open the log in a new process. The log start becomes the larger of the checkpointed log start and the first segment's base.

        The leader-epoch file can contain epochs that have no records, for example the epoch of a leader that appended nothing. Opening the
        log drops such epochs.
        Kafka: `LogLoader#load`.
        """
        self.log_start = max(self.first_offset, min(log_start, self.leo))
        if self.leo < log_start:
            self._restart_at(log_start)
        else:
            self.epochs.truncate_from_end(self.leo)
            self.epochs.truncate_from_start(self.log_start)

    def differences(self, other: ReplicaLog) -> list[tuple[int, int]]:
        """Return the offset ranges [start, end) in which both logs have records, but the records differ."""
        if self.starts == other.starts and self.terms == other.terms:
            return []
        at = max(self.log_start, other.log_start)
        end = min(self.leo, other.leo)
        found: list[tuple[int, int]] = []
        mine, theirs = self.runs(), other.runs()
        i = j = 0
        while at < end:
            while mine[i].end <= at:
                i += 1
            while theirs[j].end <= at:
                j += 1
            stop = min(mine[i].end, theirs[j].end, end)
            if mine[i].term is not theirs[j].term:
                if found and found[-1][1] == at:
                    found[-1] = (found[-1][0], stop)
                else:
                    found.append((at, stop))
            at = stop
        return found


def _originals(runs: tuple[Run, ...]) -> tuple[Run, ...]:
    """Return the runs, with each term as its leader wrote it."""
    found: list[Run] = []
    for start, end, term in runs:
        if found and found[-1].term is term.origin:
            found[-1] = Run(found[-1].start, end, term.origin)
        else:
            found.append(Run(start, end, term.origin))
    return tuple(found)
