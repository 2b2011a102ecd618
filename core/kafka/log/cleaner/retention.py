"""The batches and records that the cleaner keeps (Kafka: `Cleaner#cleanInto`, `#shouldRetainRecord`, `RecordFilter`)."""

from __future__ import annotations

import enum
from typing import Final

from core.kafka.log.cleaner.cleaned_transactions import CleanedTransactions
from core.kafka.log.cleaner.compacted_term import NO_HORIZON, RetainedBatch
from core.kafka.log.cleaner.offset_map import OffsetMap
from core.kafka.log.control_record import ABORT, COMMIT
from core.kafka.log.producer_state import ProducerStateManager
from core.kafka.log.producer_state_entry import increment_sequence
from core.kafka.release import Release

MARKER_KEYS: Final = {ABORT: "\x00\x00\x00\x00", COMMIT: "\x00\x00\x00\x01"}
"""The record keys of transaction markers, by marker type. A key consists of a version and a type, which take two bytes each
(`ControlRecordType`)."""


class BatchRetention(enum.IntEnum):
    """What the cleaner does with a batch."""

    DELETE = 0
    """The batch and all of its records are removed."""
    RETAIN_EMPTY = 1
    """The batch header stays even if no record is left."""
    DELETE_EMPTY = 2
    """The batch is removed if no record is left."""


class Retention:
    """The rules that decide what one cleaning pass keeps.

    Attributes:
        transactions: the state of the transactions that the cleaner has read so far.
        keeps_legacy_deletes: whether the current segment keeps its tombstones and markers (before KIP-534).
    """

    def __init__(
        self,
        producers: ProducerStateManager | None,
        transactions: CleanedTransactions,
        offsets: OffsetMap,
        round_end: int,
        now: int,
        release: Release,
    ) -> None:
        self.producers: Final = producers
        self.transactions = transactions
        self.offsets: Final = offsets
        self.round_end: Final = round_end
        self.now: Final = now
        self.release: Final = release
        self.keeps_legacy_deletes = True
        self._discards = False

    def of_batch(self, each: RetainedBatch) -> tuple[BatchRetention, bool]:
        """Return what the cleaner does with the next batch, and whether the batch is a marker whose transaction has no records left
        (`RecordFilter#checkBatchRetention`).

        `keeps_record` applies to the batch that was most recently passed to `of_batch`.
        """
        is_marker = each.batch.marker is not None
        if is_marker:
            without_data = self.transactions.read_marker(each)
            self._discards = without_data and self._marker_time_is_over(each)
        else:
            without_data = False
            self._discards = self.transactions.read_batch(each)
        if self._is_last_of_producer(each) or (self.release.keeps_last_batch_of_round and each.end == self.round_end):
            return BatchRetention.RETAIN_EMPTY, without_data
        return BatchRetention.DELETE if self._discards else BatchRetention.DELETE_EMPTY, without_data

    def _marker_time_is_over(self, each: RetainedBatch) -> bool:
        if self.release.delete_horizon_in_batches:
            return each.horizon != NO_HORIZON and each.horizon <= self.now
        return not self.keeps_legacy_deletes

    def _is_last_of_producer(self, each: RetainedBatch) -> bool:
        """Return whether the cleaner must keep the batch because it is the last one from an active producer."""
        batch = each.batch
        entry = None if self.producers is None else self.producers.entries.get(batch.producer_id)
        if entry is None or batch.producer_id < 0:
            return False
        is_marker = batch.marker is not None
        if self.release.keeps_batch_of_last_sequence:
            last = -1 if is_marker else increment_sequence(batch.first_sequence, batch.records - 1)
            return last == entry.last_sequence
        if entry.batches:
            return each.end - 1 == entry.batches[-1].last_offset
        return is_marker and batch.producer_epoch == entry.epoch

    def keeps_record(self, each: RetainedBatch, offset: int) -> bool:
        """Return whether the cleaner keeps a record in the current batch."""
        if self._discards:
            return False
        if offset > self.offsets.latest_offset:
            return True
        if (marker := each.batch.marker) is not None:
            return self.release.marker_keys_do_not_count or offset >= self.offsets.get(MARKER_KEYS[marker.control_type])
        record = each.record(offset)
        if record is None:
            return False
        key, value = record
        return offset >= self.offsets.get(key) and (value is not None or self._keeps_tombstone(each))

    def _keeps_tombstone(self, each: RetainedBatch) -> bool:
        if self.release.delete_horizon_in_batches:
            return each.horizon == NO_HORIZON or self.now < each.horizon
        return self.keeps_legacy_deletes
