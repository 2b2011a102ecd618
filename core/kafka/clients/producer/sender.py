"""How a producer sends batches (Kafka: `Sender`): acks, retries until delivery.timeout.ms, and the order of the batches for each partition.

Without idempotence, a retry appends a batch again even if the first attempt was appended. In the durability account, records that were
appended again count as duplicates. With idempotence, the producer gets a producer ID from a broker and gives sequence numbers to the
records for each partition (`core.kafka.clients.producer.producer_sequences`), so leaders recognize a retry
(`core.kafka.log.producer_state`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container
from typing import Final, Protocol

from core.kafka import errors, events
from core.kafka.clients.accumulator.buffered_batch import BufferedBatch
from core.kafka.clients.accumulator.producer_batch import ProducerBatch
from core.kafka.clients.accumulator.record_accumulator import RecordAccumulator
from core.kafka.clients.client import POLL_DELAY, Client
from core.kafka.clients.client_config import ACKS_ALL, NO_DELIVERY_TIMEOUT
from core.kafka.clients.producer.batch_delays import BatchDelays
from core.kafka.clients.producer.in_flight_batches import InFlightBatches
from core.kafka.clients.producer.producer_metrics import ProducerMetrics
from core.kafka.clients.producer.producer_sequences import NONE, ProducerSequences
from core.kafka.clients.producer.send_calls import SendCalls
from core.kafka.clients.producer.transaction_manager import ABORTED, TransactionManager
from core.kafka.health import STALL_BOUND
from core.kafka.ids import NO_LEADER, NO_OFFSET, TopicPartition, broker_address
from core.kafka.last_changes import GIVEN_UP, REFUSED
from core.kafka.messages import InitProducerIdRequest, InitProducerIdResponse, ProduceRequest, ProduceResponse
from core.sim.clock import RIGHT
from core.sim.units import SECOND


class BatchCallback(Protocol):
    """What an application is told about its batches (`Callback#onCompletion`)."""

    def batch_acknowledged(self, batch: ProducerBatch, /) -> None:
        """Handle the acknowledgment of a batch."""

    def batch_failed(self, batch: ProducerBatch, error: str, /, *, aborted: bool) -> None:
        """Handle a batch that the producer gave up on or, if `aborted` is true, that it drops because the transaction is aborted."""


class Sender:
    """The part of a producer that sends batches and handles the responses.

    Attributes:
        client: the producer as a client, which sends messages and knows the leaders (`KafkaClient`, `ProducerMetadata`).
        accumulator: the batches to send.
        calls: the application's calls that wait for metadata or memory.
        metrics: the counts of the producer.
        in_flight: the batches that are waiting for a response.
        delays: why batches take long.
        sequences: the producer ID and sequence numbers of an idempotent producer; None without idempotence.
        transactions: the transactions of the producer; None if the producer has no transactional.id.
        callback: the application, which wants to know what became of its batches; None if it does not.
        load_runs: whether a load is running, so that timeouts are checked even after all batches are complete.
    """

    __slots__ = (
        "_id_asked", "_scheduled_sends", "_timeout_check_armed", "accumulator", "callback", "calls", "client", "delays", "in_flight", "load_runs", "metrics",
        "sequences", "transactions",
    )  # fmt: skip

    client: Final[Client]
    accumulator: Final[RecordAccumulator]
    calls: Final[SendCalls]
    metrics: Final[ProducerMetrics]
    in_flight: Final[InFlightBatches]
    delays: Final[BatchDelays]
    _scheduled_sends: Final[dict[TopicPartition, int]]

    def __init__(self, client: Client, accumulator: RecordAccumulator, calls: SendCalls, metrics: ProducerMetrics) -> None:
        self.client = client
        self.accumulator = accumulator
        self.calls = calls
        self.metrics = metrics
        self.in_flight = InFlightBatches()
        self.delays = BatchDelays(client, self.in_flight)
        self._scheduled_sends = {}
        self.sequences: ProducerSequences | None = None
        self.transactions: TransactionManager | None = None
        self.callback: BatchCallback | None = None
        self._id_asked = 0
        self._timeout_check_armed = False
        self.load_runs = False
        client.handlers.update(
            {ProduceResponse: self._handle_produce_response, InitProducerIdResponse: self._handle_init_producer_id_response}
        )
        client.timers.update({"retry": self._retry_due, "watch": self._check_timeouts})

    @property
    def idempotent(self) -> bool:
        """Whether the producer is idempotent (enable.idempotence)."""
        return self.sequences is not None and self.accumulator.acks == ACKS_ALL

    @property
    def producer_id(self) -> int:
        """The producer ID; -1 while the producer has none."""
        return NONE if self.sequences is None else self.sequences.producer_id

    def incomplete_batches(self) -> list[ProducerBatch]:
        """Return the batches that are neither acknowledged nor abandoned: first those in flight, and then those to send."""
        return [*self.in_flight.batches.values(), *self.accumulator.unsent()]

    def has_incomplete_batches(self) -> bool:
        """Return whether some records are neither acknowledged nor abandoned (`RecordAccumulator#hasIncomplete`)."""
        return self.calls.has_any() or self._has_batches()

    def _has_batches(self) -> bool:
        return bool(self.in_flight.batches) or self.accumulator.has_unsent()

    def why_waiting(self, since: int) -> tuple[int, ...]:
        """Return the events because of which the application has waited to send records since a virtual time."""
        return self.delays.why_waiting(self.incomplete_batches(), since)

    # --- sending ---------------------------------------------------------------------------------------------------

    def start_timeout_checks(self) -> None:
        """Check timeouts from now on, because the accumulator has a new batch."""
        if not self._timeout_check_armed:
            self._timeout_check_armed = True
            self.client.timer(min(SECOND, self.client.config.request_timeout), "watch")

    def run_once(self) -> None:
        """Send the next request of a transaction, and the batches that can be sent now (`Sender#runOnce`)."""
        self.send_transactional_requests()
        self.send_all()

    def send_transactional_requests(self) -> None:
        """Send the next request of a transaction if none is in flight (`Sender#maybeSendAndPollTransactionalRequest`)."""
        transactions = self.transactions
        if transactions is None:
            return
        if transactions.has_fatal_error:
            transactions.drop_requests()
            self.abort_batches(transactions.last_error, unsent_only=False)
            return
        while not transactions.has_in_flight_request:
            if transactions.drops_unsent_batches:
                self.abort_batches(transactions.last_error or ABORTED, unsent_only=True)
            if not transactions.send_next_request(self.has_incomplete_batches()):
                self.send_all()
                return

    def send_all(self) -> None:
        """Send the batches that can be sent now. If a broker gets one batch, it also gets the other batches that are waiting for it
        (`Sender#sendProducerData`, `RecordAccumulator#drain`)."""
        ready = self._ready_leaders()
        for tp in list(self.accumulator.queues):
            self.send_to(tp, ready)

    def _send_next(self, tp: TopicPartition) -> None:
        """Send the next batches for a partition, together with other batches that can now be sent."""
        if self.accumulator.batching is None:
            self.send_to(tp)
        else:
            self.send_all()

    def _ready_leaders(self) -> Container[int]:
        """Return the leaders of the partitions that have a batch ready to send (`RecordAccumulator#ready`)."""
        accumulator = self.accumulator
        if accumulator.batching is None:
            return ()
        now = self.client.journal.now
        return {self.client.current_leader(tp) for tp, queue in accumulator.queues.items() if queue and self._sendable_at(queue) <= now}

    def _sendable_at(self, queue: deque[ProducerBatch]) -> int:
        """Return the time when the first batch in a queue can be sent, in µs. It is the current time if a call is waiting for memory, or if
        the transaction is ending (`RecordAccumulator#batchReady`)."""
        if self.calls.is_blocked or (self.transactions is not None and self.transactions.state.is_completing):
            return self.client.journal.now
        return self.accumulator.sendable_at(queue)

    def send_to(self, tp: TopicPartition, ready: Container[int] = ()) -> None:
        """Send the batches for a partition that can be sent now. Batches for the leaders in `ready` do not wait for linger.ms."""
        client, accumulator = self.client, self.accumulator
        queue = accumulator.queues.get(tp)
        if not queue:
            return
        leader = client.current_leader(tp)
        if leader == NO_LEADER:
            client.refresh_metadata_soon() if client.leaders_of(tp.topic) else client.await_metadata()
            return
        journal = client.journal
        node = broker_address(leader)
        wait = max(accumulator.muted.get(tp, 0), client.reconnect_time(node))
        if wait > journal.now:
            self._schedule_send(tp, wait)
            return
        sequences = self.sequences
        if sequences is not None and sequences.producer_id == NONE and self.transactions is None and queue[0].acks == ACKS_ALL:
            self._request_producer_id(node)
            return
        outer_cause = journal.cause
        limit = 1 if client.is_reconnecting(node) else client.config.max_in_flight
        while queue and self.in_flight.count(tp) < limit:
            numbered = sequences is not None and queue[0].acks == ACKS_ALL  # only with acks=all is the producer idempotent
            if numbered and not self._may_send(queue[0]):
                break
            if accumulator.batching is not None and leader not in ready and (due := self._sendable_at(queue)) > journal.now:
                self._schedule_send(tp, due)
                break
            batch = queue.popleft()
            if isinstance(batch, BufferedBatch) and not batch.attempt:
                self._report_batch(batch)
            journal.cause = batch.cause or outer_cause
            self._send_produce_request(batch, node, sequences if numbered else None)
        journal.cause = outer_cause

    def _send_produce_request(self, batch: ProducerBatch, node: str, sequences: ProducerSequences | None) -> None:
        """Send a batch to a broker (`Sender#sendProduceRequest`). `sequences` are those of the producer if the batch gets sequence
        numbers."""
        client = self.client
        batch.attempt += 1
        if batch.attempt == 1:
            self._batch_closed(batch)
        batch.sent_to = node
        batch.connecting = not client.is_connected(node)
        batch.sent_at = client.journal.now
        batch.correlation = client.next_correlation()
        self.metrics.retries += batch.attempt > 1
        if sequences is not None:
            batch.renumbered = False
            if batch.sequence == NONE:
                sequences.assign(batch)
        transactional_id, adds_partition = self._transaction()
        request = ProduceRequest(
            batch.correlation, client.name, batch.tp, batch.count, batch.bytes, batch.acks, client.config.request_timeout, batch.id, batch.attempt,
            batch.producer_id, batch.producer_epoch, batch.sequence, client.clock.read(batch.created) if client.clock is not RIGHT else -1,
            transactional_id, adds_partition, batch.content,
        )  # fmt: skip
        client.send(node, request)
        if batch.acks == 0:
            self._acknowledged(batch, -1, -1)
        else:
            self.in_flight.add(batch)

    def _report_batch(self, batch: BufferedBatch) -> None:
        """Record that a batch of collected records is complete."""
        client, batching = self.client, self.accumulator.batching
        assert batching is not None, "only producers with batching create buffered batches"
        now = client.journal.now
        full, size = batch.full, batching.sent(batch, now)
        client.journal.emit(
            events.BatchCompleted.kind, client.name, batch.tp.topic, batch.tp.partition, batch.count, size, now - batch.created, full
        )

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

    def start(self) -> None:
        """Request a producer ID if the producer needs one and is not transactional. A producer does so when it starts, before it has records
        to send (`Sender#runOnce`, `TransactionManager#bumpIdempotentEpochAndResetIdIfNeeded`; before 2.7, `Sender#maybeWaitForProducerId`)."""
        if self.idempotent and self.transactions is None and self.producer_id == NONE:
            self._request_producer_id(self.client.first_node())

    def _request_producer_id(self, node: str) -> None:
        """Request a producer ID from a broker, at most once per request timeout (InitProducerId)."""
        client = self.client
        now = client.journal.now
        if not self._id_asked or now - self._id_asked >= client.config.request_timeout:
            self._id_asked = max(now, 1)
            client.send(node, InitProducerIdRequest(client.next_correlation(), client.name))

    def _handle_init_producer_id_response(self, response: InitProducerIdResponse, _: str) -> None:
        sequences = self.sequences
        if sequences is not None and sequences.producer_id == NONE:
            self._id_asked = 0
            sequences.set_producer_id(response.producer_id, 0)
            self.send_all()

    def _settle_sequences(self, error: str) -> None:
        """If it is unknown whether a batch was appended, start a new epoch, because the sequence numbers of the batch cannot be used again."""
        sequences, client = self.sequences, self.client
        if sequences is None:
            return
        missing = sequences.resolve(error)
        if missing and self.transactions is not None:
            self.transactions.sequences_missing(error)
        restarted = sequences.bump()
        if restarted and sequences.producer_id == NONE:
            self._request_producer_id(client.least_loaded_node())
            return
        for tp, reason in restarted.items():
            client.journal.emit(
                events.ProducerEpochBumped.kind,
                client.name, tp.topic, tp.partition, sequences.producer_id, sequences.producer_epoch, reason,
            )  # fmt: skip

    # --- answers ---------------------------------------------------------------------------------------------------

    def awaits_response(self, node: str) -> bool:
        """Return whether a batch that was sent to a broker is in flight."""
        return any(batch.sent_to == node for batch in self.in_flight.batches.values())

    def _handle_produce_response(self, response: ProduceResponse, sender: str) -> None:
        batch = self.in_flight.remove(response.correlation)
        if batch is None:
            return
        client = self.client
        if response.error == errors.NONE:
            assert response.term is not None
            client.account.acknowledged(batch.tp, response.term, response.base, batch.count, client.name, batch.id, sender)
            self._complete_batch(batch, response.base, response.base + batch.count)
        elif response.error == errors.DUPLICATE_SEQUENCE_NUMBER:  # appended before, at an offset that the leader does not know anymore
            self._complete_batch(batch, NO_OFFSET, NO_OFFSET)
        else:
            self._fail_batch(batch, response.error, response.log_start)

    def _complete_batch(self, batch: ProducerBatch, base: int, end: int) -> None:
        self._acknowledged(batch, base, end)
        self.client.account.batch_completed(self.client.name, batch.id)
        if self.sequences is not None:
            if batch.sequence != NONE:
                self.sequences.completed(batch, end)
            self._settle_sequences(errors.REQUEST_TIMED_OUT)
        self._send_next(batch.tp)
        self.send_transactional_requests()

    def _acknowledged(self, batch: ProducerBatch, base: int, end: int) -> None:
        journal, batching, metrics = self.client.journal, self.accumulator.batching, self.metrics
        latency = journal.now - batch.created
        if isinstance(batch, BufferedBatch) and batching is not None:
            batching.acknowledged(batch, journal.now)
            self._release(batch)
        metrics.acked += batch.count
        metrics.last_latency = latency
        journal.emit(
            events.ProduceAcked.kind,
            self.client.name, batch.tp.topic, batch.tp.partition, base, end, batch.count, batch.acks, latency, batch.attempt,
        )  # fmt: skip
        if self.callback is not None:
            self.callback.batch_acknowledged(batch)

    def _fail_batch(self, batch: ProducerBatch, error: str, log_start: int = -1) -> None:
        """Retry a batch after the backoff. If the error is final, or if the batch has no retries or no time left, give up on the batch
        (`Sender#completeBatch`, `#reenqueueBatch`).
        """
        now = self.client.journal.now
        backoff = self.accumulator.retry_backoff(batch.attempt)
        unsent = batch.connecting and error == errors.NETWORK_EXCEPTION
        batch.connection_failures += unsent
        retry = self._can_retry(batch, error, log_start)
        if retry:
            self._settle_sequences(error)
            self._report_failure(batch, error, retry=True)
            if not unsent:
                batch.queued_at = now
            self.accumulator.reenqueue(batch, backoff)
        else:
            self._give_up(batch, error, known_lost=self._has_retries_left(batch))
        self._schedule_send(batch.tp, now + backoff if retry else now)
        if error in errors.INVALID_METADATA:
            self.client.refresh_metadata_soon()

    def _can_retry(self, batch: ProducerBatch, error: str, log_start: int) -> bool:
        """Return whether to send a failed batch again (`Sender#canRetry`, `TransactionManager#canRetry`)."""
        if not self._has_attempts_left(batch):
            return False
        sequences = self.sequences
        if error in errors.RETRIABLE:
            return sequences is None or batch.sequence == NONE or sequences.bumps_epoch or batch.producer_id == sequences.producer_id
        return sequences is not None and batch.sequence != NONE and sequences.can_retry(batch, error, log_start)

    def _has_retries_left(self, batch: ProducerBatch) -> bool:
        """Return whether the producer can send the batch again without exceeding `retries`.

        An attempt without an established connection does not count, because in Kafka the batch has not left the accumulator.
        """
        return batch.attempt - batch.connection_failures <= self.client.config.retries

    def _has_attempts_left(self, batch: ProducerBatch) -> bool:
        """Return whether both the number of retries and delivery.timeout.ms allow another attempt."""
        if not self._has_retries_left(batch):
            return False
        client = self.client
        return client.config.delivery_timeout == NO_DELIVERY_TIMEOUT or client.journal.now < self.accumulator.delivery_due(batch)

    def _expire(self, batch: ProducerBatch, *, in_retry: bool) -> None:
        """Expire a batch whose delivery.timeout.ms has elapsed (`Sender#sendProducerData`).

        If a batch expires during a retry, the producer sends nothing new to the partition until it knows whether the batch was appended. As
        in Kafka, the producer does not wait for the outcome of a batch that expires during its first attempt.
        """
        if self.sequences is not None and in_retry:
            self.sequences.mark_unresolved(batch)
        self.client.journal.blame(self.delays.why_overdue(batch, self.incomplete_batches()))
        self._give_up(batch, errors.REQUEST_TIMED_OUT)

    def _give_up(self, batch: ProducerBatch, error: str, *, known_lost: bool = False) -> None:
        """Give up on a batch (`Sender#failBatch`). Unless `known_lost` is true, a leader might have appended the batch."""
        if self.sequences is not None and batch.sequence != NONE:
            self.sequences.failed(batch, error, known_lost=known_lost)
            self._settle_sequences(error)
        self._drop(batch, error, aborted=False)
        if self.transactions is not None:
            self.transactions.batch_failed(error)
            self.send_transactional_requests()

    def _batch_closed(self, batch: ProducerBatch) -> None:
        """Record that no more records will be added to a batch (`ProducerBatch#close`)."""
        client = self.client
        client.account.batch_closed(client.name, batch.id, batch.tp, batch.count, batch.created, client.clock.read(batch.created))

    def _drop(self, batch: ProducerBatch, error: str, *, aborted: bool) -> None:
        """Record that a batch will not be sent again."""
        self._release(batch)
        self.metrics.failed += batch.count
        if not batch.attempt:
            self._batch_closed(batch)
        self.client.account.batch_completed(self.client.name, batch.id)
        self._report_failure(batch, error, retry=False)
        if self.callback is not None:
            self.callback.batch_failed(batch, error, aborted=aborted)

    def _release(self, batch: ProducerBatch) -> None:
        """Release the memory of a batch, and let a blocked application continue."""
        batching = self.accumulator.batching
        if isinstance(batch, BufferedBatch) and batching is not None:
            batching.release(batch)
            self.calls.memory_released()

    def _report_failure(self, batch: ProducerBatch, error: str, *, retry: bool) -> None:
        client = self.client
        journal, name, tp = client.journal, client.name, batch.tp
        refused = client.network.disturbances.take_change((REFUSED, name, batch.id))
        if batch.attempt:
            silent = error in (errors.NETWORK_EXCEPTION, errors.REQUEST_TIMED_OUT)
            reason = journal.cause if silent else refused or journal.cause
            self.delays.attempt_failed(batch, reason, self.accumulator.retry_backoff(batch.attempt))
        batch.cause = journal.emit(
            events.ProduceFailed.kind, name, tp.topic, tp.partition, batch.count, batch.acks, batch.attempt, error, retry
        )
        client.account.batch_failed(name, batch.id, batch.sent_at if batch.attempt else -1, batch.cause)
        if not retry:
            client.network.disturbances.changed((tp, name, GIVEN_UP), batch.cause)
            before, journal.cause = journal.cause, batch.cause
            journal.emit(
                events.ProduceGivenUp.kind, name, tp.topic, tp.partition, batch.count, batch.acks, error, journal.now - batch.created
            )
            journal.cause = before

    def _schedule_send(self, tp: TopicPartition, time: int) -> None:
        """Schedule the time when a partition's batches are sent, unless an earlier time is already scheduled."""
        if tp not in self._scheduled_sends or time < self._scheduled_sends[tp]:
            self._scheduled_sends[tp] = time
            self.client.timer(time - self.client.journal.now, "retry", (tp, time))

    def _retry_due(self, about: object) -> None:
        assert isinstance(about, tuple)
        tp, time = about
        if self._scheduled_sends.get(tp) == time:
            del self._scheduled_sends[tp]
            self._send_next(tp)

    def connection_lost(self, node: str) -> None:
        """Fail the requests to a broker with NETWORK_EXCEPTION."""
        self._id_asked = 0
        for batch in self.in_flight.to_node(node):
            self.in_flight.remove(batch.correlation)
            self._fail_batch(batch, errors.NETWORK_EXCEPTION)
        if self.transactions is not None:
            self.transactions.disconnected(node)
        self.client.refresh_metadata_soon()  # leaders might have changed (`NetworkClient.DefaultMetadataUpdater#handleServerDisconnect`)

    def abort_batches(self, error: str, *, unsent_only: bool) -> None:
        """Abort all batches, or only those without sequence numbers, which were never sent (`RecordAccumulator#abortUndrainedBatches`).
        The application's waiting calls fail, too."""
        calls, metrics = self.calls, self.metrics
        metrics.failed += calls.waiting_records + sum(each.count for each in calls.unspread)
        metrics.sent += calls.waiting_records
        calls.clear()
        if not unsent_only:
            for correlation in list(self.in_flight.batches):
                batch = self.in_flight.remove(correlation)
                assert batch is not None
                self._drop(batch, error, aborted=True)
        for queue in self.accumulator.queues.values():
            aborted = [batch for batch in queue if batch.sequence == NONE or not unsent_only]
            for batch in aborted:
                queue.remove(batch)
                self._drop(batch, error, aborted=True)

    # --- timeouts --------------------------------------------------------------------------------------------------

    def _check_timeouts(self, _: object) -> None:
        """Check request and delivery timeouts, and report overdue batches.

        While there are incomplete batches or a load is running, timeouts are checked once a second and when the next timeout is due.
        """
        self._report_overdue_batches()
        client, accumulator, in_flight = self.client, self.accumulator, self.in_flight
        now, timeout = client.journal.now, client.config.request_timeout + POLL_DELAY
        delivery_timeout = client.config.delivery_timeout
        silent = {batch.sent_to: None for batch in in_flight.batches.values() if now - batch.sent_at >= timeout}
        for node in silent:
            client.abandon_connection(node)
        if delivery_timeout != NO_DELIVERY_TIMEOUT:
            for batch in [batch for batch in in_flight.batches.values() if now - batch.created >= delivery_timeout]:
                in_flight.remove(batch.correlation)  # the response no longer matters (`Sender#getExpiredInflightBatches`)
                self._expire(batch, in_retry=batch.attempt > 1)
        for queue in accumulator.queues.values():
            while queue and now >= accumulator.delivery_due(queue[0]):
                self._expire(queue.popleft(), in_retry=True)
        self._timeout_check_armed = self._has_batches() or self.load_runs
        if self._timeout_check_armed:
            client.timer(self._until_next_timeout(SECOND), "watch")

    def _report_overdue_batches(self) -> None:
        """Report each batch that has had no response for longer than `STALL_BOUND`, once per batch."""
        client = self.client
        journal, incomplete = client.journal, self.incomplete_batches()
        for batch in incomplete:
            waited = journal.now - batch.created
            if waited > STALL_BOUND and not batch.overdue:
                batch.overdue = True
                journal.blame(self.delays.why_overdue(batch, incomplete))
                journal.emit(
                    events.ProduceWaiting.kind,
                    client.name, batch.tp.topic, batch.tp.partition, batch.count, batch.acks, batch.attempt, waited,
                )  # fmt: skip

    def _until_next_timeout(self, most: int) -> int:
        """Return the time in µs until the next request timeout or delivery timeout, capped at `most`."""
        config, now = self.client.config, self.client.journal.now
        due = now + most
        for batch in self.in_flight.batches.values():
            due = min(due, batch.sent_at + config.request_timeout + POLL_DELAY)
            if config.delivery_timeout != NO_DELIVERY_TIMEOUT:
                due = min(due, batch.created + config.delivery_timeout)
        for queue in self.accumulator.queues.values():
            if queue:
                due = min(due, self.accumulator.delivery_due(queue[0]))
        return max(due - now, 1)
