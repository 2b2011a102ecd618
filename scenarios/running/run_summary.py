"""What happened in a run, in some ten lines: the acts, what they led to in the cluster, and what clients felt of it.

A `RunSummary` is a sink of the run's events. It keeps the first cause of each event (8 bytes), and the few events that it tells of. The event log
has everything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import attrs

from core.kafka import events
from core.kafka.events import KINDS
from core.kafka.events.base import brokers, count_of, records
from core.kafka.health import STALL_BOUND
from core.kafka.ids import TopicPartition
from core.lab.accounts.losses import Loss as LostRecords
from core.lab.act_sentences import act_sentence
from core.sim.events import Event, EventTuple, first_cause, kind_of, seq_of, time_of
from core.sim.units import SECOND, format_duration
from scenarios.io.escaping import escape_line
from scenarios.running.cause_index import CauseIndex

MOST_LINES: Final = 10
"""The number of lines for what happened in the cluster. If there is more, the least important lines are left out, and counted."""

TOGETHER: Final = SECOND
"""Similar events share a line if they are at most this far apart, in µs."""

ORDINARY_ACTS: Final = frozenset(
    (
        "acks", "answer", "arrive", "begin-transaction", "check-isr", "checkpoint", "clean", "close-consumer", "commit-offsets", "commit-transaction",
        "consume", "delay-service", "fetch", "init-transactions", "join-group", "load", "pause-partitions", "process", "processing-time", "produce",
        "produce-delayed", "resume-partitions", "retry-service", "stop-consume", "stop-load",
    )
)  # fmt: skip
"""The acts that are work, not disturbances. They are less important."""

MOST_NAMES: Final = 3
"""The number of partitions, brokers, or acts that a line names."""

INDENT: Final = "    "
LABEL: Final = 10
"""The width of the times and subjects in front of the lines."""


@attrs.define
class Happening:
    """One line about the cluster: similar events that follow each other closely.

    Attributes:
        kind: the kind of the events.
        time: the virtual time of the first event, in µs.
        says: the text, with `{}` where the names go.
        names: what the events were about, without repetitions.
        importance: which lines stay if there are too many.
    """

    kind: str
    time: int
    says: str
    names: dict[str, None]
    importance: int

    def text(self) -> str:
        """Return the line without its time."""
        return self.says.format(some(tuple(self.names)))


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
        place = some([_range(start, end) for start, end in self.ranges])
        return f"{records(self.count)} of {tp} at {'offset' if self.count == 1 else 'offsets'} {place} ({', '.join(known) or 'none was acknowledged'})"


def some(names: Sequence[str]) -> str:
    """Return the first few names as a list, and the number of the others."""
    if len(names) <= MOST_NAMES:
        return ", ".join(names)
    return f"{', '.join(names[:MOST_NAMES])}, and {len(names) - MOST_NAMES} more"


def _range(start: int, end: int) -> str:
    return f"{start:,}" if end - start == 1 else f"{start:,}–{end - 1:,}"


def _some_of(ids: Sequence[int], does: str) -> str:
    """Return brokers with a verb: `b2 leaves`, `b2 and b3 leave`."""
    return f"{brokers(ids)} {does}{'s' if len(ids) == 1 else ''}"


def _on(event: Event, text: str, importance: int) -> tuple[str, str, int]:
    return text, f"{event.topic}-{event.partition}", importance  # type: ignore[attr-defined]


ELECTIONS: Final = {
    "unclean": (" after an unclean election", 6),
    "eligible": (", from the ELR", 5),
    "last-known": (", as the last known leader", 6),
    "preferred": (" again, as the preferred leader", 2),
}
"""What a line adds for an election that is not an ordinary one, and the importance of the line."""


def _elected(event: EventTuple) -> tuple[str, str, int]:
    elected = events.LeaderElected(event)
    how, importance = ELECTIONS.get(elected.election, ("", 3))
    return _on(elected, f"b{elected.leader} leads {{}}{how}", importance)


def _truncated(event: EventTuple) -> tuple[str, str, int]:
    cut = events.Truncated(event)
    return f"b{cut.broker} truncates {{}}", f"{cut.topic}-{cut.partition} (offsets {_range(cut.from_offset, cut.to_offset)})", 5


TOLD: Final[dict[str, Callable[[EventTuple], tuple[str, str, int]]]] = {
    events.BrokerFenced.kind: lambda event: ("the controller fences {}", f"b{events.BrokerFenced(event).broker}", 4),
    events.BrokerUnfenced.kind: lambda event: ("{} unfenced", f"b{events.BrokerUnfenced(event).broker}", 1),
    events.SessionExpired.kind: lambda event: ("the ZooKeeper session of {} expires", f"b{events.SessionExpired(event).broker}", 4),
    events.LeaderElected.kind: _elected,
    events.PartitionOffline.kind: lambda event: _on(events.PartitionOffline(event), "{} offline: no replica can lead", 6),
    events.IsrShrunk.kind: lambda event: _on(events.IsrShrunk(event), f"{_some_of(events.IsrShrunk(event).out, 'leave')} the ISR of {{}}", 4),
    events.IsrExpanded.kind: lambda event: _on(events.IsrExpanded(event), f"{_some_of(events.IsrExpanded(event).joined, 'join')} the ISR of {{}}", 2),
    events.Truncated.kind: _truncated,
    events.UnflushedLost.kind: lambda event: _on(
        events.UnflushedLost(event), f"b{events.UnflushedLost(event).broker} loses what it had not flushed of {{}}", 5
    ),
    events.LogDirFailed.kind: lambda event: ("log directories of {} fail", f"b{events.LogDirFailed(event).broker}", 5),
    events.NoMajority.kind: lambda event: ("{} cannot reach a majority of the controllers", events.NoMajority(event).controller, 6),
    events.ControllerElected.kind: lambda event: ("{} becomes the controller", events.ControllerElected(event).controller, 2),
    events.GroupMemberRemoved.kind: lambda event: ("the coordinator removes a member from {}", f"group {events.GroupMemberRemoved(event).group}", 3),
    events.GroupRebalancing.kind: lambda event: ("{} rebalances", f"group {events.GroupRebalancing(event).group}", 1),
    events.TransactionTimedOut.kind: lambda event: (
        "the coordinator aborts the transaction of {}, which took too long", events.TransactionTimedOut(event).transactional_id, 4
    ),
    events.ConsumerReset.kind: lambda event: ("consumer {} resets its position", events.ConsumerReset(event).consumer, 3),
}  # fmt: skip
"""For each kind of event that the summary tells of: the text, the name for its braces, and its importance."""

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


class RunSummary:
    """A sink that learns from the events of a run what happened. Pass every event from the first one on."""

    def __init__(self) -> None:
        self._first_causes: Final = CauseIndex()
        self._acts: Final[dict[int, EventTuple]] = {}
        self._happenings: Final[list[Happening]] = []
        self._waits: Final[dict[TopicPartition, Waiting]] = {}
        self._unanswered: Final[dict[BatchKey, Waiting]] = {}
        self._refused: Final[Counter[str]] = Counter()
        self._given_up: Final[Counter[str]] = Counter()
        self._counted: Final[dict[str, tuple[int, EventTuple]]] = {}
        self._handlers: Final[dict[str, Callable[[EventTuple], None]]] = {
            **dict.fromkeys(TOLD, self._tell),
            **dict.fromkeys(COUNTED, self._count),
            events.Acted.kind: self._act,
            events.ProduceAcked.kind: self._answered,
            events.ProduceWaiting.kind: self._waits_on,
            events.ProduceGivenUp.kind: self._gave_up,
            events.AppendRefused.kind: self._refuse,
        }

    def __call__(self, event: EventTuple) -> None:
        self._first_causes.append(first_cause(event))
        handler = self._handlers.get(kind_of(event))
        if handler is not None:
            handler(event)

    # --- the cluster -----------------------------------------------------------------------------------------------

    def _add(self, event: EventTuple, says: str, name: str, importance: int) -> None:
        """Add an event to the last line if it says the same, or begin a line."""
        is_act = kind_of(event) == "act"
        for last in reversed(self._happenings[-4:]):
            if last.kind == "act" and not is_act:
                break  # what an act led to comes after it, also if time stands still
            same = (last.kind, last.says, last.importance) == (kind_of(event), says, importance)
            if same and time_of(event) - last.time <= (0 if is_act else TOGETHER):
                last.names[name] = None
                return
        self._happenings.append(Happening(kind_of(event), time_of(event), says, {name: None}, importance))

    def _act(self, event: EventTuple) -> None:
        act = events.Acted(event)
        self._acts[seq_of(event)] = event
        self._add(event, "{}", act_sentence(act.act, act.args), 2 if act.act in ORDINARY_ACTS else 5)

    def _tell(self, event: EventTuple) -> None:
        self._add(event, *TOLD[kind_of(event)](event))

    # --- clients ---------------------------------------------------------------------------------------------------

    def _longest(self, tp: TopicPartition, wait: Waiting) -> None:
        known = self._waits.get(tp)
        if known is None or wait.waited > known.waited:
            self._waits[tp] = wait

    def _waits_on(self, event: EventTuple) -> None:
        waiting = events.ProduceWaiting(event)
        begun = time_of(event) - waiting.waited_us
        key = waiting.producer, TopicPartition(waiting.topic, waiting.partition), begun, waiting.records
        self._unanswered.setdefault(key, Waiting(begun, waiting.waited_us, seq_of(event), "unanswered"))

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
        before, first = self._counted.get(kind_of(event), (0, event))
        self._counted[kind_of(event)] = before + many, first

    # --- the lines -------------------------------------------------------------------------------------------------

    def _act_behind(self, seq: int) -> int:
        """Return the number of the act to which the first causes of an event lead; 0 if they lead to none."""
        while seq and seq not in self._acts:
            seq = self._first_causes[seq]
        return seq

    def why(self, seq: int) -> str:
        """Return the act that led to an event, as the end of a sentence: `, because of kill b1 (5s)`; nothing if no act did."""
        seq = self._act_behind(seq)
        if not seq:
            return ""
        act = events.Acted(self._acts[seq])
        return f", because of {act_sentence(act.act, act.args)} ({format_duration(time_of(act))})"

    def lines(self, end: int, acked: int, lost: Iterable[LostRecords]) -> Iterator[str]:
        """Yield what happened.

        Args:
            end: the virtual time at the end of the run, in µs.
            acked: the number of records that were acknowledged, by the durability account.
            lost: the records that are lost at the end, by the durability account.
        """
        yield from self.cluster_lines()
        yield from self.client_lines(end, acked, lost)

    def client_lines(self, end: int, acked: int, lost: Iterable[LostRecords]) -> Iterator[str]:
        """Yield what clients felt. The arguments are those of `lines`."""
        for label, text in self._clients(end, acked, lost):
            yield _line(label, text)

    def cluster_lines(self) -> Iterator[str]:
        """Yield the acts and what they led to in the cluster."""
        told = self._happenings
        kept = sorted(sorted(range(len(told)), key=lambda at: (-told[at].importance, at))[:MOST_LINES])
        before = ""
        for at in kept:
            time = format_duration(told[at].time)
            yield _line("" if time == before else time, told[at].text())
            before = time
        if len(kept) < len(told):
            yield _line("", f"and {count_of(len(told) - len(kept), 'less important line')} (isrlab run --log FILE writes everything)")

    def _losses_of(self, lost: Iterable[LostRecords]) -> dict[tuple[TopicPartition, int], Loss]:
        """Return the lost records by partition and by the act that led to the loss."""
        found: dict[tuple[TopicPartition, int], Loss] = {}
        for one in lost:
            found.setdefault((one.tp, self._act_behind(one.event)), Loss()).add(one)
        return found

    def _clients(self, end: int, acked: int, lost: Iterable[LostRecords]) -> Iterator[tuple[str, str]]:
        waits = dict(self._waits)
        for (_, tp, _, _), wait in self._unanswered.items():
            wait.waited = end - wait.begun
            if tp not in waits or wait.waited > waits[tp].waited:
                waits[tp] = wait
        if waits:
            tp, worst = max(waits.items(), key=lambda each: each[1].waited)
            ended = {"": "", "unanswered": ", and has no answer yet", "given up": ", until the producer gave up"}[worst.ending]
            others = f"; {count_of(len(waits) - 1, 'other partition')} had to wait, too" if len(waits) > 1 else ""
            yield (
                "writes",
                f"{tp}: one waited for {format_duration(worst.waited)} from {format_duration(worst.begun)} on{ended}{self.why(worst.seq)}{others}",
            )
        if self._refused:
            yield "refused", ", ".join(f"{count_of(many, 'time')}: {error}" for error, many in self._refused.most_common())
        if self._given_up:
            yield "given up", ", ".join(f"{records(many)}: {error}" for error, many in self._given_up.most_common())
        losses = sorted(self._losses_of(lost).items(), key=lambda each: -each[1].count)
        for (tp, act), loss in losses[:MOST_NAMES]:
            yield "LOST", f"{loss.text(tp)}{self.why(act)}"
        if len(losses) > MOST_NAMES:
            rest = sum(loss.count for _, loss in losses[MOST_NAMES:])
            yield "LOST", f"{records(rest)} in {count_of(len(losses) - MOST_NAMES, 'other place')}"
        for kind, (many, first) in self._counted.items():
            yield "records", f"{records(many)} {COUNTED[kind]}{self.why(seq_of(first))}"
        total = sum(loss.count for _, loss in losses)
        if acked or total:
            yield "records", f"{acked:,} acknowledged, {f'{total:,}' if total else 'none'} lost"


def _line(label: str, text: str) -> str:
    return f"{INDENT}{label:>{LABEL}}  {escape_line(text)}"
