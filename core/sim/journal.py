"""The journal: gives each event a sequence number, virtual time and cause, and passes it to a sink as a plain tuple."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

Sink = Callable[[tuple], None]
"""Takes one event tuple; called in order."""


Column = Any
"""A number that goes into an event unchanged. In a compiled engine, a value typed `int` would be boxed again for each event."""


def null_sink(event: tuple) -> None:
    """A sink that drops its events. Code that emits many events checks for it and does not make the tuples."""


class Journal:
    """The recorder of a simulation's events.

    Attributes:
        seq: the sequence number of the last event, 0 before the first.
        now: virtual time in µs; the simulation sets it.
        cause: the seq of the event that led to what is being handled; whoever dispatches a message sets it.
        sink: receives the tuples.
    """

    OUTSIDE: ClassVar = ("sink",)
    """The sink is no part of a simulation's state."""

    __slots__ = ("cause", "now", "seq", "sink")

    def __init__(self, sink: Sink = null_sink) -> None:
        self.seq = 0
        self.now = 0
        self.cause = 0
        self.sink = sink

    def emit(self, kind: str, *columns: object) -> int:
        """Record an event with `cause` as its cause; returns its seq."""
        self.seq = seq = self.seq + 1
        self.sink((seq, self.now, self.cause, kind, *columns))
        return seq
