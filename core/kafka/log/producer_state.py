"""What a log knows about its idempotent and transactional producers.

Kafka: `ProducerStateManager`, `UnifiedLog#rebuildProducerState`.

For each producer ID, the state holds the epoch, the last five batches, and the first offset of the open transaction. If a producer resends
one of its last five batches, the leader recognizes the batch by its sequence numbers and responds with the offsets from the first append.
The leader refuses any other batch that is out of sequence. Followers do not check batches, but build the same state from the batches that
they replicate.

The records of an open transaction are unstable: consumers with isolation level read_committed read up to the last stable offset (LSO),
which is the smaller of the first unstable offset and the high watermark.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from core.kafka import errors
from core.kafka.ids import NO_OFFSET
from core.kafka.log.index.transaction_index import AbortedTransaction, CompletedTransaction, collect_aborted
from core.kafka.log.leader_term import Batch
from core.kafka.log.producer_append_info import data_batch_error, marker_error
from core.kafka.log.producer_state_entry import (
    NO_TIMESTAMP,
    BatchMetadata,
    ProducerStateEntry,
    VerificationStateEntry,
    increment_sequence,
)
from core.kafka.release import CURRENT, Release
from core.sim.units import US_PER_MS

EXPIRATION_CHECK: Final = 600_000 * US_PER_MS
"""The default of producer.id.expiration.check.interval.ms, the interval at which a broker checks for idle producers, in µs."""

EXPIRATION_CHECK_SETTING: Final = "producer.id.expiration.check.interval.ms"
"""The setting that defines the interval at which a broker checks for idle producers."""

LATE_TRANSACTION_BUFFER: Final = 300_000 * US_PER_MS
"""The time beyond transaction.max.timeout.ms after which an idle transaction counts as late, in µs
(`ProducerStateManager.LATE_TRANSACTION_BUFFER_MS`).
"""

NO_GUARD: Final = 0
"""The guard for a batch that needs no verification, because the batch is not part of a transaction or its transaction is already open on
the partition.
"""

CHECK_NOW: Final = -1
"""A placeholder for the time of the last check for idle producers, which causes the next check to run immediately. `CHECK_NOW` is set when
a new process or a truncation reloads the producers.
"""


class ActiveProducer(NamedTuple):
    """A producer in the form in which DescribeProducers shows it (`UnifiedLog#activeProducers`). The timestamp is in µs; -1 means none."""

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    last_sequence: int
    last_timestamp: int
    open_from: int


class ProducerSnapshot(NamedTuple):
    """A snapshot file: the state of the producers after all records below `offset`."""

    offset: int
    entries: tuple[ProducerStateEntry, ...]


class ProducerStateManager:
    """The producers of one log.

    Attributes:
        release: the rules of the simulated Kafka release.
        entries: the state of each producer, keyed by producer ID, in order of first appearance.
        ongoing: the producer ID of each open transaction, by its first offset, in ascending order.
        unreplicated: the ended transactions whose marker is at or above the high watermark. This dict maps the first offset of the
            transaction to the offset of its marker.
        verifications: the verification entries by producer ID (since 3.6).
        aborted: the transaction index of all segments, in the order of the markers (`TransactionIndex`).
        snapshots: the snapshot files, in ascending order of their offsets.
        end_offset: the end of the part of the log that the state covers (`mapEndOffset`).
    """

    __slots__ = (
        "_checked", "_last_guard", "aborted", "end_offset", "entries", "ongoing", "release", "snapshots", "unreplicated", "verifications",
    )  # fmt: skip

    release: Final[Release]

    def __init__(self, end_offset: int = 0, release: Release = CURRENT) -> None:
        self.release = release
        self.entries: dict[int, ProducerStateEntry] = {}
        self.ongoing: dict[int, int] = {}
        self.unreplicated: dict[int, int] = {}
        self.verifications: dict[int, VerificationStateEntry] = {}
        self.aborted: list[AbortedTransaction] = []
        self.snapshots: tuple[ProducerSnapshot, ...] = ()
        self.end_offset = end_offset
        self._last_guard = NO_GUARD
        self._checked = 0

    # --- what a leader checks --------------------------------------------------------------------------------------

    def duplicate(self, producer_id: int, epoch: int, first_sequence: int, records: int) -> BatchMetadata | None:
        """Return the earlier batch of which this batch is a retry (`UnifiedLog#analyzeAndValidateProducerState`)."""
        entry = self.entries.get(producer_id)
        last = increment_sequence(first_sequence, records - 1)
        return None if entry is None else entry.duplicate_of(epoch, first_sequence, last, self.release.retained_batches)

    def validate(
        self,
        producer_id: int,
        epoch: int,
        first_sequence: int,
        *,
        transactional: bool = False,
        verified: bool = True,
        guard: int = NO_GUARD,
    ) -> str:
        """Return the error for a client's batch, or NONE (`UnifiedLog#analyzeAndValidateProducerState`).

        Args:
            transactional: whether the batch is part of a transaction.
            verified: whether a batch can open a transaction without a guard, as on a broker that does not verify transactions.
            guard: the verification number of the batch; NO_GUARD if the batch needed no verification.
        """
        entry = self.entries.get(producer_id)
        unverified = (
            transactional
            and not verified
            and not self.has_ongoing_transaction(producer_id, epoch)
            and not self.verifies(producer_id, guard)
        )
        stale = entry is not None and epoch < entry.epoch
        if unverified and not (stale and self.release.checks_epoch_before_guard):
            return errors.INVALID_TXN_STATE
        verification = self.verifications.get(producer_id)
        return data_batch_error(entry, verification, epoch, first_sequence, self.release, transactional=transactional)

    def validate_marker(self, producer_id: int, epoch: int, coordinator_epoch: int, *, must_rise: bool = False) -> str:
        """Check a transaction marker, and return the error, or NONE. With `must_rise`, the marker's epoch must be greater than that of an
        open transaction (KIP-1228).
        """
        return marker_error(self.entries.get(producer_id), epoch, coordinator_epoch, must_rise=must_rise)

    def has_ongoing_transaction(self, producer_id: int, epoch: int) -> bool:
        """Return whether a producer has an open transaction in the given producer epoch (`UnifiedLog#hasOngoingTransaction`)."""
        entry = self.entries.get(producer_id)
        return entry is not None and entry.open_from != NO_OFFSET and entry.epoch == epoch

    def verification_guard(self, producer_id: int, sequence: int, epoch: int, now: int, *, begins_at_0: bool = False) -> int:
        """Return the guard for a batch whose transaction is not open on this partition (`#maybeCreateVerificationStateEntry`).

        Args:
            now: the current time, in µs.
            begins_at_0: whether the first batch of an unknown producer must have sequence number 0 (transaction.version 2).
        """
        known = self.verifications.get(producer_id)
        if known is None:
            self._last_guard += 1
            known = VerificationStateEntry(self._last_guard, sequence, epoch, now, begins_at_0=begins_at_0)
            self.verifications[producer_id] = known
        else:
            known.update(sequence, epoch)
        return known.guard

    def verifies(self, producer_id: int, guard: int) -> bool:
        """Return whether the producer's verification entry still has the given guard."""
        known = self.verifications.get(producer_id)
        return known is not None and known.guard == guard

    # --- what is in the log ----------------------------------------------------------------------------------------

    def replay(self, batches: Iterable[Batch]) -> None:
        """Apply replicated batches. Gaps in the sequence numbers are accepted."""
        for batch in batches:
            self.update(batch)

    def update(self, batch: Batch) -> CompletedTransaction | None:
        """Add an appended batch. If the batch is a marker that ends a transaction, return this transaction."""
        entry = self.entries.get(batch.producer_id)
        if entry is None:
            entry = self.entries[batch.producer_id] = ProducerStateEntry(batch.producer_id, batch.producer_epoch)
        self.end_offset = batch.base + batch.records
        if batch.marker is not None:
            return self._end_transaction(entry, batch)
        entry.change_epoch(batch.producer_epoch)
        last = batch.base + batch.records - 1
        last_sequence = increment_sequence(batch.first_sequence, batch.records - 1)
        entry.batches.append(BatchMetadata(batch.first_sequence, last_sequence, batch.base, last, batch.timestamp))
        entry.last_timestamp = batch.timestamp
        if batch.transactional:
            self.verifications.pop(batch.producer_id, None)
            if entry.open_from == NO_OFFSET:
                entry.open_from = batch.base
                self.ongoing[batch.base] = batch.producer_id
        return None

    def _end_transaction(self, entry: ProducerStateEntry, batch: Batch) -> CompletedTransaction | None:
        """Apply a marker (`ProducerAppendInfo#appendEndTxnMarker`). If the marker begins a new epoch, sequence numbers begin at 0 again."""
        marker = batch.marker
        assert marker is not None, "a control batch must contain a transaction marker"
        self.verifications.pop(batch.producer_id, None)
        entry.change_epoch(batch.producer_epoch)
        entry.coordinator_epoch = marker.coordinator_epoch
        if self.release.markers_have_timestamps:
            entry.last_timestamp = batch.timestamp
        elif not entry.batches:
            entry.last_timestamp = NO_TIMESTAMP
        first, entry.open_from = entry.open_from, NO_OFFSET
        if first != NO_OFFSET:
            del self.ongoing[first]
        elif self.release.ignores_empty_transactions:
            return None
        else:
            first = batch.base
        completed = CompletedTransaction(batch.producer_id, first, batch.base, not marker.commits)
        self.unreplicated[completed.first_offset] = completed.last_offset
        if completed.aborted and (not self.aborted or self.aborted[-1].last_offset < completed.last_offset):
            stable = next(iter(self.ongoing), completed.last_offset + 1)  # (`ProducerStateManager#lastStableOffset`)
            self.aborted.append(AbortedTransaction(batch.producer_id, completed.first_offset, completed.last_offset, stable))
        return completed

    def aborted_between(self, start: int, end: int) -> tuple[AbortedTransaction, ...]:
        """Return the aborted transactions that have records or a marker in [start, end) (`UnifiedLog#collectAbortedTransactions`)."""
        return collect_aborted(self.aborted, start, end).aborted

    def active_producers(self, now: int | None = None, expiration: int = 0, interval: int = EXPIRATION_CHECK) -> tuple[ActiveProducer, ...]:
        """Return the producers in the form in which DescribeProducers shows them (`UnifiedLog#activeProducers`).

        Args:
            now: the current time, in µs. The result omits producers that a periodic check has already removed. If `now` is None, the result
                assumes that no periodic check has run.
            expiration: the time after which an idle producer expires, in µs.
            interval: the time between two periodic checks for idle producers, in µs.
        """
        return tuple(
            ActiveProducer(each.producer_id, each.epoch, each.coordinator_epoch, each.last_sequence, each.last_timestamp, each.open_from)
            for each in self.entries.values()
            if now is None or not each.is_expired(now - now % interval, expiration)
        )

    # --- what is stable --------------------------------------------------------------------------------------------

    def high_watermark_updated(self, high_watermark: int) -> None:
        """Forget ended transactions whose marker is now below the high watermark (`#onHighWatermarkUpdated`)."""
        for first in [first for first, last in self.unreplicated.items() if last < high_watermark]:
            del self.unreplicated[first]

    def first_unstable_offset(self, high_watermark: int) -> int:
        """Return the first offset of the oldest transaction that is open or whose marker is not committed; NO_OFFSET if there is none
        (`#firstUnstableOffset`)."""
        firsts = [first for first, last in self.unreplicated.items() if last >= high_watermark]
        if self.ongoing:
            firsts.append(next(iter(self.ongoing)))
        return min(firsts, default=NO_OFFSET)

    def has_late_transaction(self, now: int, max_timeout: int) -> bool:
        """Return whether the oldest open transaction has been idle for longer than any timeout allows (`#hasLateTransaction`).

        The metric PartitionsWithLateTransactionsCount counts the partitions that have a late transaction (since 3.2).

        Args:
            now: the current time, in µs.
            max_timeout: transaction.max.timeout.ms, in µs.
        """
        if not self.ongoing:
            return False
        oldest = self.entries[next(iter(self.ongoing.values()))]
        return now - oldest.last_timestamp > max_timeout + LATE_TRANSACTION_BUFFER

    # --- expiration and deletion -----------------------------------------------------------------------------------

    def remove_expired(self, now: int, expiration: int) -> None:
        """Drop the producers that have been idle for `expiration` µs, and old verifications (`#removeExpiredProducers`)."""
        for entry in [each for each in self.entries.values() if each.is_expired(now, expiration)]:
            del self.entries[entry.producer_id]
        for producer_id in [each for each, waiting in self.verifications.items() if now - waiting.created >= expiration]:
            del self.verifications[producer_id]

    def remove_expired_if_due(self, now: int, expiration: int, interval: int = EXPIRATION_CHECK) -> None:
        """Apply the effects of all periodic checks that are due by now.

        The periodic checks for idle producers do not use a timer. Before code reads the state, it runs the most recent check that is due.
        The effect is the same as if every check had run on time.
        """
        if self._checked == CHECK_NOW:
            self.remove_expired(now, expiration)
        due = now - now % interval
        if due > self._checked:
            self._checked = due
            self.remove_expired(due, expiration)

    def truncate_head(self, log_start: int) -> None:
        """Drop the producers whose last record is below the log start (`#truncateHead`, `#isProducerRetained`). Only releases before 2.4 do
        this, when the log start moves and when they load a snapshot (KAFKA-7190)."""
        for entry in list(self.entries.values()):
            if entry.last_data_offset < log_start:
                del self.entries[entry.producer_id]
                self.ongoing.pop(entry.open_from, None)
            else:
                while entry.batches[0].last_offset < log_start:
                    entry.batches.popleft()
        for first in [first for first, last in self.unreplicated.items() if last < log_start]:
            del self.unreplicated[first]

    # --- snapshots -------------------------------------------------------------------------------------------------

    def take_snapshot(self, log_start: int) -> None:
        """Write a snapshot file of the state unless one already exists at this offset or the log begins here
        (`ProducerStateManager#takeSnapshot`)."""
        if self.end_offset > (self.snapshots[-1].offset if self.snapshots else log_start):
            self.snapshots = (*self.snapshots, ProducerSnapshot(self.end_offset, tuple(each.copy(1) for each in self.entries.values())))

    def segments_deleted(self, base: int) -> None:
        """Delete the snapshot files and index entries of the segments below a base offset."""
        self.snapshots = tuple(each for each in self.snapshots if each.offset >= base)
        self.aborted = [each for each in self.aborted if each.last_offset >= base]

    def remove_stray_snapshots(self, bases: tuple[int, ...]) -> None:
        """Delete the snapshot files that belong to no segment, except the one with the largest offset above the base of the last segment
        (`#removeStraySnapshots`).
        """
        largest = max([each.offset for each in self.snapshots if each.offset > bases[-1]], default=NO_OFFSET)
        self.snapshots = tuple(each for each in self.snapshots if each.offset in bases or each.offset == largest)

    def before(self, log_start: int, offset: int) -> ProducerStateManager:
        """Return the state in the newest snapshot at or before an offset. The returned state keeps the snapshot that it comes from and all
        earlier snapshots (`#loadFromSnapshot`)."""
        state = ProducerStateManager(log_start, self.release)
        state.snapshots = tuple(each for each in self.snapshots if log_start < each.offset <= offset)
        if state.snapshots:
            newest = state.snapshots[-1]
            state.entries = {each.producer_id: each.copy(1) for each in newest.entries}
            state.ongoing = dict(sorted((each.open_from, each.producer_id) for each in newest.entries if each.open_from != NO_OFFSET))
            state.end_offset = newest.offset
            if not self.release.producers_outlive_segments:
                state.truncate_head(log_start)
        state.aborted = [each for each in self.aborted if each.last_offset < offset]
        return state

    def truncate_and_reload(self, log_start: int, offset: int, *, restarted: bool = False) -> None:
        """Go back to the newest snapshot at or before an offset, or to the log start. The caller must then replay the log's batches
        starting at `end_offset`.

        If the log already ends at `offset`, do nothing, unless a new process is opening the log (`restarted`). Kafka:
        `ProducerStateManager#truncateAndReload`.
        """
        if offset == self.end_offset and not restarted:
            return
        state = self.before(log_start, offset)
        self.entries, self.ongoing, self.snapshots, self.aborted = state.entries, state.ongoing, state.snapshots, state.aborted
        self.end_offset = state.end_offset
        self._checked = CHECK_NOW
        self.unreplicated.clear()
        self.verifications.clear()
