"""What clients felt of a run: how long writes waited, what was refused, given up, lost, duplicated, read twice, and never read.

What was acknowledged, lost, and duplicated comes from the durability account. A `ClientSummary` learns the rest from the events of the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, Protocol

import attrs

from core.kafka import events
from core.kafka.events import KINDS
from core.kafka.events.base import count_of, records
from core.kafka.health import STALL_BOUND
from core.kafka.ids import TopicPartition
from core.lab.accounts.losses import Loss as LostRecords
from core.sim.events import EventTuple, kind_of, seq_of, time_of
from core.sim.units import format_duration

MOST_NAMES: Final = 3
"""The number of partitions, brokers, or acts that a line names."""


@attrs.define
class Waiting:
    """The longest time for which a batch for a partition has waited for its acknowledgment.

    Attributes:
        begun: when the batch was sent, in µs.
        waited: how long it has waited, in µs.
        seq: the event that told of the wait.
        ending: how the wait ended: `""` if the batch was acknowledged.
    """

    begun: int
    waited: int
    seq: int
    ending: str = ""


BatchKey = tuple[str, TopicPartition, int, int]
"""What identifies a waiting batch: its producer, its partition, the time at which it was sent in µs, and the number of its records."""


@attrs.define
class Loss:
    """Records of one partition that were lost for one reason. `acknowledged` and `read` count those that a client knew to be written."""

    ranges: list[tuple[int, int]] = attrs.field(factory=list)
    count: int = 0
    acknowledged: int = 0
    read: int = 0

    def add(self, lost: LostRecords) -> None:
        """Add a range of lost records."""
        count = lost.end - lost.start
        self.count += count
        self.acknowledged += count * lost.acknowledged
        self.read += count * lost.read
        if self.ranges and self.ranges[-1][1] == lost.start:
            self.ranges[-1] = self.ranges[-1][0], lost.end
        else:
            self.ranges.append((lost.start, lost.end))

    def text(self, tp: TopicPartition) -> str:
        """Return what was lost of a partition, in words."""
        known = [f"{many:,} {word}" for many, word in ((self.acknowledged, "acknowledged"), (self.read, "already read")) if many]
        place = some([offset_range(start, end) for start, end in self.ranges])
        return f"{records(self.count)} of {tp} at {'offset' if self.count == 1 else 'offsets'} {place} ({', '.join(known) or 'none was acknowledged'})"


def some(names: Sequence[str]) -> str:
    """Return the first few names as a list, and the number of the others."""
    if len(names) <= MOST_NAMES:
        return ", ".join(names)
    return f"{', '.join(names[:MOST_NAMES])}, and {len(names) - MOST_NAMES} more"


def offset_range(start: int, end: int) -> str:
    """Return offsets in words. `end` is exclusive."""
    return f"{start:,}" if end - start == 1 else f"{start:,}–{end - 1:,}"


COUNTED: Final[dict[str, str]] = {
    events.ProcessedAgain.kind: "read twice",
    events.RecordsSkipped.kind: "never read",
    events.ProcessedTwice.kind: "processed twice",
    events.NeverProcessed.kind: "never processed",
    events.HalfVisible.kind: "visible although their transaction was aborted",
    events.SucceededTwice.kind: "handled twice by a service",
    events.RetryDropped.kind: "dropped by a retry service",
    events.DeadLettered.kind: "put in a dead-letter topic",
    events.RecordsOutOfOrder.kind: "stored out of order",
    events.ProcessedOutOfOrder.kind: "processed out of order",
    events.RecordsDuplicated.kind: "duplicated",
}
"""For each kind of event that reports a range of records to which something happened: what happened, in words."""


class Account(Protocol):
    """The totals of the durability account, in records: of a cluster's view, or at the end of a run."""

    @property
    def acked(self) -> int: ...
    @property
    def lost(self) -> int: ...
    @property
    def duplicated(self) -> int: ...


@attrs.frozen
class Felt:
    """What clients felt until a moment, in numbers of records unless stated otherwise.

    Attributes:
        acknowledged, lost, duplicated: as the durability account counts them.
        refused: how often leaders refused a write.
        given_up: what producers gave up on.
        longest_wait: the longest time for which a write waited, in µs; 0 if no write waited for more than `STALL_BOUND`.
        waited_for: the partition of that write; empty if there is none.
        read_twice, never_read: what happened to members of groups.
    """

    acknowledged: int
    refused: int
    given_up: int
    lost: int
    duplicated: int
    longest_wait: int
    waited_for: str
    read_twice: int
    never_read: int

    def as_data(self) -> dict[str, Any]:
        """Return the numbers for JSON."""
        data: dict[str, Any] = attrs.asdict(self)
        data["longest_wait_us"] = data.pop("longest_wait")
        return data


