"""The account of retry services: how many times records are tried, and which of them succeed twice, become dead letters, or are dropped.

Offsets belong to the partition to which the application produced the records. Only the offsets of dropped records belong to the topic that
the worker reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from core.kafka import events
from core.kafka.clients.consumer.group_consumer import PolledRecords
from core.kafka.durability_observer import Tried
from core.kafka.ids import TopicPartition
from core.kafka.log.offset_set import OffsetSet
from core.kafka.log.replica_log import ReplicaLog
from core.lab.accounts.processed_logs import sent_on
from core.lab.accounts.service_account import overtaken_records
from core.sim.journal import Journal
from core.sim.state.append_only_list import AppendOnlyList

Logs = Mapping[TopicPartition, ReplicaLog]
"""The log of each partition's leader."""


class RetryService:
    """The results of a service's workers, across all their instances.

    Attributes:
        tried, failed: the number of records that were tried, and the number of records that failed, by attempt number.
        succeeded, dead, skipped: the offsets of the records that succeeded, became dead letters, or were skipped, by original partition.
        succeeded_twice, dead_twice: the numbers of records that succeeded again, or became dead letters again.
        inversions: the number of records that succeeded after a record with a higher offset in their original partition.
        done: the offsets of the records that a worker has finished, by the partition that the worker reads.
        recoveries: a pair (time since the first failure in µs, number of records) for each success of records that had failed before.
    """

    __slots__ = ("dead", "dead_twice", "done", "failed", "inversions", "recoveries", "skipped", "succeeded", "succeeded_twice", "tried")

    def __init__(self) -> None:
        self.tried: dict[int, int] = {}
        self.failed: dict[int, int] = {}
        self.succeeded: dict[TopicPartition, OffsetSet] = {}
        self.dead: dict[TopicPartition, OffsetSet] = {}
        self.skipped: dict[TopicPartition, OffsetSet] = {}
        self.succeeded_twice = 0
        self.dead_twice = 0
        self.inversions = 0
        self.done: dict[TopicPartition, OffsetSet] = {}
        self.recoveries: AppendOnlyList[tuple[int, int]] = AppendOnlyList()


class RetryAccount:
    """The account of all retry services.

    Attributes:
        services: the results of each service, by name.
        reported: the dropped records that events have reported, by group and partition.
    """

    __slots__ = ("journal", "reported", "services")

    journal: Final[Journal]
    services: Final[dict[str, RetryService]]
    reported: Final[dict[tuple[str, TopicPartition], OffsetSet]]

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.services = {}
        self.reported = {}

    def of(self, service: str) -> RetryService:
        """Return the results of the retry service with the given name."""
        found = self.services.get(service)
        if found is None:
            found = self.services[service] = RetryService()
        return found

    def records_tried(self, service: str, number: int, records: int, failed: bool) -> None:
        """Record an attempt to process records."""
        found = self.of(service)
        found.tried[number] = found.tried.get(number, 0) + records
        if failed:
            found.failed[number] = found.failed.get(number, 0) + records

    def records_done(self, service: str, tried: Tried) -> None:
        """Record the outcome of a worker's attempt to process records."""
        found = self.of(service)
        found.done.setdefault(tried.source, OffsetSet()).add(tried.start, tried.start + tried.records)
        start, end = tried.first, tried.first + tried.records
        if tried.outcome == "succeeded":
            known = found.succeeded.setdefault(tried.original, OffsetSet())
            for low, high in list(known.within(start, end)):
                found.succeeded_twice += high - low
                self.journal.emit_because(
                    tried.event,
                    events.SucceededTwice.kind,
                    tried.worker,
                    tried.instance,
                    tried.original.topic,
                    tried.original.partition,
                    low,
                    high,
                    tried.event,
                )
            found.inversions += overtaken_records(start, end, known.ends[-1] if known else 0)
            known.add(start, end)
            if tried.tries > 1:
                found.recoveries.append((tried.since_failure, tried.records))
        elif tried.outcome == "dead":
            known = found.dead.setdefault(tried.original, OffsetSet())
            found.dead_twice += sum(high - low for low, high in known.within(start, end))
            known.add(start, end)
        elif tried.outcome == "skipped":
            found.skipped.setdefault(tried.original, OffsetSet()).add(start, end)

    def dropped(
        self, service: str, tp: TopicPartition, committed: int, logs: Logs, visible: OffsetSet, in_hand: Iterable[PolledRecords]
    ) -> OffsetSet:
        """Return the dropped records of a partition. A record is dropped if its offset is in `visible` and below the committed offset, and
        no worker has finished the record, holds it, or has sent it to another topic.
        """
        held = OffsetSet.of((each.start, each.end) for each in in_hand if each.tp == tp)
        done = self.of(service).done.get(tp, OffsetSet())
        missing = OffsetSet.of(visible.within(0, committed)).minus(done).minus(held)
        return missing.minus(sent_on(logs.values(), tp)) if missing else missing

    def check(
        self,
        service: str,
        group: str,
        tp: TopicPartition,
        commits: Iterable[tuple[int, int]],
        logs: Logs,
        visible: OffsetSet,
        in_hand: Iterable[PolledRecords],
    ) -> None:
        """Report dropped records that have not been reported yet, each with the first event that committed a higher offset."""
        known = self.reported.setdefault((group, tp), OffsetSet())
        for low, high, event in self.drops(service, tp, commits, logs, visible, in_hand):
            for start, end in OffsetSet.of([(low, high)]).minus(known):
                known.add(start, end)
                self.journal.emit_because(event, events.RetryDropped.kind, group, tp.topic, tp.partition, start, end, event)

    def drops(
        self,
        service: str,
        tp: TopicPartition,
        commits: Iterable[tuple[int, int]],
        logs: Logs,
        visible: OffsetSet,
        in_hand: Iterable[PolledRecords],
    ) -> list[tuple[int, int, int]]:
        """Return the ranges of dropped records of a partition as (start, end, first event that committed a higher offset)."""
        found: list[tuple[int, int, int]] = []
        below = 0
        held = tuple(in_hand)
        for offset, event in commits:
            if offset > below:
                dropped = self.dropped(service, tp, offset, logs, visible, held).within(below, offset)
                found += [(start, end, event) for start, end in dropped]
                below = offset
        return found
