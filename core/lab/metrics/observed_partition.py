"""The state of a partition that the metrics need, computed from events."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from typing import Final

import attrs

from core.kafka.ids import NO_LEADER

UNKNOWN: Final = -1
"""The placeholder for a fetcher's high watermark until the first response from the leader arrives."""


@attrs.define(slots=True)
class ObservedPartition:
    """The state of a partition, as the observer knows it from events.

    Attributes:
        leader, replicas, isr, adding, removing: the state of the partition that the controller has registered.
        leo: the log end offset of each replica, by broker.
        ends, totals: the end offset of each batch, and the total bytes up to that offset.
        fetchers: for each follower, the leader from which it fetches, and the high watermark in the last response.
        waits_at: the broker whose purgatory holds the writes in `waiting`.
        waiting: the acks=all writes that are waiting, as (end offset, deadline), sorted by end offset.
        high_watermark: the last high watermark that a leader has recorded.
        idempotent: for each idempotent producer, the end offset of its first batch and the time of its last batch.
    """

    leader: int = NO_LEADER
    replicas: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    leo: dict[int, int] = attrs.field(factory=dict)
    ends: list[int] = attrs.field(factory=list)
    totals: list[int] = attrs.field(factory=list)
    fetchers: dict[int, tuple[int, int]] = attrs.field(factory=dict)
    waits_at: int = NO_LEADER
    waiting: deque[tuple[int, int]] = attrs.field(factory=deque)
    high_watermark: int = 0
    idempotent: dict[str, tuple[int, int]] = attrs.field(factory=dict)

    def appended(self, base: int, end: int, size: int) -> None:
        """Record the size of a batch, and forget the batches that a former leader appended at or above `base`."""
        while self.ends and self.ends[-1] > base:
            self.ends.pop()
            self.totals.pop()
        if self.idempotent:
            self.idempotent = {name: since for name, since in self.idempotent.items() if since[0] <= base}
        self.ends.append(end)
        self.totals.append((self.totals[-1] if self.totals else 0) + size)

    def waits(self, end: int, deadline: int) -> None:
        """Record that a write of a batch that the leader has appended before waits for the high watermark."""
        behind = sum(offset <= end for offset, _ in self.waiting)
        self.waiting.insert(behind, (end, deadline))

    def known(self, follower: int) -> None:
        """Record that a follower's fetcher has received a response, so that the follower's lag is known (`FetcherLagMetrics`)."""
        fetcher = self.fetchers.get(follower)
        if fetcher is not None and fetcher[1] == UNKNOWN:
            self.fetchers[follower] = (fetcher[0], 0)

    def bytes_below(self, offset: int) -> int:
        """Return the number of bytes below an offset. Within a batch, the bytes are spread evenly over the records."""
        i = bisect_left(self.ends, offset)
        if i == len(self.ends):
            return self.totals[-1] if self.ends else 0
        start, below = (self.ends[i - 1], self.totals[i - 1]) if i else (0, 0)
        return below + (self.totals[i] - below) * (offset - start) // max(self.ends[i] - start, 1)
