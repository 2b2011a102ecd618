"""The state of idempotent producers that a partition's leader keeps.

Kafka: `ProducerStateManager`, `ProducerStateEntry`, `ProducerAppendInfo`.

For each producer id, it holds the epoch and the last five batches. A retry of one of them is recognized by its sequence numbers, and its
response has the offsets of the first append. Any other batch out of sequence is refused. Followers check nothing: the state is rebuilt
from the log's own batches when a replica becomes leader and after every truncation.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final, NamedTuple

from core.kafka import errors
from core.kafka.log.leader_term import Batch
from core.kafka.log.replica_log import ReplicaLog

NUM_BATCHES_TO_RETAIN: Final = 5
"""Batches kept of each producer (`ProducerStateEntry.NUM_BATCHES_TO_RETAIN`)."""

MAX_SEQUENCE: Final = 2**31 - 1
"""The last sequence number; 0 follows."""

NO_SEQUENCE: Final = -1
"""No sequence number: nothing was appended in this producer epoch, or the batch is not idempotent."""

EXPIRATION: Final = 86_400_000_000
"""producer.id.expiration.ms, µs: the state of a producer that is idle for this long is dropped."""

EXPIRATION_CHECK: Final = 600_000_000
"""The interval of the check for idle producers (producer.id.expiration.check.interval.ms), µs."""


def increment_sequence(sequence: int, by: int) -> int:
    """The sequence number `by` later, which wraps to 0 (`DefaultRecordBatch#incrementSequence`)."""
    return sequence + by if sequence <= MAX_SEQUENCE - by else by - (MAX_SEQUENCE - sequence) - 1


class BatchMetadata(NamedTuple):
    """The metadata of one batch; offsets and sequence numbers are inclusive, the time is in µs."""

    first_sequence: int
    last_sequence: int
    first_offset: int
    last_offset: int
    timestamp: int


class ProducerStateEntry:
    """The state of one producer id. `last_sequence` is NO_SEQUENCE until something is appended in its epoch."""

    __slots__ = ("batches", "epoch", "last_timestamp", "producer_id")

    def __init__(self, producer_id: int, epoch: int) -> None:
        self.producer_id = producer_id
        self.epoch = epoch
        self.batches: deque[BatchMetadata] = deque(maxlen=NUM_BATCHES_TO_RETAIN)
        self.last_timestamp = 0

    @property
    def last_sequence(self) -> int:
        """The sequence number of its last record."""
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    def duplicate_of(self, epoch: int, first_sequence: int, last_sequence: int) -> BatchMetadata | None:
        """The kept batch with exactly these sequence numbers in this epoch (`ProducerStateEntry#findDuplicateBatch`)."""
        if epoch == self.epoch:
            for batch in self.batches:
                if (batch.first_sequence, batch.last_sequence) == (first_sequence, last_sequence):
                    return batch
        return None


class ProducerStateManager:
    """The producers of one partition.

    Attributes:
        entries: by producer id, in order of first appearance.
    """

    __slots__ = ("_checked", "entries")

    def __init__(self) -> None:
        self.entries: dict[int, ProducerStateEntry] = {}
        self._checked = 0

    @classmethod
    def of_log(cls, log: ReplicaLog, now: int) -> ProducerStateManager:
        """The state by a log's batches (`ProducerStateManager#truncateAndReload`, `UnifiedLog#rebuildProducerState`).

        A batch does not count if the log holds only a part of it, because a fetch was limited to that part.
        """
        made = cls()
        made.replay(
            batch
            for run in log.runs()
            for batch in run.term.batches_within(run.start, run.end)
            if batch.producer_id >= 0 and run.start <= batch.base and batch.base + batch.records <= run.end
        )
        made.remove_expired(now)
        return made

    def replay(self, batches: Iterable[Batch]) -> None:
        """Apply batches as replication does: gaps are accepted."""
        for batch in batches:
            self.update(batch)

    def duplicate(self, producer_id: int, epoch: int, first_sequence: int, records: int) -> BatchMetadata | None:
        """The batch that this one is a retry of (`UnifiedLog#analyzeAndValidateProducerState`)."""
        entry = self.entries.get(producer_id)
        return None if entry is None else entry.duplicate_of(epoch, first_sequence, increment_sequence(first_sequence, records - 1))

    def validate(self, producer_id: int, epoch: int, first_sequence: int) -> str:
        """The error, if any, of a batch with that epoch and sequence number (`ProducerAppendInfo#checkProducerEpoch`, `#checkSequence`)."""
        entry = self.entries.get(producer_id)
        if entry is None:
            return errors.NONE
        if epoch < entry.epoch:
            return errors.INVALID_PRODUCER_EPOCH
        if epoch > entry.epoch:
            return errors.NONE if first_sequence == 0 else errors.OUT_OF_ORDER_SEQUENCE_NUMBER
        expected = 0 if entry.last_sequence == NO_SEQUENCE else increment_sequence(entry.last_sequence, 1)
        return errors.NONE if first_sequence == expected else errors.OUT_OF_ORDER_SEQUENCE_NUMBER

    def update(self, batch: Batch) -> None:
        """Add a batch that was appended."""
        entry = self._entry(batch.producer_id, batch.producer_epoch)
        last = batch.base + batch.records - 1
        last_sequence = increment_sequence(batch.first_sequence, batch.records - 1)
        entry.batches.append(BatchMetadata(batch.first_sequence, last_sequence, batch.base, last, batch.timestamp))
        entry.last_timestamp = batch.timestamp

    def bump_epoch(self, producer_id: int, epoch: int, timestamp: int) -> str:
        """Apply a control record (`ProducerAppendInfo#appendEndTxnMarker`); a higher epoch begins again at sequence 0.

        Returns:
            The error, if any.
        """
        known = self.entries.get(producer_id)
        if known is not None and epoch < known.epoch:
            return errors.INVALID_PRODUCER_EPOCH
        self._entry(producer_id, epoch).last_timestamp = timestamp
        return errors.NONE

    def _entry(self, producer_id: int, epoch: int) -> ProducerStateEntry:
        entry = self.entries.get(producer_id)
        if entry is None:
            entry = self.entries[producer_id] = ProducerStateEntry(producer_id, epoch)
        elif epoch != entry.epoch:
            entry.epoch = epoch
            entry.batches.clear()
        return entry

    def remove_expired(self, now: int) -> None:
        """Drop producers that have been idle for producer.id.expiration.ms (`#removeExpiredProducers`)."""
        self._checked = now
        for producer_id in [entry.producer_id for entry in self.entries.values() if now - entry.last_timestamp >= EXPIRATION]:
            del self.entries[producer_id]

    def remove_expired_if_due(self, now: int) -> None:
        """Run the periodic check if it is due."""
        if now - self._checked >= EXPIRATION_CHECK:
            self.remove_expired(now)
