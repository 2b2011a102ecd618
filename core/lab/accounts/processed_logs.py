"""The output of processes in the logs of leaders, and the records that consumers with isolation level read_committed see."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from core.kafka.applications.processes.processed_records import ProcessedRecords
from core.kafka.applications.services.service_records import RetriedRecords, processed_records
from core.kafka.ids import TopicPartition
from core.kafka.log.leader_term import Batch, Term
from core.kafka.log.offset_set import OffsetSet
from core.kafka.log.replica_log import ReplicaLog
from core.sim.state.append_only_list import AppendOnlyList


class OutputRecords(NamedTuple):
    """The output in one batch: the input that it comes from, and its place in the log.

    Attributes:
        content: the input records that the batch comes from.
        tp: the partition that contains the output.
        base: the offset of the output record that comes from the input record at offset `content.start`.
        visible: whether consumers with read_committed see the records.
        decided: whether the records are below the last stable offset; if so, `visible` no longer changes.
    """

    content: ProcessedRecords
    tp: TopicPartition
    base: int
    visible: bool
    decided: bool


class StableLog:
    """The contents of a log below its last stable offset.

    Attributes:
        log_start: the log start offset at the time of the last read.
        end: the offset after the last one that was read.
        terms: the terms of the records that were read.
        visible: the offsets of the records that consumers with read_committed see.
        outputs: the output of processes, in offset order.
    """

    __slots__ = ("end", "log_start", "outputs", "terms", "visible")

    log_start: Final[int]
    visible: Final[OffsetSet]
    outputs: Final[list[OutputRecords]]

    def __init__(self, log_start: int) -> None:
        self.log_start = log_start
        self.end = log_start
        self.terms: tuple[Term, ...] = ()
        self.visible = OffsetSet()
        self.outputs = AppendOnlyList()

    def is_prefix_of(self, log: ReplicaLog) -> bool:
        """Return whether all records that were read are still in the stable part of a log.

        Return False if the log was truncated, if its start has moved, or if a new leader has a lower high watermark.
        """
        count = len(self.terms)
        if log.log_start != self.log_start or log.last_stable_offset() < self.end or log.records.terms[:count] != self.terms:
            return False
        return len(log.records.starts) <= count or log.records.starts[count] >= self.end

    def read(self, tp: TopicPartition, log: ReplicaLog) -> None:
        """Read the part of a log that has become stable."""
        bound = log.last_stable_offset()
        if bound <= self.end:
            return
        if log.producer_state() is None:
            self.visible.add(self.end, bound)
        for batch, start, end, aborted in _batches(log, self.end, bound):
            if batch.marker is None and not aborted:
                self.visible.add(start, end)
            if processed_records(batch.content) is not None:
                self.outputs.append(_output(tp, batch, start, end, visible=not aborted, decided=True))
        self.end = bound
        self.terms = tuple(term for start, term in zip(log.records.starts, log.records.terms, strict=True) if start < bound)


def undecided_outputs(tp: TopicPartition, log: ReplicaLog) -> Iterator[OutputRecords]:
    """Yield the output at or above the last stable offset. The output above the last stable offset can still become visible or be aborted."""
    for batch, start, end, _ in _batches(log, log.last_stable_offset(), log.leo):
        if processed_records(batch.content) is not None:
            yield _output(tp, batch, start, end, visible=False, decided=False)


def sent_on(logs: Iterable[ReplicaLog], source: TopicPartition, group: str | None = None) -> OffsetSet:
    """Return the offsets of those records in a partition that a service has sent to a retry topic or a dead-letter topic. Leave out records
    that were sent in an aborted transaction. If `group` is given, return only the offsets of records that this group has sent.

    A record counts even if the worker ended before it received the acknowledgment.
    """
    found = OffsetSet()
    for log in logs:
        for batch, start, end, aborted in _batches(log, log.log_start, log.leo):
            content = batch.content
            if isinstance(content, RetriedRecords) and content.source == source and group in (None, content.group) and not aborted:
                found.add(content.start + start - batch.base, content.start + end - batch.base)
    return found


def dead_letters(logs: Iterable[ReplicaLog], topic: str, group: str) -> tuple[int, int]:
    """Return how many records of a topic a group has sent to a dead-letter topic, and how many extra copies of these records that topic
    contains.

    Args:
        logs: the logs of the dead-letter topic's partitions.
        topic: the topic that the group reads.
        group: the name of the group.
    """
    found: dict[TopicPartition, OffsetSet] = {}
    again = 0
    for log in logs:
        for batch, start, end, aborted in _batches(log, log.log_start, log.last_stable_offset()):
            content = batch.content
            if isinstance(content, RetriedRecords) and (content.source.topic, content.group) == (topic, group) and not aborted:
                known = found.setdefault(content.source, OffsetSet())
                low, high = content.start + start - batch.base, content.start + end - batch.base
                again += sum(last - first for first, last in known.within(low, high))
                known.add(low, high)
    return sum(each.count() for each in found.values()), again


def _output(tp: TopicPartition, batch: Batch, start: int, end: int, *, visible: bool, decided: bool) -> OutputRecords:
    content = processed_records(batch.content)
    assert content is not None, "checked before"
    part = content._replace(start=content.start + start - batch.base, end=content.start + end - batch.base)
    return OutputRecords(part, tp, start, visible, decided)


def _batches(log: ReplicaLog, low: int, high: int) -> Iterator[tuple[Batch, int, int, bool]]:
    """Yield the batches of a log that overlap [low, high), each with the overlapping offsets and a flag that says whether its transaction
    was aborted.
    """
    producers = log.producer_state()
    aborted: dict[int, list[tuple[int, int]]] = {}
    for each in () if producers is None else producers.aborted_between(low, high):
        aborted.setdefault(each.producer_id, []).append((each.first_offset, each.last_offset))
    for run in log.runs() if low < high else ():
        if run.end > low and run.start < high:
            for batch in run.term.batches_within(max(run.start, low), min(run.end, high)):
                start, end = max(batch.base, run.start, low), min(batch.base + batch.records, run.end, high)
                ended = aborted.get(batch.producer_id, ()) if batch.transactional else ()
                if start < end:
                    yield batch, start, end, any(first <= batch.base < last for first, last in ended)
