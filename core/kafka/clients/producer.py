"""A producer (Kafka: `KafkaProducer`, `Sender`): batches, acks, and retries until delivery.timeout.ms, in order for each partition.

Without idempotence, if the first attempt of a batch was appended, a retry appends the batch again. The durability account counts such
records as duplicated. With idempotence, the producer gets a producer id from a broker and numbers the records of each partition, so
leaders recognize a retry (`core.kafka.log.producer_state`).
"""

from __future__ import annotations

from collections import deque
from typing import Final

from core.kafka import errors, events
from core.kafka.clients.client import MAX_RETRY_BACKOFF, POLL_DELAY, RETRY_BACKOFF, Client
from core.kafka.clients.client_config import NO_DELIVERY_TIMEOUT
from core.kafka.durability_observer import DurabilityObserver
from core.kafka.health import STALL_BOUND
from core.kafka.ids import NO_LEADER, TopicPartition, broker_address
from core.kafka.log.producer_state_entry import increment_sequence
from core.kafka.messages import InitProducerIdRequest, InitProducerIdResponse, ProduceRequest, ProduceResponse
from core.sim.clock import RIGHT
from core.sim.journal import Journal
from core.sim.network import Network
from core.sim.units import SECOND


class ProducerBatch:
    """A batch of records for one partition (Kafka: `ProducerBatch`).

    Attributes:
        id: the batch's number within the producer.
        tp: the partition.
        count: the number of records.
        bytes: the total size of the records.
        acks: the acks that the batch requires.
        created: the time when the batch was created, µs.
        queued_at: the time when the batch was last queued, µs.
        sent_at: the time when the batch was last sent, µs.
        sent_to: the address of the broker that the batch was last sent to.
        attempt: the number of attempts so far.
        correlation: the correlation id of the last request.
        connecting: whether the batch was sent over a connection that was not established yet.
        connection_failures: the number of attempts that failed without a connection.
        producer_epoch: the producer epoch of the sequence numbers; -1 without idempotence.
        sequence: the first sequence number; -1 if the batch has none.
        cause: the event that caused the batch, or its last failure.
        overdue: whether a `produce-waiting` event has reported the batch.
    """

    __slots__ = (
        "acks", "attempt", "bytes", "cause", "connecting", "connection_failures", "correlation", "count", "created", "id", "overdue",
        "producer_epoch", "queued_at", "sent_at", "sent_to", "sequence", "tp",
    )  # fmt: skip

    id: Final[int]
    tp: Final[TopicPartition]
    count: Final[int]
    bytes: Final[int]
    acks: Final[int]
    created: Final[int]

    def __init__(self, id: int, tp: TopicPartition, count: int, bytes: int, acks: int, created: int, cause: int) -> None:
        self.id = id
        self.tp = tp
        self.count = count
        self.bytes = bytes
        self.acks = acks
        self.created = created
        self.queued_at = created
        self.connecting = False
        self.connection_failures = 0
        self.cause = cause
        self.attempt = 0
        self.correlation = 0
        self.sent_to = ""
        self.sent_at = 0
        self.producer_epoch = -1
        self.sequence = -1
        self.overdue = False