def _count(value: int) -> str:
    return f"{value:,}"


_ROWS: Final[tuple[tuple[str, str, Callable[[int], str]], ...]] = (
    ("acknowledged", "acknowledged", _count),
    ("refused", "refused", lambda times: count_of(times, "time") if times else "0"),
    ("given up", "given_up", _count),
    ("lost", "lost", _count),
    ("duplicated", "duplicated", _count),
    ("longest wait", "longest_wait", lambda us: format_duration(us) if us else f"under {format_duration(STALL_BOUND)}"),
    ("read twice", "read_twice", _count),
    ("never read", "never_read", _count),
)
"""The rows of a table of what clients felt: the label, the field, and how it is written."""

ALWAYS: Final = ("acknowledged", "lost", "longest_wait")
"""The fields that have a row although all runs have 0."""


@attrs.frozen
class FeltRow:
    """One row of a table of what clients felt, with a value for each run. `harm` is whether a difference is harm, not only a delay."""

    label: str
    values: tuple[str, ...]
    differs: bool
    harm: bool


def felt_rows(felts: Sequence[Felt]) -> list[FeltRow]:
    """Return the rows of a table with a column for each run. Rows in which nothing happened are left out."""
    rows = []
    for label, field, text in _ROWS:
        values = [getattr(felt, field) for felt in felts]
        if any(values) or field in ALWAYS:
            rows.append(FeltRow(label, tuple(map(text, values)), len(set(values)) > 1, field in ("lost", "duplicated", "never_read")))
    return rows


