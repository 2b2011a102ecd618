"""What the records of services carry in their headers, and the interval of records that a service holds until they are due."""

from __future__ import annotations

from typing import NamedTuple

from core.kafka.ids import TopicPartition


class DelayedRecords(NamedTuple):
    """The headers of a batch of delayed records.

    Attributes:
        topic: the topic that the records go to when they are due.
        wanted: the delay that the application asked for, µs. The level of the topic that the batch is in can be longer.
        created: the true time when the application sent the records, µs, whatever its clock says.
    """

    topic: str
    wanted: int
    created: int


class RetriedRecords(NamedTuple):
    """The headers of a batch in a retry topic or in a dead-letter topic. Record i of the batch is the original record `first` + i.

    Attributes:
        original: the partition that the application first produced the records to.
        first: the original offset of the first record.
        tries: the number of failed tries so far.
        reason: why the last try failed.
        created: the time of the first failure, µs.
        group: the group of the retry service.
        source: the partition whose records failed: the original one, or that of a retry topic.
        start: the offset of the first record in `source`.
        event: the sequence number of the event of the last failed try.
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
    """Records [start, end) of a partition, from one batch, that a service holds until they are due. The order is that of a priority queue.

    Attributes:
        due: the time when the records are due, µs.
        partition: the partition.
        start: the first offset.
        end: the offset after the last one.
        timestamp: the timestamp of the records, µs.
        base: the first offset of the batch.
        event: the sequence number of the event that reports the records as held.
        content: the headers of the batch; None if it has none.
    """

    due: int
    partition: int
    start: int
    end: int
    timestamp: int
    base: int
    event: int
    content: object

    @property
    def size(self) -> int:
        """The number of records."""
        return self.end - self.start

    def split(self, at: int) -> tuple[HeldRecords, HeldRecords]:
        """Return the records below an offset, and the others."""
        return self._replace(end=at), self._replace(start=at)
