"""The journal, which gives each event a sequence number, a virtual time, and a cause, and passes the event to a sink as a plain tuple."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

Sink = Callable[[tuple], None]
"""A function that receives the event tuples, in order."""


Column = Any
"""The type of a number that events store without conversion. The type is not `int`, because a compiled engine would box an `int` again for
each event."""


def null_sink(event: tuple) -> None:
    """Receive an event and discard it. Code that emits many events checks whether the sink is `null_sink`, so that the code does not create
    tuples unnecessarily.
    """


class Journal:
    """Records a simulation's events.

    Attributes:
        seq: the sequence number of the last event, 0 before the first.
        now: virtual time, in µs; set by the simulation.
        cause: the sequence number of the event that led to the current message; set by the code that dispatches the message.
        sink: the function that receives the events as tuples.
    """

    OUTSIDE: ClassVar = ("sink",)
    """The fields that are not part of a simulation's state."""

    __slots__ = ("cause", "now", "seq", "sink")

    def __init__(self, sink: Sink = null_sink) -> None:
        self.seq = 0
        self.now = 0
        self.cause = 0
        self.sink = sink

    def emit(self, kind: str, *columns: object) -> int:
        """Record an event with `cause` as its cause. Return the event's sequence number."""
        self.seq = seq = self.seq + 1
        self.sink((seq, self.now, self.cause, kind, *columns))
        return seq
