"""The account of processes: which output records each input record has, and which input was processed twice, half, or never.

A batch that a process wrote says which input records it comes from (`core.kafka.clients.processed_records`). The account reads these batches in
the logs of the leaders, so it is exact at every moment, and it needs no notes of its own except the committed offsets. An output record counts if
consumers with isolation level read_committed see it.

There are three kinds of harm:

- An input record was *processed twice* if one of its output records is visible more than once.
- An input record is *half visible* if only some of its output records are visible, and the others are not in an open transaction.
- An input record was *never processed* if the committed offset is above it and it has no output record.

The input records that a running process has polled and not finished do not count as half visible or never processed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from core.kafka import events
from core.kafka.clients.group_consumer import PolledRecords
from core.kafka.clients.processed_records import ProcessedRecords
from core.kafka.ids import TopicPartition
from core.kafka.log.leader_term import Batch
from core.kafka.log.offset_set import OffsetSet
from core.kafka.log.replica_log import ReplicaLog
from core.sim.journal import Journal

TWICE: Final = "twice"
HALF: Final = "half"
NEVER: Final = "never"

_EVENTS: Final = {TWICE: events.ProcessedTwice, HALF: events.HalfVisible, NEVER: events.NeverProcessed}


class Processing(NamedTuple):
    """A process, as far as the account needs it.

    Attributes:
        process: the name of the process.
        source: the input topic.
        output: the output topic.
        group: the group.
        copies: the number of output records for each input record.
    """

    process: str
    source: str
    output: str
    group: str
    copies: int


class OutputRecords(NamedTuple):
    """The output of one batch: the input offsets [start, end) of `source`, and where their output is.

    Attributes:
        content: which input records the batch comes from.
        tp: the output partition.
        base: the offset of the output record for `content.start`.
        visible: whether consumers with read_committed see the records.
        decided: whether the records are not part of an open transaction.
    """

    content: ProcessedRecords
    tp: TopicPartition
    base: int
    visible: bool
    decided: bool


class Harm(NamedTuple):
    """Input offsets [start, end) that were processed twice, half, or never, and the event behind it.

    Attributes:
        kind: `twice`, `half`, or `never`.
        source: the input partition.
        start: the first offset.
        end: the offset after the last one.
        instance: the instance whose output it is; 0 if there is none.
        event: the sequence number of the event that produced the output, or that committed the offsets.
    """

    kind: str
    source: TopicPartition
    start: int
    end: int
    instance: int
    event: int


class Counts(NamedTuple):
    """Numbers of input records.

    Attributes:
        input: the number of visible input records.
        processed: the number of input records all of whose output records are visible.
        twice: the number of input records that were processed twice.
        half: the number of input records that are half visible.
        never: the number of input records that were never processed.
    """

    input: int
    processed: int
    twice: int
    half: int
    never: int


class ProcessingReport(NamedTuple):
    """What a process has done to its input by now.

    Attributes:
        counts: the numbers of input records.
        harms: the harms, by partition, kind, and offset.
        outputs: the output records that the logs hold, by output partition and offset.
    """

    counts: Counts
    harms: tuple[Harm, ...]
    outputs: tuple[OutputRecords, ...]


class ProcessingAccount:
    """The account of all processes.

    Attributes:
        commits: by group and partition, each committed offset with the sequence number of its event, in the order of the commits.
        reported: by process, kind of harm, and partition, the input offsets that events have reported.
    """

    __slots__ = ("_counted", "commits", "journal", "reported")

    journal: Final[Journal]
    commits: Final[dict[tuple[str, TopicPartition], list[tuple[int, int]]]]
    reported: Final[dict[tuple[str, str, TopicPartition], OffsetSet]]

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.commits = {}
        self.reported = {}
        self._counted: dict[str, tuple[tuple[object, ...], Counts]] = {}

    def offset_committed(self, group: str, tp: TopicPartition, offset: int, event: int) -> None:
        """Note a committed offset. An offset that a new coordinator loads is already known, unless its commit was not seen."""
        commits = self.commits.setdefault((group, tp), [])
        if not commits or commits[-1][0] != offset:
            commits.append((offset, event))

    def committed(self, group: str, tp: TopicPartition) -> int:
        """Return the last committed offset of a group; 0 if there is none."""
        commits = self.commits.get((group, tp))
        return commits[-1][0] if commits else 0

    def check(self, processing: Processing, logs: dict[TopicPartition, ReplicaLog], in_hand: Iterable[PolledRecords] = ()) -> None:
        """Emit an event for each harm that was not reported yet."""
        for harm in self.report(processing, logs, in_hand).harms:
            known = self.reported.setdefault((processing.process, harm.kind, harm.source), OffsetSet())
            for start, end in OffsetSet.of([(harm.start, harm.end)]).minus(known):
                known.add(start, end)
                self.journal.emit(
                    _EVENTS[harm.kind].kind, processing.process, harm.instance, harm.source.topic, harm.source.partition, start, end, harm.event
                )  # fmt: skip

    def counts(self, processing: Processing, logs: dict[TopicPartition, ReplicaLog], in_hand: tuple[PolledRecords, ...] = ()) -> Counts:
        """Return the counts of `report`. They are computed again only if a log, a committed offset, or the records in hand have changed."""
        state = (
            in_hand,
            sum(len(commits) for (group, _), commits in self.commits.items() if group == processing.group),
            tuple(
                (tp, log.terms[-1].epoch if log.terms else -1, log.leo, log.last_stable_offset(), log.log_start)
                for tp, log in logs.items()
                if tp.topic in (processing.source, processing.output)
            ),
        )
        known = self._counted.get(processing.process)
        if known is None or known[0] != state:
            known = self._counted[processing.process] = (state, self.report(processing, logs, in_hand).counts)
        return known[1]

    def report(
        self, processing: Processing, logs: dict[TopicPartition, ReplicaLog], in_hand: Iterable[PolledRecords] = ()
    ) -> ProcessingReport:
        """Compare the input of a process with its output.

        Args:
            processing: the process.
            logs: the logs of the leaders.
            in_hand: the records that the running instance has polled and not finished.
        """
        outputs = tuple(
            found
            for tp, log in logs.items()
            if tp.topic == processing.output
            for found in outputs_in(tp, log)
            if found.content.process == processing.process
        )
        input = processed = 0
        harms: list[Harm] = []
        for tp, log in logs.items():
            if tp.topic == processing.source:
                held = OffsetSet.of((each.start, each.end) for each in in_hand if each.tp == tp)
                present = _visible_offsets(log)
                part = _PartReport(processing, tp, [each for each in outputs if each.content.source == tp])
                input += present.count()
                processed += part.complete.common(present).count()
                harms += part.twice
                harms += part.half(held)
                harms += self._never(processing, tp, part, present, held)
        counts = Counts(input, processed, _count(harms, TWICE), _count(harms, HALF), _count(harms, NEVER))
        return ProcessingReport(counts, tuple(harms), outputs)

    def _never(self, processing: Processing, tp: TopicPartition, part: _PartReport, present: OffsetSet, held: OffsetSet) -> list[Harm]:
        """Return the input offsets below a committed offset without output, each with the first event that committed them."""
        missing = present.minus(part.attempted).minus(held)
        found: list[Harm] = []
        below = 0
        for offset, event in self.commits.get((processing.group, tp), ()):
            if offset > below:
                found += [Harm(NEVER, tp, start, end, 0, event) for start, end in missing.within(below, offset)]
                below = offset
        return found


def _count(harms: Iterable[Harm], kind: str) -> int:
    """Return the number of input records with a harm of one kind. Each record counts once."""
    sets: dict[TopicPartition, OffsetSet] = {}
    for harm in harms:
        if harm.kind == kind:
            sets.setdefault(harm.source, OffsetSet()).add(harm.start, harm.end)
    return sum(each.count() for each in sets.values())


class _PartReport:
    """The output for one input partition.

    Attributes:
        complete: the input offsets all of whose output records are visible.
        some: the input offsets some of whose output records are visible.
        undecided: the input offsets with an output record in an open transaction.
        attempted: the input offsets with an output record that is visible or can become visible.
        twice: the harms of output that is visible more than once.
    """

    __slots__ = ("_outputs", "attempted", "complete", "some", "twice", "undecided")

    def __init__(self, processing: Processing, source: TopicPartition, outputs: list[OutputRecords]) -> None:
        self._outputs = sorted((each for each in outputs if each.visible), key=_by_event)
        self.twice: list[Harm] = []
        seen = [OffsetSet() for _ in range(processing.copies)]
        for each in self._outputs:
            content = each.content
            known = seen[content.copy]
            self.twice += [
                Harm(TWICE, source, start, end, content.instance, content.event) for start, end in known.within(content.start, content.end)
            ]
            known.add(content.start, content.end)
        self.some = OffsetSet.of(interval for known in seen for interval in known)
        self.complete = self.some
        for known in seen:
            self.complete = self.complete.common(known)
        self.undecided = OffsetSet.of((each.content.start, each.content.end) for each in outputs if not each.decided)
        self.attempted = self.some.union(self.undecided)

    def half(self, held: OffsetSet) -> list[Harm]:
        """Return the harms of input records whose output is only partly visible, with the last event that produced a visible part."""
        missing = self.some.minus(self.complete).minus(self.undecided).minus(held)
        found = []
        for each in reversed(self._outputs):
            content = each.content
            for start, end in missing.within(content.start, content.end):
                found.append(Harm(HALF, content.source, start, end, content.instance, content.event))
            missing = missing.minus(OffsetSet.of([(content.start, content.end)]))
        return found


def _by_event(output: OutputRecords) -> tuple[int, int]:
    return output.content.event, output.base


def outputs_in(tp: TopicPartition, log: ReplicaLog) -> Iterator[OutputRecords]:
    """Yield the output of processes in a log, in offset order."""
    bound = log.last_stable_offset()
    for batch, start, end, aborted in _batches(log):
        content = batch.content
        if isinstance(content, ProcessedRecords):
            part = content._replace(start=content.start + start - batch.base, end=content.start + end - batch.base)
            decided = end <= bound or not batch.transactional
            yield OutputRecords(part, tp, start, end <= bound and not aborted, decided)


def _visible_offsets(log: ReplicaLog) -> OffsetSet:
    """Return the offsets of the records that consumers with read_committed see."""
    if log.producer_state() is None:
        return OffsetSet.of([(log.log_start, log.high_watermark)])
    bound = log.last_stable_offset()
    visible = OffsetSet()
    for batch, start, end, aborted in _batches(log):
        if batch.marker is None and not aborted:
            visible.add(start, min(end, bound))
    return visible


def _batches(log: ReplicaLog) -> Iterator[tuple[Batch, int, int, bool]]:
    """Yield the batches of a log with the range [start, end) that it holds, and whether their transaction was aborted."""
    producers = log.producer_state()
    aborted: dict[int, list[tuple[int, int]]] = {}
    for each in () if producers is None else producers.aborted_between(log.log_start, log.leo):
        aborted.setdefault(each.producer_id, []).append((each.first_offset, each.last_offset))
    for run in log.runs():
        for batch in run.term.batches_within(run.start, run.end):
            ended = aborted.get(batch.producer_id, ()) if batch.transactional else ()
            gone = any(first <= batch.base < last for first, last in ended)
            yield batch, max(batch.base, run.start), min(batch.base + batch.records, run.end), gone