class Producer(Client):
    """A producer.

    Attributes:
        acks: the acks of new batches: 0, 1, or -1 for all.
        rate: the records per second of a steady load; 0 if there is none.
        every: the interval of the load, µs.
        record_bytes: the size of each record of the load.
        queues: the batches to send, by partition.
        in_flight: the batches that wait for a response, by correlation id.
        exponential_backoff: whether the retry back-off doubles (KIP-580) and ends when a new leader is known (KAFKA-15415), since 3.7.
        idempotent: enable.idempotence.
        producer_id: the producer id; -1 while the producer has none.
        sent: the number of records produced.
        acked: the number of records acknowledged.
        failed: the number of records given up.
        retries: the number of attempts after the first one.
        last_latency: the latency of the last acknowledged batch, µs; -1 if there is none.
    """

    __slots__ = (
        "_batch_id", "_epochs", "_id_asked", "_load", "_muted", "_next_partition", "_next_sequence", "_owed", "_partition_in_flight",
        "_scheduled_sends", "_timeout_check_armed", "_waiting", "acked", "acks", "every", "exponential_backoff", "failed", "idempotent",
        "in_flight", "last_latency", "producer_id", "queues", "rate", "record_bytes", "retries", "sent",
    )  # fmt: skip

    queues: Final[dict[int, deque[ProducerBatch]]]
    _partition_in_flight: Final[dict[int, int]]
    _muted: Final[dict[int, int]]
    _scheduled_sends: Final[dict[int, int]]
    _next_sequence: Final[dict[int, int]]

    def __init__(
        self, name: str, topic: str, acks: int, brokers: tuple[int, ...], network: Network, journal: Journal, account: DurabilityObserver
    ) -> None:
        super().__init__(name, topic, brokers, network, journal, account)
        self.acks = acks
        self.rate = 0
        self.every = 0
        self.record_bytes = 100
        self.queues = {}
        self.in_flight: dict[int, ProducerBatch] = {}
        self._partition_in_flight = {}
        self._waiting: list[tuple[int, int]] = []
        self._muted = {}
        self._scheduled_sends = {}
        self.exponential_backoff = False
        self.idempotent = False
        self.producer_id = -1
        self._epochs: dict[int, int] = {}
        self._next_sequence = {}
        self._id_asked = 0
        self.sent = 0
        self.acked = 0
        self.failed = 0
        self.retries = 0
        self.last_latency = -1
        self._batch_id = 0
        self._owed = 0
        self._next_partition = 0
        self._load = 0
        self._timeout_check_armed = False
        self.handlers.update(
            {ProduceResponse: self._handle_produce_response, InitProducerIdResponse: self._handle_init_producer_id_response}
        )
        self.timers.update({"load": self._load_tick, "retry": self._retry_due, "watch": self._check_timeouts})

    # --- making records --------------------------------------------------------------------------------------------

    def produce(self, records: int, record_bytes: int, partition: int | None) -> None:
        """Produce records once. Without a partition, the records are spread equally over all partitions, one batch each."""
        if partition is None and not self.leaders:
            self._waiting.append((records, record_bytes))
            self.refresh_metadata()
            return
        if partition is not None:
            self._enqueue(partition, records, record_bytes)
        else:
            share, rest = divmod(records, len(self.leaders))
            for number in range(len(self.leaders)):
                count = share + (number < rest)
                if count:
                    self._enqueue(number, count, record_bytes)
        self._send_all()

    def start_load(self, rate: int, every: int, record_bytes: int) -> None:
        """Produce `rate` records per second, one batch every `every` µs, to each partition in turn."""
        self.rate, self.every, self.record_bytes = rate, every, record_bytes
        self.resume_load()

    def hold_load(self) -> None:
        """Pause the load for by-hand mode, where nothing happens without a command. `resume_load` resumes it."""
        self._load += 1

    def resume_load(self) -> None:
        """Resume a paused load."""
        if self.rate:
            self._load += 1
            self._load_tick(self._load)

    def stop_load(self) -> None:
        """Stop the load."""
        self.rate = 0
        self._load += 1

    def _load_tick(self, load: object) -> None:
        if load != self._load:
            return
        self.timer(self.every, "load", load)
        if not self.leaders:
            self.refresh_metadata()
            return
        self._owed += self.rate * self.every
        count, self._owed = divmod(self._owed, SECOND)
        if count:
            partition = self._next_partition % len(self.leaders)
            self._next_partition = partition + 1
            self._enqueue(partition, count, self.record_bytes)
            self._send(partition)

    def _enqueue(self, partition: int, count: int, record_bytes: int) -> None:
        self._batch_id += 1
        self.sent += count
        journal = self.journal
        batch = ProducerBatch(
            self._batch_id, TopicPartition(self.topic, partition), count, count * record_bytes, self.acks, journal.now, journal.cause
        )
        self.queues.setdefault(partition, deque()).append(batch)
        if not self._timeout_check_armed:
            self._timeout_check_armed = True
            self.timer(min(SECOND, self.config.request_timeout), "watch")

    # --- sending ---------------------------------------------------------------------------------------------------

    def _send_all(self) -> None:
        for partition in list(self.queues):
            self._send(partition)

    def _send(self, partition: int) -> None:
        queue = self.queues.get(partition)
        if not queue:
            return
        leader = self.leader_of(partition)
        if leader == NO_LEADER:
            self.refresh_metadata_soon() if self.leaders else self.refresh_metadata()
            return
        journal = self.journal
        node = broker_address(leader)
        wait = max(self._muted.get(partition, 0), self.reconnect_time(node))
        if wait > journal.now:
            self._schedule_send(partition, wait)
            return
        if self.idempotent and self.producer_id < 0:
            self._request_producer_id(node)
            return
        outer_cause = journal.cause
        limit = 1 if node in self._reconnect else self.config.max_in_flight
        while queue and self._partition_in_flight.get(partition, 0) < limit:
            batch = queue.popleft()
            batch.attempt += 1
            batch.sent_to = node
            batch.connecting = not self.is_connected(node)
            batch.sent_at = journal.now
            batch.correlation = self.next_correlation()
            self.retries += batch.attempt > 1
            journal.cause = batch.cause or outer_cause
            if self.idempotent and batch.sequence < 0:
                self._number(batch, partition)
            request = ProduceRequest(
                batch.correlation, self.name, batch.tp, batch.count, batch.bytes, batch.acks, self.config.request_timeout, batch.id, batch.attempt,
                self.producer_id, batch.producer_epoch, batch.sequence, self.clock.read(batch.created) if self.clock is not RIGHT else -1,
            )  # fmt: skip
            self.send(batch.sent_to, request)
            if batch.acks == 0:
                self._acknowledged(batch, -1, -1)
            else:
                self.in_flight[batch.correlation] = batch
                self._partition_in_flight[partition] = self._partition_in_flight.get(partition, 0) + 1
        journal.cause = outer_cause

    # --- idempotence -----------------------------------------------------------------------------------------------

    def _request_producer_id(self, node: str) -> None:
        """Request a producer id from a broker, at most once per request timeout (InitProducerId)."""
        if not self._id_asked or self.journal.now - self._id_asked >= self.config.request_timeout:
            self._id_asked = max(self.journal.now, 1)
            self.send(node, InitProducerIdRequest(self.next_correlation(), self.name))

    def _handle_init_producer_id_response(self, response: InitProducerIdResponse, _: str) -> None:
        if self.producer_id < 0:
            self.producer_id = response.producer_id
            self._send_all()

    def _number(self, batch: ProducerBatch, partition: int) -> None:
        """Give a batch the next sequence numbers of its partition (`RecordAccumulator#drain`)."""
        batch.producer_epoch = self._epochs.get(partition, 0)
        batch.sequence = self._next_sequence.get(partition, 0)
        self._next_sequence[partition] = increment_sequence(batch.sequence, batch.count)

    def _is_first(self, batch: ProducerBatch) -> bool:
        """Whether no earlier batch of the partition waits for a response (`TransactionManager#isNextSequence`)."""
        partition = batch.tp.partition
        others = [one for one in self.in_flight.values() if one.tp.partition == partition]
        return all(one.id > batch.id for one in (*others, *self.queues.get(partition, ())))

    def _bump_epoch(self, batch: ProducerBatch, error: str) -> None:
        """Start a new producer epoch for a partition. The fate of a batch is unknown, so its sequence numbers cannot be used again.

        Kafka: `#bumpIdempotentEpochAndResetIdIfNeeded`.
        """
        partition = batch.tp.partition
        if batch.producer_epoch != self._epochs.get(partition, 0):
            return
        epoch = self._epochs[partition] = batch.producer_epoch + 1
        self._next_sequence[partition] = 0
        for waiting in self.queues.get(partition, ()):
            waiting.sequence = -1
        self.journal.emit(events.ProducerEpochBumped.kind, self.name, batch.tp.topic, partition, self.producer_id, epoch, error)

    def _delivery_due(self, batch: ProducerBatch) -> int:
        """Return the time when an unacknowledged batch is given up, µs (`ProducerBatch#maybeExpire`).

        Before 2.1, this applies only while the batch waits to be sent.
        """
        if self.config.delivery_timeout == NO_DELIVERY_TIMEOUT:
            backoff = RETRY_BACKOFF if batch.attempt > batch.connection_failures else 0
            return batch.queued_at + backoff + self.config.request_timeout
        return batch.created + self.config.delivery_timeout

    def _can_retry(self, batch: ProducerBatch, error: str) -> bool:
        """Whether a failed batch is sent again (`Sender#canRetry`, `TransactionManager#canRetry`).

        An attempt without a connection does not count, because in Kafka the batch has not left the accumulator.
        """
        if batch.attempt - batch.connection_failures > self.config.retries:
            return False
        if self.config.delivery_timeout != NO_DELIVERY_TIMEOUT and self.journal.now >= self._delivery_due(batch):
            return False
        if error in errors.RETRIABLE:
            return True
        if not self.idempotent or error not in (errors.OUT_OF_ORDER_SEQUENCE_NUMBER, errors.INVALID_PRODUCER_EPOCH):
            return False
        if batch.producer_epoch != self._epochs.get(batch.tp.partition, 0):
            batch.sequence = -1
            return True
        return error == errors.OUT_OF_ORDER_SEQUENCE_NUMBER and not self._is_first(batch)

    # --- answers ---------------------------------------------------------------------------------------------------

    def _remove_in_flight(self, correlation: int) -> ProducerBatch | None:
        batch = self.in_flight.pop(correlation, None)
        if batch is not None:
            self._partition_in_flight[batch.tp.partition] -= 1
        return batch

    def _handle_produce_response(self, response: ProduceResponse, _: str) -> None:
        batch = self._remove_in_flight(response.correlation)
        if batch is None:
            return
        if response.error == errors.NONE:
            assert response.term is not None
            latency = self.journal.now - batch.created
            self.account.acknowledged(batch.tp, batch.acks, response.term, response.base, batch.count, latency)
            self._acknowledged(batch, response.base, response.base + batch.count)
            self.account.batch_completed(self.name, batch.id)
            self._send(batch.tp.partition)
        else:
            self._fail_batch(batch, response.error)

    def _acknowledged(self, batch: ProducerBatch, base: int, end: int) -> None:
        latency = self.journal.now - batch.created
        self.acked += batch.count
        self.last_latency = latency
        self.journal.emit(
            events.ProduceAcked.kind,
            self.name, batch.tp.topic, batch.tp.partition, base, end, batch.count, batch.acks, latency, batch.attempt,
        )  # fmt: skip

    def _fail_batch(self, batch: ProducerBatch, error: str) -> None:
        """Retry after the back-off. If the error is final, or no retries or time are left, give up the batch (`Sender#canRetry`)."""
        now = self.journal.now
        backoff = self._backoff(batch.attempt)
        unsent = batch.connecting and error == errors.NETWORK_EXCEPTION
        batch.connection_failures += unsent
        retry = self._can_retry(batch, error)
        self._report_failure(batch, error, retry=retry)
        if retry:
            if not unsent:
                batch.queued_at = now
            queue = self.queues.setdefault(batch.tp.partition, deque())
            behind = 0
            while behind < len(queue) and queue[behind].id < batch.id:
                behind += 1
            queue.insert(behind, batch)
            self._muted[batch.tp.partition] = now + backoff
        self._schedule_send(batch.tp.partition, now + backoff if retry else now)
        if error in errors.INVALID_METADATA:
            self.refresh_metadata_soon()

    def _backoff(self, attempts: int) -> int:
        """Return the delay before the next attempt, µs (`RecordAccumulator#retryBackoff`, without Kafka's random jitter of 20%)."""
        if not self.exponential_backoff:
            return RETRY_BACKOFF
        return min(RETRY_BACKOFF << min(attempts - 1, 10), MAX_RETRY_BACKOFF)

    def leaders_changed(self, partitions: list[int]) -> None:
        """Retry at once if a new leader is known (since 3.7, KAFKA-15415)."""
        if self.exponential_backoff:
            for partition in partitions:
                self._muted.pop(partition, None)

    def _report_failure(self, batch: ProducerBatch, error: str, *, retry: bool) -> None:
        if not retry:
            self.failed += batch.count
            if self.idempotent and batch.sequence >= 0:
                self._bump_epoch(batch, error)
            self.account.batch_completed(self.name, batch.id)
        journal = self.journal
        batch.cause = journal.emit(
            events.ProduceFailed.kind,
            self.name, batch.tp.topic, batch.tp.partition, batch.count, batch.acks, batch.attempt, error, retry,
        )  # fmt: skip
        if not retry:
            before, journal.cause = journal.cause, batch.cause
            journal.emit(
                events.ProduceGivenUp.kind,
                self.name, batch.tp.topic, batch.tp.partition, batch.count, batch.acks, error, journal.now - batch.created,
            )  # fmt: skip
            journal.cause = before

    def _schedule_send(self, partition: int, time: int) -> None:
        """Schedule the sending of a partition's batches, unless it is already scheduled for an earlier time."""
        if partition not in self._scheduled_sends or time < self._scheduled_sends[partition]:
            self._scheduled_sends[partition] = time
            self.timer(time - self.journal.now, "retry", (partition, time))

    def _retry_due(self, about: object) -> None:
        assert isinstance(about, tuple)
        partition, time = about
        if self._scheduled_sends.get(partition) == time:
            del self._scheduled_sends[partition]
            self._send(partition)

    def metadata_updated(self) -> None:
        """Produce the records that waited for metadata, and send all batches whose leader is known."""
        waiting, self._waiting = self._waiting, []
        for records, record_bytes in waiting:
            self.produce(records, record_bytes, None)
        self._send_all()

    def connection_lost(self, node: str) -> None:
        """Fail the requests to a broker with NETWORK_EXCEPTION."""
        self._id_asked = 0
        for batch in [batch for batch in self.in_flight.values() if batch.sent_to == node]:
            self._remove_in_flight(batch.correlation)
            self._fail_batch(batch, errors.NETWORK_EXCEPTION)
        self.refresh_metadata_soon()  # leaders might have changed (`NetworkClient.DefaultMetadataUpdater#handleServerDisconnect`)

    def incomplete_batches(self) -> list[ProducerBatch]:
        """Return the batches that are neither acknowledged nor given up: first those in flight, then those to send."""
        return [*self.in_flight.values(), *[batch for queue in self.queues.values() for batch in queue]]

    def _report_overdue_batches(self) -> None:
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

    def _check_timeouts(self, _: object) -> None:
        """Check request and delivery timeouts, and report overdue batches.

        This runs once a second, and when the next timeout is due, while there are incomplete batches or a load.
        """
        self._report_overdue_batches()
        now, timeout = self.journal.now, self.config.request_timeout + POLL_DELAY
        delivery_timeout = self.config.delivery_timeout
        silent = {batch.sent_to: None for batch in self.in_flight.values() if now - batch.sent_at >= timeout}
        for node in silent:
            self.network.disconnect(self.address, node)
            self.connection_failed(node)
            self.connection_lost(node)
        if delivery_timeout != NO_DELIVERY_TIMEOUT:
            for batch in [batch for batch in self.in_flight.values() if now - batch.created >= delivery_timeout]:
                self._remove_in_flight(batch.correlation)  # the response no longer matters (`Sender#getExpiredInflightBatches`)
                self._report_failure(batch, errors.REQUEST_TIMED_OUT, retry=False)
        for queue in self.queues.values():
            while queue and now >= self._delivery_due(queue[0]):
                self._report_failure(queue.popleft(), errors.REQUEST_TIMED_OUT, retry=False)
        self._timeout_check_armed = bool(self.in_flight) or any(self.queues.values()) or self.rate > 0
        if self._timeout_check_armed:
            self.timer(self._until_next_timeout(SECOND), "watch")

    def _until_next_timeout(self, most: int) -> int:
        """Return the time until the next request or delivery timeout, µs, at most `most`."""
        now, config = self.journal.now, self.config
        due = now + most
        for batch in self.in_flight.values():
            due = min(due, batch.sent_at + config.request_timeout + POLL_DELAY)
            if config.delivery_timeout != NO_DELIVERY_TIMEOUT:
                due = min(due, batch.created + config.delivery_timeout)
        for queue in self.queues.values():
            if queue:
                due = min(due, self._delivery_due(queue[0]))
        return max(due - now, 1)
