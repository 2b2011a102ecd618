"""The batches of a producer that are waiting to be sent (Kafka: `RecordAccumulator`)."""

from __future__ import annotations

from collections import deque
from typing import Final

from core.kafka.clients.accumulator.batching import Batching, record_size_in
from core.kafka.clients.accumulator.buffered_batch import BufferedBatch
from core.kafka.clients.accumulator.partitioners import NO_PARTITION
from core.kafka.clients.accumulator.producer_batch import ProducerBatch
from core.kafka.clients.client import Client
from core.kafka.clients.client_config import NO_DELIVERY_TIMEOUT
from core.kafka.ids import TopicPartition
from core.kafka.log.wire.record_format import RecordShape
from core.sim.units import US_PER_MS


class RecordAccumulator:
    """The batches that are waiting to be sent, by partition.

    Attributes:
        client: the client whose batches these are, which knows the leaders and the configuration.
        acks: the acks of new batches: 0, 1, or -1 for all.
        queues: the batches to send, by partition.
        muted: the time before which nothing is sent to a partition, because a batch is waiting for its next attempt, in µs.
        batching: the open batches and their memory; None if the producer does not collect records, in which case each act creates its own
            batches.
    """

    __slots__ = ("_batch_id", "acks", "batching", "client", "muted", "queues")

    client: Final[Client]
    queues: Final[dict[TopicPartition, deque[ProducerBatch]]]
    muted: Final[dict[TopicPartition, int]]

    def __init__(self, client: Client, acks: int) -> None:
        self.client = client
        self.acks = acks
        self.queues = {}
        self.muted = {}
        self.batching: Batching | None = None
        self._batch_id = 0

    def add_batch(self, tp: TopicPartition, count: int, record_bytes: int, content: object = None) -> int:
        """Create a batch of records, queue it behind the other batches for its partition, and return its number. `content` is None if the
        simulation does not need the keys and values."""
        self._batch_id += 1
        journal = self.client.journal
        batch = ProducerBatch(self._batch_id, tp, count, count * record_bytes, self.acks, journal.now, journal.cause)
        batch.content = content
        self.queues.setdefault(tp, deque()).append(batch)
        return self._batch_id

    def continue_numbering(self, former: RecordAccumulator) -> None:
        """Number the batches from where an earlier instance of the producer stopped."""
        self._batch_id = former._batch_id

    def append(self, topic: str, partition: int | None, record: tuple[str, str | None] | None, record_bytes: int, called: int) -> int:
        """Append a record to the last batch for a partition or to a new batch (`RecordAccumulator#append`).

        Args:
            topic: the topic of the record.
            partition: the partition; None to let the partitioner choose one.
            record: the key and the value of the record; None if the simulation does not need them.
            record_bytes: the size of the key and the value, in bytes.
            called: the time when the application called send(), in µs.

        Returns:
            The partition; -1 if a new batch is needed but the memory is full.
        """
        batching, journal = self.batching, self.client.journal
        assert batching is not None, "only producers with batching append records"
        partitioner, leaders = batching.partitioners[topic], self.client.leaders_of(topic)
        shape = RecordShape(value=record_bytes)
        if record is not None:
            shape = RecordShape(len(record[0].encode()), max(record_bytes - len(record[0].encode()), 0) if record[1] is not None else None)
        chooses = partition is None
        if partition is None:
            partition = partitioner.partition(leaders, self._queue_lengths(topic))
        batch = self._open_batch(TopicPartition(topic, partition), shape)
        if batch is None:
            if chooses and partitioner.batch_needed():
                partition = partitioner.partition(leaders, self._queue_lengths(topic))
                batch = self._open_batch(TopicPartition(topic, partition), shape)
            if batch is None:
                size = batching.allocate(shape)
                if not size:
                    return NO_PARTITION
                self._batch_id += 1
                tp = TopicPartition(topic, partition)
                batch = BufferedBatch(self._batch_id, tp, self.acks, journal.now, journal.cause, size, batching.estimated_ratio)
                self.queues.setdefault(tp, deque()).append(batch)
        size = record_size_in(batch, shape, (journal.now - batch.created) // US_PER_MS)
        batch.append(size, record_bytes, called)
        if record is not None:
            batch.content = (*(batch.content or ()), record)  # type: ignore[misc]
        if chooses:
            partitioner.appended(size, full=batch.full)
        return partition

    def _queue_lengths(self, topic: str) -> list[int]:
        """Return the number of batches for a topic that are waiting to be sent, by partition."""
        return [len(self.queues.get(TopicPartition(topic, number), ())) for number in range(len(self.client.leaders_of(topic)))]

    def _open_batch(self, tp: TopicPartition, shape: RecordShape) -> BufferedBatch | None:
        """Return the last batch for a partition if the next record fits into it; otherwise, close it and return None (`#tryAppend`)."""
        queue = self.queues.get(tp)
        last = queue[-1] if queue else None
        if not isinstance(last, BufferedBatch) or last.closed:
            return None
        if last.has_room_for(record_size_in(last, shape, (self.client.journal.now - last.created) // US_PER_MS)):
            return last
        last.closed = True
        return None

    def sendable_at(self, queue: deque[ProducerBatch]) -> int:
        """Return the time when the first batch in a queue can be sent because of its age or because it is full, in µs (`#batchReady`)."""
        first, batching = queue[0], self.batching
        if batching is None or not isinstance(first, BufferedBatch) or first.attempt or first.full or len(queue) > 1:
            return self.client.journal.now
        return first.created + batching.linger

    def has_unsent(self) -> bool:
        """Return whether some batches are waiting to be sent (`#hasUndrained`)."""
        return any(self.queues.values())

    def unsent(self) -> list[ProducerBatch]:
        """Return the batches that are waiting to be sent."""
        return [batch for queue in self.queues.values() for batch in queue]

    # --- retries and timeouts --------------------------------------------------------------------------------------

    def reenqueue(self, batch: ProducerBatch, backoff: int) -> None:
        """Queue a batch for its next attempt in the order of its number, and send nothing to its partition before the backoff, in µs, has
        elapsed (`#reenqueue`, `#insertInSequenceOrder`)."""
        queue = self.queues.setdefault(batch.tp, deque())
        behind = 0
        while behind < len(queue) and queue[behind].id < batch.id:
            behind += 1
        queue.insert(behind, batch)
        self.muted[batch.tp] = self.client.journal.now + backoff

    def leaders_changed(self, topic: str, partitions: list[int]) -> None:
        """Retry the batches for partitions of a topic immediately, because new leaders are known (since 3.7, KAFKA-15415)."""
        if self.client.config.retries_with_new_leader:
            for partition in partitions:
                self.muted.pop(TopicPartition(topic, partition), None)

    def retry_backoff(self, attempts: int) -> int:
        """Return the delay before the next attempt, in µs (`RecordAccumulator#retryBackoff`, without Kafka's random jitter of 20%)."""
        config = self.client.config
        return min(config.retry_backoff << min(attempts - 1, 20), config.retry_backoff_max)

    def delivery_due(self, batch: ProducerBatch) -> int:
        """Return the time when the producer gives up on an unacknowledged batch, in µs (`ProducerBatch#maybeExpire`).

        Before 2.1, a batch expires only while it is waiting to be sent.
        """
        config = self.client.config
        if config.delivery_timeout == NO_DELIVERY_TIMEOUT:
            backoff = config.retry_backoff if batch.attempt > batch.connection_failures else 0
            return batch.queued_at + backoff + config.request_timeout
        return batch.created + config.delivery_timeout
