"""WriteTxnMarkers requests: a leader appends the markers that end transactions (Kafka: `KafkaApis#handleWriteTxnMarkersRequest`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from core.kafka import errors, events
from core.kafka.broker.context import BrokerContext
from core.kafka.broker.hosted_partitions import HostedPartitions
from core.kafka.broker.partition import Partition
from core.kafka.broker.requests.leader_append import append_as_coordinator
from core.kafka.broker.transactions.internal_topic_owner import InternalTopicOwner
from core.kafka.ids import NO_OFFSET, TopicPartition
from core.kafka.log.control_record import MARKER_BYTES
from core.kafka.log.leader_term import FetchedRange
from core.kafka.log.replica_log import ReplicaLog
from core.kafka.transaction.transaction_messages import TxnMarkerEntry, WriteTxnMarkersRequest, WriteTxnMarkersResponse


class MarkersWrite:
    """A WriteTxnMarkers request whose markers are being replicated.

    Attributes:
        owners: the coordinators, keyed by internal topic.
        results: (producer ID, partition, error) of each marker that has been written or refused.
        missing: the number of markers that have no result yet.
    """

    __slots__ = ("broker", "correlation", "missing", "owners", "results", "sender")

    broker: Final[BrokerContext]
    owners: Final[Mapping[str, InternalTopicOwner]]

    def __init__(
        self, broker: BrokerContext, owners: Mapping[str, InternalTopicOwner], sender: str, request: WriteTxnMarkersRequest
    ) -> None:
        self.broker = broker
        self.owners = owners
        self.sender = sender
        self.correlation = request.correlation
        self.missing = sum(len(entry.partitions) for entry in request.entries)
        self.results: tuple[tuple[int, TopicPartition, str], ...] = ()

    def add(self, producer_id: int, tp: TopicPartition, error: str) -> None:
        """Record the result of one marker, and respond after the last one."""
        self.results = (*self.results, (producer_id, tp, error))
        self.missing -= 1
        if not self.missing:
            self.broker.node.reply(self.sender, WriteTxnMarkersResponse(self.correlation, self.results))


class MarkerAppend:
    """One marker that is being replicated."""

    __slots__ = ("commit", "producer_id", "tp", "write")

    def __init__(self, write: MarkersWrite, producer_id: int, tp: TopicPartition, *, commit: bool) -> None:
        self.write = write
        self.producer_id = producer_id
        self.tp = tp
        self.commit = commit

    def append_completed(self, error: str) -> None:
        """Record the result of appending the transaction marker. If the partition belongs to an internal topic, notify the coordinator of
        this topic that the transaction has ended on the partition.
        """
        owner = self.write.owners.get(self.tp.topic)
        if error == errors.NONE and owner is not None:
            owner.transaction_completed(self.tp.partition, self.producer_id, commit=self.commit)
        self.write.add(self.producer_id, self.tp, error)


def write_txn_markers(
    broker: BrokerContext,
    hosted: HostedPartitions,
    owners: Mapping[str, InternalTopicOwner],
    sender: str,
    request: WriteTxnMarkersRequest,
) -> None:
    """Append each marker to its partition, and respond when all are committed or refused."""
    write = MarkersWrite(broker, owners, sender, request)
    for entry in request.entries:
        for tp in entry.partitions:
            partition = hosted.online.get(tp)
            if partition is None or not partition.is_leader:
                write.add(entry.producer_id, tp, hosted.missing_error(tp))
            else:
                _append_marker(broker, partition, entry, write)


def _append_marker(broker: BrokerContext, partition: Partition, entry: TxnMarkerEntry, write: MarkersWrite) -> None:
    log, tp, marker, journal = partition.log, partition.tp, entry.marker, broker.journal
    error = _marker_error(partition, entry)
    columns = (broker.id, tp.topic, tp.partition)
    if error != errors.NONE:
        journal.emit(
            events.MarkerRefused.kind, *columns, marker.name, entry.producer_id, entry.producer_epoch, marker.coordinator_epoch, error
        )
        write.add(entry.producer_id, tp, error)
        return
    before = journal.cause
    opened = log.ensure_producer_state().entries.get(entry.producer_id)
    first = NO_OFFSET if opened is None else opened.open_from
    journal.cause = journal.emit(
        events.MarkerAppended.kind,
        *columns, log.leo, marker.name, entry.producer_id, entry.producer_epoch, marker.coordinator_epoch, first,
    )  # fmt: skip
    broker.network.disturbances.changed((tp, entry.producer_id), journal.cause)
    if first != NO_OFFSET and not marker.commits:
        broker.account.transaction_aborted(tp, _records_of_transaction(log, entry.producer_id, first))
    batch = (
        log.leo, 1, MARKER_BYTES, entry.transactional_id, 0, journal.now, entry.producer_id, entry.producer_epoch, -1, True, marker,
    )  # fmt: skip
    append_as_coordinator(
        partition, batch, journal.now + broker.config.request_timeout, MarkerAppend(write, entry.producer_id, tp, commit=marker.commits)
    )
    journal.cause = before


def _records_of_transaction(log: ReplicaLog, producer_id: int, first: int) -> tuple[FetchedRange, ...]:
    """Return the records of a producer's open transaction, which begins at offset `first`."""
    found = []
    for run in log.records.runs_from(first, log.leo):
        for batch in run.term.batches_within(max(first, run.start), run.end):
            if batch.producer_id == producer_id and batch.transactional:
                found.append(FetchedRange(batch.base, batch.base + batch.records, run.term.origin, batch.bytes))
    return tuple(found)


def _marker_error(partition: Partition, entry: TxnMarkerEntry) -> str:
    """Return the error for a marker, or NONE (`ProducerAppendInfo#appendEndTxnMarker`)."""
    if entry.producer_epoch < 0:
        return errors.UNKNOWN_SERVER_ERROR
    producers = partition.producer_state()
    must_rise = partition.broker.release.marker_epoch_must_rise and entry.version >= 2
    return producers.validate_marker(entry.producer_id, entry.producer_epoch, entry.marker.coordinator_epoch, must_rise=must_rise)
