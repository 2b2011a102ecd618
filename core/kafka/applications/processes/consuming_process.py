"""A client process that reads from one topic and writes to another.

The producer and the consumer in the process share its connections.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Final

from core.kafka.clients.client_context import ClientContext
from core.kafka.clients.consumer.group_consumer import TIMER_PREFIX
from core.kafka.clients.group_member.member_consumer import MemberConsumer
from core.kafka.clients.producer.producer import Producer
from core.kafka.clients.producer.producer_transaction_state import ProducerTransactionState
from core.kafka.release import Release
from core.sim.kernel_messages import Timer

RECORD_BYTES: Final = 100
"""The size of an output record, in bytes."""


class ConsumingProcess(Producer, metaclass=ABCMeta):
    """One instance of a process. Each restart creates another instance that has the same name.

    Attributes:
        instance: the number of the instance, from 1.
        release: the rules of the simulated Kafka release.
        consumer: the consumer in the process.
        running: whether the instance is running.
        closing: whether the instance is completing its last task before it stops.
        poll_time: the time that the application spends on each poll that returns records, in µs.
        record_time: the time that the application spends on each record, in µs.
        busy: whether the application is doing work that takes time, during which it calls neither the producer nor the consumer.
        failure: the exception that the next poll() throws; empty if there is none.
    """

    __slots__ = ("_losing", "busy", "closing", "consumer", "failure", "instance", "poll_time", "record_time", "release", "running")

    instance: Final[int]
    release: Final[Release]
    consumer: MemberConsumer

    def __init__(
        self,
        name: str,
        output: str,
        instance: int,
        release: Release,
        context: ClientContext,
    ) -> None:
        super().__init__(name, output, -1, context)
        self.instance = instance
        self.release = release
        self.running = False
        self.closing = False
        self.poll_time = 0
        self.record_time = 0
        self.busy = False
        self.failure = ""
        self._losing = False
        self.timers["work"] = self._work_timer

    def _join(self, consumer: MemberConsumer, *, read_committed: bool) -> None:
        """Make a consumer part of the process. Before the consumer gets committed offsets, it waits until open transactions have ended
        (KIP-447)."""
        self.consumer = consumer
        consumer.requires_stable = True
        consumer.read_committed = read_committed
        consumer.validates = self.release.validates_positions

    # --- the life of the instance ----------------------------------------------------------------------------------

    def _go_live(self) -> None:
        """Start the instance. Its consumer gets the instance's configuration unless the consumer is a member of a group and has its own."""
        consumer = self.consumer
        self.running = True
        self.network.process_started(self.address, self.journal.now)
        consumer.config = self.config if consumer.member is None else consumer.member.does.client
        consumer.incarnation, consumer.by_hand = self.incarnation, self.by_hand

    def kill(self, how: str = "killed", error: str = "") -> None:
        """End the instance abruptly. `how` is the value of the column `how` in the event that records the end."""
        journal = self.journal
        journal.cause = self._report_end(how, error)
        self.running = self.closing = False
        self.incarnation += 1
        self.network.process_died(self.address, journal.now, journal.cause)

    @abstractmethod
    def _report_end(self, how: str, error: str) -> int:
        """Record the end of the instance, and return the sequence number of the event."""

    def stop(self) -> None:
        """Make the instance complete its last task and then end."""
        self.closing = True
        self._proceed()

    def _leave(self) -> None:
        """If the instance is a member of a group, leave the group before the instance ends; otherwise, end the instance immediately."""
        if not self.consumer.leave():
            self.left_group()

    def left_group(self) -> None:
        """End the instance after the response to LeaveGroup."""
        if self.running:
            self.kill("failed" if self.failure else "stopped", self.failure)

    # --- the application -------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def is_polling(self) -> bool:
        """Whether the application is in poll()."""

    @property
    @abstractmethod
    def calls_consumer(self) -> bool:
        """Whether the application is in a call to the consumer that reads from the network, such as poll() or commitSync()."""

    def poll_fails(self, error: str) -> None:
        """Make poll() throw an exception. The application then closes the consumer, and the instance ends."""
        self.failure = self.failure or error

    def stall(self, duration: int) -> None:
        """If the application is in poll(), make it leave poll() and do other work for `duration` µs."""
        if self.is_polling:
            self._work(duration)
            self.consumer.application_moved()

    def _work(self, duration: int) -> None:
        """Make the application do work that takes `duration` µs."""
        self.busy = True
        self.timer(duration, "work")

    def _work_timer(self, _: object) -> None:
        self.busy = False
        self._work_done()

    @abstractmethod
    def _work_done(self) -> None:
        """Continue after the application has done work that took time."""

    # --- errors ----------------------------------------------------------------------------------------------------

    def _transaction_failed(self) -> bool:
        """If the transaction has an error, handle the error. Return whether the transaction had an error.

        A fatal error ends the instance; any other error aborts the transaction.
        """
        transactions = self.transactions
        if transactions is None:
            return False
        if transactions.state is ProducerTransactionState.FATAL_ERROR:
            self.kill("failed", transactions.last_error)
            return True
        if transactions.state is ProducerTransactionState.ABORTABLE_ERROR and not transactions.call:
            self._abort(transactions.last_error)
            return True
        return False

    @abstractmethod
    def _abort(self, error: str) -> None:
        """Because of an error, abandon the records in the transaction, and abort the transaction."""

    def succeed(self, former: ConsumingProcess) -> None:
        """Replace an earlier instance and continue its numbering, so that its timers and late responses to it have no effect."""
        self.incarnation = former.incarnation + 1
        self._correlation = former._correlation
        self.accumulator.continue_numbering(former.accumulator)

    # --- messages --------------------------------------------------------------------------------------------------

    def handle(self, message: object, sender: str) -> None:
        """Pass a message to the producer, to the consumer, or to both, and then continue with the current task of the process."""
        kind, consumer = type(message), self.consumer
        if isinstance(message, Timer):
            if message.name.startswith(TIMER_PREFIX):
                consumer.timers[message.name.removeprefix(TIMER_PREFIX)](message.about)
            else:
                super().handle(message, sender)
        else:
            if kind in consumer.handlers:
                consumer.handle(message, sender)
            if kind in self.handlers:
                super().handle(message, sender)
        self._proceed()

    def _proceed(self) -> None:
        """Continue with the current task. Whenever a thread has read messages that were waiting in the network, continue again."""
        self._continue()
        while self.running and self.consumer.application_moved():
            self._continue()

    def connection_lost(self, node: str) -> None:
        """Handle the end of a connection to a broker: the connection broke, or the producer of this process closed it."""
        super().connection_lost(node)
        if not self._losing:
            self._losing = True
            self.consumer.connection_lost(node)
            self._losing = False

    def shared_connection_lost(self, node: str) -> None:
        """Handle the end of a connection to a broker: the connection broke, or the consumer of this process closed it."""
        if not self._losing:
            self._losing = True
            self.connection_lost(node)
            self._losing = False

    def metadata_updated(self) -> None:
        """Send the batches that were waiting for metadata. If a broker has just started, it might not know the topic yet."""
        super().metadata_updated()
        if not self.leaders:
            self.refresh_metadata_soon()

    @abstractmethod
    def _continue(self) -> None:
        """Continue with the current task."""
