"""The messages between nodes. Messages are immutable tuples that are named after Kafka's requests. A timer is a message that a node sends
to itself.

Some messages have one part for each partition. If the parts have a `cause` field, this field contains the sequence number of the event that
caused the part. Otherwise, the cause of each part is the cause of the whole message. Times are in µs. An epoch or ID of -1 means that there
is none.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from core.kafka.errors import NONE
from core.kafka.ids import NO_EPOCH, NO_OFFSET, TopicPartition
from core.kafka.log.leader_term import FetchedRange, FetchedRecords, Term, fetched_ranges
from core.kafka.partition_registration import PartitionRegistration
from core.kafka.topic_spec import TopicSpec
from core.sim.journal import Column

# --- replication ---------------------------------------------------------------------------------------------------


class FetchPartition(NamedTuple):
    """The part of a fetch request for one partition: the offset to read from, the leader epoch, and the last fetched epoch."""

    tp: TopicPartition
    offset: int
    leader_epoch: int
    last_fetched_epoch: int
    cause: int


FetchPartitionFields = tuple[TopicPartition, Column, int, int, Column]
"""A `FetchPartition`, or a plain tuple of its fields. Creating the tuple is five times as fast as creating a `FetchPartition`."""


class FetchRequest(NamedTuple):
    """A follower's fetch (KIP-227).

    Attributes:
        correlation: the correlation ID.
        follower: the broker ID of the follower.
        fetcher: the number of the follower's fetcher.
        broker_epoch: the broker epoch of the follower.
        full: whether the fetch starts a new fetch session.
        changed: the partitions that are new in the session, or whose state has changed since the last fetch.
        forgotten: the partitions that have left the fetch session.
        max_wait: replica.fetch.wait.max.ms, in µs.
        min_bytes: replica.fetch.min.bytes.
        max_bytes: replica.fetch.response.max.bytes.
        partition_max_bytes: replica.fetch.max.bytes.
        max_records: the maximum number of records per partition, in by-hand mode only; 0 means no limit.
    """

    correlation: int
    follower: int
    fetcher: int
    broker_epoch: int
    full: bool
    changed: tuple[FetchPartitionFields, ...]
    forgotten: tuple[TopicPartition, ...]
    max_wait: int
    min_bytes: int
    max_bytes: int
    partition_max_bytes: int
    max_records: int


class FetchedPartition(NamedTuple):
    """The part of a fetch response for one partition. If the part contains a diverging epoch, it contains no records.

    With the isolation level read_committed, `aborted` contains (producer ID, first offset) for each aborted transaction that might overlap
    the records.
    """

    tp: TopicPartition
    error: str
    offset: int
    records: tuple[FetchedRange, ...]
    high_watermark: int
    log_start: int
    diverging_epoch: int
    diverging_end: int
    cause: int
    aborted: tuple[tuple[int, int], ...] = ()


FetchFailure = tuple[str, int, int]
"""The reason why a leader returns no records to a follower: an error, or the point where the logs diverge (epoch, end offset). If the
leader returns an error, the epoch and the end offset are -1.
"""

FetchedPartitionFields = tuple[TopicPartition, FetchFailure | None, Column, FetchedRecords | None, Column, int, Column]
"""A `FetchedPartition` in the form in which it is sent to followers: partition, failure, offset, records, high watermark, log start, and
cause.

Followers get a plain tuple, because creating a plain tuple is five times as fast as creating a `FetchedPartition`.
"""

FAILURE: Final = 1
"""The place of the failure in a `FetchedPartitionFields`. A compiled engine reads one field faster than it takes a tuple apart."""

RECORDS: Final = 3
"""The place of the records in a `FetchedPartitionFields`."""

HIGH_WATERMARK: Final = 4
"""The place of the high watermark in a `FetchedPartitionFields`."""


class FetchResponse(NamedTuple):
    """The response to a follower's fetch. The response contains only partitions that have changed.

    Attributes:
        correlation: the correlation ID.
        fetcher: the number of the follower's fetcher.
        error: FETCH_SESSION_ID_NOT_FOUND if the leader does not have the session.
        partitions: the part of the response for each partition.
        corrupt: whether bits of the records were flipped in transit, so that every checksum fails; in by-hand mode only.
    """

    correlation: int
    fetcher: int
    error: str
    partitions: tuple[FetchedPartitionFields, ...]
    corrupt: bool = False

    def parts(self) -> tuple[FetchedPartition, ...]:
        """Return the response's part for each partition as a `FetchedPartition` instead of a plain tuple."""
        return tuple(
            FetchedPartition(tp, error, offset, tuple(fetched_ranges(records)), high_watermark, log_start, diverging, end, cause)
            for tp, failure, offset, records, high_watermark, log_start, cause in self.partitions
            for error, diverging, end in (failure or (NONE, NO_EPOCH, NO_OFFSET),)
        )


class OffsetsForLeaderEpochRequest(NamedTuple):
    """An OffsetsForLeaderEpoch request. Each item is (partition, current leader epoch, requested epoch)."""

    correlation: int
    follower: int
    fetcher: int
    partitions: tuple[tuple[TopicPartition, int, int], ...]


