"""The agenda: a priority queue of what is due when. Entries are plain data, ordered by time and then by order of scheduling."""

from __future__ import annotations

import heapq
from typing import Any, Final, NamedTuple

from core.sim.errors import Standstill
from core.sim.units import format_duration

END: Final = 2**62
"""An order after all others: everything that is due at a time has been handled."""


class Entry(NamedTuple):
    """A scheduled message for a node.

    Attributes:
        time: when it is due, virtual µs.
        order: breaks ties between equal times. It counts schedulings. Entries of long polls have a fixed order below zero
            (`core.sim.long_polling`).
        node: the address of the node that handles it.
        sender: the address of the sender; the node itself for a timer.
        connection: the ticket of the connection that it travels on (`Network.ticket`); for a timer, the incarnation of the node's process.
        message: what the node handles.
        cause: the seq of the event that led to it.
    """

    time: int
    order: int
    node: str
    sender: str
    connection: int
    message: Any
    cause: int


_new_entry: Final = tuple.__new__
"""Makes an `Entry` without its generated constructor, which takes half of the time of an `add`."""


MAX_AT_ONCE: Final = 100_000
"""More entries at one moment of virtual time mean that the simulation is stuck. Large clusters may have more (`Agenda.most`)."""


class Agenda:
    """A heap of entries.

    Attributes:
        hint: text that is added to the message of `Standstill`: a likely reason.
        at: the order of the entry that was taken last; END when nothing more is due now.
        most: the maximum number of entries that may be scheduled at one moment.
        in_order: how many entries were scheduled with a fixed order.
        moment: the time of the entry that was taken last.
        since: how many entries had been scheduled when that moment began.
    """

    __slots__ = ("at", "entries", "hint", "in_order", "moment", "most", "order", "since")

    def __init__(self, nodes: int = 0, hint: str = "") -> None:
        self.entries: list[Entry] = []
        self.hint = hint
        self.order = 0
        self.in_order = 0
        self.at = END
        self.most = MAX_AT_ONCE + 10 * nodes * nodes
        self.moment = -1
        self.since = 0

    def add(self, time: int, node: str, sender: str, connection: int, message: object, cause: int) -> None:
        """Schedule a message for a node."""
        self.order = order = self.order + 1
        heapq.heappush(self.entries, _new_entry(Entry, (time, order, node, sender, connection, message, cause)))

    def add_in_order(self, time: int, order: int, node: str, sender: str, connection: int, message: object, cause: int) -> None:
        """Schedule a message with a fixed order among the entries that are due at the same time, no matter when it is scheduled."""
        self.in_order += 1
        heapq.heappush(self.entries, _new_entry(Entry, (time, order, node, sender, connection, message, cause)))

    def next_time(self) -> int | None:
        """When the next entry is due; None if there is none."""
        return self.entries[0].time if self.entries else None

    def pop(self) -> Entry:
        """Take the next entry.

        Raises:
            Standstill: too many entries were scheduled at this moment; virtual time does not pass any more.
        """
        entry = heapq.heappop(self.entries)
        self.at = entry[1]
        if entry[0] != self.moment:
            self.moment, self.since = entry[0], self.order + self.in_order
        elif self.order + self.in_order - self.since > self.most:
            raise Standstill(
                f"time does not advance at {format_duration(self.moment)}: {self.most:,} entries are scheduled for that moment{self.hint}"
            )
        return entry

    def take(self, entry: Entry) -> None:
        """Remove an entry out of turn."""
        self.entries.remove(entry)
        heapq.heapify(self.entries)
        self.at = END
