"""Stamps events with sequence number, virtual time and cause, and hands them to a sink as plain tuples."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final

Sink = Callable[[tuple], None]
"""Takes one event tuple; called in order."""


Column = Any
"""A number that goes into an event as it came. Where the engine is compiled, a plain `int` would be made anew for each event that tells it."""


def nobody(event: tuple) -> None:
    """The sink of a cluster that nobody watches: whoever emits much need not make the tuples."""


unasked: Final[Callable[[Any], None]] = deque[Any](maxlen=0).append
"""Takes in what moves where no keyframe asks for it."""


HEARTBEATS: Final = -1
"""What a journal is told where the controller hears a heartbeat, or looks at who has sent none; among the ids of brokers."""


class Journal:
    """The recorder of one cluster.

    Attributes:
        seq: sequence number of the last event, 0 before the first.
        now: virtual time in µs, moved by the agenda.
        cause: seq of the event that led to what is being handled, set by whoever dispatches.
        sink: where the tuples go.
        stirred: something else than plain replication has happened since the last keyframe (`core.lab.history.moving`).
        moves: is told, in the step in which it happens, where plain replication moves what (`core.lab.history.moving.places_of` says in which forms).
        moved: what it was told since the last keyframe, if that can be shared.
        changed: objects, by id, that are not what they were at the last whole keyframe, though nothing was stirred.
        keyframed: what that keyframe was made of; None before the first.
    """

    __slots__ = ("cause", "changed", "keyframed", "moved", "moves", "now", "seq", "sink", "stirred")

    def __init__(self, sink: Sink = nobody) -> None:
        self.seq = 0
        self.now = 0
        self.cause = 0
        self.sink = sink
        self.stirred = True
        self.moves: Callable[[Any], None] = unasked
        self.moved: list[Any] = []
        self.changed: dict[int, object] = {}
        self.keyframed: Any = None

    def emit(self, kind: str, *columns: object) -> int:
        """Record an event of that kind (`core.kafka.events`) caused by `cause`; returns its seq."""
        self.seq = seq = self.seq + 1
        self.sink((seq, self.now, self.cause, kind, *columns))
        return seq
