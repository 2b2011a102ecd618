"""The content of a batch that a process wrote: the input records that it comes from."""

from __future__ import annotations

from typing import NamedTuple

from core.kafka.ids import TopicPartition


class ProcessedRecords(NamedTuple):
    """The output for the offsets [start, end) of an input partition. The record at position i of the batch is the output for `start` + i.

    Attributes:
        group: the group of the process.
        process: the process.
        instance: the number of its instance, from 1.
        source: the input partition.
        start: the first input offset.
        end: the offset after the last one.
        copy: the number of the output record for each input record, from 0.
        event: the sequence number of the event of the step before `produce`.
    """

    group: str
    process: str
    instance: int
    source: TopicPartition
    start: int
    end: int
    copy: int
    event: int
