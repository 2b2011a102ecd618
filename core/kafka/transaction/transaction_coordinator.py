"""The requests that a transaction coordinator serves, and its periodic checks (Kafka: `TransactionCoordinator`).

For each request that changes a state, the coordinator goes through the same steps: it checks the request against the current state,
prepares the transition, writes the new state to the transaction log, and responds when the write is committed. `continue_with` lists the
steps that can follow a write.
"""

from __future__ import annotations

from typing import Any, Final

from core.kafka import errors, events
from core.kafka.ids import TopicPartition
from core.kafka.transaction.coordinator_context import CoordinatorContext, InternalTopics, ProducerIds
from core.kafka.transaction.end_txn_rules import end_txn_answer
from core.kafka.transaction.transaction_log import GROUP_METADATA_TOPIC, partition_for
from core.kafka.transaction.transaction_marker_channel_manager import TransactionMarkerChannelManager
from core.kafka.transaction.transaction_messages import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
    InitTransactionalIdRequest,
    InitTransactionalIdResponse,
)
from core.kafka.transaction.transaction_metadata import MAX_EPOCH, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, TransactionMetadata
from core.kafka.transaction.transaction_state import TransactionState
from core.kafka.transaction.transaction_state_manager import TransactionStateManager

COMMIT, ABORT = TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT


