"""How a producer sends batches (Kafka: `Sender`, `RecordAccumulator`): acks, retries until delivery.timeout.ms, and the order of the
batches for each partition.

Without idempotence, a retry appends a batch again even if the first attempt was appended. In the durability account, records that were
appended again count as duplicates. With idempotence, the producer gets a producer ID from a broker and gives sequence numbers to the
records for each partition (`core.kafka.clients.producer.producer_sequences`), so leaders recognize a retry
(`core.kafka.log.producer_state`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container
from typing import Final

from core.kafka import errors, events
from core.kafka.clients.accumulator.buffered_batch import BufferedBatch
from core.kafka.clients.accumulator.producer_batch import ProducerBatch
from core.kafka.clients.accumulator.record_accumulator import RecordAccumulator
from core.kafka.clients.client import POLL_DELAY
from core.kafka.clients.client_config import ACKS_ALL, NO_DELIVERY_TIMEOUT
from core.kafka.clients.client_context import ClientContext
from core.kafka.clients.producer.producer_sequences import NONE, ProducerSequences
from core.kafka.clients.producer.transaction_manager import TransactionManager
from core.kafka.ids import NO_LEADER, NO_OFFSET, TopicPartition, broker_address
from core.kafka.last_changes import GIVEN_UP, REFUSED
from core.kafka.messages import InitProducerIdRequest, InitProducerIdResponse, ProduceRequest, ProduceResponse
from core.sim.clock import RIGHT
from core.sim.units import SECOND


class Sender(RecordAccumulator):
    """The part of a producer that sends batches.

    Attributes:
        sequences: the producer ID and sequence numbers of an idempotent producer; None without idempotence.
        transactions: the transactions of the producer; None if the producer has no transactional.id.
        acked: the number of records that were acknowledged.
        failed: the number of records that the producer gave up on.
        retries: the total number of retries of all batches.
        last_latency: the latency of the last acknowledged batch, in µs; -1 if there is none.
    """

    __slots__ = (
        "_id_asked", "_muted", "_partition_in_flight", "_scheduled_sends", "acked", "failed", "last_latency", "retries", "sequences",
        "transactions",
    )  # fmt: skip

    _partition_in_flight: Final[dict[TopicPartition, int]]
    _muted: Final[dict[TopicPartition, int]]
    _scheduled_sends: Final[dict[TopicPartition, int]]

    def __init__(self, name: str, topic: str, acks: int, context: ClientContext) -> None:
        super().__init__(name, topic, acks, context)
        self._partition_in_flight = {}
        self._muted = {}
        self._scheduled_sends = {}
        self.sequences: ProducerSequences | None = None
        self.transactions: TransactionManager | None = None
        self._id_asked = 0
        self.acked = 0
        self.failed = 0
        self.retries = 0
        self.last_latency = -1
        self.handlers.update(
            {ProduceResponse: self._handle_produce_response, InitProducerIdResponse: self._handle_init_producer_id_response}
        )
        self.timers.update({"retry": self._retry_due, "watch": self._check_timeouts})

    @property
    def idempotent(self) -> bool:
        """Whether the producer is idempotent (enable.idempotence)."""
        return self.sequences is not None and self.acks == ACKS_ALL

    @property
    def producer_id(self) -> int:
        """The producer ID; -1 while the producer has none."""
        return NONE if self.sequences is None else self.sequences.producer_id

    # --- sending ---------------------------------------------------------------------------------------------------

    def send_all(self) -> None:
        """Send the batches that can be sent now. If a broker gets one batch, it also gets the other batches that are waiting for it
        (`#drain`)."""
        ready = self._ready_leaders()
        for tp in list(self.queues):
            self._send(tp, ready)

    def _send_next(self, tp: TopicPartition) -> None:
        """Send the next batches for a partition, together with other batches that can now be sent."""
        if self.batching is None:
            self._send(tp)
        else:
            self.send_all()

    def _ready_leaders(self) -> Container[int]:
        """Return the leaders of the partitions that have a batch ready to send (`RecordAccumulator#ready`)."""
        if self.batching is None:
            return ()
        now = self.journal.now
        return {self._leader_of(tp) for tp, queue in self.queues.items() if queue and self.sendable_at(queue) <= now}

    def _leader_of(self, tp: TopicPartition) -> int:
        """Return the leader of a partition from the last metadata; NO_LEADER if it is unknown."""
        leaders = self.leaders_of(tp.topic)
        return leaders[tp.partition][0] if tp.partition < len(leaders) else NO_LEADER

    def _send(self, tp: TopicPartition, ready: Container[int] = ()) -> None:
        queue = self.queues.get(tp)
        if not queue:
            return
        leader = self._leader_of(tp)
        if leader == NO_LEADER:
            self.refresh_metadata_soon() if self.leaders_of(tp.topic) else self.await_metadata()
            return
        journal = self.journal
        node = broker_address(leader)
        wait = max(self._muted.get(tp, 0), self.reconnect_time(node))
        if wait > journal.now:
            self._schedule_send(tp, wait)
            return
        sequences = self.sequences
        if sequences is not None and sequences.producer_id == NONE and self.transactions is None and queue[0].acks == ACKS_ALL:
            self._request_producer_id(node)
            return
        outer_cause = journal.cause
        limit = 1 if node in self._reconnect else self.config.max_in_flight
        while queue and self._partition_in_flight.get(tp, 0) < limit:
            numbered = sequences is not None and queue[0].acks == ACKS_ALL  # only with acks=all is the producer idempotent
            if numbered and not self._may_send(queue[0]):
                break
            if self.batching is not None and leader not in ready and (due := self.sendable_at(queue)) > journal.now:
                self._schedule_send(tp, due)
                break
            batch = queue.popleft()
            if isinstance(batch, BufferedBatch) and not batch.attempt:
                self._report_batch(batch)
            batch.attempt += 1
            if batch.attempt == 1:
                self._batch_closed(batch)
            batch.sent_to = node
            batch.connecting = not self.is_connected(node)
            batch.sent_at = journal.now
            batch.correlation = self.next_correlation()
            self.retries += batch.attempt > 1
            journal.cause = batch.cause or outer_cause
            if sequences is not None and numbered:
                batch.renumbered = False
                if batch.sequence == NONE:
                    sequences.assign(batch)
            transactional_id, adds_partition = self._transaction()
            request = ProduceRequest(
                batch.correlation, self.name, batch.tp, batch.count, batch.bytes, batch.acks, self.config.request_timeout, batch.id, batch.attempt,
                batch.producer_id, batch.producer_epoch, batch.sequence, self.clock.read(batch.created) if self.clock is not RIGHT else -1,
                transactional_id, adds_partition, batch.content,
            )  # fmt: skip
            self.send(batch.sent_to, request)
            if batch.acks == 0:
                self._acknowledged(batch, -1, -1)
            else:
                self.in_flight[batch.correlation] = batch
                self._partition_in_flight[tp] = self._partition_in_flight.get(tp, 0) + 1
        journal.cause = outer_cause

    def awaits_response(self, node: str) -> bool:
        """Return whether a request to a broker is in flight."""
        return super().awaits_response(node) or any(batch.sent_to == node for batch in self.in_flight.values())

    def flushes(self) -> bool:
        """Return whether to send batches before linger.ms has elapsed, which is necessary if the transaction is ending."""
        return self.transactions is not None and self.transactions.state.is_completing

    def _report_batch(self, batch: BufferedBatch) -> None:
        """Record that a batch of collected records is complete."""
        assert self.batching is not None, "only producers with batching create buffered batches"
        full, size = batch.full, self.batching.sent(batch, self.journal.now)
        self.journal.emit(
            events.BatchCompleted.kind,
            self.name, batch.tp.topic, batch.tp.partition, batch.count, size, self.journal.now - batch.created, full,
        )  # fmt: skip

    def _may_send(self, batch: ProducerBatch) -> bool:
        """Return whether the sequence numbers and the transaction allow a batch to be sent now."""
        sequences, transactions = self.sequences, self.transactions
        assert sequences is not None, "only idempotent producers request an ID"
        return sequences.may_send(batch) and (transactions is None or transactions.is_send_allowed(batch.tp))

    def _transaction(self) -> tuple[str, bool]:
        """Return the transactional.id of a batch, and whether its leader adds the partition to the transaction."""
        transactions = self.transactions
        return ("", False) if transactions is None else (transactions.transactional_id, transactions.version >= 2)

    # --- idempotence -----------------------------------------------------------------------------------------------

    def start_sender(self) -> None:
        """Request a producer ID if the producer needs one and is not transactional. A producer does so when it starts, before it has records
        to send (`Sender#runOnce`, `TransactionManager#bumpIdempotentEpochAndResetIdIfNeeded`; before 2.7, `Sender#maybeWaitForProducerId`)."""
        if self.idempotent and self.transactions is None and self.producer_id == NONE:
            self._request_producer_id(self._metadata_node or next(iter(self._connected), "") or self.known_nodes()[self.next_broker])

    def _request_producer_id(self, node: str) -> None:
        """Request a producer ID from a broker, at most once per request timeout (InitProducerId)."""
        if not self._id_asked or self.journal.now - self._id_asked >= self.config.request_timeout:
            self._id_asked = max(self.journal.now, 1)
            self.send(node, InitProducerIdRequest(self.next_correlation(), self.name))

    def _handle_init_producer_id_response(self, response: InitProducerIdResponse, _: str) -> None:
        sequences = self.sequences
        if sequences is not None and sequences.producer_id == NONE:
            self._id_asked = 0
            sequences.set_producer_id(response.producer_id, 0)
            self.send_all()

    def _settle_sequences(self, error: str) -> None:
        """If it is unknown whether a batch was appended, start a new epoch, because the sequence numbers of the batch cannot be used again."""
        sequences = self.sequences
        if sequences is None:
            return
        missing = sequences.resolve(error)
        if missing and self.transactions is not None:
            self.transactions.sequences_missing(error)
        restarted = sequences.bump()
        if restarted and sequences.producer_id == NONE:
            self._request_producer_id(self.least_loaded_node())
            return
        for tp, reason in restarted.items():
            self.journal.emit(
                events.ProducerEpochBumped.kind,
                self.name, tp.topic, tp.partition, sequences.producer_id, sequences.producer_epoch, reason,
            )  # fmt: skip

    def _can_retry(self, batch: ProducerBatch, error: str, log_start: int) -> bool:
        """Return whether to send a failed batch again (`Sender#canRetry`, `TransactionManager#canRetry`)."""
        if not self.has_attempts_left(batch):
            return False
        sequences = self.sequences
        if error in errors.RETRIABLE:
            return sequences is None or batch.sequence == NONE or sequences.bumps_epoch or batch.producer_id == sequences.producer_id
        return sequences is not None and batch.sequence != NONE and sequences.can_retry(batch, error, log_start)

    # --- answers ---------------------------------------------------------------------------------------------------

    def _remove_in_flight(self, correlation: int) -> ProducerBatch | None:
        batch = self.in_flight.pop(correlation, None)
        if batch is not None:
            self._partition_in_flight[batch.tp] -= 1
        return batch

    def _handle_produce_response(self, response: ProduceResponse, sender: str) -> None:
        batch = self._remove_in_flight(response.correlation)
        if batch is None:
            return
        if response.error == errors.NONE:
            assert response.term is not None
            latency = self.journal.now - batch.created
            self.account.acknowledged(batch.tp, batch.acks, response.term, response.base, batch.count, latency, self.name, batch.id, sender)
            self._complete_batch(batch, response.base, response.base + batch.count)
        elif response.error == errors.DUPLICATE_SEQUENCE_NUMBER:  # appended before, at an offset that the leader does not know anymore
            self._complete_batch(batch, NO_OFFSET, NO_OFFSET)
        else:
            self._fail_batch(batch, response.error, response.log_start)

    def _complete_batch(self, batch: ProducerBatch, base: int, end: int) -> None:
        self._acknowledged(batch, base, end)
        self.account.batch_completed(self.name, batch.id)
        if self.sequences is not None:
            if batch.sequence != NONE:
                self.sequences.completed(batch, end)
            self._settle_sequences(errors.REQUEST_TIMED_OUT)
        self._send_next(batch.tp)
        if self.transactions is not None:
            self.transactions.advance()

    def _acknowledged(self, batch: ProducerBatch, base: int, end: int) -> None:
        latency = self.journal.now - batch.created
        if isinstance(batch, BufferedBatch) and self.batching is not None:
            self.batching.acknowledged(batch, self.journal.now)
            self._release(batch)
        self.acked += batch.count
        self.last_latency = latency
        self.journal.emit(
            events.ProduceAcked.kind,
            self.name, batch.tp.topic, batch.tp.partition, base, end, batch.count, batch.acks, latency, batch.attempt,
        )  # fmt: skip

    def _fail_batch(self, batch: ProducerBatch, error: str, log_start: int = -1) -> None:
        """Retry a batch after the backoff. If the error is final, or if the batch has no retries or no time left, give up on the batch
        (`Sender#canRetry`).
        """
        now = self.journal.now
        backoff = self.backoff(batch.attempt)
        unsent = batch.connecting and error == errors.NETWORK_EXCEPTION
        batch.connection_failures += unsent
        retry = self._can_retry(batch, error, log_start)
        if retry:
            self._settle_sequences(error)
            self._report_failure(batch, error, retry=True)
        else:
            self._give_up(batch, error, known_lost=self.has_retries_left(batch))
        if retry:
            if not unsent:
                batch.queued_at = now
            queue = self.queues.setdefault(batch.tp, deque())
            behind = 0
            while behind < len(queue) and queue[behind].id < batch.id:
                behind += 1
            queue.insert(behind, batch)
            self._muted[batch.tp] = now + backoff
        self._schedule_send(batch.tp, now + backoff if retry else now)
        if error in errors.INVALID_METADATA:
            self.refresh_metadata_soon()

    def leaders_changed(self, partitions: list[int]) -> None:
        """Retry batches immediately if a new leader is known (since 3.7, KAFKA-15415)."""
        if self.exponential_backoff:
            for partition in partitions:
                self._muted.pop(TopicPartition(self.topic, partition), None)

    def other_leaders_changed(self, topic: str, partitions: list[int]) -> None:
        """Retry the batches for partitions of a topic other than the producer's own topic immediately, because new leaders are known."""
        if self.exponential_backoff:
            for partition in partitions:
                self._muted.pop(TopicPartition(topic, partition), None)

    def _expire(self, batch: ProducerBatch, *, in_retry: bool) -> None:
        """Expire a batch whose delivery.timeout.ms has elapsed (`Sender#sendProducerData`).

        If a batch expires during a retry, the producer sends nothing new to the partition until it knows whether the batch was appended. As
        in Kafka, the producer does not wait for the outcome of a batch that expires during its first attempt.
        """
        if self.sequences is not None and in_retry:
            self.sequences.mark_unresolved(batch)
        self.journal.blame(self.why_overdue(batch))
        self._give_up(batch, errors.REQUEST_TIMED_OUT)

    def _give_up(self, batch: ProducerBatch, error: str, *, known_lost: bool = False) -> None:
        """Give up on a batch (`Sender#failBatch`). Unless `known_lost` is true, a leader might have appended the batch."""
        if self.sequences is not None and batch.sequence != NONE:
            self.sequences.failed(batch, error, known_lost=known_lost)
            self._settle_sequences(error)
        self._drop(batch, error)
        if self.transactions is not None:
            self.transactions.batch_failed(error)
            self.transactions.advance()

    def _batch_closed(self, batch: ProducerBatch) -> None:
        """Record that no more records will be added to a batch (`ProducerBatch#close`)."""
        self.account.batch_closed(self.name, batch.id, batch.tp, batch.count, batch.created, self.clock.read(batch.created))

    def _drop(self, batch: ProducerBatch, error: str) -> None:
        """Record that a batch will not be sent again."""
        self._release(batch)
        self.failed += batch.count
        if not batch.attempt:
            self._batch_closed(batch)
        self.account.batch_completed(self.name, batch.id)
        self._report_failure(batch, error, retry=False)

    def _release(self, batch: ProducerBatch) -> None:
        """Release the memory of a batch, and let a blocked application continue."""
        if isinstance(batch, BufferedBatch) and self.batching is not None:
            self.batching.release(batch)
            self.memory_released()

    def memory_released(self) -> None:
        """Continue, because memory for batches has become available."""

    def _report_failure(self, batch: ProducerBatch, error: str, *, retry: bool) -> None:
        journal = self.journal
        refused = self.network.disturbances.take_change((REFUSED, self.name, batch.id))
        self.attempt_failed(
            batch, journal.cause if error in (errors.NETWORK_EXCEPTION, errors.REQUEST_TIMED_OUT) else refused or journal.cause
        )
        batch.cause = journal.emit(
            events.ProduceFailed.kind,
            self.name, batch.tp.topic, batch.tp.partition, batch.count, batch.acks, batch.attempt, error, retry,
        )  # fmt: skip
        self.account.batch_failed(self.name, batch.id, batch.sent_at if batch.attempt else -1, batch.cause)
        if not retry:
            self.network.disturbances.changed((batch.tp, self.name, GIVEN_UP), batch.cause)
            before, journal.cause = journal.cause, batch.cause
            journal.emit(
                events.ProduceGivenUp.kind,
                self.name, batch.tp.topic, batch.tp.partition, batch.count, batch.acks, error, journal.now - batch.created,
            )  # fmt: skip
            journal.cause = before

    def _schedule_send(self, tp: TopicPartition, time: int) -> None:
        """Schedule the time when a partition's batches are sent, unless an earlier time is already scheduled."""
        if tp not in self._scheduled_sends or time < self._scheduled_sends[tp]:
            self._scheduled_sends[tp] = time
            self.timer(time - self.journal.now, "retry", (tp, time))

    def _retry_due(self, about: object) -> None:
        assert isinstance(about, tuple)
        tp, time = about
        if self._scheduled_sends.get(tp) == time:
            del self._scheduled_sends[tp]
            self._send_next(tp)

    def metadata_updated(self) -> None:
        """Send all batches whose leader is known."""
        self.send_all()

    def connection_lost(self, node: str) -> None:
        """Fail the requests to a broker with NETWORK_EXCEPTION."""
        self._id_asked = 0
        for batch in [batch for batch in self.in_flight.values() if batch.sent_to == node]:
            self._remove_in_flight(batch.correlation)
            self._fail_batch(batch, errors.NETWORK_EXCEPTION)
        if self.transactions is not None:
            self.transactions.disconnected(node)
        self.refresh_metadata_soon()  # leaders might have changed (`NetworkClient.DefaultMetadataUpdater#handleServerDisconnect`)

    def keeps_checking(self) -> bool:
        """Return whether to continue the timeout checks after all batches are complete, which is necessary if more batches will follow."""
        return False

    def abort_batches(self, error: str, *, unsent_only: bool) -> None:
        """Abort all batches, or only those without sequence numbers, which were never sent (`RecordAccumulator#abortUndrainedBatches`)."""
        if not unsent_only:
            for correlation in list(self.in_flight):
                batch = self._remove_in_flight(correlation)
                assert batch is not None
                self._drop(batch, error)
        for queue in self.queues.values():
            aborted = [batch for batch in queue if batch.sequence == NONE or not unsent_only]
            for batch in aborted:
                queue.remove(batch)
                self._drop(batch, error)

    def _check_timeouts(self, _: object) -> None:
        """Check request and delivery timeouts, and report overdue batches.

        While there are incomplete batches or a load is running, timeouts are checked once a second and when the next timeout is due.
        """
        self.report_overdue_batches()
        now, timeout = self.journal.now, self.config.request_timeout + POLL_DELAY
        delivery_timeout = self.config.delivery_timeout
        silent = {batch.sent_to: None for batch in self.in_flight.values() if now - batch.sent_at >= timeout}
        for node in silent:
            self.abandon_connection(node)
        if delivery_timeout != NO_DELIVERY_TIMEOUT:
            for batch in [batch for batch in self.in_flight.values() if now - batch.created >= delivery_timeout]:
                self._remove_in_flight(batch.correlation)  # the response no longer matters (`Sender#getExpiredInflightBatches`)
                self._expire(batch, in_retry=batch.attempt > 1)
        for queue in self.queues.values():
            while queue and now >= self.delivery_due(queue[0]):
                self._expire(queue.popleft(), in_retry=True)
        self.timeout_check_armed = bool(self.in_flight) or any(self.queues.values()) or self.keeps_checking()
        if self.timeout_check_armed:
            self.timer(self.until_next_timeout(SECOND), "watch")
