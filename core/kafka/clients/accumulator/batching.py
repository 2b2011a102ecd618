"""The memory and the open batches of a producer that collects records in batches (Kafka: `RecordAccumulator`, `BufferPool`).

A producer collects records if its configuration contains linger.ms, batch.size, or buffer.memory. If a producer does not collect records,
each `produce` act and each tick of a load makes one batch for each partition, as if the application called flush() each time.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from core.kafka.clients.accumulator.buffered_batch import BufferedBatch
from core.kafka.clients.accumulator.partitioners import Partitioner, partitioner_of
from core.kafka.log.wire.record_format import RecordShape, record_size, record_size_upper_bound, varint_size
from core.kafka.release import Release
from core.sim.random_stream import RandomStream

RATIO_STEP_DOWN: Final = 0.005
"""The maximum step by which the estimated compression ratio improves after a batch (`COMPRESSION_RATIO_IMPROVING_STEP`)."""

RATIO_STEP_UP: Final = 0.05
"""The minimum step by which the estimated compression ratio deteriorates (`COMPRESSION_RATIO_DETERIORATE_STEP`)."""


class Batching:
    """The configuration and the state of batching.

    Attributes:
        linger: how long a batch waits for more records (linger.ms), in µs.
        batch_size: the maximum size of a batch (batch.size), in bytes.
        memory: the memory for batches (buffer.memory), in bytes.
        ratio: the size of a compressed batch, divided by its size before compression; 1 without compression.
        partitioners: for each topic, the rule that chooses a partition for records without keys.
        available: the part of `memory` that no batch occupies, in bytes.
        estimated_ratio: the producer's estimate of the compression ratio (`CompressionRatioEstimator`).
        batches: the number of batches that were sent for the first time.
        batched_records: the number of records in the sent batches.
        wire_bytes: the total size of the sent batches on the network, in bytes.
        queue_time: the sum, over the records in the sent batches, of the time from the call to send() to the sending of the batch, in µs.
        latency: the sum, over all acknowledged records, of the time from the call to send() to the acknowledgment, in µs.
        acked: the number of acknowledged records.
    """

    __slots__ = (
        "acked", "available", "batch_size", "batched_records", "batches", "estimated_ratio", "latency", "linger", "memory", "partitioners",
        "queue_time", "ratio", "wire_bytes",
    )  # fmt: skip

    linger: Final[int]
    batch_size: Final[int]
    memory: Final[int]
    ratio: Final[float]
    partitioners: Final[dict[str, Partitioner]]

    def __init__(self, linger: int, batch_size: int, memory: int, ratio: float) -> None:
        self.linger = linger
        self.batch_size = batch_size
        self.memory = self.available = memory
        self.ratio = ratio
        self.partitioners = {}
        self.estimated_ratio = 1.0
        self.batches = self.batched_records = self.wire_bytes = self.queue_time = 0
        self.latency = self.acked = 0

    def add_topic(self, topic: str, release: Release, seed: str, *, adapts: bool = True) -> None:
        """Add a topic. The producer chooses the topic's partitions with the default partitioner of the given Kafka release. `seed` is the
        name of the random stream, and `adapts` is partitioner.adaptive.partitioning.enable.
        """
        self.partitioners[topic] = partitioner_of(release, self.batch_size, RandomStream(seed), adapts=adapts)

    def allocate(self, shape: RecordShape) -> int:
        """Reserve memory for a new batch that begins with a record of the given size.

        Return the size of the reserved memory in bytes; 0 if too little memory is available.
        """
        size = max(self.batch_size, record_size_upper_bound(shape))
        if size > self.available:
            return 0
        self.available -= size
        return size

    def release(self, batch: BufferedBatch) -> None:
        """Release the memory of a batch that was acknowledged or abandoned (`BufferPool#deallocate`)."""
        self.available += batch.buffer

    def sent(self, batch: BufferedBatch, now: int) -> int:
        """Close a batch that is being sent for the first time, and return its size on the network, in bytes."""
        size = batch.close(self.ratio)
        self.batches += 1
        self.batched_records += batch.count
        self.wire_bytes += size
        self.queue_time += batch.count * (now - batch.created) + batch.application_wait
        self._observe_ratio()
        return size

    def acknowledged(self, batch: BufferedBatch, now: int) -> None:
        """Add the latency of the records in an acknowledged batch to the total latency."""
        self.acked += batch.count
        self.latency += batch.count * (now - batch.created) + batch.application_wait

    def _observe_ratio(self) -> None:
        """Move the estimated compression ratio toward the observed one (`CompressionRatioEstimator#updateEstimation`)."""
        if self.ratio > self.estimated_ratio:
            self.estimated_ratio = max(self.estimated_ratio + RATIO_STEP_UP, self.ratio)
        elif self.ratio < self.estimated_ratio:
            self.estimated_ratio = max(self.estimated_ratio - RATIO_STEP_DOWN, self.ratio)


def record_size_in(batch: BufferedBatch, shape: RecordShape, timestamp_delta: int) -> int:
    """Return the size, in bytes, that a record would have as the next record in a batch. `timestamp_delta` is in ms."""
    return _record_size(shape, varint_size(batch.count), varint_size(timestamp_delta))


@lru_cache(maxsize=4_096)
def _record_size(shape: RecordShape, offset_size: int, timestamp_size: int) -> int:
    """Return the size of a record whose deltas have the given sizes in bytes."""
    return record_size(shape, _least(offset_size), _least(timestamp_size))


def _least(size: int) -> int:
    """Return the smallest positive number whose varint encoding has a given size in bytes."""
    return 0 if size <= 1 else 1 << (7 * (size - 1) - 1)
