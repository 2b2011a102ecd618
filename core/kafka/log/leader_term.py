"""A leadership term: the records that one leader appended in one leader epoch. Each replica's log contains a range of the records in a
term.

The term and the offset identify a record, because only one broker writes in a term, and it appends in order. Therefore, instead of copies
of records, the replicas' logs contain runs (see `log_records`) that refer to terms. Two replicas agree at an offset if and only if they
have the same term at that offset. Each batch is kept only once, in its term.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import accumulate
from operator import attrgetter, itemgetter
from typing import Any, Final, NamedTuple

from core.kafka.log.control_record import EndTransactionMarker
from core.kafka.log.packed_batches import BATCHES_PER_BLOCK, FEWEST, PackedBatches, pack, unpack
from core.sim.journal import Column
from core.sim.state.append_only_list import AppendOnlyList


class Batch(NamedTuple):
    """A batch of `records` records that starts at offset `base`, with its total size in `bytes`, its producer, and its timestamp (µs).

    A batch from an idempotent producer carries the producer's ID and epoch, and the batch's first sequence number. In any other batch,
    these fields are -1. A batch that is part of a transaction is `transactional`. `content` is None for plain records, the marker of a
    control batch, or the keys and values of the records of an internal topic.
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
    transactional: bool = False
    content: Any = None

    @property
    def marker(self) -> EndTransactionMarker | None:
        """The marker if this is a control batch; otherwise None."""
        return self.content if isinstance(self.content, EndTransactionMarker) else None


BatchFields = tuple[int, int, int, str, int, int, int, int, int, bool, object]
"""A `Batch`, or the plain tuple of its fields."""


timestamp_of: Final = itemgetter(Batch._fields.index("timestamp"))
"""A function that returns the timestamp of a batch."""

_first_of, _end_of, _total_of, _timestamp_of_block = attrgetter("first"), attrgetter("end"), attrgetter("total"), attrgetter("timestamp")
"""Functions that return the fields of a block by which blocks are searched."""


