"""The account of processes: which output records each input record has, and which input was processed twice, only in part, or never.

A batch that a process wrote says which input records it comes from (`core.kafka.applications.processes.processed_records`). The account reads
the output batches in the leaders' logs, so it is always exact. An output record counts if consumers with isolation level read_committed see
it. All processes of a group count as one, because they share their input.

The account distinguishes three kinds of harm to input records:

- An input record was *processed twice* if one of its output records is visible more than once.
- An input record is *half visible* if only some of its output records are visible, and the others are not in an open transaction.
- An input record was *never processed* if the committed offset is above the record's offset, the record has no output record, and no
  dead-letter topic contains it.

While a running process has polled an input record but not finished it, the record does not count as half visible or never processed.

The part of a log below its last stable offset changes only if the log is truncated, so the account reads each record in this part only once
(`core.lab.accounts.processed_logs`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from core.kafka import events
from core.kafka.clients.consumer.group_consumer import PolledRecords
from core.kafka.ids import TopicPartition
from core.kafka.log.offset_set import OffsetSet
from core.kafka.log.replica_log import ReplicaLog
from core.lab.accounts.processed_logs import OutputRecords, StableLog, sent_on, undecided_outputs
from core.sim.journal import Journal
from core.sim.state.append_only_list import AppendOnlyList

TWICE: Final = "twice"
HALF: Final = "half"
NEVER: Final = "never"

_EVENTS: Final = {TWICE: events.ProcessedTwice, HALF: events.HalfVisible, NEVER: events.NeverProcessed}

Logs = dict[TopicPartition, ReplicaLog]
"""The log of each partition's leader."""


class Processing(NamedTuple):
    """What the account needs to know about a group's processes.

    Attributes:
        group: the name of the group.
        source: the topic that the processes read.
        copies: the number of output records for each input record.
        output: the topic that the processes write to.
        other_outputs: the other topics that output can go to. All output records of an input record go to the same topic.
    """

    group: str
    source: str
    output: str
    copies: int
    other_outputs: tuple[str, ...] = ()

    def writes(self, topic: str) -> bool:
        """Return whether the processes can write output to a topic."""
        return topic == self.output or topic in self.other_outputs


class Harm(NamedTuple):
    """The input offsets [start, end) that were processed twice, only in part, or never, and the event that caused the harm.

    Attributes:
        kind: the kind of harm: `twice`, `half`, or `never`.
        source: the partition of the input records.
        start: the offset of the first input record.
        end: the offset after the last input record.
        process: the process that wrote the output; empty if there is no output.
        instance: the number of the process instance that wrote the output; 0 if there is no output.
        event: the sequence number of the event that led to the output, or that committed the offsets.
    """

    kind: str
    source: TopicPartition
    start: int
    end: int
    process: str
    instance: int
    event: int


class Counts(NamedTuple):
    """The numbers of input records of a group, by what happened to the records.

    Attributes:
        input: the number of visible input records.
        processed: the number of input records whose output records are all visible.
        twice: the number of input records that were processed twice.
        half: the number of input records that are half visible.
        never: the number of input records that were never processed.
    """

    input: int
    processed: int
    twice: int
    half: int
    never: int


class SourceAccount:
    """The visible output for one input partition.

    Attributes:
        seen: at each index `n`, the offsets of the input records whose output record number `n` is visible, counting from 0.
        twice: the offsets of the input records that have an output record that is visible more than once.
    """

    __slots__ = ("seen", "twice")

    seen: Final[list[OffsetSet]]
    twice: Final[OffsetSet]

    def __init__(self, copies: int) -> None:
        self.seen = [OffsetSet() for _ in range(copies)]
        self.twice = OffsetSet()

    def add(self, output: OutputRecords) -> list[tuple[int, int]]:
        """Record that output is now visible. Return the intervals of input offsets whose output was already visible."""
        content = output.content
        known = self.seen[content.copy]
        again = list(known.within(content.start, content.end))
        for start, end in again:
            self.twice.add(start, end)
        known.add(content.start, content.end)
        return again

    def some(self) -> OffsetSet:
        """Return the input offsets with a visible output record."""
        found = self.seen[0]
        for known in self.seen[1:]:
            found = found.union(known)
        return found

    def complete(self) -> OffsetSet:
        """Return the input offsets whose output records are all visible."""
        found = self.seen[0]
        for known in self.seen[1:]:
            found = found.common(known)
        return found


