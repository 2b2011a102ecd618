"""Writes the markers of transactions that the coordinator has decided to commit or abort, and then completes the transactions (Kafka:
`TransactionMarkerChannelManager`).

Only one request to each broker is in flight at a time. Each request carries the markers of all transactions for the partitions that the
broker leads. The manager resends markers until each partition has one, so a partition might get more than one.
"""

from __future__ import annotations

from typing import Final

from core.kafka import errors, events
from core.kafka.ids import NO_LEADER, TopicPartition, broker_address
from core.kafka.log.control_record import ABORT, COMMIT, EndTransactionMarker
from core.kafka.transaction.coordinator_context import CoordinatorContext
from core.kafka.transaction.transaction_messages import TxnMarkerEntry, WriteTxnMarkersRequest, WriteTxnMarkersResponse
from core.kafka.transaction.transaction_metadata import TransactionMetadata, TransactionTransit
from core.kafka.transaction.transaction_state import TransactionState
from core.kafka.transaction.transaction_state_manager import TransactionStateManager
from core.sim.units import US_PER_MS

RETRY: Final = 100 * US_PER_MS
"""The delay, in µs, before the coordinator tries again to send markers that failed or that belong to a partition whose leader is not
known."""

RETRIED: Final = frozenset(
    {
        errors.UNKNOWN_TOPIC_OR_PARTITION,
        errors.NOT_LEADER_OR_FOLLOWER,
        errors.NOT_ENOUGH_REPLICAS,
        errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        errors.REQUEST_TIMED_OUT,
        errors.KAFKA_STORAGE_ERROR,
    }
)
"""The errors after which the coordinator sends a marker again, to the broker that is the leader at that time
(`TransactionMarkerRequestCompletionHandler`).
"""

CANCELING: Final = frozenset({errors.INVALID_PRODUCER_EPOCH, errors.TRANSACTION_COORDINATOR_FENCED})
"""The errors after which the coordinator sends no more markers for the transaction, because a newer coordinator or epoch has taken over."""


DONE: Final = frozenset({errors.NONE, errors.UNSUPPORTED_VERSION})
"""The results after which a partition needs no further marker. UNSUPPORTED_VERSION comes from a leader whose message format is too old for
transactions."""


class PendingMarkers:
    """A transaction that the coordinator has decided to commit or abort, and that is waiting for its markers.

    Attributes:
        transactional_id: the transactional.id.
        coordinator_epoch: the coordinator epoch in which the coordinator decided to commit or abort the transaction.
        transit: the state that follows when every partition has its marker.
        entry: the marker, and the partitions that do not have it yet.
    """

    __slots__ = ("coordinator_epoch", "entry", "transactional_id", "transit")

    transactional_id: Final[str]
    coordinator_epoch: Final[int]
    transit: Final[TransactionTransit]

    def __init__(self, coordinator_epoch: int, transit: TransactionTransit, entry: TxnMarkerEntry) -> None:
        self.transactional_id = entry.transactional_id
        self.coordinator_epoch = coordinator_epoch
        self.transit = transit
        self.entry = entry