class OffsetsForLeaderEpochResponse(NamedTuple):
    """The response to OffsetsForLeaderEpoch. Each item is (partition, error, epoch, end offset) for a requested partition."""

    correlation: int
    fetcher: int
    partitions: tuple[tuple[TopicPartition, str, int, int], ...]


LATEST: Final = -1
"""The timestamp in ListOffsets that requests the latest offset."""


class ListOffsetsRequest(NamedTuple):
    """A ListOffsets request for one partition. If `replica` is -1, the sender is a consumer. The response has the same `fetcher` as the
    request.

    `timestamp` is LATEST or a time in µs. If `timestamp` is a time, the response contains the offset of the first record at or after this
    time. With `read_committed`, records at or above the last stable offset are ignored.
    """

    correlation: int
    replica: int
    fetcher: int
    tp: TopicPartition
    leader_epoch: int
    timestamp: int = LATEST
    read_committed: bool = False


class ListOffsetsResponse(NamedTuple):
    """The response to ListOffsets: the earliest and the latest offset.

    The latest offset is the LEO for a replica, and the high watermark for a consumer.

    With OFFSET_NOT_AVAILABLE (KIP-207), only the earliest offset is valid. `found` is the offset of the first record at or after
    the requested time; NO_OFFSET if there is none or the request contains no time.
    """

    correlation: int
    fetcher: int
    tp: TopicPartition
    error: str
    earliest: int
    latest: int
    found: int = NO_OFFSET


# --- clients -------------------------------------------------------------------------------------------------------


class ApiVersionsRequest(NamedTuple):
    """A client's request for the finalized feature levels."""


class ApiVersionsResponse(NamedTuple):
    """The response to ApiVersions: the finalized level of `transaction.version`, and the broker's metadata offset, which is the epoch of
    the features."""

    epoch: int
    transaction_version: int


class MetadataRequest(NamedTuple):
    """A client's request for the partition leaders of one or more topics."""

    correlation: int
    topic: str
    others: tuple[str, ...] = ()


class MetadataResponse(NamedTuple):
    """The response to a metadata request: (leader, leader epoch) for each partition; empty for an unknown topic.

    `error` is UNKNOWN_TOPIC_OR_PARTITION if the broker knows that the topic was deleted. `others` has (topic, leaders, error) for each
    topic in the request's `others`. `brokers` are the brokers that the broker considers alive. `reliable_epochs` and `topic_ids` say what
    brokers of this release put into the response (`MetadataResponse#hasReliableLeaderEpochs`, KIP-516).
    """

    correlation: int
    topic: str
    leaders: tuple[tuple[int, int], ...]
    error: str = "NONE"
    others: tuple[tuple[str, tuple[tuple[int, int], ...], str], ...] = ()
    brokers: tuple[int, ...] = ()
    reliable_epochs: bool = True
    topic_ids: bool = True


class ProduceRequest(NamedTuple):
    """A producer's request to append a batch to one partition.

    Attributes:
        correlation: the correlation ID.
        producer: the producer's name.
        tp: the partition.
        records: the number of records in the batch.
        bytes: the total size of the records.
        acks: the acknowledgments that the batch requires: 0, 1, or -1 for all.
        timeout: request.timeout.ms, in µs.
        batch_id: the number of the batch among the producer's batches, by which the durability account recognizes retries.
        attempt: the number of the attempt, counted from 1.
        producer_id: the id of an idempotent producer, or -1. Brokers recognize retries by the producer id, the producer epoch, and the
            first sequence number.
        producer_epoch: the producer epoch, or -1.
        first_sequence: the sequence number of the first record, or -1.
        timestamp: the time when the batch was created, according to the producer's clock (CreateTime), in µs; -1 if that clock is correct.
        transactional_id: the transactional.id of a transactional batch; empty for any other batch.
        adds_partition: whether the leader adds the partition to the transaction (Produce v12, transaction.version 2).
        content: the keys and values of the records; None if they do not matter.
    """

    correlation: int
    producer: str
    tp: TopicPartition
    records: int
    bytes: int
    acks: int
    timeout: int
    batch_id: int
    attempt: int
    producer_id: int = -1
    producer_epoch: int = -1
    first_sequence: int = -1
    timestamp: int = -1
    transactional_id: str = ""
    adds_partition: bool = False
    content: object = None


class ProduceResponse(NamedTuple):
    """The response to a produce request. `term` is the leader's term in which the offsets were assigned.

    `log_start` is the log start offset of a leader that refuses the batch; -1 if it is unknown. From the log start offset, the producer can
    tell whether retention has deleted its records.
    """

    correlation: int
    tp: TopicPartition
    error: str
    base: int
    term: Term | None
    log_start: int = -1


class InitProducerIdRequest(NamedTuple):
    """An idempotent producer's request to any broker for a producer ID. `producer` is the producer's name, for the journal."""

    correlation: int
    producer: str


class InitProducerIdResponse(NamedTuple):
    """The response that assigns a unique producer ID, with an epoch of 0."""

    correlation: int
    producer_id: int


