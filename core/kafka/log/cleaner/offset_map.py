"""A map from each key to the offset of its last record, for one cleaning pass (Kafka: `OffsetMap`, `SkimpyOffsetMap`)."""

from __future__ import annotations

from typing import Final

NO_ENTRY: Final = -1
"""The offset that a lookup returns for a key that is not in the map."""

ENTRY_BYTES: Final = 24
"""The size of an entry, in bytes: a 16-byte hash and an 8-byte offset."""


class OffsetMap:
    """An offset map with a limited number of entries.

    Attributes:
        capacity: the maximum number of keys.
        latest_offset: the last offset that the map covers; -1 if it covers none.
    """

    __slots__ = ("_offsets", "capacity", "latest_offset")

    def __init__(self, slots: int, load_factor: float = 0.9) -> None:
        self.capacity = int(slots * load_factor)
        self.latest_offset = -1
        self._offsets: dict[object, int] = {}

    @staticmethod
    def of_bytes(size: int, load_factor: float) -> OffsetMap:
        """Return an empty map that takes at most `size` bytes."""
        return OffsetMap(size // ENTRY_BYTES, load_factor)

    def __len__(self) -> int:
        return len(self._offsets)

    def put(self, key: object, offset: int) -> bool:
        """Set the last offset of a key. Return False if the map is full, even if the map already contains the key."""
        if len(self._offsets) >= self.capacity:
            return False
        self._offsets[key] = offset
        self.latest_offset = offset
        return True

    def get(self, key: object) -> int:
        """Return the last offset of a key, or NO_ENTRY."""
        return self._offsets.get(key, NO_ENTRY)

    def covers_up_to(self, offset: int) -> None:
        """Record that the map covers all offsets up to the given one."""
        self.latest_offset = max(self.latest_offset, offset)
