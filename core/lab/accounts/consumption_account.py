"""The account of consumer groups: which records the members of a group have processed once, processed more than once, or never got.

A record is identified by its partition, its leader epoch, and its offset, because after an unclean election, a different record can be
written at the same offset.

- A record is *processed again* if members of the group have processed it more than once. The cause is the last event that set a member's
  position in the partition: to the committed offset, to the offset that auto.offset.reset gave, or to the end of a truncated log.
- A record is *skipped* if the group never gets it (`core.lab.accounts.missed_records`): no member has processed it, and it is below an offset
  of the group, or no longer in the log. Each skipped record has one reason. Records that a running member has polled don't count, and
  neither do records below the position at which the group began.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from core.kafka import events
from core.kafka.ids import TopicPartition
from core.kafka.log.leader_term import Run, Term
from core.kafka.log.offset_set import OffsetSet
from core.kafka.log.replica_log import ReplicaLog
from core.lab.accounts.losses import Loss
from core.lab.accounts.missed_records import (
    COMMITTED,
    DELETED,
    LATEST,
    REASONS,
    RESET,
    TRUNCATED,
    Bound,
    Deletion,
    Missed,
    RecordsInHand,
    missed_records,
)
from core.sim.journal import Journal
from core.sim.state.append_only_list import AppendOnlyList


class RepeatedRecords(NamedTuple):
    """Records that were processed again, and the event that caused the repetition.

    Attributes:
        tp: the partition of the records.
        start: the offset of the first record.
        end: the offset after the last record.
        epoch: the leader epoch of the records.
        client: the member that processed the records again.
        event: the sequence number of the event that caused the repetition.
    """

    tp: TopicPartition
    start: int
    end: int
    epoch: int
    client: str
    event: int


class Consumption(NamedTuple):
    """The record counts for one group and partition.

    Attributes:
        processed: the number of records that were processed at least once.
        again: the number of records that were processed more than once.
        repeats: the number of times that an already processed record was processed again.
        skipped: the number of records that the group never gets, for one of the following four reasons.
        committed: the skipped records below an offset that the group has committed.
        reset: the skipped records below a position that auto.offset.reset gave to a group that had already begun.
        deleted: the skipped records that were deleted before a member processed them.
        truncated: the skipped records that a truncation took from the group.
        left_out: the number of records below the position at which the group began, according to auto.offset.reset. These records are not
            skipped.
        out_of_order: the number of records that were first processed after later records of the partition.
    """

    processed: int
    again: int
    repeats: int
    skipped: int
    committed: int
    reset: int
    deleted: int
    truncated: int
    left_out: int
    out_of_order: int


class PartitionConsumption:
    """The progress of a group in one partition.

    Attributes:
        processed: the offsets of the records that were processed, by leader epoch.
        again: the offsets of the records that were processed more than once, by leader epoch.
        repeats: the cases in which records were processed again, each with its cause.
        bounds: the committed offsets and the positions that auto.offset.reset gave, in order.
        floor: the offset at which the group began; records below it were never meant for the group. -1 if the group has no position yet.
        out_of_order: the number of records that were processed after later records of the partition.
        position_event: the sequence number of the last event that set the position of a member; 0 if there is none.
        reported: the skipped offsets for which events have been emitted, by leader epoch.
        before: the offsets of the records that the group consumed before the simulation started, by leader epoch.
    """

    __slots__ = ("again", "before", "bounds", "floor", "out_of_order", "position_event", "processed", "repeats", "reported")

    processed: Final[dict[int, OffsetSet]]
    again: Final[dict[int, OffsetSet]]
    repeats: Final[list[RepeatedRecords]]
    bounds: Final[list[Bound]]
    reported: Final[dict[int, OffsetSet]]
    before: Final[dict[int, OffsetSet]]

    def __init__(self, before: dict[int, OffsetSet]) -> None:
        self.processed = {}
        self.again = {}
        self.repeats = AppendOnlyList()
        self.bounds = AppendOnlyList()
        self.floor = -1
        self.out_of_order = 0
        self.position_event = 0
        self.reported = {}
        self.before = before

    def add_bound(self, bound: Bound) -> None:
        """Record a committed offset or a position. If the value equals the last recorded offset or position, do nothing."""
        if not self.bounds or self.bounds[-1].offset != bound.offset:
            self.bounds.append(bound)

    def missed(
        self, tp: TopicPartition, log: ReplicaLog, deletions: Iterable[Deletion], losses: Iterable[Loss], in_hand: Iterable[RecordsInHand]
    ) -> list[Missed]:
        """Return the records that the group never gets."""
        known = {epoch: offsets.union(self.before.get(epoch, OffsetSet())) for epoch, offsets in self.processed.items()}
        for epoch, offsets in self.before.items():
            known.setdefault(epoch, offsets)
        return missed_records(tp, visible_by_epoch(log), deletions, losses, self.floor, self.bounds, known, in_hand)


class ConsumptionAccount:
    """The consumption account of all groups.

    Attributes:
        groups: the progress of each group, by partition. The account includes only groups that have had members in the laboratory.
        before: the offsets of the records that groups consumed before the simulation started, by (group, partition) and leader epoch.
        begun: by group and topic, the partitions that the topic had when the group began to read it.
        beginnings: the first position of each consumer in each partition, by consumer name, for consumers without a group and for processes.
        topics_begun: by consumer name and topic, the partitions that the topic had when the consumer began to read it.
        deletions: the records that retention or DeleteRecords deleted, by partition.
    """

    __slots__ = ("before", "beginnings", "begun", "deletions", "groups", "journal", "topics_begun")

    journal: Final[Journal]
    groups: Final[dict[str, dict[TopicPartition, PartitionConsumption]]]
    before: Final[dict[tuple[str, TopicPartition], dict[int, OffsetSet]]]
    begun: Final[dict[tuple[str, str], frozenset[int]]]
    beginnings: Final[dict[tuple[str, TopicPartition], int]]
    topics_begun: Final[dict[tuple[str, str], frozenset[int]]]
    deletions: Final[dict[TopicPartition, list[Deletion]]]

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.groups = {}
        self.before = {}
        self.begun = {}
        self.beginnings = {}
        self.topics_begun = {}
        self.deletions = {}

    def of(self, group: str, tp: TopicPartition) -> PartitionConsumption:
        """Return the progress of a group in a partition."""
        partitions = self.groups.setdefault(group, {})
        if tp not in partitions:
            partitions[tp] = PartitionConsumption(self.before.get((group, tp), {}))
        return partitions[tp]

    # --- what happens ----------------------------------------------------------------------------------------------

    def consumed_before(self, group: str, tp: TopicPartition, start: int, end: int, epoch: int) -> None:
        """Record which records a group consumed before the simulation started, so that these records do not count as skipped."""
        self.before.setdefault((group, tp), {}).setdefault(epoch, OffsetSet()).add(start, end)

    def records_processed(self, group: str, client: str, tp: TopicPartition, start: int, end: int, epoch: int) -> None:
        """Record that records were processed. For each interval of these records that had been processed before, emit an event."""
        part = self.of(group, tp)
        known = part.processed.setdefault(epoch, OffsetSet())
        for low, high in list(known.within(start, end)):
            part.again.setdefault(epoch, OffsetSet()).add(low, high)
            part.repeats.append(RepeatedRecords(tp, low, high, epoch, client, part.position_event))
            reason = part.position_event
            self.journal.emit_because(reason, events.ProcessedAgain.kind, group, client, tp.topic, tp.partition, low, high, epoch, reason)
        fresh = OffsetSet.of([(start, end)]).minus(known)
        later = any(other > epoch and held for other, held in part.processed.items())
        for low, high in fresh if later else fresh.within(start, known.ends[-1] if known else start):
            part.out_of_order += high - low
            self.journal.emit_because(
                part.position_event,
                events.ProcessedOutOfOrder.kind,
                group,
                client,
                tp.topic,
                tp.partition,
                low,
                high,
                epoch,
                part.position_event,
            )
        known.add(start, end)

    def position_set(
        self, group: str, tp: TopicPartition, position: int, event: int, *, committed: bool, epoch: int, partitions: Iterable[int]
    ) -> None:
        """Record a member's new position. If the position is not a committed offset, the group might skip the records below it.

        Args:
            group: the name of the group.
            tp: the partition.
            position: the new position.
            event: the sequence number of the event that set the position.
            committed: whether the position is the committed offset or the end of a truncated log.
            epoch: the leader epoch of the partition.
            partitions: the partitions that the topic has now.
        """
        part = self.of(group, tp)
        part.position_event = event
        known = self.begun.get((group, tp.topic))
        if known is None:
            known = self.begun[group, tp.topic] = frozenset(partitions)
        begins = part.floor < 0
        if begins:
            part.floor = position if committed or tp.partition in known else 0
        if not committed:
            reason = LATEST if begins and tp.partition in known else RESET
            part.add_bound(Bound(position, event, reason, epoch))

    def reading_began(self, consumer: str, tp: TopicPartition, position: int, partitions: Iterable[int]) -> None:
        """Record where a consumer began to read a partition, unless it has already begun. A consumer that has read other partitions of the
        topic begins in a new partition at offset 0. `partitions` are the partitions that the topic has now."""
        if (consumer, tp) not in self.beginnings:
            known = self.topics_begun.setdefault((consumer, tp.topic), frozenset(partitions))
            self.beginnings[consumer, tp] = position if tp.partition in known else 0

    def offset_committed(self, group: str, tp: TopicPartition, offset: int, event: int, epoch: int) -> None:
        """Record a committed offset. `epoch` is the leader epoch of the partition."""
        if group in self.groups:
            self.of(group, tp).add_bound(Bound(offset, event, COMMITTED, epoch))

    def records_deleted(self, tp: TopicPartition, records: dict[int, OffsetSet], event: int) -> None:
        """Record that records were deleted on purpose. `records` contains their offsets by leader epoch."""
        self.deletions.setdefault(tp, AppendOnlyList()).append(Deletion(event, records))

    def partition_deleted(self, tp: TopicPartition) -> None:
        """Forget which records were deleted, because the partition's topic was deleted with all its records."""
        self.deletions.pop(tp, None)

    def readers(self, tp: TopicPartition) -> tuple[str, ...]:
        """Return the groups that have read a partition."""
        return tuple(group for group, partitions in self.groups.items() if tp in partitions)

    def check(
        self,
        group: str,
        logs: Mapping[TopicPartition, ReplicaLog],
        losses: Mapping[TopicPartition, list[Loss]],
        in_hand: tuple[RecordsInHand, ...],
        below: int | None = None,
        reasons: tuple[str, ...] = REASONS,
    ) -> None:
        """Emit an event for records that the group never gets and that have not been reported yet.

        If `below` is given, only records at lower offsets are reported, because a member is about to read the records at higher offsets.
        Only records with one of the given reasons are reported.
        """
        for missed in self.missed(group, logs, losses, in_hand):
            stop = missed.end if below is None else min(missed.end, below)
            if missed.start >= stop or missed.reason not in reasons:
                continue
            reported = self.of(group, missed.tp).reported.setdefault(missed.epoch, OffsetSet())
            for start, end in OffsetSet.of([(missed.start, stop)]).minus(reported):
                reported.add(start, end)
                where = (group, missed.tp.topic, missed.tp.partition, start, end, missed.epoch)
                if missed.reason == LATEST:
                    self.journal.emit_because(missed.event, events.RecordsLeftOut.kind, *where)
                else:
                    self.journal.emit_because(missed.event, events.RecordsSkipped.kind, *where, missed.event, missed.reason)

    # --- the account -----------------------------------------------------------------------------------------------

    def missed(
        self,
        group: str,
        logs: Mapping[TopicPartition, ReplicaLog],
        losses: Mapping[TopicPartition, list[Loss]],
        in_hand: tuple[RecordsInHand, ...] = (),
    ) -> tuple[Missed, ...]:
        """Return the records that a group never gets, each with the reason.

        Args:
            group: the name of the group.
            logs: the log of each partition's leader.
            losses: the records that are lost now, by partition.
            in_hand: the records that running members have polled but not processed.
        """
        found: list[Missed] = []
        partitions = self.groups.get(group, {})
        for tp, log in logs.items():
            if tp in partitions and partitions[tp].floor >= 0:
                found += partitions[tp].missed(tp, log, self.deletions.get(tp, ()), losses.get(tp, ()), in_hand)
        return tuple(found)

    def again(self, group: str) -> tuple[RepeatedRecords, ...]:
        """Return the records that a group has processed again. For each partition, the records are in the order in which the group
        processed them again."""
        return tuple(harm for part in self.groups.get(group, {}).values() for harm in part.repeats)

    def counts(
        self,
        group: str,
        logs: Mapping[TopicPartition, ReplicaLog],
        losses: Mapping[TopicPartition, list[Loss]],
        in_hand: tuple[RecordsInHand, ...] = (),
    ) -> dict[TopicPartition, Consumption]:
        """Return the record counts for a group, by partition. The arguments are the same as those of `missed`."""
        missed: dict[TopicPartition, dict[str, int]] = {}
        for each in self.missed(group, logs, losses, in_hand):
            reasons = missed.setdefault(each.tp, {})
            reasons[each.reason] = reasons.get(each.reason, 0) + each.end - each.start
        counts = {}
        for tp, part in self.groups.get(group, {}).items():
            reasons = missed.get(tp, {})
            committed, reset, deleted, truncated = (reasons.get(reason, 0) for reason in (COMMITTED, RESET, DELETED, TRUNCATED))
            counts[tp] = Consumption(
                sum(each.count() for each in part.processed.values()),
                sum(each.count() for each in part.again.values()),
                sum(each.end - each.start for each in part.repeats),
                committed + reset + deleted + truncated,
                committed,
                reset,
                deleted,
                truncated,
                reasons.get(LATEST, 0),
                part.out_of_order,
            )
        return counts


