"""The producer ID, epoch, and sequence numbers of an idempotent producer (Kafka: `TransactionManager`, `TxnPartitionMap`).

A batch gets its sequence numbers when it is sent for the first time, and keeps them until it is acknowledged or abandoned. If it is not
known whether a batch was appended, the batch's sequence numbers cannot be used again, so the producer starts a new producer epoch (since
2.5, KIP-360) or gets a new producer ID (before 2.5).
"""

from __future__ import annotations

from typing import Final

from core.kafka import errors
from core.kafka.clients.accumulator.producer_batch import ProducerBatch
from core.kafka.ids import TopicPartition
from core.kafka.log.producer_state_entry import MAX_SEQUENCE, decrement_sequence, increment_sequence

NONE: Final = -1
"""The value for a missing producer ID, producer epoch, sequence number, or offset."""

MAX_EPOCH: Final = 2**15 - 1
"""The largest producer epoch. After a producer has used the largest epoch, it gets a new producer ID."""


class PartitionSequences:
    """The sequence numbers for one partition (`TxnPartitionEntry`).

    Attributes:
        producer_id: the producer ID that the sequence numbers belong to.
        producer_epoch: the producer epoch that the sequence numbers belong to, which can be older than the producer's own epoch while old
            batches are in flight.
        next_sequence: the sequence number of the next record.
        last_acked: the sequence number of the last acknowledged record; NONE if there is none.
        last_acked_offset: the offset of the last acknowledged record; NONE if there is none.
        in_flight: the batches that have sequence numbers and are neither acknowledged nor abandoned, in the order of these numbers.
    """

    __slots__ = ("in_flight", "last_acked", "last_acked_offset", "next_sequence", "producer_epoch", "producer_id")

    def __init__(self, producer_id: int, producer_epoch: int) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.next_sequence = 0
        self.last_acked = NONE
        self.last_acked_offset = NONE
        self.in_flight: tuple[ProducerBatch, ...] = ()

    def start_at_beginning(self, producer_id: int, producer_epoch: int) -> None:
        """Renumber the batches in flight, starting with 0 (`TxnPartitionEntry#startSequencesAtBeginning`)."""
        self.producer_id, self.producer_epoch = producer_id, producer_epoch
        self.next_sequence = 0
        self.last_acked = NONE
        for batch in self.in_flight:
            batch.producer_id, batch.producer_epoch = producer_id, producer_epoch
            batch.sequence = self.next_sequence
            batch.renumbered = True
            self.next_sequence = increment_sequence(self.next_sequence, batch.count)

    def is_next(self, sequence: int) -> bool:
        """Return whether a sequence number directly follows that of the last acknowledged record (`#isNextSequence`)."""
        return sequence == (0 if self.last_acked in (NONE, MAX_SEQUENCE) else self.last_acked + 1)


