"""The requests in which a leader asks the transaction coordinator about a batch that would open a transaction on a partition (KIP-890).

Kafka: `AddPartitionsToTxnManager`, `ReplicaManager#maybeStartTransactionVerificationForPartition`.

Since 3.6, the leader asks the coordinator to verify that the partition belongs to the transaction. With transaction.version 2, the leader
asks the coordinator to add the partition to the transaction.
"""

from __future__ import annotations

from typing import Final

from core.kafka import errors, events
from core.kafka.broker.context import BrokerContext
from core.kafka.broker.hosted_partitions import HostedPartitions
from core.kafka.broker.purgatory.produce_response import refuse_produce
from core.kafka.broker.requests.leader_append import append_records_to_leader
from core.kafka.ids import NO_LEADER, TopicPartition, broker_address
from core.kafka.log.producer_state import NO_GUARD
from core.kafka.messages import ProduceRequest
from core.kafka.transaction.transaction_log import TRANSACTION_STATE_TOPIC, partition_for
from core.kafka.transaction.transaction_messages import AddPartitionsToTxnRequest, AddPartitionsToTxnResponse
from core.kafka.transaction.verification import TransactionalBatch, VerificationCompletion
from core.sim.units import US_PER_MS

RETRY_BACKOFF: Final = 20 * US_PER_MS
"""add.partitions.to.txn.retry.backoff.ms, in µs."""

MAX_RETRY: Final = 100 * US_PER_MS
"""The time for which a leader repeats the request on behalf of a client, in µs (add.partitions.to.txn.retry.backoff.max.ms)."""

RETRIABLE: Final = frozenset(
    {
        errors.CONCURRENT_TRANSACTIONS,
        errors.NETWORK_EXCEPTION,
        errors.COORDINATOR_LOAD_IN_PROGRESS,
        errors.COORDINATOR_NOT_AVAILABLE,
        errors.NOT_COORDINATOR,
    }
)
"""The coordinator's errors that the leader reports to the producer as NOT_ENOUGH_REPLICAS, because every client retries after that
error."""


class Verification:
    """A batch that is waiting for the coordinator.

    Attributes:
        batch: the batch that needs the coordinator's answer.
        completion: the function to call with the coordinator's answer.
        guard: the number that identifies the verification entry.
        since: when the batch arrived, in µs.
        node: the broker that the leader asks.
    """

    __slots__ = ("batch", "completion", "guard", "node", "since")

    def __init__(self, batch: TransactionalBatch, completion: VerificationCompletion, guard: int, since: int) -> None:
        self.batch = batch
        self.completion = completion
        self.guard = guard
        self.since = since
        self.node = NO_LEADER


class ProduceVerification:
    """A produce request that is waiting for the coordinator. When the answer arrives, the leader appends or refuses the records."""

    __slots__ = ("manager", "request", "sender")

    def __init__(self, manager: AddPartitionsToTxnManager, sender: str, request: ProduceRequest) -> None:
        self.manager = manager
        self.sender = sender
        self.request = request

    @property
    def retries_concurrent(self) -> bool:
        """Whether the leader repeats the request on behalf of the producer, which it does with transaction.version 2."""
        return self.request.adds_partition

    def verified(self, error: str, guard: int) -> None:
        """Append or refuse the records."""
        sender, request, broker = self.sender, self.request, self.manager.broker
        partition = self.manager.hosted.online.get(request.tp)
        if partition is None or not partition.is_leader:
            refuse_produce(broker, sender, request, self.manager.hosted.missing_error(request.tp), (), 0)
        elif error == errors.NONE:
            append_records_to_leader(partition, sender, request, guard)
        else:
            error = _produce_error(error, request, abortable=broker.release.transaction_abortable)
            refuse_produce(broker, sender, request, error, partition.isr, partition.effective_min_isr())


