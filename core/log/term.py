"""What one leader appended in one leader epoch: the content that replicas hold stretches of.

A record is known by its term and offset: a term has one writer that appends in order, so (term, offset) never names two
records. Replicas therefore do not copy records; they hold runs (see `replica_log`) that refer to terms. Two replicas
agree at an offset exactly when the terms there are the same. Batches are kept once, here.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import NamedTuple


class Batch(NamedTuple):
    """A produced batch: `records` of them from `base` on, `bytes` in all, who produced it and when (µs).

    An idempotent producer's batch carries its producer id, epoch and first sequence number; others -1.
    """

    base: int
    records: int
    bytes: int
    producer: str
    batch_id: int
    timestamp: int
    producer_id: int = -1
    producer_epoch: int = -1
    first_sequence: int = -1


class Term:
    """One leadership: its epoch, its leader, and the batches it appended.

    Attributes:
        epoch: leader epoch.
        leader: broker id.
        batches: in offset order, without gaps.
        ends: end offset (exclusive) of each batch.
        totals: bytes of this term up to and including each batch.
        stamped: some timestamps are of producers whose clocks are wrong: they may go down.
    """

    __slots__ = ("batches", "ends", "epoch", "leader", "stamped", "totals")

    def __init__(self, epoch: int, leader: int) -> None:
        self.epoch = epoch
        self.leader = leader
        self.batches: list[Batch] = []
        self.ends: list[int] = []
        self.totals: list[int] = []
        self.stamped = False

    def __repr__(self) -> str:
        return f"Term({self.epoch} by b{self.leader})"

    def stamp(self, timestamp: int) -> int:
        """A batch will be appended with a timestamp of its producer's own."""
        self.stamped = True
        return timestamp

    def append(self, batch: Batch) -> None:
        """Add a batch at the end."""
        self.batches.append(batch)
        self.ends.append(batch.base + batch.records)
        self.totals.append((self.totals[-1] if self.totals else 0) + batch.bytes)

    def batches_within(self, start: int, end: int) -> list[Batch]:
        """The batches with records in [start, end), in offset order."""
        first, last = bisect_right(self.ends, start), bisect_left(self.ends, end)
        return self.batches[first : last + 1]

    def bytes_before(self, offset: int) -> int:
        """Bytes of this term's records below an offset; a batch's bytes spread evenly over its records."""
        ends = self.ends
        i = bisect_left(ends, offset)
        if i == len(ends):
            return self.totals[-1] if ends else 0
        if ends[i] == offset:
            return self.totals[i]
        batch = self.batches[i]
        return self.totals[i] - batch.bytes + batch.bytes * max(offset - batch.base, 0) // batch.records

    def offset_within(self, start: int, end: int, limit: int) -> int:
        """The largest offset ≤ `end` with at most `limit` bytes of this term below it; at least one record past `start`."""
        i = bisect_right(self.totals, limit)
        if i == len(self.totals):
            return end
        batch = self.batches[i]
        before = self.totals[i] - batch.bytes
        within = batch.base + (limit - before) * batch.records // max(batch.bytes, 1)
        return max(start + 1, min(end, within))
