"""The events that all models share: acts, processes, and the requests of clients."""

from __future__ import annotations

from core.sim.events import DETAIL, NOTABLE, Event
from core.sim.units import format_duration


class Acted(Event, kind="act", level=NOTABLE):
    """An act on the system."""

    word: str
    text: str

    def sentence(self) -> str:
        return self.text


class ProcessDied(Event, kind="process-died", level=NOTABLE):
    """A server's process ended."""

    server: str
    power: bool

    def sentence(self) -> str:
        if self.power:
            return f"the machine of {self.server} loses power: its process ends, and data that was not synced to disk is lost"
        return f"the process of {self.server} ends; what it has written to its files survives"


class ProcessStarted(Event, kind="process-started", level=NOTABLE):
    """A server's process started again."""

    server: str

    template = "{server} restarts with the data on its disk"


class WriteSent(Event, kind="write-sent", level=DETAIL):
    """A client sent a write."""

    client: str
    key: str
    version: int
    server: str

    template = "{client} sends version {version} of {key} to {server}"


class WriteEnded(Event, kind="write-ended", words={"outcome": ("ok", "fail", "unknown")}):
    """A write ended for its client."""

    client: str
    key: str
    version: int
    outcome: str
    took_us: int
    reason: str

    def sentence(self) -> str:
        what = f"version {self.version} of {self.key}"
        after = f"after {format_duration(self.took_us)}"
        if self.outcome == "ok":
            return f"{self.client} is told {after} that {what} was written"
        if self.outcome == "fail":
            return f"{self.client} is told {after} that {what} was refused: {self.reason}"
        return f"{self.client} doesn't know {after} whether {what} was written: {self.reason}"


class ReadEnded(Event, kind="read-ended", level=DETAIL, words={"outcome": ("ok", "fail", "unknown")}):
    """A read ended. Each of the last four columns gives the number of versions by which the value violates a guarantee."""

    client: str
    key: str
    server: str
    outcome: str
    version: int
    stale: int
    own: int
    backward: int
    unacknowledged: bool
    reason: str

    def sentence(self) -> str:
        if self.outcome != "ok":
            return f"the read of {self.key} by {self.client} at {self.server} ended without a value: {self.reason}"
        what = f"version {self.version} of {self.key}" if self.version else f"no version of {self.key}"
        harms = [
            f"{text} by {count}"
            for text, count in (
                ("behind the acknowledged writes", self.stale), ("behind the client's own writes", self.own),
                ("behind what the client has read before", self.backward),
            )
            if count
        ]  # fmt: skip
        if self.unacknowledged:
            harms.append("not acknowledged yet")
        return f"{self.client} reads {what} at {self.server}" + (f": {', '.join(harms)}" if harms else "")


COMMON = (Acted, ProcessDied, ProcessStarted, WriteSent, WriteEnded, ReadEnded)
"""The kinds of events of all models."""
