"""The offset index of a segment, which maps offsets to positions in the segment file (Kafka: `OffsetIndex`, file `.index`)."""

from __future__ import annotations

from bisect import bisect_left
from typing import Final, NamedTuple

from core.kafka.log.index.sparse_index import SparseIndex

ENTRY_BYTES: Final = 8
"""The size of an entry, in bytes: four for the offset relative to the base offset, and four for the position."""


class OffsetPosition(NamedTuple):
    """An entry: the last offset of a batch, and the position of the batch in the segment file."""

    offset: int
    position: int


class OffsetIndex(SparseIndex):
    """An offset index, whose keys are offsets and whose values are positions."""

    __slots__ = ()

    def __init__(self, base: int, max_bytes: int) -> None:
        super().__init__(base, max_bytes, ENTRY_BYTES)

    @property
    def is_full(self) -> bool:
        """Whether the file has no room for another entry. When the file is full, the log rolls a new segment."""
        return self.entries >= self.max_entries

    @property
    def last_offset(self) -> int:
        """The offset of the last entry; the base offset if there is none."""
        return self.keys[-1] if self.keys else self.base

    def entry(self, slot: int) -> OffsetPosition:
        """Return the entry in a slot."""
        return OffsetPosition(self.keys[slot], self.values[slot])

    def append(self, offset: int, position: int) -> None:
        """Append an entry.

        Raises:
            ValueError: the index is full, or the offset is not larger than the last offset.
        """
        if self.is_full:
            raise ValueError(f"the index is full: it has {self.entries} entries")
        if self.keys and offset <= self.keys[-1]:
            raise ValueError(f"offset {offset} is not larger than the last offset {self.keys[-1]}")
        self.keys.append(offset)
        self.values.append(position)

    def lookup(self, target: int) -> OffsetPosition:
        """Return the last entry at or before an offset, or the start of the segment if there is no such entry."""
        slot = self.search(target).slot
        return OffsetPosition(self.base, 0) if slot < 0 else self.entry(slot)

    def fetch_upper_bound_offset(self, fetched: OffsetPosition, size: int) -> OffsetPosition | None:
        """Return the first entry whose position is at least `size` bytes after the position of the entry `fetched`; None if there is no
        such entry.

        The offset in the returned entry is an upper bound for the offsets in a fetch of `size` bytes (`OffsetIndex#fetchUpperBoundOffset`).
        """
        slot = bisect_left(self.values, fetched.position + size)
        return self.entry(slot) if slot < self.entries else None

    def truncate_to(self, offset: int) -> None:
        """Drop the entries at and above an offset."""
        self.truncate_to_entries(bisect_left(self.keys, offset))