class TransactionCoordinator:
    """The transaction coordinator of one broker.

    Attributes:
        producer_ids: the producer IDs that the broker can give out.
        states: the transactional IDs that the broker coordinates.
        markers: the markers that the coordinator must write.
    """

    __slots__ = ("_timers_armed", "broker", "markers", "producer_ids", "states")

    broker: Final[CoordinatorContext]
    producer_ids: Final[ProducerIds]
    states: Final[TransactionStateManager]
    markers: Final[TransactionMarkerChannelManager]

    def __init__(self, broker: CoordinatorContext, replicas: InternalTopics, producer_ids: ProducerIds) -> None:
        self.broker = broker
        self.producer_ids = producer_ids
        self.states = TransactionStateManager(broker, replicas, self)
        self.markers = TransactionMarkerChannelManager(broker, self.states)
        self._timers_armed = False
        broker.node.handlers.update(
            {
                InitTransactionalIdRequest: self._init_producer_id,
                AddPartitionsToTxnRequest: self._add_partitions,
                AddOffsetsToTxnRequest: self._add_offsets,
                EndTxnRequest: self._end_transaction,
            }
        )
        broker.node.timers.update({"transaction-timeouts": self._check_timeouts, "transaction-expiration": self._check_expiration})

    def continue_with(self, step: str, about: Any, error: str) -> None:
        """Perform the step that follows a write to the transaction log."""
        match step:
            case "initialized":
                self._initialized(about, error)
            case "fenced":
                self._fenced(about, error)
            case "partitions-added":
                self._partitions_added(about, error)
            case "offsets-added":
                self._offsets_added(about, error)
            case "ended":
                self._ended(about, error)
            case "timed-out":
                self._aborted_by_coordinator(about, error)
            case _:
                assert step == "completed", step
                self.markers.completed(about, error)

    # --- leadership of __transaction_state -------------------------------------------------------------------------

    def elected(self, partition: int, coordinator_epoch: int) -> None:
        """Start to coordinate the transactional IDs in a partition of `__transaction_state`, and finish the transactions whose outcome has
        already been decided (`#onElection`)."""
        self.markers.remove_partition(partition)
        cache = self.states.load(partition, coordinator_epoch)
        if not self._timers_armed and not self.broker.by_hand:
            self._timers_armed = True
            self._arm("transaction-timeouts", "transaction.abort.timed.out.transaction.cleanup.interval.ms")
            self._arm("transaction-expiration", "transaction.remove.expired.transaction.cleanup.interval.ms")
        for metadata in cache.entries.values():
            if metadata.state.is_prepared:
                self.markers.add(metadata, coordinator_epoch)

    def resigned(self, partition: int) -> None:
        """Stop coordinating the transactional IDs in a partition of `__transaction_state` (`#onResignation`)."""
        if self.states.unload(partition):
            self.markers.remove_partition(partition)

    def transaction_completed(self, partition: int, producer_id: int, *, commit: bool) -> None:
        """Do nothing, because no transaction writes to `__transaction_state`."""

    def reset(self) -> None:
        """Drop all state, because the process has ended."""
        self.states.caches.clear()
        self.markers.reset()
        self._timers_armed = False

    def disconnected(self, node: str) -> None:
        """Resend the markers to a broker, because the connection to it broke."""
        self.markers.disconnected(node)

    def _owner_error(self, transactional_id: str) -> str:
        return errors.NONE if self.states.cache_of(transactional_id) is not None else errors.NOT_COORDINATOR

    def _coordinator_epoch(self, transactional_id: str) -> int:
        cache = self.states.cache_of(transactional_id)
        return -1 if cache is None else cache.coordinator_epoch

    # --- InitProducerId --------------------------------------------------------------------------------------------

    def _init_producer_id(self, request: InitTransactionalIdRequest, sender: str) -> None:
        """Give a producer its ID and the next epoch. If the producer's predecessor left a transaction open, abort this transaction
        (`#handleInitProducerId`)."""
        error = self._check_init(request)
        if error != errors.NONE:
            self._respond_init(sender, request, error)
            return
        self.states.clients[request.transactional_id] = sender
        now = self.broker.journal.now
        cache = self.states.cache_of(request.transactional_id)
        assert cache is not None, "checked before"
        metadata = cache.entries.get(request.transactional_id)
        if metadata is None:
            producer_id = self.producer_ids.generate_producer_id()
            if producer_id < 0:
                self._respond_init(sender, request, errors.COORDINATOR_LOAD_IN_PROGRESS)
                return
            metadata = cache.entries[request.transactional_id] = TransactionMetadata(
                request.transactional_id, producer_id, request.timeout_us, now
            )
        error = self._prepare_init(metadata, request, sender)
        if error != errors.NONE:
            self._respond_init(sender, request, error)

    def _check_init(self, request: InitTransactionalIdRequest) -> str:
        limit = self.broker.settings.us("transaction.max.timeout.ms", broker=self.broker.id)
        if not request.transactional_id:
            return errors.INVALID_REQUEST
        if not 0 < request.timeout_us <= limit:
            return errors.INVALID_TRANSACTION_TIMEOUT
        if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_PRODUCER_EPOCH):
            return errors.INVALID_REQUEST
        return self._owner_error(request.transactional_id)

    def _prepare_init(self, metadata: TransactionMetadata, request: InitTransactionalIdRequest, sender: str) -> str:
        """Prepare and write the transition for an InitProducerId request, or return the error (`#prepareInitProducerIdTransit`)."""
        transactional_id, now = request.transactional_id, self.broker.journal.now
        epoch = self._coordinator_epoch(transactional_id)
        if metadata.pending_state is not None:
            return errors.CONCURRENT_TRANSACTIONS
        if (error := metadata.error_of_expected(request.producer_id, request.producer_epoch)) != errors.NONE:
            return error
        if metadata.state.is_prepared:
            return errors.CONCURRENT_TRANSACTIONS
        if metadata.state is TransactionState.ONGOING:
            if metadata.producer_epoch >= MAX_EPOCH:
                return errors.UNKNOWN_SERVER_ERROR
            self._abort_fenced(metadata, "fenced", (epoch, sender, request))
            return errors.NONE
        if metadata.is_epoch_exhausted and request.producer_epoch in (NO_PRODUCER_EPOCH, metadata.producer_epoch):
            producer_id = self.producer_ids.generate_producer_id()
            if producer_id < 0:
                return errors.COORDINATOR_LOAD_IN_PROGRESS
            named = request.producer_epoch != NO_PRODUCER_EPOCH
            prepared = metadata.prepare_new_producer_id(producer_id, request.timeout_us, now, record_last_epoch=named)
        else:
            incremented = metadata.prepare_increment_epoch(request.timeout_us, request.producer_epoch, now)
            if incremented is None:
                return errors.PRODUCER_FENCED
            prepared = incremented
        self.states.append(transactional_id, epoch, prepared, "initialized", (sender, request))
        return errors.NONE

    def _initialized(self, about: tuple[str, InitTransactionalIdRequest], error: str) -> None:
        sender, request = about
        metadata = self.states.get(request.transactional_id) if error == errors.NONE else None
        if metadata is None:
            self._respond_init(sender, request, error)
            return
        self.broker.node.reply(
            sender, InitTransactionalIdResponse(request.correlation, errors.NONE, metadata.producer_id, metadata.producer_epoch)
        )

    def _fenced(self, about: tuple[int, str, InitTransactionalIdRequest], error: str) -> None:
        """Respond when the log has committed the decision to abort a predecessor's transaction. The producer repeats its request until the
        abort is complete."""
        coordinator_epoch, sender, request = about
        self._aborted_by_coordinator((coordinator_epoch, request.transactional_id), error)
        self._respond_init(sender, request, errors.CONCURRENT_TRANSACTIONS if error == errors.NONE else error)

    def _respond_init(self, sender: str, request: InitTransactionalIdRequest, error: str) -> None:
        error = self._refuse("InitProducerId", request.transactional_id, error)
        self.broker.node.reply(sender, InitTransactionalIdResponse(request.correlation, error, NO_PRODUCER_ID, NO_PRODUCER_EPOCH))

    # --- AddPartitionsToTxn ----------------------------------------------------------------------------------------

    def _add_partitions(self, request: AddPartitionsToTxnRequest, sender: str) -> None:
        """Add partitions to a transaction, or verify that the transaction contains them (`#handleAddPartitionsToTransaction`)."""
        unknown = frozenset(tp for tp in request.partitions if tp.partition >= len(self.broker.metadata_cache.topic_leaders(tp.topic)))
        if unknown:
            self._respond_add_partitions(sender, request, errors.UNKNOWN_TOPIC_OR_PARTITION, unknown)
            return
        error = self._add_partitions_error(request)
        metadata = self.states.get(request.transactional_id)
        if error != errors.NONE or metadata is None or request.verify_only:
            self._respond_add_partitions(sender, request, error)
            return
        if metadata.state is TransactionState.ONGOING and set(request.partitions) <= set(metadata.partitions):
            self._respond_add_partitions(sender, request, errors.NONE)
            return
        transit = metadata.prepare_add_partitions(request.partitions, self.broker.journal.now, version=request.version)
        epoch = self._coordinator_epoch(request.transactional_id)
        self.states.append(request.transactional_id, epoch, transit, "partitions-added", (sender, request))

    def _add_partitions_error(self, request: AddPartitionsToTxnRequest) -> str:
        if not request.transactional_id:
            return errors.INVALID_REQUEST
        if (error := self._owner_error(request.transactional_id)) != errors.NONE:
            return error
        metadata = self.states.get(request.transactional_id)
        if metadata is None:
            return errors.INVALID_PRODUCER_ID_MAPPING
        if self.broker.release.tests_pending_first and metadata.pending_state is not None and not request.verify_only:
            return errors.CONCURRENT_TRANSACTIONS
        if metadata.producer_id != request.producer_id:
            return errors.INVALID_PRODUCER_ID_MAPPING
        if metadata.producer_epoch != request.producer_epoch:
            return errors.PRODUCER_FENCED
        if metadata.state.is_prepared:
            return errors.CONCURRENT_TRANSACTIONS
        if request.verify_only:
            return errors.NONE if set(request.partitions) <= set(metadata.partitions) else errors.TRANSACTION_ABORTABLE
        return errors.NONE if metadata.pending_state is None else errors.CONCURRENT_TRANSACTIONS

    def _partitions_added(self, about: tuple[str, AddPartitionsToTxnRequest], error: str) -> None:
        sender, request = about
        self._respond_add_partitions(sender, request, error)

    def _respond_add_partitions(
        self, sender: str, request: AddPartitionsToTxnRequest, error: str, unknown: frozenset[TopicPartition] = frozenset()
    ) -> None:
        """Respond to AddPartitionsToTxn. If some partitions are unknown, the others get OPERATION_NOT_ATTEMPTED."""
        error = self._refuse("AddPartitionsToTxn", request.transactional_id, error)
        other = errors.OPERATION_NOT_ATTEMPTED if unknown else error
        results = tuple((tp, error if tp in unknown else other) for tp in request.partitions)
        self.broker.node.reply(sender, AddPartitionsToTxnResponse(request.correlation, request.transactional_id, results))

    # --- AddOffsetsToTxn -------------------------------------------------------------------------------------------

    def _add_offsets(self, request: AddOffsetsToTxnRequest, sender: str) -> None:
        """Add the `__consumer_offsets` partition of a group to a transaction (`KafkaApis#handleAddOffsetsToTxnRequest`)."""
        tp = self._offsets_partition(request.group)
        added = AddPartitionsToTxnRequest(request.correlation, request.transactional_id, request.producer_id, request.producer_epoch, (tp,))
        error = self._add_partitions_error(added)
        metadata = self.states.get(request.transactional_id)
        contained = metadata is not None and metadata.state is TransactionState.ONGOING and tp in metadata.partitions
        if error != errors.NONE or metadata is None or contained:
            self._offsets_added((sender, request), error)
            return
        transit = metadata.prepare_add_partitions((tp,), self.broker.journal.now, version=added.version)
        epoch = self._coordinator_epoch(request.transactional_id)
        self.states.append(request.transactional_id, epoch, transit, "offsets-added", (sender, request))

    def _offsets_partition(self, group: str) -> TopicPartition:
        """Return the partition of `__consumer_offsets` that a group belongs to, even if the topic does not exist yet."""
        known = len(self.broker.metadata_cache.topic_leaders(GROUP_METADATA_TOPIC))
        count = known or self.broker.settings.integer("offsets.topic.num.partitions", broker=self.broker.id)
        return TopicPartition(GROUP_METADATA_TOPIC, partition_for(group, count))

    def _offsets_added(self, about: tuple[str, AddOffsetsToTxnRequest], error: str) -> None:
        sender, request = about
        error = self._refuse("AddOffsetsToTxn", request.transactional_id, error)
        self.broker.node.reply(sender, AddOffsetsToTxnResponse(request.correlation, error))

    # --- EndTxn ----------------------------------------------------------------------------------------------------

    def _end_transaction(self, request: EndTxnRequest, sender: str) -> None:
        """Decide whether a transaction is committed or aborted. When the decision is in the log, the coordinator writes the markers
        (`#endTransaction`)."""
        error = self._owner_error(request.transactional_id) if request.transactional_id else errors.INVALID_REQUEST
        metadata = self.states.get(request.transactional_id)
        if error == errors.NONE and metadata is None:
            error = errors.INVALID_PRODUCER_ID_MAPPING
        if error != errors.NONE or metadata is None:
            self._respond_end(sender, request, error)
            return
        decision = end_txn_answer(metadata, request, self.broker.release)
        if decision is not None:
            self._respond_end(sender, request, decision, metadata)
            return
        next_producer_id = NO_PRODUCER_ID
        if request.version >= 2 and metadata.is_epoch_exhausted:
            next_producer_id = self.producer_ids.generate_producer_id()
            if next_producer_id < 0:
                self._respond_end(sender, request, errors.COORDINATOR_LOAD_IN_PROGRESS)
                return
        empty = metadata.state is not TransactionState.ONGOING
        transit = metadata.prepare_end(
            COMMIT if request.commit else ABORT,
            self.broker.journal.now,
            version=request.version,
            next_producer_id=next_producer_id,
            empty=empty,
        )
        self.states.append(request.transactional_id, self._coordinator_epoch(request.transactional_id), transit, "ended", (sender, request))

    def _ended(self, about: tuple[str, EndTxnRequest], error: str) -> None:
        """Respond to the producer and write the markers, because the log has committed the decision to commit or abort."""
        sender, request = about
        metadata = self.states.get(request.transactional_id)
        self._respond_end(sender, request, error, metadata)
        if error == errors.NONE and metadata is not None:
            self.markers.add(metadata, self._coordinator_epoch(request.transactional_id))

    def _respond_end(self, sender: str, request: EndTxnRequest, error: str, metadata: TransactionMetadata | None = None) -> None:
        error = self._refuse("EndTxn", request.transactional_id, error)
        producer_id, epoch = NO_PRODUCER_ID, NO_PRODUCER_EPOCH
        if error == errors.NONE and request.version >= 2 and metadata is not None:
            producer_id, epoch = metadata.producer_id, metadata.producer_epoch
            if metadata.next_producer_id != NO_PRODUCER_ID:
                producer_id, epoch = metadata.next_producer_id, 0
        self.broker.node.reply(sender, EndTxnResponse(request.correlation, error, producer_id, epoch))

    # --- periodic checks -------------------------------------------------------------------------------------------

    def _arm(self, timer: str, setting: str) -> None:
        self.broker.node.timer(self.broker.settings.us(setting, broker=self.broker.id), timer)

    def _check_timeouts(self, _: object) -> None:
        """Abort the transactions that have exceeded transaction.timeout.ms (`#abortTimedOutTransactions`)."""
        self._arm("transaction-timeouts", "transaction.abort.timed.out.transaction.cleanup.interval.ms")
        for metadata in self.states.timed_out(self.broker.journal.now):
            self.abort_timed_out(metadata)

    def abort_timed_out(self, metadata: TransactionMetadata) -> None:
        """Fence the producer of a transaction that has timed out, and abort the transaction."""
        transactional_id = metadata.transactional_id
        epoch, journal = self._coordinator_epoch(transactional_id), self.broker.journal
        if metadata.producer_epoch >= MAX_EPOCH:
            return
        journal.blame(self._why_open(metadata))
        journal.cause = journal.emit(
            events.TransactionTimedOut.kind, self.broker.id, transactional_id, metadata.producer_id, metadata.producer_epoch,
            journal.now - metadata.start_time,
        )  # fmt: skip
        if self.broker.release.timeout_fences_producer:
            self._abort_fenced(metadata, "timed-out", (epoch, transactional_id))
        else:
            transit = metadata.prepare_end(ABORT, journal.now, version=0)
            self.states.append(transactional_id, epoch, transit, "timed-out", (epoch, transactional_id))

    def _why_open(self, metadata: TransactionMetadata) -> tuple[int, ...]:
        """Return the events because of which a transaction is still open: those that kept its client silent, or the one that opened it."""
        states, broker = self.states, self.broker
        client, opened = states.clients.get(metadata.transactional_id), states.opened.get(metadata.transactional_id, 0)
        silent = () if client is None else broker.node.why_silent(client, metadata.start_time)
        return tuple(dict.fromkeys((*silent, *((opened,) if opened else ()))))

    def _abort_fenced(self, metadata: TransactionMetadata, step: str, about: tuple[Any, ...]) -> None:
        """Abort an open transaction in the new epoch, which fences its producer (`#endTransaction` with `isFromClient` false)."""
        transit = metadata.prepare_fence(self.broker.journal.now, bump_again=not self.broker.release.fence_survives_failed_append)
        self.states.append(metadata.transactional_id, about[0], transit, step, about)

    def _aborted_by_coordinator(self, about: tuple[int, str], error: str) -> None:
        coordinator_epoch, transactional_id = about
        metadata = self.states.get(transactional_id)
        if metadata is None or self._coordinator_epoch(transactional_id) != coordinator_epoch:
            return
        if error == errors.NONE:
            self.markers.add(metadata, coordinator_epoch)
        else:
            metadata.has_failed_epoch_fence = self.broker.release.timeout_fences_producer

    def _check_expiration(self, _: object) -> None:
        """Remove the IDs that have had no transaction for transactional.id.expiration.ms."""
        self._arm("transaction-expiration", "transaction.remove.expired.transaction.cleanup.interval.ms")
        expiration = self.broker.settings.us("transactional.id.expiration.ms", broker=self.broker.id)
        self.states.remove_expired(self.broker.journal.now, expiration)

    def _refuse(self, request: str, transactional_id: str, error: str) -> str:
        """Record that a request was refused. Return the error that this release sends to the client."""
        if error == errors.PRODUCER_FENCED and not self.broker.release.answers_producer_fenced:
            error = errors.INVALID_PRODUCER_EPOCH
        if error != errors.NONE:
            self.broker.journal.emit(events.TransactionRefused.kind, self.broker.id, transactional_id, request, error)
        return error
