"""What happened in a run, in some ten lines: the acts, what they led to in the cluster, and what clients felt of it.

A `RunSummary` is a sink of the run's events. It keeps the first cause of each event (8 bytes), and the few events that it tells of. The event log
has everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import attrs

from core.kafka import events
from core.kafka.events.base import brokers, count_of
from core.lab.accounts.losses import Loss as LostRecords
from core.lab.act_sentences import act_sentence
from core.sim.events import Event, EventTuple, first_cause, kind_of, seq_of, time_of
from core.sim.units import SECOND, format_duration
from scenarios.io.escaping import escape_line
from scenarios.running.cause_index import CauseIndex
from scenarios.running.client_summary import ClientSummary, offset_range, some

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
    return f"b{cut.broker} truncates {{}}", f"{cut.topic}-{cut.partition} (offsets {offset_range(cut.from_offset, cut.to_offset)})", 5


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


class RunSummary:
    """A sink that learns from the events of a run what happened. Pass every event from the first one on.

    Of a log whose causes somebody else has followed, pass only the events to tell of, to `tell`.

    Attributes:
        clients: what clients felt.
    """

    def __init__(self, roots: Mapping[int, int] | None = None) -> None:
        """Begin with no events.

        Args:
            roots: by the number of a told event, the first event in its chain of first causes, if somebody else has followed the causes.
        """
        self._roots: Final = roots
        self._first_causes: Final = CauseIndex()
        self._acts: Final[dict[int, EventTuple]] = {}
        self._happenings: Final[list[Happening]] = []
        self.clients: Final = ClientSummary()
        self._handlers: Final[dict[str, Callable[[EventTuple], None]]] = {
            **dict.fromkeys(TOLD, self._tell),
            **self.clients.handlers,
            events.Acted.kind: self._act,
        }

    def __call__(self, event: EventTuple) -> None:
        self._first_causes.append(first_cause(event))
        self.tell(event)

    def tell(self, event: EventTuple) -> None:
        """Tell of an event."""
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

    # --- the lines -------------------------------------------------------------------------------------------------

    def act_behind(self, seq: int) -> int:
        """Return the number of the act to which the first causes of an event lead; 0 if they lead to none."""
        if self._roots is not None:
            root = self._roots.get(seq, 0)
            return root if root in self._acts else 0
        while seq and seq not in self._acts:
            seq = self._first_causes[seq]
        return seq

    def why(self, seq: int) -> str:
        """Return the act that led to an event, as the end of a sentence: `, because of kill b1 (5s)`; nothing if no act did."""
        seq = self.act_behind(seq)
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
        for label, text in self.clients.lines(end, acked, lost, self.act_behind, self.why):
            yield _line(label, text)

    def cluster_lines(self) -> Iterator[str]:
        """Yield the acts and what they led to in the cluster."""
        kept, left_out = self.happenings(MOST_LINES)
        before = ""
        for one in kept:
            time = format_duration(one.time)
            yield _line("" if time == before else time, one.text())
            before = time
        if left_out:
            yield _line("", f"and {count_of(left_out, 'less important line')} (isrlab run --log FILE writes everything)")

    def happenings(self, most: int, wanted: Callable[[Happening], bool] = lambda _: True) -> tuple[list[Happening], int]:
        """Return the most important lines about the cluster, in the order of time, and how many others there are. The lines have no time."""
        told = [one for one in self._happenings if wanted(one)]
        kept = sorted(sorted(range(len(told)), key=lambda at: (-told[at].importance, at))[:most])
        return [told[at] for at in kept], len(told) - len(kept)


def _line(label: str, text: str) -> str:
    return f"{INDENT}{label:>{LABEL}}  {escape_line(text)}"
