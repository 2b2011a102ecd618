"""The messages that clients, brokers, and coordinators exchange for transactions. Times are in µs. An ID or epoch of -1 means that there is
none.
"""

from __future__ import annotations

from typing import NamedTuple

from core.kafka.ids import TopicPartition
from core.kafka.log.control_record import EndTransactionMarker


class FindCoordinatorRequest(NamedTuple):
    """A client's request for the coordinator of a transactional.id, or of a group if `group` is true."""

    correlation: int
    key: str
    group: bool = False


class FindCoordinatorResponse(NamedTuple):
    """The response to FindCoordinator: the broker that coordinates the transactional.id or group, or -1 if there is an error."""

    correlation: int
    key: str
    error: str
    broker: int


class InitTransactionalIdRequest(NamedTuple):
    """A producer's InitProducerId request with a transactional.id.

    Attributes:
        correlation: the correlation ID.
        producer: the producer's name, for the journal.
        transactional_id: the transactional.id.
        timeout_us: transaction.timeout.ms, in µs.
        producer_id: the producer's current ID; -1 if it has none.
        producer_epoch: the producer's current epoch; -1 if it has none.
        version: the transaction.version of the client.
    """

    correlation: int
    producer: str
    transactional_id: str
    timeout_us: int
    producer_id: int
    producer_epoch: int
    version: int


class InitTransactionalIdResponse(NamedTuple):
    """The response to InitProducerId: the producer ID and epoch to use, or -1 if there is an error."""

    correlation: int
    error: str
    producer_id: int
    producer_epoch: int


class AddPartitionsToTxnRequest(NamedTuple):
    """A request by a client or a leader to add partitions to a transaction.

    Attributes:
        correlation: the correlation ID.
        transactional_id: the transactional.id.
        producer_id: the producer ID.
        producer_epoch: the producer epoch.
        partitions: the partitions to add or to verify.
        verify_only: whether the coordinator adds nothing, and only checks that the transaction contains the partitions (KIP-890).
        version: the transaction.version of the client.
    """

    correlation: int
    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: tuple[TopicPartition, ...]
    verify_only: bool = False
    version: int = 0


class AddPartitionsToTxnResponse(NamedTuple):
    """The response to AddPartitionsToTxn: (partition, error) for each partition."""

    correlation: int
    transactional_id: str
    results: tuple[tuple[TopicPartition, str], ...]


class AddOffsetsToTxnRequest(NamedTuple):
    """A client's request to add the `__consumer_offsets` partition of a group to a transaction."""

    correlation: int
    transactional_id: str
    producer_id: int
    producer_epoch: int
    group: str


class AddOffsetsToTxnResponse(NamedTuple):
    """The response to AddOffsetsToTxn."""

    correlation: int
    error: str


class EndTxnRequest(NamedTuple):
    """A client's request to end a transaction. If `commit` is false, the transaction is aborted. `version` is the transaction.version of
    the client."""

    correlation: int
    transactional_id: str
    producer_id: int
    producer_epoch: int
    commit: bool
    version: int


class EndTxnResponse(NamedTuple):
    """The response to EndTxn. With transaction.version 2, the response contains the producer ID and epoch for the next transaction;
    otherwise, both are -1."""

    correlation: int
    error: str
    producer_id: int
    producer_epoch: int


class TxnMarkerEntry(NamedTuple):
    """The markers of one transaction for the partitions that the receiving broker leads."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    marker: EndTransactionMarker
    partitions: tuple[TopicPartition, ...]
    version: int


class WriteTxnMarkersRequest(NamedTuple):
    """A request by a coordinator or an administrator to write markers."""

    correlation: int
    entries: tuple[TxnMarkerEntry, ...]


class WriteTxnMarkersResponse(NamedTuple):
    """The response to WriteTxnMarkers: (producer ID, partition, error) for each marker."""

    correlation: int
    results: tuple[tuple[int, TopicPartition, str], ...]
