"""The event log of a session that is gone through: it is that of the branch one is on."""

from __future__ import annotations

from typing import Protocol

from core.kafka.events import EventTuple


class EventLog(Protocol):
    """Where events are written (`scenarios.logs.event_log.LogWriter`)."""

    def __call__(self, event: EventTuple) -> None:
        """One more."""

    def cut(self, seq: int) -> None:
        """Those after that one are another branch's."""

    def close(self, now: int | None = None) -> None:
        """No more come; virtual µs at the end."""


class BranchEvents:
    """Writes each event of a branch once, however often one goes over it. `last`: the one written last; 0 without a log."""

    def __init__(self, log: EventLog | None) -> None:
        self.log = log
        self.last = 0

    def take(self, event: EventTuple) -> None:
        """Write an event if it is new."""
        if self.log is not None and event[0] > self.last:
            self.last = event[0]
            self.log(event)

    def cut(self, seq: int) -> None:
        """What follows that event is another branch's."""
        if self.log is not None and seq < self.last:
            self.log.cut(seq)
            self.last = seq

    def close(self, now: int) -> None:
        """The branch ends at virtual µs `now`."""
        if self.log is not None:
            self.log.close(now)
