"""The batches of a producer that are waiting for a response (Kafka: `Sender#inFlightBatches`, `InFlightRequests`)."""

from __future__ import annotations

from typing import Final

from core.kafka.clients.accumulator.producer_batch import ProducerBatch
from core.kafka.ids import TopicPartition


class InFlightBatches:
    """The batches that are waiting for a response.

    Attributes:
        batches: the batches, by the correlation ID of their request.
    """

    __slots__ = ("_of_partition", "batches")

    batches: Final[dict[int, ProducerBatch]]
    _of_partition: Final[dict[TopicPartition, int]]

    def __init__(self) -> None:
        self.batches = {}
        self._of_partition = {}

    def add(self, batch: ProducerBatch) -> None:
        """Add a batch that was just sent."""
        self.batches[batch.correlation] = batch
        self._of_partition[batch.tp] = self._of_partition.get(batch.tp, 0) + 1

    def remove(self, correlation: int) -> ProducerBatch | None:
        """Remove and return the batch of the request with a correlation ID; return None if the batch is not in flight anymore."""
        batch = self.batches.pop(correlation, None)
        if batch is not None:
            self._of_partition[batch.tp] -= 1
        return batch

    def count(self, tp: TopicPartition) -> int:
        """Return the number of batches for a partition."""
        return self._of_partition.get(tp, 0)

    def to_node(self, node: str) -> list[ProducerBatch]:
        """Return the batches that were sent to a broker."""
        return [batch for batch in self.batches.values() if batch.sent_to == node]
