"""The base class for a segment's offset index and time index (Kafka: `AbstractIndex`).

An index is a file of entries that have the same size and are in ascending order. Because not every record has an entry, a lookup finds the
last entry before the record. The lookup then scans the segment from the position in this entry until it finds the record.
"""

from __future__ import annotations

from typing import Final, NamedTuple

WARM_BYTES: Final = 8192
"""The size of an index's warm section, in bytes. The warm section is the end of the index. A search looks there first, because the pages of
the warm section are probably in memory."""


class Found(NamedTuple):
    """The result of a search in an index.

    Attributes:
        slot: the number of the entry; -1 if the keys of all entries are larger than the target.
        probes: the number of entries that the search compared with its target.
        warm: whether the search stayed in the last `WARM_BYTES` of the index.
    """

    slot: int
    probes: int
    warm: bool


class SparseIndex:
    """The entries of an index: pairs of a key and a value, both in ascending order.

    Attributes:
        base: the base offset of the segment.
        entry_bytes: the size of an entry.
        max_entries: the number of entries that the file has room for.
        keys: the keys of the entries, in ascending order.
        values: the values of the entries.
    """

    __slots__ = ("base", "entry_bytes", "keys", "max_entries", "values")

    base: Final[int]
    entry_bytes: Final[int]

    def __init__(self, base: int, max_bytes: int, entry_bytes: int) -> None:
        self.base = base
        self.entry_bytes = entry_bytes
        self.max_entries = max_bytes // entry_bytes
        self.keys: list[int] = []
        self.values: list[int] = []

    @property
    def entries(self) -> int:
        """The number of entries."""
        return len(self.keys)

    @property
    def size(self) -> int:
        """The total size of the entries, in bytes."""
        return len(self.keys) * self.entry_bytes

    @property
    def file_bytes(self) -> int:
        """The size of the file, which is allocated in advance and trimmed when the segment is closed."""
        return self.max_entries * self.entry_bytes

    def search(self, target: int) -> Found:
        """Find the last entry whose key is less than or equal to `target` (`AbstractIndex#largestLowerBoundSlotFor`)."""
        keys = self.keys
        if not keys:
            return Found(-1, 0, True)
        last = len(keys) - 1
        first_warm = max(0, last - WARM_BYTES // self.entry_bytes)
        if keys[first_warm] < target:
            slot, probes = self._bisect(first_warm, last, target)
            return Found(slot, probes + 1, True)
        if keys[0] > target:
            return Found(-1, 2, first_warm == 0)
        slot, probes = self._bisect(0, first_warm, target)
        return Found(slot, probes + 2, first_warm == 0)

    def _bisect(self, low: int, high: int, target: int) -> tuple[int, int]:
        """Return the last slot in [low, high] whose key is at most `target`, and the number of probes.

        The key at `low` must be at most `target`.
        """
        probes = 0
        while low < high:
            middle = (low + high + 1) // 2
            probes += 1
            if self.keys[middle] > target:
                high = middle - 1
            else:
                low = middle
        return low, probes

    def truncate_to_entries(self, count: int) -> None:
        """Drop the entry in a slot and all later entries."""
        del self.keys[count:]
        del self.values[count:]

    def resize(self, max_bytes: int) -> None:
        """Resize the file, but keep its entries (`AbstractIndex#resize`)."""
        self.max_entries = max(max_bytes // self.entry_bytes, self.entries)

    def trim_to_valid_size(self) -> None:
        """Trim the file to the size of its entries. A broker trims an index file when it rolls a segment or shuts down
        (`AbstractIndex#trimToValidSize`).
        """
        self.resize(self.size)
