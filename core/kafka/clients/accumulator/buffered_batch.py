"""A batch that collects records until it is full or sent (Kafka: `ProducerBatch`, `MemoryRecordsBuilder`)."""

from __future__ import annotations

from typing import Final

from core.kafka.clients.accumulator.producer_batch import ProducerBatch
from core.kafka.ids import TopicPartition
from core.kafka.log.wire.record_format import HEADER_BYTES, compressed_batch_size

ESTIMATE_MARGIN: Final = 1.05
"""The factor by which the producer increases its estimate of a compressed size (`COMPRESSION_RATE_ESTIMATION_FACTOR`)."""


class BufferedBatch(ProducerBatch):
    """A batch from a producer that collects records in batches.

    Attributes:
        buffer: the size of the batch's buffer, in bytes. Records are appended as long as they fit.
        written: the size of the batch's records in the log's format, before compression, in bytes.
        estimated_ratio: the producer's estimate of the compression ratio.
        closed: whether the batch accepts no more records. A batch is closed when a record does not fit or when the batch is sent.
        application_wait: the sum, over all records of the batch, of the time from the call to send() to the creation of the batch, in µs. A
            record for which send() was called after the batch was created contributes a negative time.
    """

    __slots__ = ("application_wait", "buffer", "closed", "estimated_ratio", "written")

    buffer: Final[int]
    estimated_ratio: Final[float]

    def __init__(self, id: int, tp: TopicPartition, acks: int, created: int, cause: int, buffer: int, estimated_ratio: float) -> None:
        super().__init__(id, tp, 0, 0, acks, created, cause)
        self.buffer = buffer
        self.estimated_ratio = estimated_ratio
        self.written = 0
        self.closed = False
        self.application_wait = 0

    @property
    def estimated_size(self) -> int:
        """The estimated size of the batch on the network, in bytes (`MemoryRecordsBuilder#estimatedBytesWritten`)."""
        if self.estimated_ratio == 1:
            return HEADER_BYTES + self.written
        return HEADER_BYTES + int(self.written * self.estimated_ratio * ESTIMATE_MARGIN)

    @property
    def full(self) -> bool:
        """Whether the batch is full and therefore does not wait for more records (`MemoryRecordsBuilder#isFull`)."""
        return self.closed or (self.count > 0 and self.buffer <= self.estimated_size)

    def has_room_for(self, record_size: int) -> bool:
        """Return whether a record of a given size in bytes fits (`MemoryRecordsBuilder#hasRoomFor`). The first record always fits."""
        return not self.count or (not self.full and self.buffer >= self.estimated_size + record_size)

    def append(self, record_size: int, payload: int, called: int) -> None:
        """Append a record.

        Args:
            record_size: the size of the record in the log's format, in bytes.
            payload: the size of the record's key and value, in bytes.
            called: the time when the application called send(), in µs.
        """
        self.count += 1
        self.bytes += payload
        self.written += record_size
        self.application_wait += self.created - called

    def close(self, ratio: float) -> int:
        """Close the batch, compress it by a given ratio, and return its size on the network, in bytes."""
        self.closed = True
        if ratio != 1:
            self.bytes = max(1, int(self.bytes * ratio))
        return compressed_batch_size(self.written, ratio)
