"""Stamps events with sequence number, virtual time and cause, and hands them to a sink as plain tuples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

Sink = Callable[[tuple], None]
"""Takes one event tuple; called in order."""


Column = Any
"""A number that goes into an event as it came. Where the engine is compiled, a plain `int` would be made anew for each event that tells it."""


def nobody(event: tuple) -> None:
    """The sink of a cluster that nobody watches: whoever emits much need not make the tuples."""


class Journal:
    """The recorder of one cluster.

    Attributes:
        seq: sequence number of the last event, 0 before the first.
        now: virtual time in µs, moved by the agenda.
        cause: seq of the event that led to what is being handled, set by whoever dispatches.
        sink: where the tuples go.
    """

    OUTSIDE: ClassVar = ("sink",)
    """Where the tuples go is no part of a simulation's state."""

    __slots__ = ("cause", "now", "seq", "sink")

    def __init__(self, sink: Sink = nobody) -> None:
        self.seq = 0
        self.now = 0
        self.cause = 0
        self.sink = sink

    def emit(self, kind: str, *columns: object) -> int:
        """Record an event of that kind caused by `cause`; returns its seq."""
        self.seq = seq = self.seq + 1
        self.sink((seq, self.now, self.cause, kind, *columns))
        return seq
