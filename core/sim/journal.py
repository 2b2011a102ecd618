"""The journal, which gives each event a sequence number, a virtual time, and a cause, and passes the event to a sink as a plain tuple."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final

Sink = Callable[[tuple], None]
"""A function that receives the event tuples, in order."""


MAX_CAUSES: Final = 4
"""The maximum number of causes of an event. If more events led to an event, the less important ones are left out."""

Column = Any
"""The type of a number that events store without conversion. The type is not `int`, because a compiled engine would box an `int` again for
each event."""


def _discard(event: tuple) -> None:
    """Receive an event and discard it."""


null_sink: Final[Sink] = _discard
"""The sink that discards events. Code that emits many events checks whether the sink is `null_sink`, so that the code does not create tuples
unnecessarily. A compiled engine finds this name faster than the function's.
"""


class Journal:
    """Records a simulation's events.

    Attributes:
        seq: the sequence number of the last event, 0 before the first.
        now: virtual time, in µs; set by the simulation.
        cause: the sequence number of the event that led to the current message; set by the code that dispatches the message.
        causes: if several events together lead to the next event, their sequence numbers; otherwise empty (`blame`).
        sink: the function that receives the events as tuples.
    """

    OUTSIDE: ClassVar = ("sink",)
    """The fields that are not part of a simulation's state."""

    __slots__ = ("cause", "causes", "now", "seq", "sink")

    def __init__(self, sink: Sink = null_sink) -> None:
        self.seq = 0
        self.now = 0
        self.cause = 0
        self.causes: tuple[int, ...] = ()
        self.sink = sink

    def emit(self, kind: str, *columns: object) -> int:
        """Record an event with `cause` as its cause. Return the event's sequence number."""
        self.seq = seq = self.seq + 1
        if self.causes:
            causes, self.causes = self.causes, ()
            if causes[0] == self.cause:
                self.sink((seq, self.now, causes, kind, *columns))
                return seq
        self.sink((seq, self.now, self.cause, kind, *columns))
        return seq

    def emit_because(self, reason: int, kind: str, *columns: object) -> int:
        """Record an event that has a reason in addition to `cause`, which only revealed it. The reason is the more important of the two. If
        it is 0, there is none. Return the event's sequence number.
        """
        cause = self.cause
        if reason:
            self.blame((reason, cause) if cause and cause != reason else (reason,))
        seq = self.emit(kind, *columns)
        self.cause = cause
        return seq

    def blame(self, causes: tuple[int, ...]) -> None:
        """Set the events, most important first, that led to the next event. The first one is the cause of everything else that follows. If
        there is none, `cause` stays what it is.
        """
        if causes:
            self.cause = causes[0]
            self.causes = causes[:MAX_CAUSES] if len(causes) > 1 else ()