class Term:
    """A leadership term: its epoch, its leader, and the batches that the leader appended.

    The end offsets and the cumulative sizes of the batches are computed on demand, so an append only adds one tuple. Only the last batches are
    kept as tuples; older ones, and those of a term that is over, are packed (`core.kafka.log.packed_batches`).

    Attributes:
        epoch: the leader epoch.
        leader: the leader's broker ID.
        packed: the blocks of the first batches of the term.
        written: the fields of each further `Batch`, in offset order without gaps. Each batch is a plain tuple, because creating a plain tuple
            is four times as fast as creating a `Batch`.
        bytes: the size of all batches.
        latest: the last batch in the form that fetch responses contain; most fetches read this batch.
        stamped: whether some timestamps come from producers whose clocks are wrong, in which case timestamps can decrease.
        has_producer_ids: whether any batch carries a producer ID.
        compacted: whether log compaction has removed parts of the term (`CompactedTerm`).
    """

    __slots__ = (
        "_ends", "_totals", "bytes", "compacted", "epoch", "has_producer_ids", "latest", "leader", "packed", "stamped", "written",
    )  # fmt: skip

    epoch: Final[int]
    leader: Final[int]
    packed: Final[list[PackedBatches]]

    def __init__(self, epoch: int, leader: int) -> None:
        self.epoch = epoch
        self.leader = leader
        self.packed = AppendOnlyList()
        self.written: list[BatchFields] = AppendOnlyList()
        self.bytes = 0
        self.latest: PackedRecords = (-1, -1, self, 0, None)
        self.stamped = False
        self.has_producer_ids = False
        self.compacted = False
        self._ends: AppendOnlyList[int] | None = None
        self._totals: AppendOnlyList[int] | None = None

    def __repr__(self) -> str:
        return f"Term({self.epoch} by b{self.leader})"

    def stamp(self, timestamp: int) -> int:
        """Record that the next batch has a timestamp from its producer's own clock. Return `timestamp`."""
        self.stamped = True
        return timestamp

    def append(self, batch: BatchFields) -> Column:
        """Append a batch. Return the end offset of the batch."""
        base, size = batch[0], batch[2]
        written = self.written
        if len(written) == 2 * BATCHES_PER_BLOCK:
            self._pack(BATCHES_PER_BLOCK)
            written = self.written
        written.append(batch)
        self.bytes += size
        end: Column = base + batch[1]
        self.latest = (base, end, self, size, None)
        return end

    def close(self) -> None:
        """Pack the batches, because a log goes on with another term. A leader that does not know yet that it is deposed can still append."""
        if len(self.written) >= FEWEST:
            self._pack(len(self.written))

    def _pack(self, count: int) -> None:
        """Pack some of the batches that are kept as tuples, the oldest first."""
        written, packed = self.written, self.packed
        packed.append(pack(written[:count], packed[-1].next, packed[-1].total) if packed else pack(written[:count], 0, 0))
        self.written = AppendOnlyList(written[count:])
        for left in (written, self._ends, self._totals):
            if left is not None:
                left.clear()
        self._ends = self._totals = None

    @property
    def origin(self) -> Term:
        """The term as its leader wrote it, before log compaction. Compaction does not change which term identifies a record."""
        return self

    # --- batches by number -----------------------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """The number of batches."""
        return self._packed_count + len(self.written)

    @property
    def _packed_count(self) -> int:
        """The number of batches that are packed."""
        packed = self.packed
        return packed[-1].next if packed else 0

    def _block(self, number: int) -> PackedBatches:
        """Return the block with the packed batch at an index."""
        packed = self.packed
        at = number // BATCHES_PER_BLOCK
        if at < len(packed) and packed[at].first <= number < packed[at].next:
            return packed[at]
        return packed[bisect_right(packed, number, key=_first_of) - 1]

    @property
    def batches(self) -> list[Batch]:
        """All batches."""
        return [Batch._make(fields) for block in self.packed for fields in unpack(block)[0]] + [*map(Batch._make, self.written)]

    def fields(self, number: int) -> BatchFields:
        """Return the fields of the batch at an index."""
        first = self._packed_count
        if number >= first:
            return self.written[number - first]
        block = self._block(number)
        fields: BatchFields = unpack(block)[0][number - block.first]
        return fields

    def batch(self, number: int) -> Batch:
        """Return the batch at an index."""
        return Batch._make(self.fields(number))

    def end_of(self, number: int) -> int:
        """Return the end offset of the batch at an index."""
        fields = self.fields(number)
        return fields[0] + fields[1]

    def number_after(self, offset: int) -> int:
        """Return the index of the first batch that ends after an offset; the number of batches if there is none."""
        packed, first = self.packed, self._packed_count
        if packed and offset < packed[-1].end:
            block = bisect_right(packed, offset, key=_end_of)
            return packed[block].first + bisect_right(unpack(packed[block])[1], offset)
        return first + bisect_right(self._written_ends(), offset)

    def number_at(self, offset: int) -> int:
        """Return the index of the first batch that ends at or after an offset; the number of batches if there is none."""
        packed, first = self.packed, self._packed_count
        if packed and offset <= packed[-1].end:
            block = bisect_left(packed, offset, key=_end_of)
            return packed[block].first + bisect_left(unpack(packed[block])[1], offset)
        return first + bisect_left(self._written_ends(), offset)

    def number_above(self, size: int) -> int:
        """Return the index of the first batch at whose end the size of the term exceeds a number of bytes; the number of batches if there is
        none.
        """
        packed, first = self.packed, self._packed_count
        if packed and size < packed[-1].total:
            block = bisect_right(packed, size, key=_total_of)
            return packed[block].first + bisect_right(unpack(packed[block])[2], size)
        return first + bisect_right(self._written_totals(), size)

    def number_later(self, timestamp: int) -> int:
        """Return the index of the first batch whose timestamp is after a time, in µs; the number of batches if there is none. The timestamps
        must not decrease (`stamped`).
        """
        packed, first = self.packed, self._packed_count
        if packed and timestamp < packed[-1].timestamp:
            block = bisect_right(packed, timestamp, key=_timestamp_of_block)
            return packed[block].first + bisect_right(unpack(packed[block])[0], timestamp, key=timestamp_of)
        return first + bisect_right(self.written, timestamp, key=timestamp_of)

    def _total(self, number: int) -> int:
        """Return the size of this term up to and including the batch at an index, in bytes."""
        first = self._packed_count
        if number >= first:
            return self._written_totals()[number - first]
        block = self._block(number)
        total: int = unpack(block)[2][number - block.first]
        return total

    def _written_ends(self) -> list[int]:
        """The end offset of each batch that is not packed."""
        ends = self._ends
        if ends is None:
            ends = self._ends = AppendOnlyList()
        if len(ends) < len(self.written):
            ends += [batch[0] + batch[1] for batch in self.written[len(ends) :]]
        return ends

    def _written_totals(self) -> list[int]:
        """The size of this term up to and including each batch that is not packed, in bytes."""
        totals = self._totals
        if totals is None:
            totals = self._totals = AppendOnlyList()
        known = len(totals)
        if known < len(self.written):
            sizes = [batch[2] for batch in self.written[known:]]
            if known:
                totals += accumulate(sizes, initial=totals.pop())
            else:
                sizes[0] += self.packed[-1].total if self.packed else 0
                totals += accumulate(sizes)
        return totals

    # --- batches by offset -----------------------------------------------------------------------------------------

    def batches_within(self, start: int, end: int) -> list[Batch]:
        """Return the batches that have records in [start, end), in offset order."""
        first, last, packed = self.number_after(start), self.number_at(end) + 1, self._packed_count
        if first >= packed:
            return [*map(Batch._make, self.written[first - packed : last - packed])]
        return [self.batch(number) for number in range(first, min(last, self.count))]

    def last_end(self, start: int, end: int) -> int:
        """Return the end offset of the last batch in [start, end), but at most `end`. If the range has no batch, return `start`."""
        return max(start, end)

    def surviving(self, start: int, end: int) -> list[tuple[int, int]]:
        """Return the offsets in [start, end) that have records, as half-open intervals."""
        return [(start, end)]

    def first_since(self, start: int, end: int, timestamp: int) -> int:
        """Return the offset of the first record in [start, end) whose timestamp is at or after the given time, in µs; -1 if there is none.

        All records in a batch have the batch's timestamp.
        """
        first = self.number_after(start)
        if not self.stamped:
            first = max(first, self.number_later(timestamp - 1))
        for number in range(first, self.count):
            batch = self.fields(number)
            if batch[0] >= end:
                break
            if timestamp_of(batch) >= timestamp:
                return max(start, batch[0])
        return -1

    def bytes_before(self, offset: int) -> int:
        """Return the total size of this term's records below an offset, in bytes. The calculation assumes that all records in a batch have
        the same size."""
        packed = self.packed
        if not packed or offset > packed[-1].end:
            ends = self._written_ends()
            i = bisect_left(ends, offset)
            if i == len(ends):
                return self.bytes
            total = self._written_totals()[i]
            if ends[i] == offset:
                return total
            base, records, size = self.written[i][:3]
        else:
            number = self.number_at(offset)
            total = self._total(number)
            base, records, size = self.fields(number)[:3]
        return total - size + size * max(offset - base, 0) // records

    def offset_within(self, start: int, end: int, limit: int) -> int:
        """Return the largest offset, up to `end`, below which the records of this term total at most `limit` bytes. If the first record
        after `start` exceeds the limit, return the offset after this record."""
        number = self.number_above(limit)
        if number == self.count:
            return end
        base, records, size = self.fields(number)[:3]
        before = self._total(number) - size
        within = base + (limit - before) * records // max(size, 1)
        return max(start + 1, min(end, within))


class FetchedRange(NamedTuple):
    """A range [start, end) of a term's records, and the size of the range in bytes."""

    start: int
    end: int
    term: Term
    bytes: int


FetchedRecords = tuple[Column, Column, Term, int, Any]
"""Records in the form that fetch responses contain: the start, end, and term of the first range, the total size in bytes, and the remaining
ranges in the same form, or None if no range remains.
"""

PackedRecords = Any
"""`FetchedRecords` that are passed on. A compiled engine would take a tuple of a known type apart and create it anew each time."""

SIZE: Final = 3
"""The place of the total size in `FetchedRecords`."""


def fetched_ranges(records: FetchedRecords | None) -> Iterator[FetchedRange]:
    """Yield the ranges of fetched records, one per term."""
    while records is not None:
        start, end, term, size, following = records
        yield FetchedRange(start, end, term, size if following is None else size - following[3])
        records = following


class Run(NamedTuple):
    """The range [start, end) of a term's records in a log."""

    start: int
    end: int
    term: Term
