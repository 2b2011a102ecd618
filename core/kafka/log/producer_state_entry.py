"""What a log knows about one producer (Kafka: `ProducerStateEntry`, `BatchMetadata`, `VerificationStateEntry`)."""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

from core.kafka.ids import NO_OFFSET

NUM_BATCHES_TO_RETAIN: Final = 5
"""The number of batches that a log remembers for each producer (`ProducerStateEntry.NUM_BATCHES_TO_RETAIN`)."""

MAX_SEQUENCE: Final = 2**31 - 1
"""The largest sequence number. The sequence number after the largest one is 0."""

NO_SEQUENCE: Final = -1
"""The value for a missing sequence number: nothing was appended in this producer epoch, or the batch is not idempotent."""

NO_TIMESTAMP: Final = -1
"""The value for a missing timestamp. Before 2.4.1, a marker does not set `last_timestamp` (KAFKA-9144)."""


def increment_sequence(sequence: int, by: int) -> int:
    """Return the sequence number that comes `by` numbers after the given one. MAX_SEQUENCE is followed by 0
    (`DefaultRecordBatch#incrementSequence`).
    """
    return sequence + by if sequence <= MAX_SEQUENCE - by else by - (MAX_SEQUENCE - sequence) - 1


def decrement_sequence(sequence: int, by: int) -> int:
    """Return the sequence number that comes `by` numbers before the given one. 0 is preceded by MAX_SEQUENCE
    (`DefaultRecordBatch#decrementSequence`).
    """
    return sequence - by if sequence >= by else MAX_SEQUENCE - (by - sequence) + 1


class BatchMetadata(NamedTuple):
    """The metadata of one batch. Offsets and sequence numbers are inclusive; the time is in µs."""

    first_sequence: int
    last_sequence: int
    first_offset: int
    last_offset: int
    timestamp: int


class ProducerStateEntry:
    """The state of one producer ID (`ProducerStateEntry`).

    Attributes:
        producer_id: the producer ID.
        epoch: the producer epoch of the last batch or marker.
        batches: the last batches that the producer sent in this epoch, at most `NUM_BATCHES_TO_RETAIN`.
        coordinator_epoch: the epoch of the coordinator that wrote the last marker; -1 before the first marker.
        last_timestamp: the timestamp of the last batch or marker, in µs; NO_TIMESTAMP if no batch or marker has set it.
        open_from: the first offset of the open transaction; NO_OFFSET if none is open.
    """

    __slots__ = ("batches", "coordinator_epoch", "epoch", "last_timestamp", "open_from", "producer_id")

    producer_id: Final[int]

    def __init__(self, producer_id: int, epoch: int) -> None:
        self.producer_id = producer_id
        self.epoch = epoch
        self.batches: deque[BatchMetadata] = deque(maxlen=NUM_BATCHES_TO_RETAIN)
        self.coordinator_epoch = -1
        self.last_timestamp = NO_TIMESTAMP
        self.open_from = NO_OFFSET

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record."""
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    @property
    def last_data_offset(self) -> int:
        """The offset of the last record; NO_OFFSET if only a marker is left."""
        return self.batches[-1].last_offset if self.batches else NO_OFFSET

    def duplicate_of(
        self, epoch: int, first_sequence: int, last_sequence: int, retained: int = NUM_BATCHES_TO_RETAIN
    ) -> BatchMetadata | None:
        """Among the last `retained` batches in this epoch, find the one that has exactly the given sequence numbers
        (`ProducerStateEntry#findDuplicateBatch`).
        """
        if epoch == self.epoch:
            for batch in list(self.batches)[-retained:]:
                if (batch.first_sequence, batch.last_sequence) == (first_sequence, last_sequence):
                    return batch
        return None

    def change_epoch(self, epoch: int) -> None:
        """Begin a new epoch, and forget the batches of the previous one (`ProducerStateEntry#maybeUpdateProducerEpoch`)."""
        if epoch != self.epoch:
            self.epoch = epoch
            self.batches.clear()

    def is_expired(self, now: int, expiration: int) -> bool:
        """Return whether the producer has been idle for `expiration` µs and has no open transaction (`ProducerStateManager#isProducerExpired`)."""
        return self.open_from == NO_OFFSET and (self.last_timestamp == NO_TIMESTAMP or now - self.last_timestamp >= expiration)

    def copy(self, batches: int) -> ProducerStateEntry:
        """Return a copy that holds only the last `batches` batches."""
        made = ProducerStateEntry(self.producer_id, self.epoch)
        made.batches.extend(list(self.batches)[-batches:])
        made.coordinator_epoch = self.coordinator_epoch
        made.last_timestamp = self.last_timestamp
        made.open_from = self.open_from
        return made


class VerificationStateEntry:
    """The state of a verification, during which transactional batches wait until the coordinator has verified their partition (KIP-890,
    `VerificationStateEntry`).

    Attributes:
        guard: the number of the verification; an append that has a different number fails.
        lowest_sequence: the lowest first sequence number among the waiting batches.
        epoch: the largest producer epoch among the waiting batches.
        begins_at_0: whether the first batch of an unknown producer must have sequence number 0 (transaction.version 2).
        created: the time when the first batch arrived, in µs.
    """

    __slots__ = ("begins_at_0", "created", "epoch", "guard", "lowest_sequence")

    guard: Final[int]
    created: Final[int]
    begins_at_0: Final[bool]

    def __init__(self, guard: int, sequence: int, epoch: int, created: int, *, begins_at_0: bool) -> None:
        self.guard = guard
        self.lowest_sequence = sequence
        self.epoch = epoch
        self.created = created
        self.begins_at_0 = begins_at_0

    def update(self, sequence: int, epoch: int) -> None:
        """Register another batch. If the batch's sequence number is lower than the known one, or its epoch is higher, the state adopts the
        new value (`#maybeUpdateLowestSequenceAndEpoch`)."""
        if epoch > self.epoch:
            self.epoch, self.lowest_sequence = epoch, sequence
        elif epoch == self.epoch:
            self.lowest_sequence = min(self.lowest_sequence, sequence)
