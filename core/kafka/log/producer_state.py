"""The state of idempotent producers that a partition's leader keeps.

Kafka: `ProducerStateManager`, `ProducerStateEntry`, `ProducerAppendInfo`.

For each producer id, the state contains the epoch and the last five batches. The leader recognizes a retry of such a batch by its
sequence numbers, and responds with the offsets of the first append. It refuses any other batch that is out of sequence. Followers check
nothing. The state is rebuilt from the batches in the log when a replica becomes leader, and after every truncation.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final, NamedTuple

from core.kafka import errors
from core.kafka.log.leader_term import Batch
from core.kafka.log.replica_log import ReplicaLog

NUM_BATCHES_TO_RETAIN: Final = 5
"""The number of batches kept per producer (`ProducerStateEntry.NUM_BATCHES_TO_RETAIN`)."""

MAX_SEQUENCE: Final = 2**31 - 1
"""The last sequence number. The next one is 0."""

NO_SEQUENCE: Final = -1
"""The value that means no sequence number: nothing was appended in this producer epoch, or the batch is not idempotent."""

EXPIRATION: Final = 86_400_000_000
"""The time after which the state of an idle producer is dropped, µs (producer.id.expiration.ms)."""

EXPIRATION_CHECK: Final = 600_000_000
"""The interval of the check for idle producers, µs (producer.id.expiration.check.interval.ms)."""


def increment_sequence(sequence: int, by: int) -> int:
    """Return the sequence number that is `by` later; it wraps to 0 (`DefaultRecordBatch#incrementSequence`)."""
    return sequence + by if sequence <= MAX_SEQUENCE - by else by - (MAX_SEQUENCE - sequence) - 1


class BatchMetadata(NamedTuple):
    """The metadata of one batch. Offsets and sequence numbers are inclusive, and the time is in µs."""

    first_sequence: int
    last_sequence: int
    first_offset: int
    last_offset: int
    timestamp: int


class ProducerStateEntry:
    """The state of one producer id. `last_sequence` is NO_SEQUENCE until a batch is appended in its epoch."""

    __slots__ = ("batches", "epoch", "last_timestamp", "producer_id")

    def __init__(self, producer_id: int, epoch: int) -> None:
        self.producer_id = producer_id
        self.epoch = epoch
        self.batches: deque[BatchMetadata] = deque(maxlen=NUM_BATCHES_TO_RETAIN)
        self.last_timestamp = 0

    @property
    def last_sequence(self) -> int:
        """The sequence number of the producer's last record."""
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    def duplicate_of(self, epoch: int, first_sequence: int, last_sequence: int) -> BatchMetadata | None:
        """Return the kept batch with exactly these sequence numbers in this epoch, or None (`ProducerStateEntry#findDuplicateBatch`)."""
        if epoch == self.epoch:
            for batch in self.batches:
                if (batch.first_sequence, batch.last_sequence) == (first_sequence, last_sequence):
                    return batch
        return None


class ProducerStateManager:
    """The producers of one partition.

    Attributes:
        entries: the producers' states by producer id, in order of first appearance.
    """

    __slots__ = ("_checked", "entries")

    def __init__(self) -> None:
        self.entries: dict[int, ProducerStateEntry] = {}
        self._checked = 0

    @classmethod
    def of_log(cls, log: ReplicaLog, now: int) -> ProducerStateManager:
        """Return the state from a log's batches (`ProducerStateManager#truncateAndReload`, `UnifiedLog#rebuildProducerState`).

        A batch does not count if the log contains only a part of it because a fetch was limited to that part.
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
        """Apply batches as replication does, with gaps accepted."""
        for batch in batches:
            self.update(batch)

    def duplicate(self, producer_id: int, epoch: int, first_sequence: int, records: int) -> BatchMetadata | None:
        """Return the batch that this batch retries, or None (`UnifiedLog#analyzeAndValidateProducerState`)."""
        entry = self.entries.get(producer_id)
        return None if entry is None else entry.duplicate_of(epoch, first_sequence, increment_sequence(first_sequence, records - 1))

    def validate(self, producer_id: int, epoch: int, first_sequence: int) -> str:
        """Return the error of a batch with that epoch and sequence number, or NONE.

        Kafka: `ProducerAppendInfo#checkProducerEpoch`, `#checkSequence`.
        """
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
        """Add an appended batch."""
        entry = self._entry(batch.producer_id, batch.producer_epoch)
        last = batch.base + batch.records - 1
        last_sequence = increment_sequence(batch.first_sequence, batch.records - 1)
        entry.batches.append(BatchMetadata(batch.first_sequence, last_sequence, batch.base, last, batch.timestamp))
        entry.last_timestamp = batch.timestamp

    def bump_epoch(self, producer_id: int, epoch: int, timestamp: int) -> str:
        """Apply a control record (`ProducerAppendInfo#appendEndTxnMarker`). A higher epoch starts again at sequence 0.

        Returns:
            The error, or NONE.
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
        """Run the periodic check if its time has come."""
        if now - self._checked >= EXPIRATION_CHECK:
            self.remove_expired(now)
