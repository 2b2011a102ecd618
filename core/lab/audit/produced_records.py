"""The records that producers passed to send(), and their identities.

A record is identified by its producer and a counter: the producer's records are numbered from 0 in the order in which it first sends them
or gives up on them without sending them. A batch is therefore an interval of counters, and a set of records is an `OffsetSet` of counters.
The audit stores nothing for individual records, and event logs do not contain the identities of records. The producer and the number of a
batch determine the identities of the batch's records.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Final, NamedTuple

from core.kafka.ids import TopicPartition
from core.kafka.log.leader_term import Batch, FetchedRange
from core.kafka.log.offset_set import OffsetSet
from core.sim.state.append_only_list import AppendOnlyList


class ProducedBatch(NamedTuple):
    """A batch of records with the counters [first, first + records).

    Attributes:
        first: the counter of the first record in the batch.
        records: the number of records in the batch.
        timestamp: the timestamp of the records, from the producer's clock, in µs.
        tp: the partition to which the batch belongs.
    """

    first: int
    records: int
    timestamp: int
    tp: TopicPartition

    @property
    def end(self) -> int:
        """The value of the producer's record counter after the last record of the batch."""
        return self.first + self.records


class RecordRange(NamedTuple):
    """Records of one batch: the counters [start, end) of a producer, the offset of the first record, and the leader epoch."""

    producer: str
    start: int
    end: int
    offset: int
    epoch: int
    batch: ProducedBatch


class ForeignRange(NamedTuple):
    """Records [start, end) of a batch that no producer in the session created."""

    start: int
    end: int
    timestamp: int


class ProducerRecords:
    """The batches of one producer.

    Attributes:
        batches: all batches, in the order of their counters.
        by_id: the batches by their numbers within the producer.
        total: the number of records in all batches of the producer.
    """

    __slots__ = ("batches", "by_id", "total")

    batches: Final[list[ProducedBatch]]
    by_id: Final[dict[int, ProducedBatch]]

    def __init__(self) -> None:
        self.batches = AppendOnlyList()
        self.by_id = {}
        self.total = 0

    def add(self, batch_id: int, tp: TopicPartition, records: int, timestamp: int) -> ProducedBatch:
        """Add a batch to the producer's records."""
        batch = self.by_id[batch_id] = ProducedBatch(self.total, records, timestamp, tp)
        self.batches.append(batch)
        self.total += records
        return batch

    def overlapping(self, records: OffsetSet) -> Iterator[tuple[ProducedBatch, int]]:
        """Yield each batch that has records in a set, with the number of these records."""
        for start, end in records:
            number = bisect_right(self.batches, start, key=_first) - 1
            while number < len(self.batches) and self.batches[number].first < end:
                batch = self.batches[number]
                yield batch, min(batch.end, end) - max(batch.first, start)
                number += 1


def _first(batch: ProducedBatch) -> int:
    return batch.first


class ProducedRecords:
    """The records of all producers.

    Attributes:
        producers: the records of each producer.
    """

    __slots__ = ("producers",)

    producers: Final[dict[str, ProducerRecords]]

    def __init__(self) -> None:
        self.producers = {}

    def of(self, producer: str) -> ProducerRecords:
        """Return the records of a producer."""
        known = self.producers.get(producer)
        if known is None:
            known = self.producers[producer] = ProducerRecords()
        return known

    def batch(self, producer: str, batch_id: int) -> ProducedBatch | None:
        """Return a batch; None if no producer in the session created it."""
        known = self.producers.get(producer)
        return None if known is None else known.by_id.get(batch_id)

    def find(self, tp: TopicPartition, part: FetchedRange) -> Iterator[RecordRange | ForeignRange]:
        """Yield the records in a range of a term, batch by batch. Transaction markers are left out, because no producer sends them."""
        for written in part.term.batches_within(part.start, part.end):
            start, end = max(written.base, part.start), min(written.base + written.records, part.end)
            if start < end and written.marker is None:
                yield self._identify(tp, written, start, end, part.term.epoch)

    def _identify(self, tp: TopicPartition, written: Batch, start: int, end: int, epoch: int) -> RecordRange | ForeignRange:
        batch = self.batch(written.producer, written.batch_id)
        if batch is None or batch.tp != tp or batch.records != written.records:
            return ForeignRange(start, end, written.timestamp)
        skipped = batch.first - written.base
        return RecordRange(written.producer, start + skipped, end + skipped, start, epoch, batch)