class ClientSummary:
    """Learns from the events of a run what clients felt.

    Attributes:
        handlers: for each kind of event that matters, the function that takes it.
    """

    def __init__(self) -> None:
        self._waits: dict[TopicPartition, Waiting] = {}
        self._unanswered: dict[BatchKey, Waiting] = {}
        self._refused: Counter[str] = Counter()
        self._given_up: Counter[str] = Counter()
        self._counted: dict[str, tuple[int, int]] = {}
        self.handlers: Final[dict[str, Callable[[EventTuple], None]]] = {
            **dict.fromkeys(COUNTED, self._count),
            events.ProduceAcked.kind: self._answered,
            events.ProduceWaiting.kind: self._waits_on,
            events.ProduceGivenUp.kind: self._gave_up,
            events.AppendRefused.kind: self._refuse,
        }

    def __call__(self, event: EventTuple) -> None:
        handler = self.handlers.get(kind_of(event))
        if handler is not None:
            handler(event)

    def copy(self) -> ClientSummary:
        """Return a summary that goes on from the same state."""
        other = ClientSummary()
        other._waits, other._counted = dict(self._waits), dict(self._counted)
        other._unanswered = {key: attrs.evolve(wait) for key, wait in self._unanswered.items()}
        other._refused, other._given_up = Counter(self._refused), Counter(self._given_up)
        return other

    def _longest(self, tp: TopicPartition, wait: Waiting) -> None:
        known = self._waits.get(tp)
        if known is None or wait.waited > known.waited:
            self._waits[tp] = wait

    def _waits_on(self, event: EventTuple) -> None:
        waiting = events.ProduceWaiting(event)
        begun = time_of(event) - waiting.waited_us
        key = waiting.producer, TopicPartition(waiting.topic, waiting.partition), begun, waiting.records
        if key not in self._unanswered:
            self._unanswered[key] = Waiting(begun, waiting.waited_us, seq_of(event), "unanswered")

    def _answered(self, event: EventTuple) -> None:
        acked = events.ProduceAcked(event)
        if acked.latency_us <= STALL_BOUND:
            return
        tp, begun = TopicPartition(acked.topic, acked.partition), time_of(event) - acked.latency_us
        told = self._unanswered.pop((acked.producer, tp, begun, acked.records), None)
        self._longest(tp, Waiting(begun, acked.latency_us, seq_of(event) if told is None else told.seq))

    def _gave_up(self, event: EventTuple) -> None:
        failed = events.ProduceGivenUp(event)
        tp, begun = TopicPartition(failed.topic, failed.partition), time_of(event) - failed.waited_us
        self._given_up[failed.error] += failed.records
        self._unanswered.pop((failed.producer, tp, begun, failed.records), None)
        self._longest(tp, Waiting(begun, failed.waited_us, seq_of(event), "given up"))

    def _refuse(self, event: EventTuple) -> None:
        self._refused[events.AppendRefused(event).error] += 1

    def _count(self, event: EventTuple) -> None:
        counted = KINDS[kind_of(event)](event)
        many = counted.to_offset - counted.from_offset  # type: ignore[attr-defined]
        before = self._counted.get(kind_of(event))
        self._counted[kind_of(event)] = (many, seq_of(event)) if before is None else (before[0] + many, before[1])

    def _longest_waits(self, end: int) -> dict[TopicPartition, Waiting]:
        """Return the longest wait of each partition until a virtual time in µs, including those that have not ended."""
        waits = dict(self._waits)
        for (_, tp, _, _), wait in self._unanswered.items():
            waited = end - wait.begun
            if tp not in waits or waited > waits[tp].waited:
                waits[tp] = attrs.evolve(wait, waited=waited)
        return waits

    def felt(self, end: int, account: Account) -> Felt:
        """Return what clients felt until a virtual time in µs."""
        waits = {tp: wait for tp, wait in self._longest_waits(end).items() if wait.waited > STALL_BOUND}
        worst = max(waits, key=lambda tp: waits[tp].waited, default=None)
        return Felt(
            acknowledged=account.acked,
            refused=self._refused.total(),
            given_up=self._given_up.total(),
            lost=account.lost,
            duplicated=account.duplicated,
            longest_wait=0 if worst is None else waits[worst].waited,
            waited_for="" if worst is None else str(worst),
            read_twice=self._counted.get(events.ProcessedAgain.kind, (0, 0))[0],
            never_read=self._counted.get(events.RecordsSkipped.kind, (0, 0))[0],
        )

    def lines(
        self, end: int, acked: int, lost: Iterable[LostRecords], act_behind: Callable[[int], int], because: Callable[[int], str]
    ) -> Iterator[tuple[str, str]]:
        """Yield what clients felt, as pairs of a label and a text.

        Args:
            end: the virtual time at the end of the run, in µs.
            acked: the number of records that were acknowledged, by the durability account.
            lost: the records that are lost at the end, by the durability account.
            act_behind: returns the act that led to an event, as a number.
            because: returns what led to an event, as the end of a sentence.
        """
        waits = self._longest_waits(end)
        if waits:
            tp, worst = max(waits.items(), key=lambda each: each[1].waited)
            ended = {"": "", "unanswered": ", and has no answer yet", "given up": ", until the producer gave up"}[worst.ending]
            others = f"; {count_of(len(waits) - 1, 'other partition')} had to wait, too" if len(waits) > 1 else ""
            yield (
                "writes",
                f"{tp}: one waited for {format_duration(worst.waited)} from {format_duration(worst.begun)} on{ended}{because(worst.seq)}{others}",
            )
        if self._refused:
            yield "refused", ", ".join(f"{count_of(many, 'time')}: {error}" for error, many in self._refused.most_common())
        if self._given_up:
            yield "given up", ", ".join(f"{records(many)}: {error}" for error, many in self._given_up.most_common())
        found: dict[tuple[TopicPartition, int], Loss] = {}
        for one in lost:
            found.setdefault((one.tp, act_behind(one.event)), Loss()).add(one)
        losses = sorted(found.items(), key=lambda each: -each[1].count)
        for (tp, act), loss in losses[:MOST_NAMES]:
            yield "LOST", f"{loss.text(tp)}{because(act)}"
        if len(losses) > MOST_NAMES:
            rest = sum(loss.count for _, loss in losses[MOST_NAMES:])
            yield "LOST", f"{records(rest)} in {count_of(len(losses) - MOST_NAMES, 'other place')}"
        for kind, (many, seq) in self._counted.items():
            yield "records", f"{records(many)} {COUNTED[kind]}{because(seq)}"
        total = sum(loss.count for _, loss in losses)
        if acked or total:
            yield "records", f"{acked:,} acknowledged, {f'{total:,}' if total else 'none'} lost"
