"""One replica's log (Kafka: `UnifiedLog`): how records are appended, truncated, flushed, cleaned, and deleted at its start.

`LogRecords` contains the records, and reads them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from core.kafka import errors
from core.kafka.ids import NO_OFFSET
from core.kafka.log.leader_epoch_cache import LeaderEpochCache
from core.kafka.log.leader_term import Batch, BatchFields, FetchedRecords, Run, Term
from core.kafka.log.log_config import DEFAULT, LogConfig
from core.kafka.log.log_records import LogRecords
from core.kafka.log.producer_state import ProducerStateManager
from core.kafka.log.segment_rolling import rolled
from core.kafka.release import CURRENT, Release
from core.kafka.settings.setting import MAX_LONG
from core.sim.journal import Column


class ReplicaLog:
    """A replica's log.

    Attributes:
        records: the records.
        leo: the log end offset, which is the offset of the next record.
        log_start: the first readable offset; records below it are waiting to be deleted.
        bases: the base offsets of segments that have been computed so far (`roll`), as an immutable tuple; None means a single segment that
            starts at the first offset.
        keeps_epochs: whether the log has a leader-epoch cache (since 0.11).
        release: the rules of the simulated Kafka release for the state of the producers.
        high_watermark: the offset below which all records are committed, as far as this replica knows.
        epochs: the leader-epoch cache.
        high_watermark_moved: whether the high watermark might have moved since the last checkpoint.
        config: the settings for segments, flushes, and retention; set by `configure`.
        producers: the state of the producers up to `producers.end_offset`; None while the log has no batch with a producer ID.
        recovery_point: the offset below which all records have been flushed to disk, so that they survive a power loss.
        last_flush: the time when the flush scheduler last flushed the log, in µs.
        last_append_event: the sequence number of the event that last moved the LEO, as far as this process knows.
        flush_at: the LEO at which the number of unflushed records causes a flush; None if the number of unflushed records never causes a
            flush.
    """

    __slots__ = (
        "bases", "config", "epochs", "flush_at", "high_watermark", "high_watermark_moved", "keeps_epochs", "last_append_event", "last_flush",
        "leo", "log_start", "producers", "records", "recovery_point", "release",
    )  # fmt: skip

    records: Final[LogRecords]
    keeps_epochs: Final[bool]
    epochs: Final[LeaderEpochCache]
    release: Final[Release]

    def __init__(self, keeps_epochs: bool = True, release: Release = CURRENT) -> None:
        self.records = LogRecords()
        self.leo = 0
        self.log_start = 0
        self.bases: tuple[int, ...] | None = None
        self.keeps_epochs = keeps_epochs
        self.release = release
        self.last_append_event: Column = 0
        self.high_watermark = 0
        self.high_watermark_moved = False
        self.epochs = LeaderEpochCache()
        self.producers: ProducerStateManager | None = None
        self.config: LogConfig = DEFAULT
        self.recovery_point = 0
        self.flush_at: int | None = None
        self.last_flush = 0

    def configure(self, config: LogConfig) -> None:
        """Change the settings of the log. Existing segments keep the former settings."""
        if self.leo > self.log_start:
            self.roll()
        self.config = config
        self._flush_after(self.recovery_point)

    def append_as_leader(self, term: Term, batch: BatchFields) -> Column:
        """Append a batch as the leader. Return the new LEO (`UnifiedLog#appendAsLeader`)."""
        end = term.append(batch)
        if term is not self.records.tail:
            self._begin_run(term)
        self.leo = end
        if self.flush_at is not None and self.leo >= self.flush_at:
            self._maybe_flush()
        return end

    def append_as_follower(self, records: FetchedRecords) -> Column:
        """Append fetched records, with their offsets and epochs. Return the new LEO (`UnifiedLog#appendAsFollower`).

        If the log is empty and its start is inside a batch, the whole batch is appended, and the log begins with this batch.

        Raises:
            ValueError: the first record is not at the LEO (Kafka's UnexpectedAppendOffset).
        """
        first, end, term, _, following = records
        start: int = first
        if start != self.leo:
            if self.records.starts or not start < self.log_start == self.leo < end:
                raise ValueError(f"cannot append records at offset {start}: the log ends at {self.leo}")
            self._restart_at(start)
        if term is not self.records.tail:
            self._begin_run(term)
        self.leo = end
        if following is not None:
            return self.append_as_follower(following)
        if self.flush_at is not None and self.leo >= self.flush_at:
            self._maybe_flush()
        return end

    def _begin_run(self, term: Term) -> None:
        """At the LEO, start a new run, whose records belong to a different term."""
        self.records.begin_run(term, self.leo)
        if self.keeps_epochs:
            self.epochs.assign(term.epoch, self.leo)

    # --- reading ---------------------------------------------------------------------------------------------------

    @property
    def first_offset(self) -> int:
        """The first offset on disk, which is the base of the oldest segment."""
        if self.bases is not None:
            return self.bases[0]
        starts = self.records.starts
        return starts[0] if starts else self.log_start

    @property
    def size(self) -> int:
        """The size of the log on disk, in bytes."""
        return self.records.bytes_between(self.first_offset, self.leo)

    def runs(self) -> tuple[Run, ...]:
        """Return all runs at and above the log start, including the records that log compaction has removed."""
        runs = self.readable_runs()
        return _originals(runs) if any(run.term.compacted for run in runs) else runs

    def readable_runs(self) -> tuple[Run, ...]:
        """Return all runs at and above the log start. Where the log was cleaned, the term of a run is a `CompactedTerm`."""
        start = self.log_start
        runs = self.records.runs_from(start, self.leo)
        if runs and runs[0].start < start:
            runs = (runs[0]._replace(start=start), *runs[1:])
        return runs if not runs or runs[0].start < runs[0].end else runs[1:]

    def term_at(self, offset: int) -> Term | None:
        """Return the term of the record at an offset, even if log compaction has removed the record; None if there was no record."""
        return self.records.term_of(offset).origin if self.log_start <= offset < self.leo else None

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

    def differences(self, other: ReplicaLog) -> list[tuple[int, int]]:
        """Return the offset ranges [start, end) in which both logs have records, but the records differ."""
        if self.records.starts == other.records.starts and self.records.terms == other.records.terms:
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

    # --- segments --------------------------------------------------------------------------------------------------

    def known_segments(self) -> tuple[tuple[int, ...], int]:
        """Return the base offsets and the recovery point that `roll` would find, without changing the log."""
        known = (self.first_offset,) if self.bases is None else self.bases
        bases = rolled(known, self.records.runs_from(known[-1], self.leo), self.config)
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
        """Flush if at least flush.messages records are unflushed, unless one of these records started a new segment (`UnifiedLog#append`)."""
        self.roll()
        if self.leo - self.recovery_point >= self.config.flush_messages:
            self.flush()
        else:
            self._flush_after(self.recovery_point)

    # --- the high watermark ----------------------------------------------------------------------------------------

    def update_high_watermark(self, offset: int) -> bool:
        """Set the high watermark, limited to the offsets in the log. Return True if the high watermark moved up or down
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
        """Raise the high watermark to an offset in the log. Return False if the high watermark is already at or above this offset
        (`UnifiedLog#maybeIncrementHighWatermark`).
        """
        if offset <= self.high_watermark:
            return False
        self.high_watermark = offset
        self.high_watermark_moved = True
        return True

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """Return (epoch, end offset) for the largest epoch that is at most the requested epoch (`LeaderEpochFileCache#endOffsetFor`)."""
        return self.epochs.end_offset_for(epoch, self.leo)

    def truncate_to(self, offset: int) -> bool:
        """Truncate the log to a new LEO. Return True if the truncation removed records (`UnifiedLog#truncateTo`).

        If `offset` is at or above the LEO, only the epoch entries that start at the LEO are removed, and only in releases that do so. Epoch
        entries that start at the LEO come from leaders that appended nothing.
        """
        if offset < 0:
            raise ValueError(f"cannot truncate the log to offset {offset}; the offset must be 0 or more")
        if offset >= self.leo:
            if self.release.truncates_unused_epochs:
                self.epochs.truncate_from_end(self.leo)
            return False
        if offset < self.log_start:
            self.truncate_fully_and_start_at(offset)
            return True
        bases = self.roll()
        self.bases = bases[: max(1, bisect_right(bases, offset))]
        self.records.truncate_to(offset)
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
        self.records.clear()
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
            if not any(term.has_producer_ids for term in self.records.terms):
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
        """Return the batches that have a producer ID and whose end offset is in (start, end].

        If the log holds only part of a batch because the size of a fetch was limited, the result omits this batch.
        """
        for run in self.records.runs_from(start, end):
            if run.term.has_producer_ids:
                for batch in run.term.batches_within(max(run.start, start), run.end):
                    if batch.producer_id >= 0 and run.start <= batch.base and batch.base + batch.records <= run.end:
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
            producers.take_snapshot(self.log_start)

    def take_producer_snapshot(self) -> None:
        """Write a snapshot of the producers' state at the LEO. A broker writes this snapshot during a clean shutdown
        (`ProducerStateManager#takeSnapshot`)."""
        producers = self.producer_state()
        if producers is not None:
            producers.take_snapshot(self.log_start)

    def _take_producer_snapshots(self, bases: tuple[int, ...]) -> None:
        """Write a snapshot of the producers' state at the base of each new segment (`UnifiedLog#roll`)."""
        producers = self.producer_state()
        if producers is not None:
            newest = producers.snapshots[-1].offset if producers.snapshots else -1
            for base in bases[1:]:
                if base > newest:
                    state = producers.before(self.log_start, base)
                    self._replay_producers(state, base)
                    state.take_snapshot(self.log_start)
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
        """Return the first offset of the batch that a read at the log start finds: the first batch that ends after it. Deleting records
        inside a batch does not split the batch (`LogSegment#read`, `#translateOffset`).
        """
        if not self.log_start < self.leo:
            return self.log_start
        term = self.records.term_of(self.log_start)
        number = term.number_after(self.log_start)
        return term.batch(number).base if number < term.count else self.log_start

    # --- compaction ------------------------------------------------------------------------------------------------

    def replace_segments(self, bases: tuple[int, ...], runs: tuple[Run, ...]) -> None:
        """Replace segments with their cleaned versions (`UnifiedLog#replaceSegments`)."""
        self.bases = bases
        self.records.replace(runs)

    # --- the log start ---------------------------------------------------------------------------------------------

    def maybe_increment_log_start(self, offset: int) -> bool:
        """Move the log start forward. Return True if the log start moved (`UnifiedLog#maybeIncrementLogStartOffset`).

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
        """Move the log start. Before 2.4, this method forgets producers that have no records above the new log start (KAFKA-7190)."""
        self.log_start = offset
        self.epochs.truncate_from_start(offset)
        if not self.release.producers_outlive_segments:
            producers = self.producer_state()
            if producers is not None:
                producers.truncate_head(offset)

    def drop_below(self, offset: int) -> None:
        """Drop deleted segments. If the log start is below the base offset of the first remaining segment, move the log start to this
        offset."""
        producers = self.producer_state()
        if producers is not None:
            producers.segments_deleted(offset)
        if offset < self.leo:
            self.records.drop_below(offset)
        else:
            self.records.clear()
        if offset > self.log_start:
            self._start_at(offset)

    def open_at(self, log_start: int) -> None:
        """Open the log in a new process. The log start becomes the larger of the checkpointed log start and the first segment's base.

        The leader-epoch file can contain epochs that have no records, for example the epoch of a leader that appended nothing. Opening the
        log drops epochs that have no records. Kafka: `LogLoader#load`.
        """
        self.log_start = max(self.first_offset, min(log_start, self.leo))
        if self.leo < log_start:
            self._restart_at(log_start)
        else:
            self.epochs.truncate_from_end(self.leo)
            self.epochs.truncate_from_start(self.log_start)


def _originals(runs: tuple[Run, ...]) -> tuple[Run, ...]:
    """Return the runs of a log, with each term as its leader wrote it, before log compaction."""
    found: list[Run] = []
    for start, end, term in runs:
        if found and found[-1].term is term.origin:
            found[-1] = Run(found[-1].start, end, term.origin)
        else:
            found.append(Run(start, end, term.origin))
    return tuple(found)
