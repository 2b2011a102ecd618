"""The agenda: a priority queue of scheduled messages. Entries are plain data, ordered by time and then by order of scheduling."""

from __future__ import annotations

import heapq
from typing import Any, Final, NamedTuple

from core.sim.errors import Standstill
from core.sim.units import format_duration

END: Final = 2**62
"""The value of `Entry.order` that comes after all other orders. If nothing more is due at the current time, `Agenda.at` is END."""


class Entry(NamedTuple):
    """A scheduled message for a node.

    Attributes:
        time: the virtual time at which the message is due, in µs.
        order: the position in the order of scheduling, which breaks ties between equal times. Entries of long polls have a fixed order
            below zero (`core.sim.long_polling`).
        node: the address of the node that handles the message.
        sender: the address of the sender. For a timer, the sender is the node itself.
        connection: the ticket of the connection that carries the message (`Network.ticket`). For a timer, `connection` is the incarnation
            of the node's process.
        message: the message that the node handles.
        cause: the sequence number of the event that led to the message.
    """

    time: int
    order: int
    node: str
    sender: str
    connection: int
    message: Any
    cause: int


_new_entry: Final = tuple.__new__
"""A function that creates an `Entry`, and is faster than the constructor of `NamedTuple`, which would take half of the time of
`Agenda.add`."""

_push: Final = heapq.heappush
_pop: Final = heapq.heappop


MAX_PER_MOMENT: Final = 100_000
"""The basic limit on the number of entries at one moment of virtual time. If more entries are due at the same moment, the run stops with
`Standstill`. The limit is higher for large clusters (`Agenda.max_per_moment`).
"""


class Agenda:
    """A heap of scheduled entries.

    Attributes:
        hint: a likely reason, appended to the message of `Standstill`.
        at: the `order` of the entry that was taken last; END if nothing more is due now.
        max_per_moment: the maximum number of entries that can be scheduled at one moment.
        in_order: the number of entries that were scheduled with a fixed order.
        moment: the virtual time of the entry that was taken last, in µs; -1 if no entry has been taken.
        since: the number of entries that had been scheduled when `moment` began.
    """

    __slots__ = ("at", "entries", "hint", "in_order", "max_per_moment", "moment", "order", "since")

    def __init__(self, nodes: int = 0, hint: str = "") -> None:
        self.entries: list[Entry] = []
        self.hint = hint
        self.order = 0
        self.in_order = 0
        self.at = END
        self.max_per_moment = MAX_PER_MOMENT + 10 * nodes * nodes
        self.moment = -1
        self.since = 0

    def add(self, time: int, node: str, sender: str, connection: int, message: object, cause: int) -> None:
        """Schedule a message for a node."""
        self.order = order = self.order + 1
        _push(self.entries, _new_entry(Entry, (time, order, node, sender, connection, message, cause)))

    def add_in_order(self, time: int, order: int, node: str, sender: str, connection: int, message: object, cause: int) -> None:
        """Schedule a message whose order among the entries that are due at the same time is fixed, regardless of when it is scheduled."""
        self.in_order += 1
        _push(self.entries, _new_entry(Entry, (time, order, node, sender, connection, message, cause)))

    def next_time(self) -> int | None:
        """Return the time at which the next entry is due; None if the agenda is empty."""
        return self.entries[0].time if self.entries else None

    def pop(self) -> Entry:
        """Remove the next entry from the agenda, and return it.

        Raises:
            Standstill: too many entries were scheduled at this moment, so virtual time does not advance.
        """
        entry = _pop(self.entries)
        self.at = entry[1]
        if entry[0] != self.moment:
            self.moment, self.since = entry[0], self.order + self.in_order
        elif self.order + self.in_order - self.since > self.max_per_moment:
            raise Standstill(
                f"time does not advance past {format_duration(self.moment)}: more than {self.max_per_moment:,} entries "
                f"were scheduled at that moment{self.hint}"
            )
        return entry

    def take(self, entry: Entry) -> None:
        """Remove an entry from the agenda, even if it is not the next one."""
        self.entries.remove(entry)
        heapq.heapify(self.entries)
        self.at = END
