"""How a producer chooses a partition for records that have no key (Kafka: `DefaultPartitioner`, `StickyPartitionCache`,
`BuiltInPartitioner`).

Up to 2.3, the producer takes the partitions in turn, one record at a time. Since 2.4, all records go to one partition until its batch is
full or sent (KIP-480). Since 3.3, the producer switches to another partition after batch.size bytes, and chooses partitions with long
queues less often (KIP-794).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from core.kafka.clients.accumulator.adaptive_partitioner import choose_partition, cumulative_weights
from core.kafka.ids import NO_LEADER
from core.kafka.release import Release
from core.sim.random_stream import RandomStream

NO_PARTITION: Final = -1
"""The value that stands for a partition that has not been chosen yet."""


class Partitioner:
    """The base class of partitioners, which choose the partitions for a producer's records."""

    __slots__ = ()

    def partition(self, leaders: Sequence[tuple[int, int]], queue_lengths: Sequence[int]) -> int:
        """Return the partition for the next record.

        Args:
            leaders: (leader, leader epoch) of each partition.
            queue_lengths: the number of batches that are waiting to be sent, by partition.
        """
        raise NotImplementedError

    def batch_needed(self) -> bool:
        """Return whether to choose another partition when the current one needs a new batch (`Partitioner#onNewBatch`)."""
        return False

    def appended(self, size: int, *, full: bool) -> None:
        """Update the state after a record was appended to the chosen partition.

        Args:
            size: the size of the record in its batch, in bytes.
            full: whether the last batch for the partition is full.
        """


def available_partitions(leaders: Sequence[tuple[int, int]]) -> Sequence[int]:
    """Return the partitions that have a leader, or all partitions if none has one (`Cluster#availablePartitionsForTopic`)."""
    return [number for number, (leader, _) in enumerate(leaders) if leader != NO_LEADER] or range(len(leaders))


class RoundRobinPartitioner(Partitioner):
    """A partitioner that chooses the next partition for each record (`DefaultPartitioner`, up to 2.3)."""

    __slots__ = ("_next",)

    def __init__(self) -> None:
        self._next = 0

    def partition(self, leaders: Sequence[tuple[int, int]], queue_lengths: Sequence[int]) -> int:
        """Return the next partition that has a leader."""
        available = available_partitions(leaders)
        number = available[self._next % len(available)]
        self._next += 1
        return number


class StickyPartitioner(Partitioner):
    """A partitioner that keeps a partition until the partition needs a new batch, and then chooses another one at random
    (`StickyPartitionCache`, 2.4 to 3.2)."""

    __slots__ = ("_current", "_former", "_random")

    _random: Final[RandomStream]

    def __init__(self, random: RandomStream) -> None:
        self._random = random
        self._current = self._former = NO_PARTITION

    def partition(self, leaders: Sequence[tuple[int, int]], queue_lengths: Sequence[int]) -> int:
        """Return the current partition, or a new one if a new batch is needed (`StickyPartitionCache#nextPartition`)."""
        if self._current == NO_PARTITION:
            available = available_partitions(leaders)
            others = [number for number in available if number != self._former] or available
            self._current = others[self._random.randrange(len(others))]
        return self._current

    def batch_needed(self) -> bool:
        """Stop using the current partition."""
        self._former, self._current = self._current, NO_PARTITION
        return True


class BuiltInPartitioner(Partitioner):
    """A partitioner that keeps a partition for batch.size bytes, and then chooses another one according to the lengths of the partitions'
    queues (`BuiltInPartitioner`, since 3.3)."""

    __slots__ = ("_adapts", "_batch_size", "_current", "_produced", "_random", "_switches")

    _random: Final[RandomStream]

    def __init__(self, random: RandomStream, batch_size: int, *, adapts: bool) -> None:
        self._adapts = adapts
        self._random = random
        self._batch_size = max(batch_size, 1)
        self._current = NO_PARTITION
        self._produced = 0
        self._switches = True

    def partition(self, leaders: Sequence[tuple[int, int]], queue_lengths: Sequence[int]) -> int:
        """Return the current partition, or a new one if enough bytes have been produced to it (`#nextPartition`, `#updatePartitionInfo`)."""
        if self._current != NO_PARTITION and not queue_lengths[self._current]:
            self._switches = True  # the last batch of the partition was sent (`RecordAccumulator#allBatchesFull`)
        produced = self._produced
        if self._current == NO_PARTITION or (produced >= self._batch_size and self._switches) or produced >= 2 * self._batch_size:
            available = available_partitions(leaders)
            weights = cumulative_weights([queue_lengths[number] for number in available]) if self._adapts else None
            number = self._random.getrandbits(31)
            self._current = available[number % len(available) if weights is None else choose_partition(weights, number)]
            self._produced = 0
        return self._current

    def appended(self, size: int, *, full: bool) -> None:
        """Add the size of a record to the number of bytes produced to the current partition."""
        self._produced += size
        self._switches = full


def partitioner_of(release: Release, batch_size: int, random: RandomStream, *, adapts: bool = True) -> Partitioner:
    """Return the default partitioner of a Kafka release. `batch_size` is batch.size, in bytes, and `adapts` is
    partitioner.adaptive.partitioning.enable."""
    if release.partitions_by_bytes:
        return BuiltInPartitioner(random, batch_size, adapts=adapts)
    return StickyPartitioner(random) if release.sticky_partitioner else RoundRobinPartitioner()