class ConsumerFetchRequest(NamedTuple):
    """A consumer's fetch. Each item is (partition, position, leader epoch) for a partition that the consumer reads from this broker.

    `rack` is the consumer's client.rack. The rack is empty if the consumer has none, and None if the consumer's release does not send a
    rack (before 2.4). With `read_committed`, the response contains only records below the last stable offset. `min_bytes` is
    fetch.min.bytes, and `partition_max_bytes` is max.partition.fetch.bytes.
    """

    correlation: int
    consumer: str
    partitions: tuple[tuple[TopicPartition, int, int], ...]
    max_wait: int
    rack: str | None = None
    read_committed: bool = False
    min_bytes: int = 1
    partition_max_bytes: int = 1_048_576


class ConsumerFetchResponse(NamedTuple):
    """The response to a consumer's fetch.

    `preferred` contains (partition, follower) for each partition that the consumer should read from a follower, according to the leader
    (KIP-392).
    """

    correlation: int
    partitions: tuple[FetchedPartition, ...]
    preferred: tuple[tuple[TopicPartition, int], ...] = ()


# --- the controller ------------------------------------------------------------------------------------------------


class BrokerRegistrationRequest(NamedTuple):
    """The registration of a broker process with the controller (`BrokerRegistration`).

    Attributes:
        broker: the broker ID.
        incarnation: a new number for each start of the process.
        clean: whether the broker found its clean-shutdown file.
        directories: the broker's working log directories.
    """

    broker: int
    incarnation: int
    clean: bool
    directories: tuple[str, ...] = ()


class BrokerRegistrationResponse(NamedTuple):
    """The response to a registration: the broker epoch, or an error."""

    error: str
    broker_epoch: int


class BrokerHeartbeatRequest(NamedTuple):
    """A broker's heartbeat (`BrokerHeartbeat`).

    Attributes:
        broker: the broker ID.
        broker_epoch: the epoch of the broker's registration.
        metadata_offset: the end of the part of the metadata log that the broker has read.
        want_shutdown: whether the broker wants to shut down.
        offline_dirs: the broker's failed log directories (KIP-858).
    """

    broker: int
    broker_epoch: int
    metadata_offset: int
    want_shutdown: bool
    offline_dirs: tuple[str, ...] = ()


class BrokerHeartbeatResponse(NamedTuple):
    """The response to a heartbeat: whether the broker is fenced, whether it can stop now, and the failed directories in the heartbeat."""

    error: str
    fenced: bool
    may_shut_down: bool
    offline_dirs: tuple[str, ...] = ()


class AssignReplicasToDirsRequest(NamedTuple):
    """A report from a broker that has several log directories. The report says which of the broker's replicas each directory contains."""

    broker: int
    broker_epoch: int
    assignments: tuple[tuple[TopicPartition, str], ...]


class MetadataFetchRequest(NamedTuple):
    """A broker's fetch of the metadata log from an offset. The controller responds when there are more metadata records."""

    broker: int
    offset: int


class MetadataFetchResponse(NamedTuple):
    """The response to a metadata fetch: the exclusive end of the committed metadata log."""

    end: int


class CreateTopicsRequest(NamedTuple):
    """A broker's request to create an internal topic (`CreateTopicsRequest`)."""

    topic: TopicSpec


class CreateTopicsResponse(NamedTuple):
    """The response to a request to create a topic: the name of the topic, and an error code."""

    topic: str
    error: str


class AllocateProducerIdsRequest(NamedTuple):
    """A broker's request for a block of producer IDs."""

    broker: int


class AllocateProducerIdsResponse(NamedTuple):
    """The response to a request for producer IDs: a block of `size` producer IDs that begins with `start`."""

    start: int
    size: int


class AlterPartitionItem(NamedTuple):
    """A leader's proposal for the ISR of one partition, with the members' broker epochs (-1 if the leader does not know the epoch).

    `recovering` says whether the leader reports RECOVERING (KIP-704). Kafka's leaders report RECOVERED when they become leader
    (`Partition#makeLeader`).
    """

    tp: TopicPartition
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    broker_epochs: tuple[int, ...]
    cause: int
    recovering: bool = False


class AlterPartitionRequest(NamedTuple):
    """A broker's batch of ISR proposals."""

    correlation: int
    broker: int
    broker_epoch: int
    items: tuple[AlterPartitionItem, ...]


class AlterPartitionResponse(NamedTuple):
    """The response to ISR proposals. Each item is (partition, error, new registration, cause); the field `error` of the response applies to
    all items.
    """

    correlation: int
    error: str
    items: tuple[tuple[TopicPartition, str, PartitionRegistration | None, int], ...]


class NotController(NamedTuple):
    """The response from a voter that is not the active controller: the leader that the voter knows ("" if none), and the voter's epoch."""

    leader: str
    epoch: int


# --- proxies -------------------------------------------------------------------------------------------------------

PROXIED: Final = frozenset({ProduceRequest, ConsumerFetchRequest, MetadataRequest, InitProducerIdRequest})
"""The requests that a proxy between clients and brokers can duplicate or reorder."""
