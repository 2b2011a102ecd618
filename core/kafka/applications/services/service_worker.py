"""A worker in a service. The worker fetches the records of one topic, holds them until they are due, handles them, and commits offsets.

A worker keeps all of its state in memory, so the state is lost when the process ends. The next instance starts at the committed offsets.
Because the order in which records become due can differ from the order of their offsets, the worker commits the lowest offset that it has
not finished handling, instead of its position.

With a transactional.id, the records that the worker sends and the offsets that it commits during each commit interval form one transaction.

A worker reads all partitions of its topic or, if it is a member of a group, those that the group coordinator assigns to it. Before a worker
gives up partitions, it commits its offsets. The next owner handles the records that the worker still holds. The next owner also handles
records that the worker is still sending, so these records arrive twice.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Final

from core.kafka import errors, events
from core.kafka.applications.services.holding_process import HoldingProcess
from core.kafka.applications.services.service_config import ServiceCommit, ServiceStep, WorkerConfig
from core.kafka.applications.services.service_consumer import ServiceConsumer
from core.kafka.applications.services.service_records import HeldRecords
from core.kafka.applications.services.worker_phase import Phase
from core.kafka.clients.client_context import ClientContext
from core.kafka.clients.consumer.group_consumer import GroupCall
from core.kafka.clients.producer.producer_transaction_state import ProducerTransactionState
from core.kafka.clients.producer.transactional_offsets import NOT_OWNED
from core.kafka.group_coordinator.group_requests import OffsetToCommit
from core.kafka.ids import NO_LEADER
from core.kafka.messages import ProduceResponse
from core.kafka.release import Release

READY, OPEN = ProducerTransactionState.READY, ProducerTransactionState.IN_TRANSACTION


class ServiceWorker(HoldingProcess):
    """One instance of a worker.

    Attributes:
        phase: the phase that the worker is in.
        left: how many more records the application handles, one after the other, before it calls poll() again.
        commit_owed: whether a commit became due while the application was handling records.
        revoking: whether the worker has sent the commit that precedes a revocation of partitions.
        committed: the last offset that the worker committed or found to be committed, by partition.
        committing: the offsets that the worker is committing outside of a transaction.
        started_by: the event that recorded the start.
    """

    __slots__ = ("commit_owed", "committed", "committing", "left", "phase", "revoking", "started_by")

    committed: Final[dict[int, int]]

    def __init__(
        self,
        name: str,
        does: WorkerConfig,
        instance: int,
        release: Release,
        context: ClientContext,
    ) -> None:
        super().__init__(name, does, instance, release, context)
        consumer = ServiceConsumer(self, name, does.source, does.group, does.reset, does.membership, release, context)
        self._join(consumer, read_committed=bool(does.transactional_id))
        consumer.keeps_paused = release.keeps_paused_records
        self.phase = Phase.INIT if does.transactional_id else Phase.OFFSETS if does.membership is None else Phase.RUNNING
        self.left = 0
        self.commit_owed = False
        self.revoking = False
        self.committed = {}
        self.committing: tuple[OffsetToCommit, ...] = ()
        self.started_by = 0
        self.timers["commit"] = self._commit_due

    # --- the life of the instance ----------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the instance."""
        does, journal, consumer = self.does, self.journal, self.consumer
        self._go_live()
        journal.cause = self.started_by = journal.emit(
            events.ServiceStarted.kind, self.name, self.instance, does.source, does.target, does.group, does.delay, does.transactional_id
        )
        if does.transactional_id:
            transactions = self.enable_transactions(self.release, does.transactional_id, self.config.transaction_timeout)
            transactions.repeats_calls = True
            transactions.init()
        self.refresh_metadata()
        consumer.start()
        if self.phase is Phase.OFFSETS:
            consumer.fetch_offsets()
        self.timer(does.commit_interval, "commit")

    def _report_end(self, how: str, error: str) -> int:
        held = sum(records.size for records in self.open_records())
        return self.journal.emit(events.ServiceEnded.kind, self.name, self.instance, held, how, error)

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
        """Do the next task in the current phase. Return whether the worker entered a different phase."""
        if self.crashing or self.busy:
            return False
        if self.failure and self.is_polling:
            self._leave()
            return False
        if self._failed():
            return True
        transactions, consumer = self.transactions, self.consumer
        match self.phase:
            case Phase.INIT | Phase.ABORTING:
                assert transactions is not None, "only transactional workers enter these phases"
                if transactions.state is not READY or transactions.call:
                    return False
                self._return_to_committed()
                return True
            case Phase.OFFSETS:
                if not self._poll_group() or self.phase is not Phase.OFFSETS:
                    return self.phase is not Phase.OFFSETS
                if consumer.call is not GroupCall.NOTHING or not consumer.positions or not self._knows_a_leader():
                    return False
                self.committed.update({number: offset for number, offset in consumer.take_initialized() if offset > 0})
                self.phase = Phase.RUNNING
                self._check()
                consumer.fetch_more()
                return True
            case Phase.RUNNING:
                return self._run()
            case Phase.HANDLING:
                return False
            case Phase.COUNTING:
                return self._count()
            case Phase.FLUSHING:
                return self._flush()
            case Phase.SENDING_OFFSETS:
                assert transactions is not None, "only transactional workers enter this phase"
                if transactions.sends_offsets:
                    return False
                self.phase = Phase.COMMITTING
                transactions.commit()
                return True
            case Phase.COMMITTING:
                assert transactions is not None, "only transactional workers enter this phase"
                if transactions.state is not READY or transactions.call:
                    return False
                self.phase = Phase.RUNNING
                self._committed()
                return True

    def _run(self) -> bool:
        """If the worker is closing, end it; otherwise, poll and handle records. Return whether the worker entered a different phase."""
        self._complete_commit()
        if not self.closing:
            left = self.left
            if not left:
                if not self._poll_group() or self.phase is not Phase.RUNNING:
                    return self.phase is not Phase.RUNNING
                self._poll()
            handled = self._handle_due()
            if not handled:
                self.left = 0
            if self.phase is Phase.FLUSHING or (left and not self.left and self.phase is Phase.RUNNING):
                return True
            if handled and self.running and not self.left:
                # There may be room for more records.
                self._poll()
            if self.running:
                self._arm()
            return False
        if self.sender.has_incomplete_batches() or self.consumer.call is not GroupCall.NOTHING:
            return False
        if self.transactions is not None and self.transactions.state is OPEN:
            self.phase = Phase.FLUSHING
            return True
        if self.transactions is None and self.consumer.can_commit and self.offsets_to_commit():
            self._commit_due(None)
        else:
            self._leave()
        return False

    # --- the group -------------------------------------------------------------------------------------------------

    def _poll_group(self) -> bool:
        """Perform the group-related part of poll(). Return False if the worker must first wait or commit (`ConsumerCoordinator#poll`)."""
        consumer = self.consumer
        member = consumer.member
        if member is None:
            return True
        consumer.application_moved()
        if member.must_revoke() and (consumer.call is not GroupCall.NOTHING or self._commits_before_revocation()):
            return False
        member.poll()
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
        self.consumer.commit_offsets(offsets, self._metadata(offsets))
        return True

    def partitions_revoked(self, partitions: tuple[int, ...]) -> None:
        """Forget the records in partitions that the worker no longer owns. Records that are already being sent still arrive."""
        for number in partitions:
            self.queue.forget(number)
            self.committed.pop(number, None)
        for batch in [batch for batch, records in self.sending.items() if records.partition in partitions]:
            self.given_up[batch] = self.sending.pop(batch)

    def partitions_assigned(self) -> None:
        """Start at the committed offsets of the partitions that were just assigned. If a commit is in flight, the worker ignores its
        result."""
        self.committing = ()
        self.phase = Phase.OFFSETS
        self.consumer.fetch_new_offsets()

    # --- handling records ------------------------------------------------------------------------------------------

    def _handle_due(self) -> bool:
        """Handle the held records that are due. Return whether any records were due."""
        handled = False
        queue, transactions, now = self.queue, self.transactions, self.journal.now
        if now < self.backs_off_until:
            return False
        while self.running and self.phase is Phase.RUNNING and not self.crashing and queue.entries and queue.due_time() <= now:
            if transactions is not None and (transactions.call or transactions.state not in (READY, OPEN)):
                return handled
            handled = True
            records = queue.pop()
            if not self._can_start(records):
                break
            if transactions is not None and transactions.state is READY:
                transactions.begin()
            if self.left or self.poll_time or self.record_time:
                self._begin_handling(records)
            else:
                self._handle(records)
        return handled

    def _can_start(self, records: HeldRecords) -> bool:
        """Return whether the worker can begin to handle records. If the worker cannot begin, it puts the records back, and does something
        else first."""
        return True

    def _begin_handling(self, records: HeldRecords) -> None:
        """Begin to handle the first of the given records, which takes time. Between two calls to poll(), the application handles at most
        max.poll.records records."""
        first, rest = records.split(records.start + 1)
        if rest.size:
            self.queue.push(rest, again=True)
        duration = self.record_time
        if not self.left:
            self.left = self.consumer.max_poll_records
            duration += self.poll_time
        self.left -= 1
        self.handling = (first,)
        self.phase = Phase.HANDLING
        self._work(duration)

    def _work_done(self) -> None:
        """Finish the record that the application has been handling. If the transaction has failed, hold the record again."""
        handled, self.handling = self.handling, ()
        if self.phase is Phase.HANDLING:
            self.phase = Phase.RUNNING
        for records in handled:
            if self.transactions is None or (self.transactions.state is OPEN and not self.transactions.call):
                self._handle(records)
            else:
                self.queue.push(records, again=True)
        if self.commit_owed and self.running:
            self._commit_due(self.commit_owed)

    @property
    def is_polling(self) -> bool:
        """Whether the application is in poll()."""
        return self.phase in (Phase.OFFSETS, Phase.RUNNING) and not self.busy and not self.left

    @property
    def calls_consumer(self) -> bool:
        """Whether the application is in poll() or in commitSync()."""
        return self.is_polling or self.phase is Phase.COUNTING

    @abstractmethod
    def _handle(self, records: HeldRecords) -> None:
        """Handle records that are due. The method must call `_done` when the worker has finished handling the records."""

    # --- committing ------------------------------------------------------------------------------------------------

    def offset_to_commit(self, partition: int) -> int:
        """Return the offset to commit for a partition: the lowest offset that the worker has not finished handling or, if there is none or
        the worker commits its position, the position."""
        position = self.consumer.next_to_poll(partition)
        if self.does.commits is ServiceCommit.POSITION:
            return position
        return min((each.start for each in self.open_records() if each.partition == partition), default=position)

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
        self.commit_owed = self.phase is Phase.HANDLING
        if self.phase is not Phase.RUNNING:
            return
        if self.transactions is not None:
            if self.transactions.state is OPEN and not self.transactions.call and self.consumer.can_commit:
                self.phase = Phase.FLUSHING
            return
        offsets = self.offsets_to_commit()
        if offsets and self.consumer.call is GroupCall.NOTHING and self.consumer.can_commit:
            self.committing = offsets
            self.consumer.commit_offsets(offsets, self._metadata(offsets))

    def _metadata(self, offsets: tuple[OffsetToCommit, ...]) -> tuple[str, ...]:
        """Return the metadata to store with each of the offsets; empty if there is none."""
        return ()

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
        """Commit the number of tries. Return whether the worker entered a different phase. Only workers of retry services count tries."""
        return False

    def _committed(self) -> None:
        """After a commit, make the durability account look for records that the service handled more than once or never."""
        self._check()
        self._reached(ServiceStep.COMMIT)

    def _check(self) -> None:
        """Make the durability account check for records that the service handled twice or never."""

    def _flush(self) -> bool:
        """If all batches are acknowledged, commit the offsets in the transaction. If the worker is no longer a member of its group, abort the
        transaction."""
        transactions = self.transactions
        assert transactions is not None, "only transactional workers enter this phase"
        if self.sender.has_incomplete_batches() or transactions.call or transactions.state is not OPEN:
            return False
        if not self.consumer.can_commit:
            self._abort("it has lost its partitions")
            return True
        offsets = self.offsets_to_commit()
        if offsets:
            self.committed.update({tp.partition: offset for tp, offset, _ in offsets})
            transactions.send_offsets(self.does.group, offsets, self.consumer.membership)
        self.phase = Phase.SENDING_OFFSETS
        return True

    # --- errors ----------------------------------------------------------------------------------------------------

    def _failed(self) -> bool:
        """If the transaction or a request for committed offsets has failed, handle the error. Return whether a new phase began or the
        instance ended.
        """
        if self._transaction_failed():
            return True
        if self.phase is Phase.OFFSETS and self.consumer.call is GroupCall.NOTHING and self.consumer.error != errors.NONE:
            self.consumer.fetch_new_offsets()
        return False

    def _abort(self, error: str) -> None:
        transactions = self.transactions
        assert transactions is not None, "only transactional workers abort"
        self.journal.cause = self.journal.emit(events.ServiceRewound.kind, self.name, self.instance, error)
        self.phase = Phase.ABORTING
        if error in NOT_OWNED:
            self.consumer.membership_refused(self.consumer.membership, error)
        self._forget()
        transactions.abort()

    def _forget(self) -> None:
        """Forget all held records."""
        self.left = 0
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
