"""A process that reads from one topic, writes to another topic, and commits its offsets: consume–transform–produce.

Kafka: the loop of `KafkaConsumer#poll`, `KafkaProducer#send`, and `KafkaProducer#sendOffsetsToTransaction` or `KafkaConsumer#commitSync`.

Each input record produces `copies` output records, each in a different partition if possible. `process_step` defines the steps and their
order. After each message, the process checks whether its current step is complete. If the current step is complete, the process begins the
next step.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from core.kafka import errors, events
from core.kafka.applications.processes.consuming_process import RECORD_BYTES, ConsumingProcess
from core.kafka.applications.processes.process_step import START, Delivery, ProcessStep, next_step
from core.kafka.applications.processes.processed_records import ProcessedRecords
from core.kafka.clients.client_context import ClientContext
from core.kafka.clients.consumer.group_consumer import GroupCall, PolledRecords
from core.kafka.clients.group_member.member_config import MemberConfig
from core.kafka.clients.group_member.member_consumer import MemberConsumer
from core.kafka.clients.producer.producer_transaction_state import ProducerTransactionState
from core.kafka.clients.producer.transactional_offsets import NOT_OWNED
from core.kafka.ids import TopicPartition
from core.kafka.release import Release

READY, OPEN = ProducerTransactionState.READY, ProducerTransactionState.IN_TRANSACTION

CHECKED_ROUNDS: Final = 3
"""The number of rounds, after a start or after a return to the committed offsets, in which the durability account looks for records that
were not processed exactly once.
"""


class ProcessConfig(NamedTuple):
    """The configuration of a process.

    Attributes:
        source: the input topic.
        output: the output topic, which can be the same as the input topic.
        group: the group whose offsets the process commits.
        delivery: the delivery guarantee.
        transactional_id: the transactional.id; empty without transactions.
        reset: auto.offset.reset, which is `earliest` or `latest`.
        max_poll_records: the maximum number of input records in a round.
        copies: the number of output records for each input record.
        membership: the configuration of the process as a member of the group; None if it reads all partitions of the input topic.
    """

    source: str
    output: str
    group: str
    delivery: Delivery
    transactional_id: str
    reset: str
    max_poll_records: int
    copies: int
    membership: MemberConfig | None = None


class Process(ConsumingProcess):
    """One instance of a process. Each restart creates another instance that has the same name.

    Attributes:
        does: the configuration of the process.
        step: the current step.
        rounds: the number of completed rounds of the loop.
        polled: the input records in the current round.
        crash_after: the step after which the instance crashes; None if it does not crash.
        checks: the number of further rounds in which the durability account looks for records that were not processed exactly once.
        failed_before: the number of failed records before the current round.
    """

    __slots__ = ("checks", "crash_after", "does", "failed_before", "polled", "rounds", "step")

    does: Final[ProcessConfig]
    consumer: MemberConsumer

    def __init__(
        self,
        name: str,
        does: ProcessConfig,
        instance: int,
        release: Release,
        context: ClientContext,
    ) -> None:
        super().__init__(name, does.output, instance, release, context)
        self.does = does
        consumer = MemberConsumer(self, name, does.source, does.group, does.reset, does.membership, release, context)
        consumer.max_poll_records = does.max_poll_records
        self._join(consumer, read_committed=does.delivery is Delivery.EXACTLY_ONCE)
        self.step = START[does.delivery][0]
        self.rounds = 0
        self.polled: tuple[PolledRecords, ...] = ()
        self.crash_after: ProcessStep | None = None
        self.failed_before = 0
        self.checks = CHECKED_ROUNDS

    # --- the life of the instance ----------------------------------------------------------------------------------

    def start(self, timeout_us: int) -> None:
        """Start the instance. `timeout` is transaction.timeout.ms in µs."""
        self._go_live()
        self.journal.cause = self.journal.emit(
            events.ProcessStarted.kind, self.name, self.instance, str(self.does.delivery), self.does.group, self.does.transactional_id
        )
        if self.does.transactional_id:
            self.enable_transactions(self.release, self.does.transactional_id, timeout_us).repeats_calls = True
        self.refresh_metadata()
        self.consumer.start()
        self._begin(self.step)

    def _report_end(self, how: str, error: str) -> int:
        return self.journal.emit(events.ProcessEnded.kind, self.name, self.instance, str(self.step), how, error)

    # --- the loop --------------------------------------------------------------------------------------------------

    def _continue(self) -> None:
        """If the current step is done, complete it and begin the next one."""
        while self.running and not self.busy:
            if self.failure and self.is_polling:
                self._leave()
                return
            if self.closing:
                self._close()
                return
            if self._recover() or self._poll_group():
                continue
            if not self._is_done():
                return
            self._complete()

    def _poll_group(self) -> bool:
        """Perform the group-related part of poll(). All earlier rounds have already committed their offsets. Return whether a new step
        began.
        """
        member = self.consumer.member
        if self.step is not ProcessStep.POLL or member is None:
            return False
        self.consumer.application_moved()
        member.poll()
        return self.step is not ProcessStep.POLL

    def partitions_assigned(self) -> None:
        """Begin at the committed offsets of the partitions that the process owns now."""
        self.checks = CHECKED_ROUNDS
        self._begin(ProcessStep.FETCH_OFFSETS)

    def partitions_revoked(self, partitions: tuple[int, ...]) -> None:
        """Do nothing, because the process holds no records between two rounds."""

    @property
    def is_polling(self) -> bool:
        """Whether the application is in poll()."""
        return self.step in (ProcessStep.POLL, ProcessStep.FETCH_OFFSETS) and not self.busy

    @property
    def calls_consumer(self) -> bool:
        """Whether the application is in poll() or in commitSync()."""
        return (self.is_polling or self.step is ProcessStep.COMMIT_OFFSETS) and not self.busy

    def _is_done(self) -> bool:
        """Return whether the current step is done."""
        consumer, transactions = self.consumer, self.transactions
        match self.step:
            case ProcessStep.INIT | ProcessStep.COMMIT | ProcessStep.ABORT:
                return transactions is not None and transactions.state is READY and not transactions.call
            case ProcessStep.FETCH_OFFSETS:
                return consumer.call is GroupCall.NOTHING and bool(consumer.positions) and bool(self.leaders)
            case ProcessStep.POLL:
                return bool(consumer.fetched)
            case ProcessStep.PRODUCE:
                return not self.sender.has_incomplete_batches()
            case ProcessStep.SEND_OFFSETS:
                return transactions is not None and not transactions.sends_offsets
            case ProcessStep.COMMIT_OFFSETS:
                return consumer.call is GroupCall.NOTHING
            case _:
                return True

    def _complete(self) -> None:
        """Record that the current step is complete. If an act has requested a crash after the step, crash; otherwise, begin the next
        step."""
        step, journal = self.step, self.journal
        if step is ProcessStep.POLL:
            self.polled = self.consumer.poll()
        journal.cause = journal.emit(events.ProcessStepDone.kind, self.name, self.instance, str(step), self._input())
        following = next_step(self.does.delivery, step)
        if following is ProcessStep.POLL:
            self.rounds += bool(self.polled)
            self.polled = ()
            self._check_input()
        if step is self.crash_after:
            self.kill("crashed")
        else:
            self._begin(following)

    def _check_input(self) -> None:
        """Make the durability account check whether input records were processed twice, only partly, or never.

        Records that are not processed exactly once can result only from the first rounds after the process starts or returns to the
        committed offsets.
        """
        if self.checks:
            self.checks -= 1
            self.account.process_checked(self.does.group, self.does.source, self.does.output, self.does.copies)

    def _input(self) -> str:
        """Return the input records in the current round as text for the journal."""
        return ", ".join(f"{each.tp}: {each.start}–{each.end - 1}" for each in self.polled)

    def _begin(self, step: ProcessStep) -> None:
        self.step = step
        transactions, consumer = self.transactions, self.consumer
        match step:
            case ProcessStep.FETCH_OFFSETS:
                if consumer.owns_nothing:
                    consumer.error = errors.NONE
                else:
                    consumer.fetch_offsets()
            case ProcessStep.POLL:
                consumer.wait_for_records()
            case ProcessStep.PRODUCE:
                self.failed_before = self.metrics.failed
                if self.poll_time or self.record_time:
                    self._work(self.poll_time + self.record_time * sum(each.end - each.start for each in self.polled))
                else:
                    self._produce_output()
            case ProcessStep.SEND_OFFSETS if not consumer.can_commit:
                self._abort("it has lost its partitions")
            case ProcessStep.COMMIT_OFFSETS:
                consumer.commit_offsets(consumer.offsets_to_commit(self.polled))
            case _:
                assert transactions is not None, "only transactional processes have the other steps"
                if step is ProcessStep.INIT:
                    transactions.init()
                elif step is ProcessStep.BEGIN:
                    transactions.begin()
                elif step is ProcessStep.SEND_OFFSETS:
                    transactions.send_offsets(self.does.group, consumer.offsets_to_commit(self.polled), consumer.membership)
                elif step is ProcessStep.COMMIT:
                    transactions.commit()
                else:
                    transactions.abort()

    def _produce_output(self) -> None:
        """Produce the output for the polled records. For each range of input records, produce one batch for each configured copy of the
        output."""
        event = self.journal.cause
        for tp, start, end in self.polled:
            for copy in range(self.does.copies):
                output = TopicPartition(self.topic, (tp.partition + copy) % len(self.leaders))
                content = ProcessedRecords(self.does.group, self.name, self.instance, tp, start, end, copy, event)
                if self.transactions is not None:
                    self.transactions.add_partition(output)
                self.enqueue(output, end - start, RECORD_BYTES, content)
        self.sender.run_once()

    def _work_done(self) -> None:
        """Produce the output of the records that the application has processed."""
        if self.step is ProcessStep.PRODUCE:
            self._produce_output()

    # --- errors ----------------------------------------------------------------------------------------------------

    def _recover(self) -> bool:
        """Handle an error in the current step. Return whether a new step began or the instance ended."""
        if self._transaction_failed():
            return True
        if self.transactions is not None:
            return False
        if self.step is ProcessStep.PRODUCE and self.metrics.failed > self.failed_before and not self.sender.has_incomplete_batches():
            if self.does.delivery is Delivery.AT_LEAST_ONCE:
                self._rewind(ProcessStep.FETCH_OFFSETS, errors.REQUEST_TIMED_OUT)
                return True
            self.failed_before = self.metrics.failed
        if self.consumer.error != errors.NONE:
            self._rewind(ProcessStep.FETCH_OFFSETS, self.consumer.error)
            return True
        return False

    def _abort(self, error: str) -> None:
        if error in NOT_OWNED:
            self.consumer.membership_refused(self.consumer.membership, error)
        self._rewind(ProcessStep.ABORT, error)

    def _rewind(self, step: ProcessStep, error: str) -> None:
        """Give up the current round, and return to the committed offsets."""
        self.journal.cause = self.journal.emit(events.ProcessRewound.kind, self.name, self.instance, str(self.step), error)
        self.polled = ()
        self.checks = CHECKED_ROUNDS
        self._begin(step)

    def _close(self) -> None:
        """End the instance when no transaction is open."""
        transactions = self.transactions
        if transactions is None or transactions.state in (
            READY,
            ProducerTransactionState.UNINITIALIZED,
            ProducerTransactionState.FATAL_ERROR,
        ):
            self._leave()
        elif transactions.state in (OPEN, ProducerTransactionState.ABORTABLE_ERROR) and not transactions.call:
            transactions.abort()
