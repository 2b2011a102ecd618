"""Follows the causes of events to what was done: to an act, or to a named start."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, Final

from core.kafka.events import KINDS, Acted
from core.sim.events import EventTuple, causes_of

HARMS: Final[dict[str, tuple[str, ...]]] = {
    "lost": ("records-lost",),
    "duplicated": ("records-duplicated", "processed-again", "processed-twice", "succeeded-twice"),
    "skipped": ("records-skipped", "never-processed", "half-visible", "retry-dropped"),
    "unavailable": ("partition-offline", "leader-unavailable", "no-majority"),
    "stalled": ("produce-waiting", "producer-blocked", "append-refused"),
    "fenced": ("broker-fenced",),
    "expired": ("session-expired",),
    "removed": ("member-removed", "isr-shrunk", "isr-shrink-proposed"),
    "timed out": (
        "transaction-timed-out", "produce-given-up", "produce-failed", "send-timed-out", "poll-interval-exceeded", "coordinator-lost",
        "fetcher-disconnected",
    ),
}  # fmt: skip
"""The kinds of events that report harm, by the word for the harm."""

HARMFUL: Final = frozenset(kind for kinds in HARMS.values() for kind in kinds)

STARTS: Final = frozenset((Acted.kind, "topic-created"))
"""The kinds of events at which a chain can end: acts, and the start of the cluster, which creates the topics."""


class Log:
    """The events of a run.

    Attributes:
        events: the events in order; the event with the number n is at n - 1.
        harms: the harmful events.
    """

    def __init__(self) -> None:
        self.events: list[EventTuple] = []
        self.harms: list[EventTuple] = []
        self._acts: list[int] = []
        """For each act, its event or, if it was left out, the event that comes next."""

    def __call__(self, event: EventTuple) -> None:
        self.events.append(event)
        if event[3] in HARMFUL:
            self.harms.append(event)
        elif event[3] == Acted.kind:
            self._acts.append(event[0])

    def leave_out(self) -> None:
        """Record that the next act is left out."""
        self._acts.append(len(self.events) + 1)

    @property
    def acts(self) -> int:
        """The number of acts so far, including those that were left out."""
        return len(self._acts)

    def place(self, event: EventTuple) -> int:
        """Return the number of the act that an event is or follows, counting also the acts that were left out."""
        return bisect_right(self._acts, event[0])

    def find(self, seq: int) -> EventTuple:
        """Return the event with a number."""
        return self.events[seq - 1]

    def chain(self, event: EventTuple) -> list[EventTuple]:
        """Return an event, its first cause, the first cause of that event, and so on."""
        chain = [event]
        while causes := causes_of(chain[-1]):
            chain.append(self.find(causes[0]))
        return chain

    def ends(self, event: EventTuple) -> list[EventTuple]:
        """Return the events without a cause to which the causes of an event lead."""
        seen, open_, found = set(), [event], []
        while open_:
            at = open_.pop()
            if at[0] in seen:
                continue
            seen.add(at[0])
            causes = causes_of(at)
            if not causes:
                found.append(at)
            open_.extend(self.find(cause) for cause in causes)
        return found


def value(event: EventTuple, column: str) -> Any:
    """Return the value of a column of an event; None if the event does not have it."""
    columns = KINDS[event[3]].columns
    return event[4 + list(columns).index(column)] if column in columns else None


SUBJECTS: Final = (
    "topic", "partition", "broker", "producer", "client", "group", "member_id", "transactional_id", "consumer", "worker", "process", "follower", "leader", "error", "why",
)  # fmt: skip
"""The columns that say to whom something happens. For an election or an ISR, the broker that reports the event does not matter."""


def subject(event: EventTuple) -> tuple[Any, ...]:
    """Return what two events have in common if the same harm happened to the same partition, broker, client, or group."""
    return (event[3], *(value(event, column) for column in SUBJECTS if not (column == "broker" and "topic" in KINDS[event[3]].columns)))


_OF_A_BROKER: Final = frozenset((
    "broker-stopped", "broker-started", "broker-paused", "broker-resumed", "broker-registered", "broker-fenced", "broker-unfenced",
    "broker-unregistered", "shutdown-begun", "session-expired", "broker-joined", "broker-left", "disk-slowed",
))  # fmt: skip
"""The kinds of events that happen to one broker and to nobody else."""

_SILENCES: Final = frozenset(("broker-fenced", "session-expired"))
"""The kinds of events that happen to a broker because it was silent."""


def faults(log: Log) -> Iterator[str]:
    """Yield, in words, the arrows that cannot be true.

    A cause must come before its effect. A broker is fenced, or loses its session, because of something that happened to it, to the network,
    or to the controller. An event that happened only to another broker is unrelated, unless that broker is a controller.
    """
    controllers = {value(event, "controller") for event in log.events if event[3].startswith("controller-")}
    for event in log.events:
        for number, cause in enumerate(causes_of(event)):
            if not 0 < cause < event[0]:
                yield f"event {event[0]} ({event[3]}) names event {cause}, which does not come before it"
                continue
            why = log.find(cause)
            if why[1] > event[1]:
                yield f"event {event[0]} ({event[3]}) names event {cause}, which is later"
            if number or event[3] not in _SILENCES or why[3] not in _OF_A_BROKER:
                continue
            broker = value(why, "broker")
            if broker != value(event, "broker") and f"b{broker}" not in controllers:
                yield f"event {event[0]} ({event[3]} of b{value(event, 'broker')}) names event {cause} ({why[3]} of b{broker})"
