"""The account of consumer groups: which records the members of a group have processed once, processed more than once, or skipped.

A record is identified by its partition, its leader epoch, and its offset, because after an unclean election, a different record can be
written at the same offset.

- A record is *processed again* if members of the group have processed it more than once. The cause is the last event that set a member's
  position in the partition: to the committed offset, to the offset that auto.offset.reset gave, or to the end of a truncated log.
- A record is *skipped* if no member has processed it, and it is below an offset that the group has committed or below a position that
  auto.offset.reset gave. The cause of a skip is the first event that set an offset or position above the record's offset. Records that a
  running member has polled don't count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from core.kafka import events
from core.kafka.ids import TopicPartition
from core.kafka.log.offset_set import OffsetSet
from core.kafka.log.replica_log import ReplicaLog
from core.sim.journal import Journal
from core.sim.state.append_only_list import AppendOnlyList

AGAIN: Final = "again"
SKIPPED: Final = "skipped"


class RecordsInHand(NamedTuple):
    """Records that a running member has polled but not processed yet: the offsets [start, end) of a leader epoch."""

    tp: TopicPartition
    start: int
    end: int
    epoch: int


class ConsumptionHarm(NamedTuple):
    """Records that were processed again or skipped, and the event that caused the repetition or the skip.

    Attributes:
        kind: what happened to the records: `again` (processed again) or `skipped`.
        tp: the partition of the records.
        start: the offset of the first record.
        end: the offset after the last record.
        epoch: the leader epoch of the records.
        client: the member that processed the records again; empty for skipped records.
        event: the sequence number of the event that caused the repetition or the skip.
    """

    kind: str
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
        skipped: the number of records that were skipped.
    """

    processed: int
    again: int
    repeats: int
    skipped: int


class PartitionConsumption:
    """The progress of a group in one partition.

    Attributes:
        processed: the offsets of the records that were processed, by leader epoch.
        again: the offsets of the records that were processed more than once, by leader epoch.
        repeats: the cases in which records were processed again, each with its cause.
        bounds: the committed offsets and the positions that auto.offset.reset gave, each with the sequence number of its event, in order.
        position_event: the sequence number of the last event that set the position of a member; 0 if there is none.
        reported: the skipped offsets for which events have been emitted, by leader epoch.
        before: the offsets of the records that the group consumed before the simulation started, by leader epoch.
    """

    __slots__ = ("again", "before", "bounds", "position_event", "processed", "repeats", "reported")

    processed: Final[dict[int, OffsetSet]]
    again: Final[dict[int, OffsetSet]]
    repeats: Final[list[ConsumptionHarm]]
    bounds: Final[list[tuple[int, int]]]
    reported: Final[dict[int, OffsetSet]]
    before: Final[dict[int, OffsetSet]]

    def __init__(self, before: dict[int, OffsetSet]) -> None:
        self.processed = {}
        self.again = {}
        self.repeats = AppendOnlyList()
        self.bounds = AppendOnlyList()
        self.position_event = 0
        self.reported = {}
        self.before = before

    def add_bound(self, offset: int, event: int) -> None:
        """Record a committed offset or a position. If the value equals the last recorded offset or position, do nothing."""
        if not self.bounds or self.bounds[-1][0] != offset:
            self.bounds.append((offset, event))

    def skipped(self, tp: TopicPartition, present: Mapping[int, OffsetSet], in_hand: Iterable[RecordsInHand]) -> list[ConsumptionHarm]:
        """Return the records in the log that the group has skipped, by leader epoch."""
        hands = [each for each in in_hand if each.tp == tp]
        found: list[ConsumptionHarm] = []
        below = 0
        left = {epoch: held.minus(self.processed.get(epoch, OffsetSet())) for epoch, held in present.items()}
        for epoch, consumed in self.before.items():
            if epoch in left:
                left[epoch] = left[epoch].minus(consumed)
        for each in hands:
            if each.epoch in left:
                left[each.epoch] = left[each.epoch].minus(OffsetSet.of([(each.start, each.end)]))
        for offset, event in self.bounds:
            if offset > below:
                for epoch, missing in left.items():
                    found += [ConsumptionHarm(SKIPPED, tp, start, end, epoch, "", event) for start, end in missing.within(below, offset)]
                below = offset
        return found