class AddPartitionsToTxnManager:
    """One broker's requests to transaction coordinators.

    Attributes:
        in_flight: the requests in flight, keyed by correlation ID.
        queued: the requests to send next to each coordinator that has a request in flight, keyed by transactional.id.
    """

    __slots__ = ("broker", "hosted", "in_flight", "queued")

    broker: Final[BrokerContext]
    hosted: Final[HostedPartitions]
    in_flight: Final[dict[int, Verification]]
    queued: Final[dict[int, dict[tuple[str, TopicPartition], Verification]]]

    def __init__(self, broker: BrokerContext, hosted: HostedPartitions) -> None:
        self.broker = broker
        self.hosted = hosted
        self.in_flight = {}
        self.queued = {}
        broker.node.handlers[AddPartitionsToTxnResponse] = self._handle_response
        broker.node.timers.update({"verify-again": self._ask, "verification-timeout": self._timed_out})

    def reset(self) -> None:
        """Drop all state, because the process has ended."""
        self.in_flight.clear()
        self.queued.clear()

    def needs_verification(self, batch: TransactionalBatch) -> bool:
        """Return whether a transactional batch would open a transaction on its partition.

        If transaction.partition.verification.enable is off, the coordinator is asked only if the leader must add the partition.
        """
        if not batch.adds_partition and not (self.broker.release.verifies_transactions and self.broker.config.verifies_transactions):
            return False
        producers = self.hosted.online[batch.tp].log.producer_state()
        return producers is None or not producers.has_ongoing_transaction(batch.producer_id, batch.producer_epoch)

    def verify_produce(self, sender: str, request: ProduceRequest) -> None:
        """Ask the coordinator; when the answer arrives, append or refuse the records of a produce request."""
        self.verify(request, ProduceVerification(self, sender, request))

    def verify(self, batch: TransactionalBatch, completion: VerificationCompletion) -> None:
        """Ask the coordinator whether the transaction of a batch includes the partition."""
        producers = self.hosted.online[batch.tp].producer_state()
        known = producers.entries.get(batch.producer_id)
        if known is not None and batch.producer_epoch < known.epoch and self.broker.release.verifies_current_epoch:
            completion.verified(errors.INVALID_PRODUCER_EPOCH, NO_GUARD)
            return
        guard = producers.verification_guard(
            batch.producer_id, batch.first_sequence, batch.producer_epoch, self.broker.journal.now, begins_at_0=batch.adds_partition
        )
        self._ask(Verification(batch, completion, guard, self.broker.journal.now))

    def _ask(self, verification: Verification) -> None:
        leaders = self.broker.metadata_cache.topic_leaders(TRANSACTION_STATE_TOPIC)
        batch = verification.batch
        node = leaders[partition_for(batch.transactional_id, len(leaders))][0] if leaders else NO_LEADER
        if node == NO_LEADER or not self.broker.metadata_cache.has_alive_broker(node):
            self._answered(verification, errors.COORDINATOR_NOT_AVAILABLE)
            return
        verification.node = node
        if any(each.node == node for each in self.in_flight.values()):
            self._queue(verification)
        else:
            self._send(verification)

    def _queue(self, verification: Verification) -> None:
        """Queue a request.

        If there are several requests for one transactional.id, keep only those with the newest epoch, one for each partition
        (`#addTxnData`).
        """
        queue = self.queued.setdefault(verification.node, {})
        batch = verification.batch
        same_id = [each for each in queue.values() if each.batch.transactional_id == batch.transactional_id]
        if any(each.batch.producer_epoch > batch.producer_epoch for each in same_id):
            self._answered(verification, errors.INVALID_PRODUCER_EPOCH)
            return
        replaced = []
        for each in same_id:
            older = each.batch.producer_epoch < batch.producer_epoch
            if older or each.batch.tp == batch.tp:
                del queue[each.batch.transactional_id, each.batch.tp]
                replaced.append((each, errors.INVALID_PRODUCER_EPOCH if older else errors.NETWORK_EXCEPTION))
        queue[batch.transactional_id, batch.tp] = verification
        for each, error in replaced:
            self._answered(each, error)

    def _send(self, verification: Verification) -> None:
        batch, correlation = verification.batch, self.broker.next_correlation()
        self.in_flight[correlation] = verification
        version = 2 if batch.adds_partition else 0
        asked = AddPartitionsToTxnRequest(
            correlation, batch.transactional_id, batch.producer_id, batch.producer_epoch, (batch.tp,), not batch.adds_partition, version
        )  # fmt: skip
        self.broker.node.send(broker_address(verification.node), asked)
        self.broker.node.timer(self.broker.config.request_timeout, "verification-timeout", correlation)

    def _handle_response(self, response: AddPartitionsToTxnResponse, _: str) -> None:
        verification = self.in_flight.pop(response.correlation, None)
        if verification is not None:
            self._answered(verification, response.results[0][1])
            self._send_queued(verification.node)

    def _timed_out(self, correlation: object) -> None:
        """Fail the requests to a coordinator that has not responded in time."""
        assert isinstance(correlation, int)
        verification = self.in_flight.get(correlation)
        if verification is not None:
            self.disconnected(verification.node)

    def disconnected(self, node: int) -> None:
        """Fail the requests to a coordinator, because the connection to it broke."""
        for correlation in [correlation for correlation, each in self.in_flight.items() if each.node == node]:
            self._answered(self.in_flight.pop(correlation), errors.NETWORK_EXCEPTION)
        self._send_queued(node)

    def _send_queued(self, node: int) -> None:
        if not any(each.node == node for each in self.in_flight.values()):
            for verification in self.queued.pop(node, {}).values():
                self._send(verification)

    def _answered(self, verification: Verification, error: str) -> None:
        """Pass the coordinator's answer to the waiting batches, or repeat the request."""
        batch, completion, broker = verification.batch, verification.completion, self.broker
        retries = error == errors.CONCURRENT_TRANSACTIONS and completion.retries_concurrent
        if retries and broker.journal.now - verification.since < MAX_RETRY:
            broker.node.timer(RETRY_BACKOFF, "verify-again", verification)
            return
        partition = self.hosted.online.get(batch.tp)
        if error != errors.NONE and partition is not None and partition.is_leader:
            broker.journal.emit(
                events.VerificationFailed.kind, broker.id, batch.tp.topic, batch.tp.partition, batch.transactional_id,
                batch.producer_id, batch.producer_epoch, error,
            )  # fmt: skip
        completion.verified(error, verification.guard)


def _produce_error(error: str, request: ProduceRequest, *, abortable: bool) -> str:
    """Return the error that the leader reports to the producer (`ReplicaManager#handleProduceAppend`)."""
    if error == errors.CONCURRENT_TRANSACTIONS and request.adds_partition:
        return error
    if error in RETRIABLE:
        return errors.NOT_ENOUGH_REPLICAS
    if error == errors.PRODUCER_FENCED:
        return errors.INVALID_PRODUCER_EPOCH
    if error == errors.TRANSACTION_ABORTABLE and not abortable:
        return errors.INVALID_TXN_STATE
    return error
