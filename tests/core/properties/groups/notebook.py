"""A list of every single record that applications produced, got acknowledged, and processed.

It expands every batch into single records, and counts them in plain dictionaries. Therefore, it shares no code with the accounts, which
work on intervals of offsets.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from core.kafka import events
from core.kafka.applications.processes.processed_records import ProcessedRecords
from core.kafka.applications.services.service_records import RetriedRecords
from core.kafka.group_coordinator.offsets_log import OffsetKey
from core.kafka.ids import NO_OFFSET, TopicPartition
from core.kafka.log.control_record import COMMIT
from core.kafka.log.leader_term import Batch, FetchedRange
from core.kafka.log.replica_log import ReplicaLog
from core.lab.audit.message_audit import MessageAudit

Record = tuple[str, int, int]
"""A record: its producer, the number of its batch, and its number within the batch."""

Place = tuple[TopicPartition, int]
"""A partition and an offset."""


class Stored(NamedTuple):
    """A record in a log: its offset, its leader epoch, its batch, and its number within the batch."""

    offset: int
    epoch: int
    batch: Batch
    number: int

    @property
    def record(self) -> Record:
        """The identity of the record."""
        return self.batch.producer, self.batch.batch_id, self.number


class Notebook(MessageAudit):
    """An audit that also notes every record one by one. It is the observer of the account and a sink of events.

    Attributes:
        acknowledged: the acknowledged records, by topic.
        appended: the leader epoch and offset at which each acknowledged record was appended, by partition.
        processed: how often members of each group processed each record, by topic.
        places: how often members of each group processed a record at each offset of each leader epoch.
        disorder: how many records members of each group first processed after later records of the partition.
        newest: the leader epoch and offset of the last record of each partition that members of each group processed.
        bounds: the offset up to which each group has moved in a partition: the highest committed offset or position that a reset gave.
        commits: the newest committed offset of each group and partition.
        succeeded: how often a worker processed the record at an offset with success.
        dead: how often the record that was produced at an offset was reported as dead-lettered.
        kinds: how often each kind of event happened.
    """

    __slots__ = (
        "acknowledged",
        "appended",
        "bounds",
        "commits",
        "dead",
        "disorder",
        "kinds",
        "newest",
        "places",
        "processed",
        "sizes",
        "succeeded",
    )

    def __init__(self) -> None:
        super().__init__()
        self.sizes: dict[tuple[str, int], tuple[TopicPartition, int]] = {}
        self.acknowledged: dict[str, set[Record]] = defaultdict(set)
        self.appended: dict[TopicPartition, set[tuple[int, int]]] = defaultdict(set)
        self.processed: dict[tuple[str, str], Counter[Record]] = defaultdict(Counter)
        self.places: dict[tuple[str, TopicPartition], Counter[tuple[int, int]]] = defaultdict(Counter)
        self.disorder: Counter[tuple[str, TopicPartition]] = Counter()
        self.newest: dict[tuple[str, TopicPartition], tuple[int, int]] = defaultdict(lambda: (-1, -1))
        self.bounds: Counter[tuple[str, TopicPartition]] = Counter()
        self.commits: dict[tuple[str, TopicPartition], int] = {}
        self.succeeded: Counter[Place] = Counter()
        self.dead: Counter[Place] = Counter()
        self.kinds: Counter[str] = Counter()

    # --- what the account reports ----------------------------------------------------------------------------------

    def batch_closed(self, producer: str, batch_id: int, tp: TopicPartition, records: int, created: int, timestamp: int) -> None:
        super().batch_closed(producer, batch_id, tp, records, created, timestamp)
        self.sizes[producer, batch_id] = tp, records

    def batch_acknowledged(self, producer: str, batch_id: int, tp: TopicPartition, records: FetchedRange, node: str) -> None:
        super().batch_acknowledged(producer, batch_id, tp, records, node)
        self.acknowledged[tp.topic].update((producer, batch_id, number) for number in range(self.sizes[producer, batch_id][1]))
        self.appended[tp].update((records.term.epoch, offset) for offset in range(records.start, records.end))

    def records_processed(self, group: str, tp: TopicPartition, records: FetchedRange) -> None:
        super().records_processed(group, tp, records)
        for batch in records.term.batches_within(records.start, records.end):
            for offset in range(max(batch.base, records.start), min(batch.base + batch.records, records.end)):
                self.processed[group, tp.topic][batch.producer, batch.batch_id, offset - batch.base] += 1
                place = records.term.epoch, offset
                known = self.places[group, tp]
                self.disorder[group, tp] += place not in known and place < self.newest[group, tp]
                self.newest[group, tp] = max(self.newest[group, tp], place)
                known[place] += 1

    # --- what events report ----------------------------------------------------------------------------------------

    def __call__(self, event: tuple) -> None:
        super().__call__(event)
        kind = event[3]
        self.kinds[kind] += 1
        if kind in (events.OffsetCommitted.kind, events.OffsetMaterialized.kind):
            _, group, topic, partition, offset = event[4:9]
            self._moved(group, TopicPartition(topic, partition), offset)
            self.commits[group, TopicPartition(topic, partition)] = offset
        elif kind == events.GroupsLoaded.kind:
            self._loaded(self._cluster.brokers[event[4]].disk.logs[TopicPartition(event[5], event[6])])
        elif kind == events.PositionSet.kind:
            _, group, topic, partition, position, policy = event[4:10]
            if policy != "committed":
                self._moved(group, TopicPartition(topic, partition), position)
        elif kind == events.RecordsTried.kind:
            _, topic, partition, start, end, _, reason = event[4:11]
            if not reason:
                self.succeeded.update((TopicPartition(topic, partition), offset) for offset in range(start, end))
        elif kind == events.DeadLettered.kind:
            _, topic, partition, start, end = event[4:9]
            self.dead.update((TopicPartition(topic, partition), offset) for offset in range(start, end))

    def _loaded(self, log: ReplicaLog) -> None:
        """Record the offsets that a new coordinator has loaded. These can include a commit that the former coordinator appended without
        telling a client.
        """
        found = {}
        for stored in committed_records(log):
            key, value = stored.batch.content[stored.number]
            if isinstance(key, OffsetKey):
                found[key.group, key.tp] = NO_OFFSET if value is None else value.offset
        for (group, tp), offset in found.items():
            self._moved(group, tp, offset)
            self.commits[group, tp] = offset

    def _moved(self, group: str, tp: TopicPartition, offset: int) -> None:
        self.bounds[group, tp] = max(self.bounds[group, tp], offset)


def records_in(log: ReplicaLog) -> Iterator[Stored]:
    """Yield the records of a log one by one, without markers."""
    for run in log.runs():
        for batch in run.term.batches_within(run.start, run.end):
            if batch.marker is None:
                for offset in range(max(batch.base, run.start), min(batch.base + batch.records, run.end)):
                    yield Stored(offset, run.term.epoch, batch, offset - batch.base)


def committed_records(log: ReplicaLog) -> list[Stored]:
    """Return what a read_committed reader sees, by the markers alone."""
    pending: dict[int, list[Stored]] = defaultdict(list)
    visible: list[Stored] = []
    markers = {batch.base: batch for run in log.runs() for batch in run.term.batches_within(run.start, run.end) if batch.marker is not None}
    for stored in sorted([*records_in(log), *(Stored(base, 0, batch, 0) for base, batch in markers.items())], key=_offset):
        if stored.batch.marker is not None:
            ended = pending.pop(stored.batch.producer_id, [])
            visible += ended if stored.batch.marker.control_type == COMMIT else []
        elif stored.batch.transactional:
            pending[stored.batch.producer_id].append(stored)
        else:
            visible.append(stored)
    return sorted(visible, key=_offset)


def _offset(stored: Stored) -> int:
    return stored.offset


def outputs(log: ReplicaLog, group: str) -> tuple[Counter[tuple[Place, int]], set[Place]]:
    """Count the visible output of a group: how often the output with each number exists for each input record.

    Also return the input records whose output a reader with read_committed does not see yet, because an earlier transaction is open.
    """
    found: Counter[tuple[Place, int]] = Counter()
    undecided: set[Place] = set()
    stable = log.last_stable_offset()
    for stored in committed_records(log):
        content = stored.batch.content
        if isinstance(content, ProcessedRecords) and content.group == group:
            place = (content.source, content.start + stored.number)
            if stored.offset < stable:
                found[place, content.copy] += 1
            else:
                undecided.add(place)
    return found, undecided


def originals(log: ReplicaLog) -> dict[int, tuple[Place, Place]]:
    """For each record in a retry topic or a dead-letter topic, by offset, return its original place, and its place in the previous topic."""
    found = {}
    for stored in committed_records(log):
        content = stored.batch.content
        if isinstance(content, RetriedRecords):
            found[stored.offset] = (content.original, content.first + stored.number), (content.source, content.start + stored.number)
    return found