class GroupAccount:
    """The visible output of the processes of one group.

    Attributes:
        sources: the account of each input partition.
        taken: for each output partition, its `StableLog`, and the number of outputs in this log that the account has already added.
    """

    __slots__ = ("copies", "sources", "taken")

    copies: Final[int]
    sources: Final[dict[TopicPartition, SourceAccount]]
    taken: Final[dict[TopicPartition, tuple[StableLog, int]]]

    def __init__(self, copies: int) -> None:
        self.copies = copies
        self.sources = {}
        self.taken = {}

    def of(self, source: TopicPartition) -> SourceAccount:
        """Return the account of an input partition."""
        found = self.sources.get(source)
        if found is None:
            found = self.sources[source] = SourceAccount(self.copies)
        return found

    def is_behind(self, tp: TopicPartition, log: StableLog) -> bool:
        """Return whether a log has been truncated since the account read it."""
        return tp in self.taken and self.taken[tp][0] is not log

    def take(self, tp: TopicPartition, log: StableLog, group: str) -> None:
        """Add the output batches that are new in a log."""
        count = self.taken[tp][1] if tp in self.taken else 0
        for output in log.outputs[count:]:
            if output.visible and output.content.group == group:
                self.of(output.content.source).add(output)
        self.taken[tp] = (log, len(log.outputs))


class ProcessingAccount:
    """The account of all processes.

    Attributes:
        commits: each committed offset with the sequence number of its event, by group and partition, in the order of the commits.
        reported: the input offsets that events have reported, by group, kind of harm, and partition.
        logs: the contents of the stable part of each input and output log.
        groups: the visible output of each group's processes, by group.
    """

    __slots__ = ("commits", "groups", "journal", "logs", "reported")

    journal: Final[Journal]
    commits: Final[dict[tuple[str, TopicPartition], list[tuple[int, int]]]]
    reported: Final[dict[tuple[str, str, TopicPartition], OffsetSet]]
    logs: Final[dict[TopicPartition, StableLog]]
    groups: Final[dict[Processing, GroupAccount]]

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.commits = {}
        self.reported = {}
        self.logs = {}
        self.groups = {}

    def offset_committed(self, group: str, tp: TopicPartition, offset: int, event: int) -> None:
        """Record an offset that a group committed, or that a new group coordinator loaded from its log. A loaded offset is already known,
        unless the account missed the commit.
        """
        commits = self.commits.setdefault((group, tp), AppendOnlyList())
        if not commits or commits[-1][0] != offset:
            commits.append((offset, event))

    def committed(self, group: str, tp: TopicPartition) -> int:
        """Return the last committed offset of a group; 0 if there is none."""
        commits = self.commits.get((group, tp))
        return commits[-1][0] if commits else 0

    def check(self, processing: Processing, logs: Logs, in_hand: tuple[PolledRecords, ...] = ()) -> None:
        """Emit an event for each case of harm that has not been reported yet."""
        for harm in self.harms(processing, logs, in_hand):
            known = self.reported.setdefault((processing.group, harm.kind, harm.source), OffsetSet())
            for start, end in OffsetSet.of([(harm.start, harm.end)]).minus(known):
                known.add(start, end)
                self.journal.emit_because(
                    harm.event, _EVENTS[harm.kind].kind,
                    processing.group, harm.process, harm.instance, harm.source.topic, harm.source.partition, start, end, harm.event,
                )  # fmt: skip

    # --- reading the logs ------------------------------------------------------------------------------------------

    def _stable(self, tp: TopicPartition, log: ReplicaLog) -> StableLog:
        """Return the contents of the stable part of a log."""
        known = self.logs.get(tp)
        if known is None or not known.is_prefix_of(log):
            known = self.logs[tp] = StableLog(log.log_start)
        known.read(tp, log)
        return known

    def _group(self, processing: Processing, logs: Logs) -> GroupAccount:
        """Return the account of a group's visible output."""
        outputs = {tp: self._stable(tp, log) for tp, log in logs.items() if processing.writes(tp.topic)}
        group = self.groups.get(processing)
        if group is None or any(group.is_behind(tp, log) for tp, log in outputs.items()):
            group = self.groups[processing] = GroupAccount(processing.copies)
        for tp, log in outputs.items():
            group.take(tp, log, processing.group)
        return group

    def outputs(self, processing: Processing, logs: Logs) -> tuple[OutputRecords, ...]:
        """Return all output records of a group in the logs, by partition: first the stable records, then the records above the last stable
        offset.
        """
        return tuple(
            output
            for tp, log in logs.items()
            if processing.writes(tp.topic)
            for output in (*self._stable(tp, log).outputs, *undecided_outputs(tp, log))
            if output.content.group == processing.group
        )

    def visible(self, tp: TopicPartition, log: ReplicaLog) -> OffsetSet:
        """Return the offsets of a log that readers with read_committed see."""
        return self._stable(tp, log).visible

    def finished(self, processing: Processing, logs: Logs) -> int:
        """Return the number of input records whose output records are all visible, even if the input has been deleted."""
        group = self._group(processing, logs)
        return sum(group.of(tp).complete().count() for tp in logs if tp.topic == processing.source)

    def expired(self, processing: Processing, logs: Logs, in_hand: tuple[PolledRecords, ...] = ()) -> int:
        """Return the number of input offsets below the log start that have no output and that no running process has polled."""
        return sum(offsets.count() for offsets in self.expired_offsets(processing, logs, in_hand).values())

    def expired_offsets(
        self, processing: Processing, logs: Logs, in_hand: tuple[PolledRecords, ...] = ()
    ) -> dict[TopicPartition, OffsetSet]:
        """Return the offsets that `expired` counts, by input partition."""
        group = self._group(processing, logs)
        undecided = _undecided(processing, logs)
        return {
            tp: OffsetSet.of([(0, log.log_start)]).minus(group.of(tp).some()).minus(_waiting(tp, undecided, in_hand))
            for tp, log in logs.items()
            if tp.topic == processing.source and log.log_start
        }

    # --- comparing input and output --------------------------------------------------------------------------------

    def counts(self, processing: Processing, logs: Logs, in_hand: tuple[PolledRecords, ...] = ()) -> Counts:
        """Count the input records of a group.

        Args:
            processing: the configuration of the group's processes.
            logs: the log of each partition's leader.
            in_hand: the records that running processes have polled but not finished.
        """
        group = self._group(processing, logs)
        undecided = _undecided(processing, logs)
        total = Counts(0, 0, 0, 0, 0)
        for tp, log in logs.items():
            if tp.topic == processing.source:
                part = group.of(tp)
                present = self._stable(tp, log).visible
                waiting = _waiting(tp, undecided, in_hand)
                here = (
                    present.count(),
                    part.complete().common(present).count(),
                    part.twice.count(),
                    part.some().minus(part.complete()).minus(waiting).count(),
                    self._never(processing, tp, part, present, waiting, logs).count(),
                )
                total = Counts(*(one + other for one, other in zip(total, here, strict=True)))
        return total

    def _never(
        self, processing: Processing, tp: TopicPartition, part: SourceAccount, present: OffsetSet, waiting: OffsetSet, logs: Logs
    ) -> OffsetSet:
        """Return the input offsets that are below the committed offset, have no output, and were not sent to a dead-letter topic."""
        never = present.within(0, self.committed(processing.group, tp)).minus(part.some()).minus(waiting)
        return never.minus(sent_on(logs.values(), tp, processing.group)) if never else never

    def harms(self, processing: Processing, logs: Logs, in_hand: tuple[PolledRecords, ...] = ()) -> tuple[Harm, ...]:
        """Return the cases of harm, by input partition, kind, and offset. The arguments are the same as those of `counts`."""
        group = self._group(processing, logs)
        undecided = _undecided(processing, logs)
        visible = [each for each in self.outputs(processing, logs) if each.visible]
        found: list[Harm] = []
        for tp, log in logs.items():
            if tp.topic == processing.source:
                part = group.of(tp)
                mine = sorted((each for each in visible if each.content.source == tp), key=_by_event)
                waiting = _waiting(tp, undecided, in_hand)
                found += _twice(mine, processing.copies)
                found += _half(mine, part.some().minus(part.complete()).minus(waiting))
                never = self._never(processing, tp, part, self._stable(tp, log).visible, waiting, logs)
                found += self._harms_of_commits(processing.group, tp, never)
        return tuple(found)

    def _harms_of_commits(self, group: str, tp: TopicPartition, never: OffsetSet) -> list[Harm]:
        """Return the cases of harm of kind `never`, in which input was never processed, each with the first event that committed the
        offsets.
        """
        found: list[Harm] = []
        below = 0
        for offset, event in self.commits.get((group, tp), ()) if never else ():
            if offset > below:
                found += [Harm(NEVER, tp, start, end, "", 0, event) for start, end in never.within(below, offset)]
                below = offset
        return found


