"""The topic `__consumer_offsets`, in which group coordinators keep committed offsets (Kafka: `GroupMetadataManager`, `CoordinatorRecordHelpers`).

The content of a batch is a tuple of records. Each record is (key, value); a value of None is a tombstone.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from core.kafka.ids import TopicPartition
from core.kafka.transaction.transaction_log import BATCH_HEADER_BYTES, GROUP_METADATA_TOPIC

LOG_WRITER: Final = "group-coordinator"
"""The name that appears as the producer of the records in `__consumer_offsets`."""


class OffsetKey(NamedTuple):
    """The key of a committed offset. Compaction keeps the last value of each key."""

    group: str
    tp: TopicPartition


class CommittedOffset(NamedTuple):
    """A committed offset (Kafka: `OffsetAndMetadata`).

    Attributes:
        offset: the offset of the next record to read.
        leader_epoch: the leader epoch of the last record that was read; -1 if it is unknown.
        timestamp: the time of the commit, in µs.
        metadata: the string that the application stored with the offset.
    """

    offset: int
    leader_epoch: int
    timestamp: int
    metadata: str = ""


OffsetRecord = tuple[OffsetKey, CommittedOffset | None]
"""A record of a committed offset."""


def records_bytes(records: tuple[OffsetRecord, ...]) -> int:
    """Return the approximate size of a batch, in bytes."""
    return BATCH_HEADER_BYTES + sum(
        8 + 12 + len(key.group.encode("utf-8", "surrogatepass")) + len(key.tp.topic) + (0 if value is None else 18 + len(value.metadata))
        for key, value in records
    )


def partition_of(number: int) -> TopicPartition:
    """Return the partition of `__consumer_offsets` with the given number."""
    return TopicPartition(GROUP_METADATA_TOPIC, number)