def visible_by_epoch(log: ReplicaLog) -> dict[int, OffsetSet]:
    """Return the offsets of the records in a log that consumers with read_committed see, by leader epoch."""
    found: dict[int, OffsetSet] = {}
    end = log.last_stable_offset()
    producers = log.producer_state()
    aborted: dict[int, list[tuple[int, int]]] = {}
    for each in () if producers is None else producers.aborted_between(log.log_start, end):
        aborted.setdefault(each.producer_id, []).append((each.first_offset, each.last_offset))
    for run in log.runs():
        low, high = max(run.start, log.log_start), min(run.end, end)
        if low >= high:
            continue
        held = found.setdefault(run.term.epoch, OffsetSet())
        if producers is None and not run.term.compacted:
            held.add(low, high)
            continue
        for batch in run.term.batches_within(low, high):
            ended = aborted.get(batch.producer_id, ()) if batch.transactional else ()
            if batch.marker is None and not any(first <= batch.base < last for first, last in ended):
                for start, stop in run.term.surviving(max(batch.base, low), min(batch.base + batch.records, high)):
                    held.add(start, stop)
    return found


def visible_within(runs: Iterable[Run], start: int, end: int, aborted: Mapping[Term, OffsetSet]) -> dict[int, OffsetSet]:
    """Return the offsets in [start, end) of the records in some runs, by leader epoch, without markers and without the records of aborted
    transactions (`aborted`) or those that log compaction removed."""
    found: dict[int, OffsetSet] = {}
    for run in runs:
        low, high = max(run.start, start), min(run.end, end)
        if low >= high:
            continue
        held = OffsetSet()
        if run.term.has_producer_ids or run.term.compacted:
            for batch in run.term.batches_within(low, high):
                if batch.marker is None:
                    for first, stop in run.term.surviving(max(batch.base, low), min(batch.base + batch.records, high)):
                        held.add(first, stop)
        else:
            held.add(low, high)
        origin = run.term.origin
        found[origin.epoch] = found.get(origin.epoch, OffsetSet()).union(held.minus(aborted.get(origin, OffsetSet())))
    return found
