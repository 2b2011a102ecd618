"""The time index of a segment, which maps timestamps to offsets (Kafka: `TimeIndex`, file `.timeindex`)."""

from __future__ import annotations

from bisect import bisect_left
from typing import Final, NamedTuple

from core.kafka.log.index.sparse_index import SparseIndex

ENTRY_BYTES: Final = 12
"""The size of an entry, in bytes: eight for the timestamp, and four for the offset relative to the base offset."""

NO_TIMESTAMP: Final = -1
"""The timestamp that stands for the start of a segment (`RecordBatch.NO_TIMESTAMP`)."""


class TimestampOffset(NamedTuple):
    """An entry: an offset, and the largest timestamp (ms) among the records up to that offset."""

    timestamp: int
    offset: int


class TimeIndex(SparseIndex):
    """A time index, whose keys are timestamps and whose values are offsets."""

    __slots__ = ()

    def __init__(self, base: int, max_bytes: int) -> None:
        super().__init__(base, max_bytes, ENTRY_BYTES)

    @property
    def is_full(self) -> bool:
        """Whether the file has no room for another entry. The last slot is reserved for the entry that is appended when the segment is
        closed."""
        return self.entries >= self.max_entries - 1

    @property
    def last_entry(self) -> TimestampOffset:
        """The last entry, or (-1, base offset) if there is none."""
        return self.entry(-1) if self.keys else TimestampOffset(NO_TIMESTAMP, self.base)

    def entry(self, slot: int) -> TimestampOffset:
        """Return the entry in a slot."""
        return TimestampOffset(self.keys[slot], self.values[slot])

    def maybe_append(self, timestamp: int, offset: int, *, skip_full_check: bool = False) -> None:
        """Append an entry if its timestamp is larger than the last timestamp.

        Args:
            timestamp: the largest timestamp so far, in ms.
            offset: the last offset of the batch that has the largest timestamp.
            skip_full_check: whether the entry can take the reserved slot, which is the case while the segment is being closed.

        Raises:
            ValueError: the index is full, or the timestamp or the offset is smaller than the last one.
        """
        if not skip_full_check and self.is_full:
            raise ValueError(f"the index is full: it has {self.entries} entries")
        last = self.last_entry
        if self.keys and offset < last.offset:
            raise ValueError(f"offset {offset} is smaller than the last offset {last.offset}")
        if self.keys and timestamp < last.timestamp:
            raise ValueError(f"timestamp {timestamp} is smaller than the last timestamp {last.timestamp}")
        if timestamp > last.timestamp:
            self.keys.append(timestamp)
            self.values.append(offset)

    def lookup(self, target: int) -> TimestampOffset:
        """Return the last entry at or before a timestamp (ms), or (-1, base offset) if there is no such entry."""
        slot = self.search(target).slot
        return TimestampOffset(NO_TIMESTAMP, self.base) if slot < 0 else self.entry(slot)

    def truncate_to(self, offset: int) -> None:
        """Drop the entries at and above an offset."""
        self.truncate_to_entries(bisect_left(self.values, offset))
