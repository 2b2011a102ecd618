"""The common part of the offset index and the time index of a segment (Kafka: `AbstractIndex`).

An index is a file of entries of the same size, in ascending order. It does not have an entry for each record, so a lookup finds the entry
before the record, and a scan of the segment finds the record.
"""

from __future__ import annotations

from typing import Final, NamedTuple

WARM_BYTES: Final = 8192
"""The size of the part at the end of an index that a search tries first, because the pages of this part are in memory."""


class Found(NamedTuple):
    """The result of a search.

    Attributes:
        slot: the number of the entry; -1 if all entries are larger.
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
        """The bytes of the entries."""
        return len(self.keys) * self.entry_bytes

    @property
    def file_bytes(self) -> int:
        """The size of the file, which is allocated in advance and trimmed when the segment is closed."""
        return self.max_entries * self.entry_bytes

    def search(self, target: int) -> Found:
        """Find the last entry whose key is at most `target` (`AbstractIndex#largestLowerBoundSlotFor`)."""
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
        """Drop the entry at a slot and all later entries."""
        del self.keys[count:]
        del self.values[count:]

    def resize(self, max_bytes: int) -> None:
        """Resize the file, but keep its entries (`AbstractIndex#resize`)."""
        self.max_entries = max(max_bytes // self.entry_bytes, self.entries)

    def trim_to_valid_size(self) -> None:
        """Trim the file to its entries, as a roll and a shutdown do (`AbstractIndex#trimToValidSize`)."""
        self.resize(self.size)