def _undecided(processing: Processing, logs: Logs) -> list[OutputRecords]:
    """Return the group's output that can still become visible."""
    return [
        output
        for tp, log in logs.items()
        if processing.writes(tp.topic)
        for output in undecided_outputs(tp, log)
        if output.content.group == processing.group
    ]


def _waiting(tp: TopicPartition, undecided: Iterable[OutputRecords], in_hand: Iterable[PolledRecords]) -> OffsetSet:
    """Return those input offsets of a partition that have undecided output or are still being processed."""
    waiting = OffsetSet.of((each.start, each.end) for each in in_hand if each.tp == tp)
    for output in undecided:
        if output.content.source == tp:
            waiting.add(output.content.start, output.content.end)
    return waiting


def _twice(outputs: list[OutputRecords], copies: int) -> list[Harm]:
    """Return the cases of harm of kind `twice`, in which output is visible more than once. Each `Harm` contains the process and the event
    that produced the later output.
    """
    part = SourceAccount(copies)
    return [
        Harm(TWICE, each.content.source, start, end, each.content.process, each.content.instance, each.content.event)
        for each in outputs
        for start, end in part.add(each)
    ]


def _half(outputs: list[OutputRecords], missing: OffsetSet) -> list[Harm]:
    """Return the cases of harm of kind `half`, in which output is only partly visible. Each `Harm` contains the process and the event that
    produced the last visible output.
    """
    found = []
    for each in reversed(outputs):
        content = each.content
        for start, end in missing.within(content.start, content.end):
            found.append(Harm(HALF, content.source, start, end, content.process, content.instance, content.event))
        missing = missing.minus(OffsetSet.of([(content.start, content.end)]))
    return found


def _by_event(output: OutputRecords) -> tuple[int, int]:
    return output.content.event, output.base
