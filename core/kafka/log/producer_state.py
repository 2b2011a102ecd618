"""What a log says about its idempotent and transactional producers.

Kafka: `ProducerStateManager`, `ProducerStateEntry`, `ProducerAppendInfo`, `UnifiedLog#rebuildProducerState`.

For each producer ID, the state holds the epoch, the last five batches, and the first offset of the open transaction. A leader recognizes the
retry of one of those batches by its sequence numbers and responds with the offsets of the first append. A leader refuses any other batch that
is out of sequence. Followers check nothing, but build the same state from the batches that they replicate.

The records of an open transaction are unstable: consumers with isolation level read_committed read up to the last stable offset (LSO), which
is the first unstable offset or the high watermark, whichever is smaller.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final, NamedTuple

from core.kafka import errors
from core.kafka.ids import NO_OFFSET
from core.kafka.log.leader_term import Batch
from core.kafka.release import Release, UnknownProducer
from core.sim.units import US_PER_MS

NUM_BATCHES_TO_RETAIN: Final = 5
"""Batches kept of each producer (`ProducerStateEntry.NUM_BATCHES_TO_RETAIN`)."""

MAX_SEQUENCE: Final = 2**31 - 1
"""The last sequence number; 0 follows."""

NO_SEQUENCE: Final = -1
"""No sequence number: nothing was appended in this producer epoch, or the batch is not idempotent."""

EXPIRATION_CHECK: Final = 600_000 * US_PER_MS
"""The interval of the check for idle producers (producer.id.expiration.check.interval.ms), µs."""


UNKNOWN_PRODUCER_ERROR: Final = {
    UnknownProducer.OUT_OF_ORDER: errors.OUT_OF_ORDER_SEQUENCE_NUMBER,
    UnknownProducer.REFUSED: errors.UNKNOWN_PRODUCER_ID,
    UnknownProducer.ACCEPTED: errors.NONE,
}
"""The error of a batch of an unknown producer that does not begin with sequence number 0."""


def increment_sequence(sequence: int, by: int) -> int:
    """The sequence number `by` later, which wraps to 0 (`DefaultRecordBatch#incrementSequence`)."""
    return sequence + by if sequence <= MAX_SEQUENCE - by else by - (MAX_SEQUENCE - sequence) - 1


def decrement_sequence(sequence: int, by: int) -> int:
    """The sequence number `by` earlier, which wraps to MAX_SEQUENCE (`DefaultRecordBatch#decrementSequence`)."""
    return sequence - by if sequence >= by else MAX_SEQUENCE - (by - sequence) + 1


class BatchMetadata(NamedTuple):
    """The metadata of one batch; offsets and sequence numbers are inclusive, the time is in µs."""

    first_sequence: int
    last_sequence: int
    first_offset: int
    last_offset: int
    timestamp: int


class CompletedTransaction(NamedTuple):
    """A transaction that a marker ended on this partition (`CompletedTxn`). `last_offset` is the offset of the marker."""

    producer_id: int
    first_offset: int
    last_offset: int
    aborted: bool


class AbortedTransaction(NamedTuple):
    """An entry of the transaction index (`AbortedTxn`).

    `last_stable_offset` is the first offset of the oldest other open transaction at that time, or the offset after the marker.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class ProducerStateEntry:
    """The state of one producer ID (`ProducerStateEntry`).

    Attributes:
        producer_id: the producer ID.
        epoch: the largest producer epoch that was appended.
        batches: the last batches of that epoch, at most `NUM_BATCHES_TO_RETAIN`.
        coordinator_epoch: the epoch of the coordinator that wrote the last marker; -1 before the first marker.
        last_timestamp: the timestamp of the last batch or marker, µs; -1 if only a marker without a timestamp was appended.
        open_from: the first offset of the open transaction; NO_OFFSET if none is open.
    """

    __slots__ = ("batches", "coordinator_epoch", "epoch", "last_timestamp", "open_from", "producer_id")

    producer_id: Final[int]

    def __init__(self, producer_id: int, epoch: int) -> None:
        self.producer_id = producer_id
        self.epoch = epoch
        self.batches: deque[BatchMetadata] = deque(maxlen=NUM_BATCHES_TO_RETAIN)
        self.coordinator_epoch = -1
        self.last_timestamp = 0
        self.open_from = NO_OFFSET

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record."""
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    def duplicate_of(
        self, epoch: int, first_sequence: int, last_sequence: int, retained: int = NUM_BATCHES_TO_RETAIN
    ) -> BatchMetadata | None:
        """The batch with exactly these sequence numbers among the last `retained` of this epoch (`ProducerStateEntry#findDuplicateBatch`)."""
        if epoch == self.epoch:
            for batch in list(self.batches)[-retained:]:
                if (batch.first_sequence, batch.last_sequence) == (first_sequence, last_sequence):
                    return batch
        return None

    def change_epoch(self, epoch: int) -> None:
        """Begin another epoch: the batches of the former one are forgotten (`ProducerStateEntry#maybeUpdateProducerEpoch`)."""
        if epoch != self.epoch:
            self.epoch = epoch
            self.batches.clear()

    def copy(self, batches: int) -> ProducerStateEntry:
        """A copy that holds only the last `batches` batches."""
        made = ProducerStateEntry(self.producer_id, self.epoch)
        made.batches.extend(list(self.batches)[-batches:])
        made.coordinator_epoch = self.coordinator_epoch
        made.last_timestamp = self.last_timestamp
        made.open_from = self.open_from
        return made


class VerificationStateEntry:
    """A transactional batch waits for the coordinator to verify its partition (KIP-890, `VerificationStateEntry`).

    Attributes:
        guard: the number of the verification; an append with another number fails.
        lowest_sequence: the lowest first sequence number of the batches that wait.
        epoch: the largest producer epoch of those batches.
    """

    __slots__ = ("epoch", "guard", "lowest_sequence")

    guard: Final[int]

    def __init__(self, guard: int, sequence: int, epoch: int) -> None:
        self.guard = guard
        self.lowest_sequence = sequence
        self.epoch = epoch

    def update(self, sequence: int, epoch: int) -> None:
        """Note another batch: a lower sequence or a higher epoch replaces the known one (`#maybeUpdateLowestSequenceAndEpoch`)."""
        if epoch > self.epoch:
            self.epoch, self.lowest_sequence = epoch, sequence
        elif epoch == self.epoch:
            self.lowest_sequence = min(self.lowest_sequence, sequence)


class ProducerSnapshot(NamedTuple):
    """A snapshot file: the state of all records below `offset`."""

    offset: int
    entries: tuple[ProducerStateEntry, ...]


class ProducerStateManager:
    """The producers of one log.

    Attributes:
        entries: by producer ID, in order of first appearance.
        ongoing: the producer ID of each open transaction, by its first offset, in ascending order.
        unreplicated: the transactions that a marker at or above the high watermark ended: marker offset by first offset.
        verifications: the verification entries by producer ID (3.6).
        aborted: the transaction index of all segments, in the order of the markers (`TransactionIndex`).
        snapshots: the snapshot files, in ascending order of their offsets.
        end_offset: the end of the part of the log that the state covers (`mapEndOffset`).
    """

    __slots__ = ("_checked", "_last_guard", "aborted", "end_offset", "entries", "ongoing", "snapshots", "unreplicated", "verifications")

    def __init__(self, end_offset: int = 0) -> None:
        self.entries: dict[int, ProducerStateEntry] = {}
        self.ongoing: dict[int, int] = {}
        self.unreplicated: dict[int, int] = {}
        self.verifications: dict[int, VerificationStateEntry] = {}
        self.aborted: list[AbortedTransaction] = []
        self.snapshots: tuple[ProducerSnapshot, ...] = ()
        self.end_offset = end_offset
        self._last_guard = 0
        self._checked = 0

    # --- what a leader checks --------------------------------------------------------------------------------------

    def duplicate(
        self, producer_id: int, epoch: int, first_sequence: int, records: int, retained: int = NUM_BATCHES_TO_RETAIN
    ) -> BatchMetadata | None:
        """The batch that this one is a retry of (`UnifiedLog#analyzeAndValidateProducerState`)."""
        entry = self.entries.get(producer_id)
        last = increment_sequence(first_sequence, records - 1)
        return None if entry is None else entry.duplicate_of(epoch, first_sequence, last, retained)

    def validate(self, producer_id: int, epoch: int, first_sequence: int, release: Release, *, transactional: bool = False) -> str:
        """The error of a client's batch, or NONE (`ProducerAppendInfo#checkProducerEpoch`, `#checkSequence`)."""
        entry = self.entries.get(producer_id)
        verification = self.verifications.get(producer_id)
        if verification is not None and verification.epoch == epoch and first_sequence > verification.lowest_sequence:
            return errors.OUT_OF_ORDER_SEQUENCE_NUMBER
        if entry is None:
            return errors.NONE if first_sequence == 0 else UNKNOWN_PRODUCER_ERROR[release.unknown_producer]
        if epoch < entry.epoch:
            return errors.INVALID_PRODUCER_EPOCH
        if not transactional and entry.open_from != NO_OFFSET:
            return errors.INVALID_TXN_STATE
        if epoch > entry.epoch:
            return errors.NONE if first_sequence == 0 else errors.OUT_OF_ORDER_SEQUENCE_NUMBER
        if entry.last_sequence == NO_SEQUENCE:  # only a marker is left of this epoch
            if first_sequence == 0:
                return errors.NONE
            return errors.UNKNOWN_PRODUCER_ID if release.marker_only_is_unknown else errors.OUT_OF_ORDER_SEQUENCE_NUMBER
        return errors.NONE if first_sequence == increment_sequence(entry.last_sequence, 1) else errors.OUT_OF_ORDER_SEQUENCE_NUMBER

    def validate_marker(self, producer_id: int, epoch: int, coordinator_epoch: int) -> str:
        """The error of a marker, or NONE (`ProducerAppendInfo#checkCoordinatorEpoch`, `#checkProducerEpoch`)."""
        entry = self.entries.get(producer_id)
        if entry is None:
            return errors.NONE
        if epoch < entry.epoch:
            return errors.INVALID_PRODUCER_EPOCH
        return errors.TRANSACTION_COORDINATOR_FENCED if coordinator_epoch < entry.coordinator_epoch else errors.NONE

    def has_ongoing_transaction(self, producer_id: int, epoch: int) -> bool:
        """Whether a producer has an open transaction in this epoch (`UnifiedLog#hasOngoingTransaction`)."""
        entry = self.entries.get(producer_id)
        return entry is not None and entry.open_from != NO_OFFSET and entry.epoch == epoch

    def verification_guard(self, producer_id: int, sequence: int, epoch: int) -> int:
        """The guard for a transactional batch of a transaction that is not open here (`#maybeCreateVerificationStateEntry`)."""
        known = self.verifications.get(producer_id)
        if known is None:
            self._last_guard += 1
            known = self.verifications[producer_id] = VerificationStateEntry(self._last_guard, sequence, epoch)
        else:
            known.update(sequence, epoch)
        return known.guard

    def verifies(self, producer_id: int, guard: int) -> bool:
        """Whether a guard is still the one of the producer's verification entry."""
        known = self.verifications.get(producer_id)
        return known is not None and known.guard == guard

    # --- what is in the log ----------------------------------------------------------------------------------------

    def replay(self, batches: Iterable[Batch]) -> None:
        """Apply batches as replication does: gaps are accepted."""
        for batch in batches:
            self.update(batch)

    def update(self, batch: Batch) -> CompletedTransaction | None:
        """Add a batch that was appended; return the transaction that it ends, if it is a marker that ends one."""
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
        """Apply a marker (`ProducerAppendInfo#appendEndTxnMarker`); a higher epoch begins again at sequence 0."""
        marker = batch.marker
        assert marker is not None, "a control batch has a marker"
        self.verifications.pop(batch.producer_id, None)
        entry.change_epoch(max(batch.producer_epoch, entry.epoch))
        entry.coordinator_epoch = marker.coordinator_epoch
        entry.last_timestamp = batch.timestamp
        if entry.open_from == NO_OFFSET:
            return None
        completed = CompletedTransaction(batch.producer_id, entry.open_from, batch.base, not marker.commits)
        del self.ongoing[entry.open_from]
        entry.open_from = NO_OFFSET
        self.unreplicated[completed.first_offset] = completed.last_offset
        if completed.aborted:
            stable = next(iter(self.ongoing), completed.last_offset + 1)  # (`ProducerStateManager#lastStableOffset`)
            self.aborted.append(AbortedTransaction(batch.producer_id, completed.first_offset, completed.last_offset, stable))
        return completed

    def aborted_between(self, start: int, end: int) -> tuple[AbortedTransaction, ...]:
        """The aborted transactions with records or a marker in [start, end) (`TransactionIndex#collectAbortedTxns`)."""
        found = []
        for entry in self.aborted:
            if entry.last_offset >= start and entry.first_offset < end:
                found.append(entry)
            if entry.last_stable_offset >= end:
                break
        return tuple(found)

    # --- what is stable --------------------------------------------------------------------------------------------

    def high_watermark_updated(self, high_watermark: int) -> None:
        """Forget completed transactions whose marker is below the high watermark (`#onHighWatermarkUpdated`)."""
        for first in [first for first, last in self.unreplicated.items() if last < high_watermark]:
            del self.unreplicated[first]

    def first_unstable_offset(self, high_watermark: int) -> int:
        """The first offset of an open transaction, or of one whose marker is not committed; NO_OFFSET if there is none (`#firstUnstableOffset`)."""
        firsts = [first for first, last in self.unreplicated.items() if last >= high_watermark]
        if self.ongoing:
            firsts.append(next(iter(self.ongoing)))
        return min(firsts, default=NO_OFFSET)

    # --- expiration and snapshots ----------------------------------------------------------------------------------

    def remove_expired(self, now: int, expiration: int) -> None:
        """Drop producers that have been idle for `expiration` µs and have no open transaction (`#removeExpiredProducers`)."""
        for entry in list(self.entries.values()):
            if now - entry.last_timestamp >= expiration and entry.open_from == NO_OFFSET:
                del self.entries[entry.producer_id]

    def remove_expired_if_due(self, now: int, expiration: int) -> None:
        """Run the periodic check if it is due."""
        if now - self._checked >= EXPIRATION_CHECK:
            self._checked = now
            self.remove_expired(now, expiration)

    def take_snapshot(self) -> None:
        """Write a snapshot file of the state at its end, unless there is one (`ProducerStateManager#takeSnapshot`)."""
        if not self.snapshots or self.snapshots[-1].offset < self.end_offset:
            self.snapshots = (*self.snapshots, ProducerSnapshot(self.end_offset, tuple(each.copy(1) for each in self.entries.values())))

    def before(self, log_start: int, offset: int) -> ProducerStateManager:
        """The state by the newest snapshot up to an offset, with that snapshot and those before it (`#loadFromSnapshot`)."""
        state = ProducerStateManager(log_start)
        state.snapshots = tuple(each for each in self.snapshots if log_start < each.offset <= offset)
        if state.snapshots:
            newest = state.snapshots[-1]
            state.entries = {each.producer_id: each.copy(1) for each in newest.entries}
            state.ongoing = dict(sorted((each.open_from, each.producer_id) for each in newest.entries if each.open_from != NO_OFFSET))
            state.end_offset = newest.offset
        state.aborted = [each for each in self.aborted if each.last_offset < state.end_offset]
        return state

    def truncate_and_reload(self, log_start: int, offset: int, *, restarted: bool = False) -> None:
        """Go back to the newest snapshot up to an offset, or to the log start. The log then replays its batches from `end_offset` on.

        Without a truncation, only a new process does so. Kafka: `ProducerStateManager#truncateAndReload`.
        """
        if offset == self.end_offset and not restarted:
            return
        state = self.before(log_start, offset)
        self.entries, self.ongoing, self.snapshots, self.aborted = state.entries, state.ongoing, state.snapshots, state.aborted
        self.end_offset = state.end_offset
        self.unreplicated.clear()
        self.verifications.clear()
