"""The batches of a producer that are neither acknowledged nor given up, and their timeouts (Kafka: `RecordAccumulator`)."""

from __future__ import annotations

from abc import ABCMeta
from collections import deque
from typing import Final

from core.kafka import events
from core.kafka.clients.client import MAX_RETRY_BACKOFF, POLL_DELAY, RETRY_BACKOFF, Client
from core.kafka.clients.client_config import NO_DELIVERY_TIMEOUT
from core.kafka.clients.producer_batch import ProducerBatch
from core.kafka.durability_observer import DurabilityObserver
from core.kafka.health import STALL_BOUND
from core.kafka.ids import TopicPartition
from core.sim.journal import Journal
from core.sim.network import Network
from core.sim.units import SECOND


class RecordAccumulator(Client, metaclass=ABCMeta):
    """A client with batches to send.

    Attributes:
        acks: the acks of new batches: 0, 1, or -1 for all.
        queues: the batches to send, by partition.
        in_flight: the batches that wait for a response, by correlation ID.
        exponential_backoff: whether the retry back-off doubles (KIP-580) and ends when a new leader is known (KAFKA-15415), since 3.7.
        sent: the number of records produced.
        timeout_check_armed: whether the timer of the next timeout check is armed.
    """

    __slots__ = ("_batch_id", "acks", "exponential_backoff", "in_flight", "queues", "sent", "timeout_check_armed")

    queues: Final[dict[int, deque[ProducerBatch]]]

    def __init__(
        self, name: str, topic: str, acks: int, brokers: tuple[int, ...], network: Network, journal: Journal, account: DurabilityObserver
    ) -> None:
        super().__init__(name, topic, brokers, network, journal, account)
        self.acks = acks
        self.queues = {}
        self.in_flight: dict[int, ProducerBatch] = {}
        self.exponential_backoff = False
        self.sent = 0
        self._batch_id = 0
        self.timeout_check_armed = False

    def enqueue(self, partition: int, count: int, record_bytes: int, content: object = None) -> None:
        """Create a batch, and queue it behind those of its partition (`RecordAccumulator#append`). `content` is None if it does not matter."""
        self._batch_id += 1
        self.sent += count
        journal = self.journal
        batch = ProducerBatch(
            self._batch_id, TopicPartition(self.topic, partition), count, count * record_bytes, self.acks, journal.now, journal.cause
        )
        batch.content = content
        self.queues.setdefault(partition, deque()).append(batch)
        if not self.timeout_check_armed:
            self.timeout_check_armed = True
            self.timer(min(SECOND, self.config.request_timeout), "watch")

    def incomplete_batches(self) -> list[ProducerBatch]:
        """Return the batches that are neither acknowledged nor given up: first those in flight, then those to send."""
        return [*self.in_flight.values(), *[batch for queue in self.queues.values() for batch in queue]]

    def has_incomplete_batches(self) -> bool:
        """Return whether some batches are neither acknowledged nor given up (`RecordAccumulator#hasIncomplete`)."""
        return bool(self.in_flight) or any(self.queues.values())

    # --- timeouts --------------------------------------------------------------------------------------------------

    def backoff(self, attempts: int) -> int:
        """Return the delay before the next attempt, µs (`RecordAccumulator#retryBackoff`, without Kafka's random jitter of 20%)."""
        if not self.exponential_backoff:
            return RETRY_BACKOFF
        return min(RETRY_BACKOFF << min(attempts - 1, 10), MAX_RETRY_BACKOFF)

    def delivery_due(self, batch: ProducerBatch) -> int:
        """Return the time when an unacknowledged batch is given up, µs (`ProducerBatch#maybeExpire`).

        Before 2.1, this applies only while the batch waits to be sent.
        """
        if self.config.delivery_timeout == NO_DELIVERY_TIMEOUT:
            backoff = RETRY_BACKOFF if batch.attempt > batch.connection_failures else 0
            return batch.queued_at + backoff + self.config.request_timeout
        return batch.created + self.config.delivery_timeout

    def has_retries_left(self, batch: ProducerBatch) -> bool:
        """Return whether retries allow another attempt.

        An attempt without a connection does not count, because in Kafka the batch has not left the accumulator.
        """
        return batch.attempt - batch.connection_failures <= self.config.retries

    def has_attempts_left(self, batch: ProducerBatch) -> bool:
        """Return whether retries and delivery.timeout.ms allow another attempt."""
        if not self.has_retries_left(batch):
            return False
        return self.config.delivery_timeout == NO_DELIVERY_TIMEOUT or self.journal.now < self.delivery_due(batch)

    def report_overdue_batches(self) -> None:
        """Report the batches that have had no response for longer than `STALL_BOUND`, each batch once."""
        journal = self.journal
        for batch in self.incomplete_batches():
            waited = journal.now - batch.created
            if waited > STALL_BOUND and not batch.overdue:
                batch.overdue = True
                journal.emit(
                    events.ProduceWaiting.kind,
                    self.name, batch.tp.topic, batch.tp.partition, batch.count, batch.acks, batch.attempt, waited,
                )  # fmt: skip

    def until_next_timeout(self, most: int) -> int:
        """Return the time until the next request or delivery timeout, µs, at most `most`."""
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