class ProducerSequences:
    """The producer ID, epoch, and sequence numbers of one producer.

    Attributes:
        transactional: whether the producer has a transactional.id.
        bumps_epoch: whether the producer starts a new epoch by itself (KIP-360, since 2.5) instead of requesting a new producer ID.
        producer_id: the producer ID; NONE while the producer has none.
        producer_epoch: the producer epoch; NONE while the producer has none.
        partitions: the sequence numbers by partition.
        unresolved: the partitions for which the producer does not know whether a batch was appended. The producer sends no new batch to an
            unresolved partition until all other batches for the partition have been answered.
        to_restart: the partitions whose sequence numbers restart at 0 with the next epoch, each with the error that caused the restart.
    """

    __slots__ = ("bumps_epoch", "partitions", "producer_epoch", "producer_id", "to_restart", "transactional", "unresolved")

    def __init__(self, *, transactional: bool, bumps_epoch: bool) -> None:
        self.transactional = transactional
        self.bumps_epoch = bumps_epoch
        self.producer_id = NONE
        self.producer_epoch = NONE
        self.partitions: dict[TopicPartition, PartitionSequences] = {}
        self.unresolved: dict[TopicPartition, None] = {}
        self.to_restart: dict[TopicPartition, str] = {}

    def of(self, partition: TopicPartition) -> PartitionSequences:
        """Return the sequence numbers for a partition."""
        known = self.partitions.get(partition)
        if known is None:
            known = self.partitions[partition] = PartitionSequences(self.producer_id, self.producer_epoch)
        return known

    def set_producer_id(self, producer_id: int, producer_epoch: int) -> None:
        """Adopt a producer ID and epoch. Batches in flight without a producer ID get the new ID."""
        self.producer_id, self.producer_epoch = producer_id, producer_epoch
        for entry in self.partitions.values():
            if entry.producer_id == NONE:
                entry.start_at_beginning(producer_id, producer_epoch)

    def reset(self) -> None:
        """Forget all sequence numbers, so that each partition restarts at 0 (`TransactionManager#resetSequenceNumbers`)."""
        self.partitions.clear()
        self.unresolved.clear()
        self.to_restart.clear()

    # --- sending ---------------------------------------------------------------------------------------------------

    def may_send(self, batch: ProducerBatch) -> bool:
        """Return whether the first batch in a partition's queue can be sent now
        (`RecordAccumulator#shouldStopDrainBatchesForPartition`)."""
        if self.producer_id == NONE:
            return False
        if batch.sequence == NONE:
            return batch.tp not in self.unresolved and not self._has_stale_batches(batch.tp)
        in_flight = self.of(batch.tp).in_flight
        return not in_flight or in_flight[0] is batch

    def _has_stale_batches(self, partition: TopicPartition) -> bool:
        """Return whether batches for a partition are in flight with another producer ID or epoch, which a new batch must not overtake
        (`TransactionManager#hasStaleProducerIdAndEpoch`)."""
        entry = self.partitions.get(partition)
        return (
            entry is not None
            and bool(entry.in_flight)
            and (entry.producer_id, entry.producer_epoch) != (self.producer_id, self.producer_epoch)
        )

    def assign(self, batch: ProducerBatch) -> None:
        """Assign the next sequence numbers of a batch's partition to the batch (`RecordAccumulator#drainBatchesForOneNode`)."""
        entry = self.of(batch.tp)
        if not entry.in_flight and (entry.producer_id, entry.producer_epoch) != (self.producer_id, self.producer_epoch):
            entry.start_at_beginning(self.producer_id, self.producer_epoch)
        batch.producer_id, batch.producer_epoch = entry.producer_id, entry.producer_epoch
        batch.sequence = entry.next_sequence
        entry.next_sequence = increment_sequence(entry.next_sequence, batch.count)
        entry.in_flight = (*entry.in_flight, batch)

    # --- answers ---------------------------------------------------------------------------------------------------

    def completed(self, batch: ProducerBatch, end: int) -> None:
        """Record that a batch was acknowledged. `end` is the offset after the batch's last record, or NONE (`#handleCompletedBatch`)."""
        entry = self.of(batch.tp)
        self._remove(batch)
        if (batch.producer_id, batch.producer_epoch) != (entry.producer_id, entry.producer_epoch):
            return
        entry.last_acked = max(entry.last_acked, increment_sequence(batch.sequence, batch.count - 1))
        entry.last_acked_offset = max(entry.last_acked_offset, end - 1)

    def can_retry(self, batch: ProducerBatch, error: str, log_start: int) -> bool:
        """Return whether to send a batch again after a leader has refused its sequence number (`TransactionManager#canRetry`).

        Args:
            batch: the batch that the leader refused.
            error: the error from the leader.
            log_start: the log start offset of the leader; NONE if it is unknown.
        """
        partition = batch.tp
        entry = self.of(partition)
        if not self.bumps_epoch and batch.producer_id != self.producer_id:
            return False
        if error == errors.UNKNOWN_PRODUCER_ID:
            if log_start == NONE or batch.renumbered:
                return True
            if entry.last_acked_offset < log_start:  # retention deleted the records from the producer
                if self.transactional or not self.bumps_epoch:
                    entry.start_at_beginning(self.producer_id, self.producer_epoch)
                else:
                    self.request_restart(partition, error)
                return True
            return self._restarts_to_retry(partition, error)
        if error == errors.OUT_OF_ORDER_SEQUENCE_NUMBER:
            if partition not in self.unresolved and (batch.renumbered or not entry.is_next(batch.sequence)):
                return True
            return self._restarts_to_retry(partition, error)
        return error == errors.INVALID_PRODUCER_EPOCH and batch.renumbered and not self.transactional

    def _restarts_to_retry(self, partition: TopicPartition, error: str) -> bool:
        if self.transactional or not self.bumps_epoch:
            return False
        self.request_restart(partition, error)
        return True

    def failed(self, batch: ProducerBatch, error: str, *, known_lost: bool) -> None:
        """Record that the producer gave up on a batch (`TransactionManager#handleFailedBatch`).

        Args:
            batch: the abandoned batch.
            error: the error that made the producer give up on the batch.
            known_lost: whether it is certain that the leader did not append the batch. If `known_lost` is true, the batch's sequence
                numbers can be used again.
        """
        if batch.sequence == NONE:
            return
        partition = batch.tp
        self._remove(batch)
        if error == errors.UNKNOWN_PRODUCER_ID and self.transactional:
            self.of(partition).start_at_beginning(self.producer_id, self.producer_epoch)
        elif error in (errors.OUT_OF_ORDER_SEQUENCE_NUMBER, errors.UNKNOWN_PRODUCER_ID):
            if not self.transactional:
                self.request_restart(partition, error)
        elif known_lost:
            if self.transactional or not self.bumps_epoch:
                self._close_gap(batch)
            else:
                self.request_restart(partition, error)

    def _close_gap(self, batch: ProducerBatch) -> None:
        """Lower the sequence numbers of the batches that follow an abandoned batch, so that no gap remains
        (`#adjustSequencesDueToFailedBatch`)."""
        entry = self.of(batch.tp)
        if (batch.producer_id, batch.producer_epoch) != (entry.producer_id, entry.producer_epoch):
            return
        entry.next_sequence = decrement_sequence(entry.next_sequence, batch.count)
        for later in entry.in_flight:
            if later.id > batch.id:
                later.sequence = decrement_sequence(later.sequence, batch.count)
                later.renumbered = True

    def _remove(self, batch: ProducerBatch) -> None:
        entry = self.of(batch.tp)
        entry.in_flight = tuple(each for each in entry.in_flight if each is not batch)

    # --- unknown fates ---------------------------------------------------------------------------------------------

    def mark_unresolved(self, batch: ProducerBatch) -> None:
        """Record that a batch was sent and might or might not have been appended (`TransactionManager#markSequenceUnresolved`)."""
        if batch.sequence != NONE:
            self.unresolved[batch.tp] = None

    def resolve(self, error: str) -> list[TopicPartition]:
        """If all other batches for an unresolved partition have been answered, decide how to continue with this partition
        (`TransactionManager#maybeResolveSequences`).

        Returns:
            The partitions in which records are missing. Because of the missing records, an idempotent producer restarts the sequence
            numbers for these partitions, and a transactional producer aborts its transaction.
        """
        missing = []
        for partition in [each for each in self.unresolved if not self.of(each).in_flight]:
            del self.unresolved[partition]
            entry = self.of(partition)
            if not entry.is_next(entry.next_sequence):
                missing.append(partition)
                if not self.transactional:
                    self.request_restart(partition, error)
        return missing

    def request_restart(self, partition: TopicPartition, error: str) -> None:
        """Restart the sequence numbers for a partition with the next epoch or producer ID (`#requestIdempotentEpochBumpForPartition`)."""
        self.to_restart.setdefault(partition, error)

    def bump(self) -> dict[TopicPartition, str]:
        """Begin a new epoch if one was requested. If that is impossible, forget the producer ID (`#bumpIdempotentEpochAndResetIdIfNeeded`).

        Returns:
            The partitions whose sequence numbers restart, each with its error. If `producer_id` is NONE after this call, the producer needs
                a new producer ID.
        """
        restarted, self.to_restart = self.to_restart, {}
        if not restarted or self.transactional:
            return {}
        if not self.bumps_epoch:
            self.producer_id = self.producer_epoch = NONE
            self.reset()
            return restarted
        if self.producer_epoch >= MAX_EPOCH:
            self.producer_id = self.producer_epoch = NONE
        else:
            self.producer_epoch += 1
        for partition in restarted:
            self.of(partition).start_at_beginning(self.producer_id, self.producer_epoch)
            self.unresolved.pop(partition, None)
        return restarted
