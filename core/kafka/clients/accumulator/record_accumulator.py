"""The batches of a producer that are neither acknowledged nor abandoned, and their timeouts (Kafka: `RecordAccumulator`)."""

from __future__ import annotations

from abc import ABCMeta
from collections import deque
from typing import Final

from core.kafka import events
from core.kafka.clients.accumulator.batching import Batching, record_size_in
from core.kafka.clients.accumulator.buffered_batch import BufferedBatch
from core.kafka.clients.accumulator.partitioners import NO_PARTITION
from core.kafka.clients.accumulator.producer_batch import ProducerBatch
from core.kafka.clients.client import POLL_DELAY, Client
from core.kafka.clients.client_config import NO_DELIVERY_TIMEOUT
from core.kafka.clients.client_context import ClientContext
from core.kafka.health import STALL_BOUND
from core.kafka.ids import NO_LEADER, TopicPartition, broker_address, is_broker
from core.kafka.log.wire.record_format import RecordShape
from core.sim.disturbances import Hindrance
from core.sim.units import SECOND, US_PER_MS


class RecordAccumulator(Client, metaclass=ABCMeta):
    """A client that has batches to send.

    Attributes:
        acks: the acks of new batches: 0, 1, or -1 for all.
        queues: the batches to send, by partition.
        in_flight: the batches that are waiting for a response, by correlation ID.
        exponential_backoff: whether the retry backoff doubles with each attempt (KIP-580) and ends early when a new leader is known
            (KAFKA-15415), since 3.7.
        sent: the number of records produced.
        timeout_check_armed: whether the timer for the next timeout check is armed.
        batching: the open batches and their memory; None if the producer does not collect records, in which case each act creates its own
            batches.
    """

    __slots__ = (
        "_batch_id", "_last_failures", "acks", "batching", "exponential_backoff", "in_flight", "queues", "sent", "timeout_check_armed",
    )  # fmt: skip

    queues: Final[dict[TopicPartition, deque[ProducerBatch]]]
    _last_failures: Final[dict[TopicPartition, tuple[int, int]]]

    def __init__(self, name: str, topic: str, acks: int, context: ClientContext) -> None:
        super().__init__(name, topic, context)
        self.acks = acks
        self.queues = {}
        self._last_failures = {}
        self.in_flight: dict[int, ProducerBatch] = {}
        self.exponential_backoff = False
        self.sent = 0
        self._batch_id = 0
        self.timeout_check_armed = False
        self.batching: Batching | None = None

    def enqueue(self, tp: TopicPartition, count: int, record_bytes: int, content: object = None) -> None:
        """Create a batch, and queue it behind the other batches for its partition (`RecordAccumulator#append`). `content` is None if the
        simulation does not need the keys and values."""
        self._batch_id += 1
        self.sent += count
        journal = self.journal
        batch = ProducerBatch(self._batch_id, tp, count, count * record_bytes, self.acks, journal.now, journal.cause)
        batch.content = content
        self._queue(batch)

    def _queue(self, batch: ProducerBatch) -> None:
        self.queues.setdefault(batch.tp, deque()).append(batch)
        if not self.timeout_check_armed:
            self.timeout_check_armed = True
            self.timer(min(SECOND, self.config.request_timeout), "watch")

    # --- batches that collect records ------------------------------------------------------------------------------

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
        batching, journal = self.batching, self.journal
        assert batching is not None, "only producers with batching append records"
        partitioner, leaders = batching.partitioners[topic], self.leaders_of(topic)
        shape = RecordShape(value=record_bytes)
        if record is not None:
            shape = RecordShape(len(record[0].encode()), max(record_bytes - len(record[0].encode()), 0) if record[1] is not None else None)
        chooses = partition is None
        if partition is None:
            partition = partitioner.partition(leaders, self.queue_lengths(topic))
        batch = self._open_batch(TopicPartition(topic, partition), shape)
        if batch is None:
            if chooses and partitioner.batch_needed():
                partition = partitioner.partition(leaders, self.queue_lengths(topic))
                batch = self._open_batch(TopicPartition(topic, partition), shape)
            if batch is None:
                size = batching.allocate(shape)
                if not size:
                    return NO_PARTITION
                self._batch_id += 1
                tp = TopicPartition(topic, partition)
                batch = BufferedBatch(self._batch_id, tp, self.acks, journal.now, journal.cause, size, batching.estimated_ratio)
                self._queue(batch)
        size = record_size_in(batch, shape, (journal.now - batch.created) // US_PER_MS)
        batch.append(size, record_bytes, called)
        if record is not None:
            batch.content = (*(batch.content or ()), record)  # type: ignore[misc]
        self.sent += 1
        if chooses:
            partitioner.appended(size, full=batch.full)
        return partition

    def queue_lengths(self, topic: str) -> list[int]:
        """Return the number of batches for a topic that are waiting to be sent, by partition."""
        return [len(self.queues.get(TopicPartition(topic, number), ())) for number in range(len(self.leaders_of(topic)))]

    def _open_batch(self, tp: TopicPartition, shape: RecordShape) -> BufferedBatch | None:
        """Return the last batch for a partition if the next record fits into it; otherwise, close it and return None (`#tryAppend`)."""
        queue = self.queues.get(tp)
        last = queue[-1] if queue else None
        if not isinstance(last, BufferedBatch) or last.closed:
            return None
        if last.has_room_for(record_size_in(last, shape, (self.journal.now - last.created) // US_PER_MS)):
            return last
        last.closed = True
        return None

    def sendable_at(self, queue: deque[ProducerBatch]) -> int:
        """Return the time when the first batch in a queue can be sent, in µs. If the batch or the memory is full, the result is the current
        time (`#batchReady`).
        """
        first, batching = queue[0], self.batching
        if batching is None or not isinstance(first, BufferedBatch) or first.attempt or first.full or len(queue) > 1 or self.flushes():
            return self.journal.now
        return first.created + batching.linger

    def flushes(self) -> bool:
        """Return whether to send batches immediately, which is necessary if the memory is full or a transaction is ending
        (`#flushInProgress`)."""
        return False

    def incomplete_batches(self) -> list[ProducerBatch]:
        """Return the batches that are neither acknowledged nor abandoned: first those in flight, and then those to send."""
        return [*self.in_flight.values(), *[batch for queue in self.queues.values() for batch in queue]]

    def has_incomplete_batches(self) -> bool:
        """Return whether some batches are neither acknowledged nor abandoned (`RecordAccumulator#hasIncomplete`)."""
        return bool(self.in_flight) or any(self.queues.values())

    # --- timeouts --------------------------------------------------------------------------------------------------

    def backoff(self, attempts: int) -> int:
        """Return the delay before the next attempt, in µs (`RecordAccumulator#retryBackoff`, without Kafka's random jitter of 20%)."""
        config = self.config
        if not self.exponential_backoff:
            return config.retry_backoff
        return min(config.retry_backoff << min(attempts - 1, 20), config.retry_backoff_max)

    def delivery_due(self, batch: ProducerBatch) -> int:
        """Return the time when the producer gives up on an unacknowledged batch, in µs (`ProducerBatch#maybeExpire`).

        Before 2.1, a batch expires only while it is waiting to be sent.
        """
        if self.config.delivery_timeout == NO_DELIVERY_TIMEOUT:
            backoff = self.config.retry_backoff if batch.attempt > batch.connection_failures else 0
            return batch.queued_at + backoff + self.config.request_timeout
        return batch.created + self.config.delivery_timeout

    def has_retries_left(self, batch: ProducerBatch) -> bool:
        """Return whether the producer can send the batch again without exceeding `retries`.

        An attempt without an established connection does not count, because in Kafka the batch has not left the accumulator.
        """
        return batch.attempt - batch.connection_failures <= self.config.retries

    def has_attempts_left(self, batch: ProducerBatch) -> bool:
        """Return whether both the number of retries and delivery.timeout.ms allow another attempt."""
        if not self.has_retries_left(batch):
            return False
        return self.config.delivery_timeout == NO_DELIVERY_TIMEOUT or self.journal.now < self.delivery_due(batch)

    def report_overdue_batches(self) -> None:
        """Report each batch that has had no response for longer than `STALL_BOUND`, once per batch."""
        journal = self.journal
        for batch in self.incomplete_batches():
            waited = journal.now - batch.created
            if waited > STALL_BOUND and not batch.overdue:
                batch.overdue = True
                journal.blame(self.why_overdue(batch))
                journal.emit(
                    events.ProduceWaiting.kind,
                    self.name, batch.tp.topic, batch.tp.partition, batch.count, batch.acks, batch.attempt, waited,
                )  # fmt: skip

    def why_waiting(self, since: int) -> tuple[int, ...]:
        """Return the events because of which the application has waited to send records since a virtual time."""
        waiting = next((batch for batch in self.incomplete_batches()), None)
        if waiting is not None:
            return self.why_overdue(waiting)
        return self.network.disturbances.anywhere(since, self.journal.now, (self.address,), is_broker) or self.why_slow(since)

    def why_overdue(self, batch: ProducerBatch) -> tuple[int, ...]:
        """Return the events because of which a batch has had no response: what made its attempts fail or take long, what keeps its leader
        silent, and what its leader waits for.

        What happened first comes first: without it, the first attempt would have succeeded, and nothing later would have mattered. A batch
        that was never sent waits for the first batch of its partition. What delayed that one most comes first, because the beginning of its
        delays can be over.
        """
        queued = not batch.attempt
        if queued:
            batch = min((each for each in self.incomplete_batches() if each.tp == batch.tp), key=lambda each: each.id, default=batch)
        delays: dict[int, int] = {}
        waits = batch.correlation in self.in_flight
        if queued_by := self._queued_by(batch):
            delays[queued_by] = batch.sent_at - batch.created
        for event, weight in batch.delays.items():
            delays[event] = delays.get(event, 0) + weight
        if waits or not batch.attempt or (not delays and batch.cause == batch.created_by):
            for weight, _, event in self.hindrances(batch, batch.sent_at if waits else batch.created):
                delays[event] = delays.get(event, 0) + weight
        if queued:
            return tuple(sorted(delays, key=lambda event: (-delays[event], event))) or (batch.cause,)
        return tuple(delays) or (batch.cause,)

    def _queued_by(self, batch: ProducerBatch) -> int:
        """Return the event that delayed the batches before a batch that is in its first attempt; 0 if it did not have to wait for them."""
        failed_at, reason = self._last_failures.get(batch.tp, (-1, 0))
        return reason if batch.attempt == 1 and batch.created <= failed_at < batch.sent_at else 0

    def hindrances(self, batch: ProducerBatch, since: int) -> list[Hindrance]:
        """Return what, since a virtual time, kept the broker to which a batch was sent, or the leader of its partition, from responding. If
        nothing did, the broker waited for others, such as a coordinator. In by-hand mode, a leader waits because no follower was told to
        fetch.
        """
        leaders = self.leaders_of(batch.tp.topic)
        leader = leaders[batch.tp.partition][0] if batch.tp.partition < len(leaders) else NO_LEADER
        node = batch.sent_to or (broker_address(leader) if leader != NO_LEADER else self.address)
        behind = () if self.by_hand else tuple(map(broker_address, self.account.holding_back(batch.tp)))
        replicas = () if self.by_hand else tuple(map(broker_address, self.account.replicas_of(batch.tp)))
        now, disturbances = self.journal.now, self.network.disturbances
        found = disturbances.around(node, (self.address, *behind), replicas, since, now)
        return found if found or self.by_hand else disturbances.everywhere(since, now)

    def attempt_failed(self, batch: ProducerBatch, reason: int) -> None:
        """Record how long an attempt took that failed for a reason. If something explains at least a third of that time, it is what delayed
        the batch. `reason` is the event that made the attempt fail.
        """
        if not batch.attempt:
            return
        if queued_by := self._queued_by(batch):
            batch.delays[queued_by] = batch.sent_at - batch.created
        took = self.journal.now - batch.sent_at
        found = self.hindrances(batch, batch.sent_at) if took > STALL_BOUND // 10 else []
        if found and 3 * found[0][0] >= took:
            reason = found[0][-1]
        reason = reason or batch.cause
        batch.delays[reason] = batch.delays.get(reason, 0) + took + self.backoff(batch.attempt)
        self._last_failures[batch.tp] = (self.journal.now, max(batch.delays, key=lambda event: (batch.delays[event], -event)))

    def until_next_timeout(self, most: int) -> int:
        """Return the time in µs until the next request timeout or delivery timeout, capped at `most`."""
        now, config = self.journal.now, self.config
        due = now + most
        for batch in self.in_flight.values():
            due = min(due, batch.sent_at + config.request_timeout + POLL_DELAY)
            if config.delivery_timeout != NO_DELIVERY_TIMEOUT:
                due = min(due, batch.created + config.delivery_timeout)
        for queue in self.queues.values():
            if queue:
                due = min(due, self.delivery_due(queue[0]))
        return max(due - now, 1)