class ConsumptionAccount:
    """The consumption account of all groups.

    Attributes:
        groups: the progress of each group, by partition. The account includes only groups that have had members in the laboratory.
        before: the offsets of the records that groups consumed before the simulation started, by (group, partition) and leader epoch.
    """

    __slots__ = ("before", "groups", "journal")

    journal: Final[Journal]
    groups: Final[dict[str, dict[TopicPartition, PartitionConsumption]]]
    before: Final[dict[tuple[str, TopicPartition], dict[int, OffsetSet]]]

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.groups = {}
        self.before = {}

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
            part.repeats.append(ConsumptionHarm(AGAIN, tp, low, high, epoch, client, part.position_event))
            reason = part.position_event
            self.journal.emit_because(reason, events.ProcessedAgain.kind, group, client, tp.topic, tp.partition, low, high, epoch, reason)
        known.add(start, end)

    def position_set(self, group: str, tp: TopicPartition, position: int, event: int, *, committed: bool) -> None:
        """Record a member's new position. If the position is not a committed offset, the group might skip the records below it."""
        part = self.of(group, tp)
        part.position_event = event
        if not committed:
            part.add_bound(position, event)

    def offset_committed(self, group: str, tp: TopicPartition, offset: int, event: int) -> None:
        """Record a committed offset."""
        if group in self.groups:
            self.of(group, tp).add_bound(offset, event)

    def check(
        self, group: str, logs: Mapping[TopicPartition, ReplicaLog], in_hand: tuple[RecordsInHand, ...], below: int | None = None
    ) -> None:
        """Emit an event for skipped records that have not been reported yet.

        If `below` is given, only records at lower offsets are reported, because a member is about to read the records at higher offsets.
        """
        for harm in self.skipped(group, logs, in_hand):
            stop = harm.end if below is None else min(harm.end, below)
            if harm.start >= stop:
                continue
            reported = self.of(group, harm.tp).reported.setdefault(harm.epoch, OffsetSet())
            for start, end in OffsetSet.of([(harm.start, stop)]).minus(reported):
                reported.add(start, end)
                where = (harm.tp.topic, harm.tp.partition, start, end, harm.epoch)
                self.journal.emit_because(harm.event, events.RecordsSkipped.kind, group, *where, harm.event)

    # --- the account -----------------------------------------------------------------------------------------------

    def skipped(
        self, group: str, logs: Mapping[TopicPartition, ReplicaLog], in_hand: tuple[RecordsInHand, ...] = ()
    ) -> tuple[ConsumptionHarm, ...]:
        """Return the records that a group has skipped.

        Args:
            group: the name of the group.
            logs: the log of each partition's leader.
            in_hand: the records that running members have polled but not processed.
        """
        found: list[ConsumptionHarm] = []
        partitions = self.groups.get(group, {})
        for tp, log in logs.items():
            if tp in partitions and partitions[tp].bounds:
                found += partitions[tp].skipped(tp, visible_by_epoch(log), in_hand)
        return tuple(found)

    def again(self, group: str) -> tuple[ConsumptionHarm, ...]:
        """Return the records that a group has processed again. For each partition, the records are in the order in which the group
        processed them again."""
        return tuple(harm for part in self.groups.get(group, {}).values() for harm in part.repeats)

    def counts(
        self, group: str, logs: Mapping[TopicPartition, ReplicaLog], in_hand: tuple[RecordsInHand, ...] = ()
    ) -> dict[TopicPartition, Consumption]:
        """Return the record counts for a group, by partition. The arguments are the same as those of `skipped`."""
        counts = {}
        for tp, part in self.groups.get(group, {}).items():
            skipped = part.skipped(tp, visible_by_epoch(logs[tp]), in_hand) if tp in logs else []
            counts[tp] = Consumption(
                sum(each.count() for each in part.processed.values()),
                sum(each.count() for each in part.again.values()),
                sum(each.end - each.start for each in part.repeats),
                sum(each.end - each.start for each in skipped),
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
