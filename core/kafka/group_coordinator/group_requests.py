"""The messages between clients and group coordinators. If there is no offset, ID, or epoch, the value is -1."""

from __future__ import annotations

from typing import Final, NamedTuple

from core.kafka.ids import TopicPartition

NO_GENERATION: Final = -1
"""The generation of a client that is not a member of the group."""

OffsetToCommit = tuple[TopicPartition, int, int]
"""A partition, the offset of the next record to read, and the leader epoch of the last record that was read (-1 if it is unknown)."""


class GroupMembership(NamedTuple):
    """The membership that a client claims in a commit: its member ID, its generation, and its group.instance.id.

    A client that assigns its partitions itself is not a member of the group, and sends the default values of all fields.
    """

    member_id: str = ""
    generation: int = NO_GENERATION
    instance_id: str = ""


NOT_A_MEMBER: Final = GroupMembership()
"""The membership of a client that assigns its partitions itself (`KafkaConsumer#assign`)."""


class OffsetCommitRequest(NamedTuple):
    """A consumer's request to commit offsets outside of a transaction.

    Attributes:
        correlation: the correlation ID.
        client: the name of the client.
        group: the ID of the group.
        membership: the membership of the client.
        offsets: the offsets to commit.
        metadata: the string that the application stores with each offset; empty if it stores none.
    """

    correlation: int
    client: str
    group: str
    membership: GroupMembership
    offsets: tuple[OffsetToCommit, ...]
    metadata: tuple[str, ...] = ()


class OffsetCommitResponse(NamedTuple):
    """The response to OffsetCommit, whose result is the same for all partitions."""

    correlation: int
    error: str


class TxnOffsetCommitRequest(NamedTuple):
    """A producer's request to commit offsets in its transaction.

    Attributes:
        correlation: the correlation ID.
        transactional_id: the transactional.id.
        producer_id: the producer ID.
        producer_epoch: the producer epoch.
        group: the ID of the group.
        membership: the membership of the consumer; ignored before KIP-447.
        offsets: the offsets to commit.
        version: the transaction.version of the client. With transaction.version 2, the group coordinator adds the group's
            `__consumer_offsets` partition to the transaction.
    """

    correlation: int
    transactional_id: str
    producer_id: int
    producer_epoch: int
    group: str
    membership: GroupMembership
    offsets: tuple[OffsetToCommit, ...]
    version: int = 0


class TxnOffsetCommitResponse(NamedTuple):
    """The response to TxnOffsetCommit, whose result is the same for all partitions."""

    correlation: int
    error: str


class OffsetFetchRequest(NamedTuple):
    """A client's request for the committed offsets of a group.

    Attributes:
        correlation: the correlation ID.
        group: the ID of the group.
        partitions: the partitions whose committed offsets the client requests.
        require_stable: whether a partition gets UNSTABLE_OFFSET_COMMIT if an open transaction contains an offset for it (KIP-447).
        membership: the member ID and the member epoch of a member that uses the consumer protocol, which the coordinator checks (KIP-848).
    """

    correlation: int
    group: str
    partitions: tuple[TopicPartition, ...]
    require_stable: bool
    membership: GroupMembership = NOT_A_MEMBER


class OffsetFetchResponse(NamedTuple):
    """The response to OffsetFetch. Each item is (partition, offset, leader epoch, error). If `error` is not NONE, there are no items.

    `metadata` contains the string that the application stored with the offset of each partition; partitions without such a string are
    omitted.
    """

    correlation: int
    error: str
    offsets: tuple[tuple[TopicPartition, int, int, str], ...]
    metadata: tuple[tuple[TopicPartition, str], ...] = ()


class OffsetDeleteRequest(NamedTuple):
    """An administrator's request to delete the committed offsets of a group for some partitions."""

    correlation: int
    group: str
    partitions: tuple[TopicPartition, ...]


class OffsetDeleteResponse(NamedTuple):
    """The response to OffsetDelete: an error for the whole request, and an error for each partition."""

    correlation: int
    error: str
    partitions: tuple[tuple[TopicPartition, str], ...]


class DeleteGroupsRequest(NamedTuple):
    """An administrator's request to delete a group."""

    correlation: int
    group: str


class DeleteGroupsResponse(NamedTuple):
    """The response to DeleteGroups."""

    correlation: int
    error: str
