"""A leadership term in a cleaned log: the batches that are left in it, some of which have fewer records than when they were written.

Terms are shared between replicas, but each replica cleans its own log. Therefore, cleaning does not change a term. Instead, the runs of the
cleaned log refer to a `CompactedTerm`, which refers to the original term. Followers that fetch from a cleaned log receive runs that refer
to the same `CompactedTerm`. Cleaning never changes offsets, and a run still covers the offsets of the records that were removed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from core.kafka.log.leader_term import Batch, Term
from core.kafka.log.wire.record_format import varint_size
from core.sim.units import US_PER_MS

NO_HORIZON: Final = -1
"""The value for a batch that has no delete horizon."""

HEADER_BYTES: Final = 61
"""The size of a batch without records (`DefaultRecordBatch.RECORD_BATCH_OVERHEAD`)."""


class RetainedBatch(NamedTuple):
    """A batch in a log, and the records that cleaning left in it.

    Attributes:
        batch: the batch as it was written, except that its size is the size after cleaning.
        offsets: the offsets of the records that are left, in ascending order; empty if only the header is left.
        horizon: the time from which the cleaner can remove the batch's tombstones or marker, in µs; NO_HORIZON if none is set.
    """

    batch: Batch
    offsets: Sequence[int]
    horizon: int = NO_HORIZON

    @property
    def end(self) -> int:
        """The offset after the last offset of the batch, which does not change when records are removed."""
        return self.batch.base + self.batch.records

    def record(self, offset: int) -> tuple[Any, Any] | None:
        """Return the key and value of a record; None if it has no key."""
        content = self.batch.content
        return content[offset - self.batch.base] if type(content) is tuple else None

    def with_records(self, offsets: tuple[int, ...], horizon: int) -> RetainedBatch:
        """Return a copy of the batch that has only the given records and the given delete horizon.

        If a batch has a delete horizon, its timestamps are stored relative to the horizon, so each timestamp might take more bytes.
        """
        size = self.batch.bytes
        if len(offsets) != len(self.offsets):
            header = min(size, HEADER_BYTES)
            size = header + (size - header) * len(offsets) // max(len(self.offsets), 1)
        if horizon != self.horizon and offsets:
            size += len(offsets) * (varint_size((self.batch.timestamp - horizon) // US_PER_MS) - 1)
        return RetainedBatch(self.batch._replace(bytes=size), offsets, horizon)


def _readable(each: RetainedBatch) -> Batch:
    """Return a batch whose content is reduced to the records that are left.

    If cleaning removed a marker's record, the result has no producer ID.
    """
    batch, offsets, _ = each
    if batch.marker is not None:
        return batch if offsets else batch._replace(producer_id=-1)
    if type(batch.content) is tuple and len(offsets) < batch.records:
        return batch._replace(content=tuple(batch.content[offset - batch.base] for offset in offsets))
    return batch


class CompactedTerm(Term):
    """The batches of a term that are left in a cleaned log. The batches of a `CompactedTerm` never change.

    Attributes:
        source: the term as its leader wrote it.
        retained: the batches that are left, in offset order.
    """

    __slots__ = ("retained", "source")

    source: Final[Term]
    retained: Final[tuple[RetainedBatch, ...]]

    def __init__(self, source: Term, retained: tuple[RetainedBatch, ...]) -> None:
        super().__init__(source.epoch, source.leader)
        self.source = source.origin
        self.retained = retained
        self.compacted = True
        self.stamped = source.stamped
        self.has_producer_ids = source.has_producer_ids
        for each in retained:
            self.written.append(_readable(each))
            self.bytes += each.batch.bytes

    def __repr__(self) -> str:
        return f"CompactedTerm({self.epoch} by b{self.leader})"

    @property
    def origin(self) -> Term:
        """The term as its leader wrote it."""
        return self.source

    def close(self) -> None:
        """Keep the batches as they are."""

    def retained_within(self, start: int, end: int) -> list[RetainedBatch]:
        """Return the batches that overlap [start, end), each with only its records in that range."""
        found = []
        for each in self.retained[self.number_after(start) : self.number_at(end) + 1]:
            if each.batch.base < end:
                if start <= each.batch.base and each.end <= end:
                    found.append(each)
                else:
                    found.append(each._replace(offsets=tuple(offset for offset in each.offsets if start <= offset < end)))
        return found

    def batches_within(self, start: int, end: int) -> list[Batch]:
        """Return the batches that overlap [start, end), in offset order."""
        return [batch for batch in super().batches_within(start, end) if batch.base < end]

    def last_end(self, start: int, end: int) -> int:
        """If batches overlap [start, end), return the end offset of the last one, limited to `end`; otherwise, return `start`."""
        found = self.batches_within(start, end)
        return min(end, found[-1].base + found[-1].records) if found else start

    def surviving(self, start: int, end: int) -> list[tuple[int, int]]:
        """Return the offsets in [start, end) that have records, as half-open intervals."""
        found: list[tuple[int, int]] = []
        for each in self.retained_within(start, end):
            for offset in each.offsets:
                if found and found[-1][1] == offset:
                    found[-1] = (found[-1][0], offset + 1)
                else:
                    found.append((offset, offset + 1))
        return found

    def first_since(self, start: int, end: int, timestamp: int) -> int:
        """Return the offset of the first record in [start, end) whose timestamp is at or after the given time, in µs; -1 if there is
        none."""
        for each in self.retained_within(start, end):
            if each.offsets and each.batch.timestamp >= timestamp:
                return each.offsets[0]
        return -1

    def offset_within(self, start: int, end: int, limit: int) -> int:
        """Return the end offset of the last whole batch that ends within the first `limit` bytes of this term. Return at least the end of
        the first batch after `start`, even if this batch exceeds the limit."""
        number = max(self.number_above(limit) - 1, self.number_after(start))
        return min(end, self.end_of(number)) if number < self.count else end


def retained_within(term: Term, start: int, end: int) -> list[RetainedBatch]:
    """Return the parts of a term's batches that lie in a run [start, end)."""
    if isinstance(term, CompactedTerm):
        return term.retained_within(start, end)
    return [
        RetainedBatch(batch, range(max(batch.base, start), min(batch.base + batch.records, end)))
        for batch in term.batches_within(start, end)
    ]


def single_records(term: Term, start: int, end: int) -> Iterator[Batch]:
    """Yield each record and marker in a run [start, end) of a term as a batch of its own."""
    for each in retained_within(term, start, end):
        for offset in each.offsets:
            if each.batch.marker is not None:
                yield each.batch
            elif (record := each.record(offset)) is not None:
                yield each.batch._replace(base=offset, records=1, content=(record,))
