"""The content of a batch that a process wrote, which identifies the input records from which the process made the batch."""

from __future__ import annotations

from typing import NamedTuple

from core.kafka.ids import TopicPartition


class ProcessedRecords(NamedTuple):
    """The output for the offsets [start, end) of an input partition. The record at position i in the batch is the output for offset `start`
    + i.

    Attributes:
        group: the group of the process.
        process: the name of the process.
        instance: the number of the process's instance, from 1.
        source: the input partition.
        start: the first input offset.
        end: the offset after the last input offset.
        copy: if each input record has several output records, the number of the output record that this batch contains, from 0.
        event: the sequence number of the event that recorded the step before `produce`.
    """

    group: str
    process: str
    instance: int
    source: TopicPartition
    start: int
    end: int
    copy: int
    event: int
