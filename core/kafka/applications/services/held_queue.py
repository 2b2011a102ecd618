"""The queue of records that a service holds. The queue is either a priority queue, ordered by the time when records are due, or a FIFO
queue."""

from __future__ import annotations

import heapq
from typing import Final

from core.kafka.applications.services.service_records import HeldRecords


class HeldQueue:
    """The records that a service holds until they are due.

    Attributes:
        fifo: whether the queue is a FIFO queue. The head of a FIFO queue blocks later records even if they are due earlier.
        entries: the records, as a heap or in the order in which they arrived.
        counts: the number of records that are in the queue or are being sent, by partition.
    """

    __slots__ = ("counts", "entries", "fifo")

    fifo: Final[bool]
    entries: Final[list[HeldRecords]]
    counts: Final[dict[int, int]]

    def __init__(self, *, fifo: bool) -> None:
        self.fifo = fifo
        self.entries = []
        self.counts = {}

    def count(self, partition: int) -> int:
        """Return the number of a partition's records that are held or are being sent."""
        return self.counts.get(partition, 0)

    def push(self, records: HeldRecords, *, again: bool = False) -> None:
        """Hold records. If `again` is true, the sender was unable to send the records, and a FIFO queue puts them at its head."""
        if not again:
            self.counts[records.partition] = self.count(records.partition) + records.size
        if not self.fifo:
            heapq.heappush(self.entries, records)
        elif again:
            self.entries.insert(0, records)
        else:
            self.entries.append(records)

    def due_time(self) -> int:
        """Return the time when the head of the queue is due, in µs; -1 if the queue is empty."""
        return self.entries[0].due if self.entries else -1

    def pop(self) -> HeldRecords:
        """Remove and return the head of the queue, which still counts as held."""
        return self.entries.pop(0) if self.fifo else heapq.heappop(self.entries)

    def done(self, records: HeldRecords) -> None:
        """Record that the service has finished handling some records."""
        self.counts[records.partition] -= records.size

    def forget(self, partition: int) -> None:
        """Forget the records in a partition."""
        self.entries[:] = [each for each in self.entries if each.partition != partition]
        if not self.fifo:
            heapq.heapify(self.entries)
        self.counts.pop(partition, None)

    def clear(self) -> None:
        """Forget all records."""
        self.entries.clear()
        self.counts.clear()
