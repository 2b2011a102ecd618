"""The agenda: what is due when. Entries are plain data, compared by time and order of scheduling only."""

from __future__ import annotations

import heapq
from typing import Any, Final, NamedTuple

from core.sim.errors import Standstill
from core.sim.units import format_duration

END: Final = 2**62
"""An order after all others: everything due at a time is done."""


class Entry(NamedTuple):
    """Something due: a message for a node.

    Attributes:
        time: virtual µs.
        order: counts schedulings; makes equal times fall in the order they were made. What belongs to a long poll has a fixed
            order below zero (`core.sim.long_polling`).
        node: address of the node that handles it.
        sender: address it comes from; the node itself for a timer.
        connection: ticket of the connection it travels on (`Network.ticket`); for a timer the incarnation of the node's process.
        message: what to handle.
        cause: seq of the event that led to it.
    """

    time: int
    order: int
    node: str
    sender: str
    connection: int
    message: Any
    cause: int


_new_entry: Final = tuple.__new__
"""`Entry` without the detour through its generated constructor, which takes half of the time of a scheduling."""


MAX_AT_ONCE: Final = 100_000
"""Schedulings at one moment of virtual time after which it will not pass any more; clusters of many nodes may have more (`Agenda.most`)."""


class Agenda:
    """A heap of entries.

    Attributes:
        hint: what a Standstill says beside that: how it may come about.
        at: the order of the one that was taken last, END when all that is due now was.
        most: how many may be scheduled at one moment.
        in_order: how many were scheduled in a fixed order.
        moment, since: the time of the one that was taken last, and how many had been scheduled when it began.
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
        """Schedule a message that has a fixed order among what is due at the same time, whenever it was scheduled."""
        self.in_order += 1
        heapq.heappush(self.entries, _new_entry(Entry, (time, order, node, sender, connection, message, cause)))

    def next_time(self) -> int | None:
        """When the next entry is due; None if there is none."""
        return self.entries[0].time if self.entries else None

    def pop(self) -> Entry:
        """Take the next entry.

        Raises:
            Standstill: the cluster does not come to an end at this moment.
        """
        entry = heapq.heappop(self.entries)
        self.at = entry[1]
        if entry[0] != self.moment:
            self.moment, self.since = entry[0], self.order + self.in_order
        elif self.order + self.in_order - self.since > self.most:
            raise Standstill(
                f"time stands still at {format_duration(self.moment)}: {self.most:,} things were scheduled at that moment{self.hint}"
            )
        return entry

    def take(self, entry: Entry) -> None:
        """Take one out of turn."""
        self.entries.remove(entry)
        heapq.heapify(self.entries)
        self.at = END
