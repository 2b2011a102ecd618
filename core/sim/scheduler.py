"""The agenda: what is due when. Entries are plain data, compared by time and order of scheduling only."""

from __future__ import annotations

import heapq
from typing import NamedTuple

import attrs


class Entry(NamedTuple):
    """Something due: a message for a node.

    Attributes:
        time: virtual µs.
        order: counts schedulings; makes equal times fall in the order they were made.
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
    message: object
    cause: int


@attrs.define(slots=True)
class Scheduler:
    """A heap of entries."""

    entries: list[Entry] = attrs.field(factory=list)
    order: int = 0

    def add(self, time: int, node: str, sender: str, connection: int, message: object, cause: int) -> None:
        """Schedule a message for a node."""
        self.order = order = self.order + 1
        heapq.heappush(self.entries, Entry(time, order, node, sender, connection, message, cause))

    def next_time(self) -> int | None:
        """When the next entry is due; None if there is none."""
        return self.entries[0].time if self.entries else None

    def pop(self) -> Entry:
        """Take the next entry."""
        return heapq.heappop(self.entries)
