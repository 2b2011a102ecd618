"""A worker in a service. The worker fetches the records of one topic, holds them until they are due, handles them, and commits offsets.

A worker keeps all of its state in memory, so the state is lost when the process ends. The next instance starts at the committed offsets.
Because records can become due in a different order than their offsets, the worker does not commit its position. Instead, it commits the
lowest offset that it has not finished handling.

With a transactional.id, the records that the worker sends and the offsets that it commits during each commit interval form one transaction.

A worker reads all partitions of its topic or, if it is a member of a group, those that the group coordinator assigns to it. Before a worker
gives up partitions, it commits its offsets. The next owner handles the records that the worker still holds. The next owner also handles
records that the worker is still sending, so these records arrive twice.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Final

from core.kafka import errors, events
from core.kafka.clients.accumulator.producer_batch import ProducerBatch
from core.kafka.clients.client import RETRY_BACKOFF
from core.kafka.clients.consumer.group_consumer import GroupCall, PolledRecords
from core.kafka.clients.processes.consuming_process import ConsumingProcess
from core.kafka.clients.producer.producer_transaction_state import ProducerTransactionState
from core.kafka.clients.producer.transactional_offsets import NOT_OWNED
from core.kafka.clients.services.held_queue import HeldQueue
from core.kafka.clients.services.service_config import DueFrom, ServiceCommit, ServiceStep, WorkerConfig
from core.kafka.clients.services.service_consumer import ServiceConsumer
from core.kafka.clients.services.service_records import DelayedRecords, HeldRecords
from core.kafka.clients.services.worker_phase import Phase
from core.kafka.durability_observer import DurabilityObserver
from core.kafka.group_coordinator.messages import OffsetToCommit
from core.kafka.ids import NO_LEADER, TopicPartition
from core.kafka.messages import ProduceResponse
from core.kafka.release import Release
from core.sim.journal import Journal
from core.sim.network import Network

READY, OPEN = ProducerTransactionState.READY, ProducerTransactionState.IN_TRANSACTION


class ServiceWorker(ConsumingProcess):
    """One instance of a worker.

    Attributes:
        does: the configuration of the worker.
        phase: the phase that the worker is in.
        queue: the held records.
        sending: the records that are being sent, by batch.
        given_up: the records that are still being sent after the worker has lost their partitions, by batch.
        revoking: whether the commit before a revocation has been sent.
        committed: the last offset that the worker committed or found to be committed, by partition.
        committing: the offsets that the worker is committing outside of a transaction.
        due_timer: the time of the next `due` timer, µs; -1 if none is armed.
        backs_off_until: the time until which the worker sends nothing, because a batch failed, µs.
        crash_after: the point at which the instance crashes; None if it does not crash.
        crashing: whether the instance has reached the point at which it crashes.
        started_by: the event that recorded the start.
    """

    __slots__ = (
        "backs_off_until", "committed", "committing", "crash_after", "crashing", "does", "due_timer", "given_up", "phase", "queue",
        "revoking", "sending", "started_by",
    )  # fmt: skip

    does: Final[WorkerConfig]
    consumer: ServiceConsumer
    queue: Final[HeldQueue]
    sending: Final[dict[int, HeldRecords]]
    given_up: Final[dict[int, HeldRecords]]
    committed: Final[dict[int, int]]

    def __init__(
        self,
        name: str,
        does: WorkerConfig,
        instance: int,
        release: Release,
        brokers: tuple[int, ...],
        network: Network,
        journal: Journal,
        account: DurabilityObserver,
    ) -> None:
        super().__init__(name, does.target, instance, release, brokers, network, journal, account)
        self.does = does
        consumer = ServiceConsumer(
            self, name, does.source, does.group, does.reset, does.membership, release, brokers, network, journal, account
        )
        self._join(consumer, read_committed=bool(does.transactional_id))
        consumer.keeps_paused = release.keeps_paused_records
        self.phase = Phase.INIT if does.transactional_id else Phase.OFFSETS if does.membership is None else Phase.RUNNING
        self.queue = HeldQueue(fifo=does.fifo)
        self.sending = {}
        self.given_up = {}
        self.revoking = False
        self.committed = {}
        self.committing: tuple[OffsetToCommit, ...] = ()
        self.due_timer = -1
        self.backs_off_until = 0
        self.crash_after: ServiceStep | None = None
        self.crashing = False
        self.started_by = 0
        self.timers.update({"due": self._due, "commit": self._commit_due})

    # --- the life of the instance ----------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the instance."""
        does, journal, consumer = self.does, self.journal, self.consumer
        self._go_live()
        if does.membership is not None:
            consumer.config = does.membership.client
        journal.cause = self.started_by = journal.emit(
            events.ServiceStarted.kind, self.name, self.instance, does.source, does.target, does.group, does.delay, does.transactional_id
        )
        if does.transactional_id:
            self.enable_transactions(self.release, does.transactional_id, self.config.transaction_timeout).init()
        self.refresh_metadata()
        consumer.start()
        if self.phase is Phase.OFFSETS:
            consumer.fetch_offsets()
        self.timer(does.commit_interval, "commit")

    def _report_end(self, how: str, error: str) -> int:
        held = sum(records.size for records in (*self.queue.entries, *self.sending.values()))
        return self.journal.emit(events.ServiceEnded.kind, self.name, self.instance, held, how, error)

    def in_hand(self) -> tuple[PolledRecords, ...]:
        """Return the records that the instance has fetched but has not finished handling."""
        tp, buffered = self.consumer.tp, self.consumer.buffered
        found = [*self.queue.entries, *self.sending.values(), *(each for kept in buffered.values() for each in kept)]
        return tuple(PolledRecords(tp(each.partition), each.start, each.end) for each in found)

    def handle(self, message: object, sender: str) -> None:
        """Handle a message, unless the instance must crash before it learns that its records were appended."""
        if self.crash_after is ServiceStep.SEND and isinstance(message, ProduceResponse):
            self.kill("crashed")
        else:
            super().handle(message, sender)

    def metadata_updated(self) -> None:
        """Send the batches that were waiting for metadata. If a topic was just created, its leaders might not be known yet."""
        super().metadata_updated()
        waits = self.phase in (Phase.INIT, Phase.OFFSETS) or self.does.membership is not None
        if waits and any(leader == NO_LEADER for leader, _ in self.leaders):
            self.refresh_metadata_soon()

    def _knows_a_leader(self) -> bool:
        """Return whether the metadata contains the leader of any partition of the target topic."""
        return any(leader != NO_LEADER for leader, _ in self.leaders)

    # --- what the worker does next ---------------------------------------------------------------------------------

    def _continue(self) -> None:
        """Perform tasks until the worker must wait."""
        while self.running and self._advance():
            pass
        if self.running and self.crashing:
            self.kill("crashed")

    def _advance(self) -> bool:
        """Do the next task in the current phase. Return whether another phase began."""
        if self.crashing:
            return False
        if self._failed():
            return True
        transactions, consumer = self.transactions, self.consumer
        match self.phase:
            case Phase.INIT | Phase.ABORTING:
                assert transactions is not None, "these phases belong to transactions"
                if transactions.state is not READY or transactions.call:
                    return False
                self._return_to_committed()
                return True
            case Phase.OFFSETS:
                if not self._poll_group() or self.phase is not Phase.OFFSETS:
                    return self.phase is not Phase.OFFSETS
                if consumer.call is not GroupCall.NOTHING or not consumer.positions or not self._knows_a_leader():
                    return False
                self.committed.update({number: offset for number, offset in enumerate(consumer.positions) if offset > 0})
                self.phase = Phase.RUNNING
                self._check()
                consumer.fetch_more()
                return True
            case Phase.RUNNING:
                return self._run()
            case Phase.COUNTING:
                return self._count()
            case Phase.FLUSHING:
                return self._flush()
            case Phase.SENDING_OFFSETS:
                assert transactions is not None, "this phase belongs to transactions"
                if transactions.sends_offsets:
                    return False
                self.phase = Phase.COMMITTING
                transactions.commit()
                return True
            case Phase.COMMITTING:
                assert transactions is not None, "this phase belongs to transactions"
                if transactions.state is not READY or transactions.call:
                    return False
                self.phase = Phase.RUNNING
                self._committed()
                return True

    def _run(self) -> bool:
        """If the worker is closing, end it; otherwise, poll and handle records. Return whether another phase began."""
        self._complete_commit()
        if not self.closing:
            if not self._poll_group() or self.phase is not Phase.RUNNING:
                return self.phase is not Phase.RUNNING
            self._poll()
            if self._handle_due() and self.running:
                # There may be room for more records.
                self._poll()
            if self.running:
                self._arm()
            return False
        if self.has_incomplete_batches() or self.consumer.call is not GroupCall.NOTHING:
            return False
        if self.transactions is not None and self.transactions.state is OPEN:
            self.phase = Phase.FLUSHING
            return True
        if self.transactions is None and self.consumer.can_commit and self.offsets_to_commit():
            self._commit_due(None)
        else:
            self._leave()
        return False

    def _leave(self) -> None:
        """End the instance. A member first leaves its group."""
        if not self.consumer.leave() and self.running:
            self.kill("stopped")

    # --- the group -------------------------------------------------------------------------------------------------

    def _poll_group(self) -> bool:
        """Perform the group-related part of poll(). Return False if the worker must first wait or commit (`ConsumerCoordinator#poll`)."""
        consumer = self.consumer
        member = consumer.member
        if member is None:
            return True
        if member.must_prepare():
            if consumer.call is not GroupCall.NOTHING or self._commits_before_revocation():
                return False
            member.prepare_join()
        member.ensure_active_group()
        return self.running

    def _commits_before_revocation(self) -> bool:
        """Commit the offsets before the worker gives up its partitions. Return False if the offsets have already been committed or cannot
        be committed."""
        transactions = self.transactions
        if transactions is not None:
            if transactions.state is not OPEN:
                return bool(transactions.call)
            if self.consumer.can_commit:
                self.phase = Phase.FLUSHING
            elif not transactions.call:
                self._abort("it has lost its partitions")
            return True
        offsets = self.offsets_to_commit()
        if self.revoking or not offsets or not self.consumer.can_commit:
            self.revoking = False
            return False
        self.revoking, self.committing = True, offsets
        self.consumer.commit_offsets(offsets)
        return True

    def partitions_revoked(self, partitions: tuple[int, ...]) -> None:
        """Forget the records in partitions that the worker no longer owns. Records that are already being sent still arrive."""
        for number in partitions:
            self.queue.forget(number)
            self.committed.pop(number, None)
        for batch in [batch for batch, records in self.sending.items() if records.partition in partitions]:
            self.given_up[batch] = self.sending.pop(batch)

    def partitions_assigned(self) -> None:
        """Start at the committed offsets of the partitions that the worker now owns."""
        self._return_to_committed()

    def left_group(self) -> None:
        """End the instance after the response to LeaveGroup."""
        if self.running:
            self.kill("stopped")

    # --- holding records -------------------------------------------------------------------------------------------

    def _poll(self) -> None:
        """Hold fetched records, but at most `bound` records for each partition. Pause partitions that have reached this limit, and resume
        partitions that have fewer than `resume_at` held records."""
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

    def _handle_due(self) -> bool:
        """Handle the held records that are due. Return whether any records were due."""
        handled = False
        queue, transactions, now = self.queue, self.transactions, self.journal.now
        if now < self.backs_off_until:
            return False
        while self.running and self.phase is Phase.RUNNING and not self.crashing and queue.entries and queue.due_time() <= now:
            if transactions is not None:
                if transactions.call or transactions.state not in (READY, OPEN):
                    return handled
                if transactions.state is READY:
                    transactions.begin()
            handled = True
            self._handle(queue.pop())
        return handled

    @abstractmethod
    def _handle(self, records: HeldRecords) -> None:
        """Handle records that are due. When the worker has finished handling the records, it calls `_done`."""

    def _done(self, records: HeldRecords) -> None:
        """Record that the worker has finished handling some records."""
        self.queue.done(records)

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
        self.enqueue(tp, records.size, records.record_bytes, content)
        self.sending[self._batch_id] = records
        if self.transactions is not None:
            self.transactions.advance()
        self._send(tp)
        self.journal.cause = before

    def _acknowledged(self, batch: ProducerBatch, base: int, end: int) -> None:
        super()._acknowledged(batch, base, end)
        records = self.sending.pop(batch.id, None)
        if records is not None:
            self._forwarded(records, batch)
            self._done(records)
            self._reached(ServiceStep.FORWARD)
        elif (given_up := self.given_up.pop(batch.id, None)) is not None:
            self._forwarded(given_up, batch)

    @abstractmethod
    def _forwarded(self, records: HeldRecords, batch: ProducerBatch) -> None:
        """Record that records were appended to the topic of a batch."""

    def _drop(self, batch: ProducerBatch, error: str) -> None:
        """Hold the records in a batch that the producer gave up. The records are sent again after retry.backoff.ms, before records that are
        due later.
        """
        super()._drop(batch, error)
        self.given_up.pop(batch.id, None)
        records = self.sending.pop(batch.id, None)
        if records is not None:
            self.backs_off_until = self.journal.now + RETRY_BACKOFF
            self.queue.push(records, again=True)

    def _reached(self, step: ServiceStep) -> None:
        if step is self.crash_after:
            self.crashing = True

    # --- committing ------------------------------------------------------------------------------------------------

    def offset_to_commit(self, partition: int) -> int:
        """Return the offset to commit for a partition: the lowest one that the worker has not finished handling, or the worker's
        position."""
        position = self.consumer.next_to_poll(partition)
        if self.does.commits is ServiceCommit.POSITION:
            return position
        open_records = (*self.queue.entries, *self.sending.values())
        return min((each.start for each in open_records if each.partition == partition), default=position)

    def offsets_to_commit(self) -> tuple[OffsetToCommit, ...]:
        """Return the offsets that have changed since the last commit."""
        consumer = self.consumer
        found = ((number, self.offset_to_commit(number)) for number in range(len(consumer.positions)))
        return tuple(
            (consumer.tp(number), offset, consumer.read_epoch(number))
            for number, offset in found
            if offset > 0 and offset != self.committed.get(number)
        )

    def _commit_due(self, again: object) -> None:
        """Commit the offsets. Without transactions, the worker continues to work while the commit is in flight."""
        if again is None and not self.closing:
            self.timer(self.does.commit_interval, "commit")
        if self.phase is not Phase.RUNNING:
            return
        if self.transactions is not None:
            if self.transactions.state is OPEN and not self.transactions.call:
                self.phase = Phase.FLUSHING
            return
        offsets = self.offsets_to_commit()
        if offsets and self.consumer.call is GroupCall.NOTHING and self.consumer.can_commit:
            self.committing = offsets
            self.consumer.commit_offsets(offsets)

    def _complete_commit(self) -> None:
        """Record the offsets from a commit that has ended. If the commit failed, include the offsets in the next commit."""
        if not self.committing or self.consumer.call is not GroupCall.NOTHING:
            return
        offsets, self.committing = self.committing, ()
        if self.consumer.error == errors.NONE:
            self.committed.update({tp.partition: offset for tp, offset, _ in offsets})
            self._committed()
        self.consumer.error = errors.NONE

    def _count(self) -> bool:
        """Commit the number of tries. Return whether another phase began. Only workers of retry services count tries."""
        return False

    def _committed(self) -> None:
        """After a commit, make the durability account look for records that the service handled more than once or never."""
        self._check()
        self._reached(ServiceStep.COMMIT)

    def _check(self) -> None:
        """Make the durability account check for records that the service handled twice or never."""

    def _flush(self) -> bool:
        """If all batches are acknowledged, commit the offsets in the transaction."""
        transactions = self.transactions
        assert transactions is not None, "this phase belongs to transactions"
        if self.has_incomplete_batches() or transactions.call or transactions.state is not OPEN:
            return False
        offsets = self.offsets_to_commit()
        if offsets:
            self.committed.update({tp.partition: offset for tp, offset, _ in offsets})
            transactions.send_offsets(self.does.group, offsets, self.consumer.membership)
        self.phase = Phase.SENDING_OFFSETS
        return True

    # --- errors ----------------------------------------------------------------------------------------------------

    def _failed(self) -> bool:
        """Handle an error. Return whether another phase began or the instance ended."""
        if self._transaction_failed():
            return True
        if self.phase is Phase.OFFSETS and self.consumer.call is GroupCall.NOTHING and self.consumer.error != errors.NONE:
            self.consumer.fetch_offsets()
        return False

    def _abort(self, error: str) -> None:
        transactions = self.transactions
        assert transactions is not None, "only transactions are aborted"
        self.journal.cause = self.journal.emit(events.ServiceRewound.kind, self.name, self.instance, error)
        self.phase = Phase.ABORTING
        if error in NOT_OWNED:
            self.consumer.membership_refused(self.consumer.membership, error)
        self._forget()
        transactions.abort()

    def _forget(self) -> None:
        """Forget all held records."""
        self.queue.clear()
        self.sending.clear()
        self.committed.clear()
        self.consumer.forget()

    def _return_to_committed(self) -> None:
        if self.consumer.owns_nothing:
            self.phase = Phase.RUNNING
            return
        self.phase = Phase.OFFSETS
        self.consumer.fetch_offsets()
