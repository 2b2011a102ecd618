"""A process that holds records in memory until they are due, and that sends records to other topics.

A process that ends loses the records that it holds.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Final

from core.kafka import events
from core.kafka.applications.processes.consuming_process import ConsumingProcess
from core.kafka.applications.services.held_queue import HeldQueue
from core.kafka.applications.services.service_config import DueFrom, ServiceStep, WorkerConfig
from core.kafka.applications.services.service_consumer import ServiceConsumer
from core.kafka.applications.services.service_records import DelayedRecords, HeldRecords
from core.kafka.clients.accumulator.producer_batch import ProducerBatch
from core.kafka.clients.client_context import ClientContext
from core.kafka.clients.consumer.group_consumer import PolledRecords
from core.kafka.ids import TopicPartition
from core.kafka.release import Release


class HoldingProcess(ConsumingProcess):
    """One instance of a process that holds records.

    Attributes:
        does: the configuration of the worker.
        queue: the held records.
        handling: the records that the application is handling, which takes time; empty if there are none.
        sending: the records that are being sent, by batch.
        given_up: the records that are still being sent after the process has lost their partitions, by batch.
        due_timer: the time of the next `due` timer, in µs; -1 if none is armed.
        backs_off_until: the time until which the process sends nothing, because a batch failed, in µs.
        crash_after: the point at which the instance crashes; None if it does not crash.
        crashing: whether the instance has reached the point at which it crashes.
    """

    __slots__ = ("backs_off_until", "crash_after", "crashing", "does", "due_timer", "given_up", "handling", "queue", "sending")

    does: Final[WorkerConfig]
    consumer: ServiceConsumer
    queue: Final[HeldQueue]
    sending: Final[dict[int, HeldRecords]]
    given_up: Final[dict[int, HeldRecords]]

    def __init__(
        self,
        name: str,
        does: WorkerConfig,
        instance: int,
        release: Release,
        context: ClientContext,
    ) -> None:
        super().__init__(name, does.target, instance, release, context)
        self.does = does
        self.queue = HeldQueue(fifo=does.fifo)
        self.handling: tuple[HeldRecords, ...] = ()
        self.sending = {}
        self.given_up = {}
        self.due_timer = -1
        self.backs_off_until = 0
        self.crash_after: ServiceStep | None = None
        self.crashing = False
        self.timers["due"] = self._due
        self.sender.callback = self

    def open_records(self) -> tuple[HeldRecords, ...]:
        """Return the records that the process has polled but has not finished handling."""
        return (*self.queue.entries, *self.handling, *self.sending.values())

    def in_hand(self) -> tuple[PolledRecords, ...]:
        """Return the records that the instance has fetched but has not finished handling."""
        tp, buffered = self.consumer.tp, self.consumer.buffered
        found = [*self.open_records(), *(each for kept in buffered.values() for each in kept)]
        return tuple(PolledRecords(tp(each.partition), each.start, each.end) for each in found)

    # --- holding records -------------------------------------------------------------------------------------------

    def _poll(self) -> None:
        """Hold fetched records, but at most `bound` records for each partition. Pause each partition that has `bound` held records, and
        resume each partition that has fewer than `resume_at` held records."""
        consumer, queue, does = self.consumer, self.queue, self.does
        for number in range(len(consumer.positions)):
            if number in consumer.paused and queue.count(number) < does.resume_at:
                consumer.resume(number)
                self.journal.emit(events.ServiceResumed.kind, self.name, does.source, number, queue.count(number), does.bound)
            if number in consumer.paused:
                continue
            while (taken := consumer.take(number, does.bound - queue.count(number))) is not None:
                self._hold(taken)
            if queue.count(number) >= does.bound:
                consumer.pause(number)
                self.journal.emit(events.ServicePaused.kind, self.name, does.source, number, queue.count(number), does.bound)
        consumer.fetch_more()

    def _hold(self, taken: HeldRecords) -> None:
        """Hold records until they are due."""
        does, journal = self.does, self.journal
        since = journal.now if does.due_from is DueFrom.READ else taken.timestamp
        due = since + self.delay_of(taken)
        if does.tick:
            due = -(-due // does.tick) * does.tick
        before, journal.cause = journal.cause, taken.event or journal.cause
        held = taken._replace(due=due)
        if does.delay:
            held = held._replace(
                event=journal.emit(
                    events.RecordsHeld.kind, self.name, does.source, taken.partition, taken.start, taken.end, max(due - journal.now, 0)
                )
            )
        journal.cause = before
        self.queue.push(held)

    def delay_of(self, records: HeldRecords) -> int:
        """Return the delay of records: the level's delay or, with `per_record`, the delay that their producer requested."""
        headers = records.content
        return headers.wanted if self.does.per_record and isinstance(headers, DelayedRecords) else self.does.delay

    def _arm(self) -> None:
        """Set the timer for the head of the queue."""
        due, now = self.queue.due_time(), self.journal.now
        if due >= 0:
            due = max(due, self.backs_off_until)
        if due > now and due != self.due_timer:
            self.due_timer = due
            before, self.journal.cause = self.journal.cause, self.queue.entries[0].event
            self.timer(due - now, "due", due)
            self.journal.cause = before

    def _due(self, due: object) -> None:
        if due == self.due_timer:
            self.due_timer = -1

    # --- sending ---------------------------------------------------------------------------------------------------

    def _forward(self, records: HeldRecords, content: object, topic: str = "") -> None:
        """Send records to the target or to another topic that the worker writes to."""
        topic = topic or self.topic
        # After a topic is deleted, its number of partitions is unknown. The batch then waits until delivery.timeout.ms has elapsed.
        partitions = len(self.leaders_of(topic)) or records.partition + 1
        tp = TopicPartition(topic, records.partition % partitions)
        before, self.journal.cause = self.journal.cause, records.event or self.journal.cause
        if self.transactions is not None:
            self.transactions.add_partition(tp)
        self.sending[self.enqueue(tp, records.size, records.record_bytes, content)] = records
        self.sender.send_transactional_requests()
        self.sender.send_to(tp)
        self.journal.cause = before

    def batch_acknowledged(self, batch: ProducerBatch) -> None:
        """Record that the worker has finished handling the records in a batch."""
        records = self.sending.pop(batch.id, None)
        if records is not None:
            self._forwarded(records, batch)
            self._done(records)
            self._reached(ServiceStep.FORWARD)
        elif (given_up := self.given_up.pop(batch.id, None)) is not None:
            self._forwarded(given_up, batch)

    @abstractmethod
    def _forwarded(self, records: HeldRecords, batch: ProducerBatch) -> None:
        """Record that the records in a batch were appended to the batch's topic."""

    def batch_failed(self, batch: ProducerBatch, error: str, *, aborted: bool) -> None:
        """Hold the records in a batch that the producer gave up on. The records are sent again after retry.backoff.ms, before records that
        are due later.
        """
        self.given_up.pop(batch.id, None)
        records = self.sending.pop(batch.id, None)
        if records is not None:
            self.backs_off_until = self.journal.now + self.config.retry_backoff
            self.queue.push(records, again=True)

    def _reached(self, step: ServiceStep) -> None:
        if step is self.crash_after:
            self.crashing = True

    def _done(self, records: HeldRecords) -> None:
        """Record that the worker has finished handling some records."""
        self.queue.done(records)