class TransactionMarkerChannelManager:
    """The markers that one coordinator must write.

    Attributes:
        pending: the transactions that are waiting for markers, by transactional.id.
        in_flight: for each broker, the request in flight, as (correlation ID, entries).
    """

    __slots__ = ("_retry_armed", "broker", "in_flight", "pending", "states")

    broker: Final[CoordinatorContext]
    states: Final[TransactionStateManager]
    pending: Final[dict[str, PendingMarkers]]
    in_flight: Final[dict[int, tuple[int, tuple[TxnMarkerEntry, ...]]]]

    def __init__(self, broker: CoordinatorContext, states: TransactionStateManager) -> None:
        self.broker = broker
        self.states = states
        self.pending = {}
        self.in_flight = {}
        self._retry_armed = False
        broker.node.handlers[WriteTxnMarkersResponse] = self._handle_response
        broker.node.timers["transaction-markers"] = self._retry_due
        broker.node.timers["transaction-markers-timeout"] = self._timed_out
        broker.node.timers["transaction-completion"] = self._complete

    def reset(self) -> None:
        """Drop all state, because the process has ended."""
        self.pending.clear()
        self.in_flight.clear()
        self._retry_armed = False

    def remove_partition(self, partition: int) -> None:
        """Forget the markers for the transactions in a partition of `__transaction_state` (`#removeMarkersForTxnTopicPartition`)."""
        for transactional_id in [each for each in self.pending if self.states.partition_for(each) == partition]:
            del self.pending[transactional_id]

    def add(self, metadata: TransactionMetadata, coordinator_epoch: int) -> None:
        """Write the markers of a transaction that the coordinator has decided to commit or abort, and then complete the transaction
        (`#addTxnMarkersToSend`).
        """
        commit = metadata.state is TransactionState.PREPARE_COMMIT
        transit = metadata.prepare_complete(self.broker.journal.now)
        marker = EndTransactionMarker(COMMIT if commit else ABORT, coordinator_epoch)
        entry = TxnMarkerEntry(
            metadata.transactional_id, metadata.producer_id, metadata.producer_epoch, marker, metadata.partitions, metadata.client_version
        )
        self.pending[metadata.transactional_id] = PendingMarkers(coordinator_epoch, transit, entry)
        self._complete_if_done(metadata.transactional_id)
        self._send_all()

    # --- sending ---------------------------------------------------------------------------------------------------

    def _send_all(self) -> None:
        """Send the missing markers to each broker that has no request in flight."""
        by_broker: dict[int, list[TxnMarkerEntry]] = {}
        waits = False
        for pending in list(self.pending.values()):
            for tp in pending.entry.partitions:
                leader = self._leader_of(tp)
                if leader is None:
                    self._skip(pending, tp)
                elif leader == NO_LEADER:
                    waits = True
                elif leader not in self.in_flight:
                    entries = by_broker.setdefault(leader, [])
                    if entries and entries[-1].transactional_id == pending.transactional_id:
                        entries[-1] = entries[-1]._replace(partitions=(*entries[-1].partitions, tp))
                    else:
                        entries.append(pending.entry._replace(partitions=(tp,)))
        for leader, entries in by_broker.items():
            correlation = self.broker.next_correlation()
            self.in_flight[leader] = (correlation, tuple(entries))
            self.broker.node.send(broker_address(leader), WriteTxnMarkersRequest(correlation, tuple(entries)))
            self.broker.node.timer(self.broker.config.request_timeout, "transaction-markers-timeout", (leader, correlation))
        if waits:
            self._retry_later()

    def _leader_of(self, tp: TopicPartition) -> int | None:
        """Return the broker to send a marker to; NO_LEADER while the partition has no leader, and None if the partition must be skipped."""
        leaders = self.broker.metadata_cache.topic_leaders(tp.topic)
        if tp.partition >= len(leaders):
            return None
        leader = leaders[tp.partition][0]
        if leader == NO_LEADER:
            return None if self.broker.release.skips_markers_of_offline_partitions else NO_LEADER
        return leader if self.broker.metadata_cache.has_alive_broker(leader) else NO_LEADER

    def _skip(self, pending: PendingMarkers, tp: TopicPartition) -> None:
        """Skip the marker for a partition, because this broker assumes that the partition has been deleted."""
        journal = self.broker.journal
        journal.emit(events.MarkerSkipped.kind, self.broker.id, tp.topic, tp.partition, pending.transactional_id, pending.entry.producer_id)
        self._written(pending, tp)

    def _retry_later(self) -> None:
        if not self._retry_armed:
            self._retry_armed = True
            self.broker.node.timer(RETRY, "transaction-markers")

    def _retry_due(self, _: object) -> None:
        self._retry_armed = False
        self._send_all()

    def _timed_out(self, about: object) -> None:
        """Resend the markers from a request that got no response in time."""
        assert isinstance(about, tuple)
        leader, correlation = about
        known = self.in_flight.get(leader)
        if known is not None and known[0] == correlation:
            self.disconnected(broker_address(leader))

    def disconnected(self, node: str) -> None:
        """Resend the markers that were in flight on a connection that broke."""
        for broker in [broker for broker in self.in_flight if broker_address(broker) == node]:
            del self.in_flight[broker]
            self._retry_later()

    # --- answers ---------------------------------------------------------------------------------------------------

    def _handle_response(self, response: WriteTxnMarkersResponse, sender: str) -> None:
        """Record which markers have been written, and resend the others (`TransactionMarkerRequestCompletionHandler#onComplete`)."""
        broker = int(sender[1:])
        known = self.in_flight.get(broker)
        if known is None or known[0] != response.correlation:
            return
        del self.in_flight[broker]
        sent = {(entry.producer_id, tp): entry for entry in known[1] for tp in entry.partitions}
        for producer_id, tp, error in response.results:
            entry = sent[producer_id, tp]
            pending = self.pending.get(entry.transactional_id)
            if pending is None:
                continue
            if pending.entry.marker != entry.marker or pending.entry.producer_epoch != entry.producer_epoch:
                # an answer to the markers of a former coordinator epoch or transaction
                if not self.broker.release.ignores_late_marker_answers:
                    del self.pending[entry.transactional_id]
            elif error in CANCELING:
                del self.pending[entry.transactional_id]
            elif error in RETRIED:
                self._retry_later()
            elif error in DONE:
                self._written(pending, tp)
            else:
                raise ValueError(f"unexpected error {error} in the response to the marker of {entry.transactional_id} for {tp}")
        if not self._retry_armed:
            self._send_all()

    def _written(self, pending: PendingMarkers, tp: TopicPartition) -> None:
        """Record that a partition needs no more markers. If no other partition of the transaction needs a marker, the transaction is
        complete."""
        left = tuple(each for each in pending.entry.partitions if each != tp)
        pending.entry = pending.entry._replace(partitions=left)
        metadata = self.states.get(pending.transactional_id)
        if metadata is not None:
            metadata.remove_partition(tp)
            self._complete_if_done(pending.transactional_id)

    def _complete_if_done(self, transactional_id: str) -> None:
        """If no partition still needs a marker, write COMPLETE_COMMIT or COMPLETE_ABORT (`#tryAppendToLog`)."""
        pending = self.pending[transactional_id]
        if not pending.entry.partitions:
            del self.pending[transactional_id]
            self._complete(pending)

    def _complete(self, pending: PendingMarkers) -> None:
        self.states.append(pending.transactional_id, pending.coordinator_epoch, pending.transit, "completed", pending, retries=True)

    def completed(self, pending: PendingMarkers, error: str) -> None:
        """Handle the result of the write that completes a transaction. If the transaction log was not available, repeat the write."""
        if error == errors.COORDINATOR_NOT_AVAILABLE:
            self.broker.node.timer(RETRY, "transaction-completion", pending)
