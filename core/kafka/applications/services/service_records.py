"""The headers of records in services, and the ranges of records that a service holds until they are due."""

from __future__ import annotations

from typing import NamedTuple

from core.kafka.applications.processes.consuming_process import RECORD_BYTES
from core.kafka.applications.processes.processed_records import ProcessedRecords
from core.kafka.ids import TopicPartition


class DelayedRecords(NamedTuple):
    """The headers in a batch of delayed records.

    Attributes:
        topic: the topic to which the records go when they are due.
        wanted: the delay that the application requested, in µs, which can be shorter than the delay of the batch's level.
        created: the actual time when the application sent the records, regardless of the application's clock, in µs.
        before: the sum of the delays of the levels that have already held the records, in µs.
        sent_on: if another level has sent the records on, the records in the topic of that level; otherwise None.
    """

    topic: str
    wanted: int
    created: int
    before: int = 0
    sent_on: ProcessedRecords | None = None


def processed_records(content: object) -> ProcessedRecords | None:
    """Return the input records from which a process or a service made a batch; None if the batch is not their output."""
    if isinstance(content, DelayedRecords):
        return content.sent_on
    return content if isinstance(content, ProcessedRecords) else None


class RetriedRecords(NamedTuple):
    """The headers of a batch in a retry topic or a dead-letter topic. Record i in the batch is the original record at offset `first` + i.

    Attributes:
        original: the partition to which the application first produced the records.
        first: the original offset of the first record.
        tries: the number of failed tries so far.
        reason: the reason why the last try failed.
        created: the time of the first failure, in µs.
        group: the group of the retry service.
        source: the partition whose records failed, which is the original one or a partition of a retry topic.
        start: the offset of the first record in `source`.
        event: the sequence number of the event that recorded the last failed try.
    """

    original: TopicPartition
    first: int
    tries: int
    reason: str
    created: int
    group: str
    source: TopicPartition
    start: int
    event: int


class HeldRecords(NamedTuple):
    """Records [start, end) from one batch of a partition, which a service holds until they are due. Instances are sorted in the order in
    which a priority queue returns them.

    Attributes:
        due: the time when the records are due, in µs.
        partition: the number of the partition.
        start: the first offset.
        end: the offset after the last record.
        timestamp: the timestamp of the records, in µs.
        base: the first offset of the batch.
        event: the sequence number of the event that reports the records as held.
        content: the headers of the batch; None if it has none.
        record_bytes: the size of each record, in bytes.
    """

    due: int
    partition: int
    start: int
    end: int
    timestamp: int
    base: int
    event: int
    content: object
    record_bytes: int = RECORD_BYTES

    @property
    def size(self) -> int:
        """The number of records."""
        return self.end - self.start

    def split(self, at: int) -> tuple[HeldRecords, HeldRecords]:
        """Split the range at an offset: return the records below the offset, and the remaining records."""
        return self._replace(end=at), self._replace(start=at)
