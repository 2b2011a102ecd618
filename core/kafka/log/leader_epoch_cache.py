"""The start offset of each leader epoch in a replica's log (Kafka: `LeaderEpochFileCache`). Replicas use the start offsets of epochs to
find where their logs diverge.

The module also formats and parses `leader-epoch-checkpoint`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Final

from core.kafka.ids import NO_EPOCH, NO_OFFSET

UNDEFINED: Final = (NO_EPOCH, NO_OFFSET)
"""Kafka's undefined epoch and undefined end offset."""


class LeaderEpochCache:
    """The (epoch, start offset) entries for one replica's log. Both the epoch and the start offset increase from each entry to the next.

    Epochs and offsets are never negative. All lookups are binary searches. There are few entries, and they rarely change, so they are kept
    in tuples, which take half the memory of lists and can be shared.
    """

    __slots__ = ("_epochs", "_starts")

    def __init__(self) -> None:
        self._epochs: tuple[int, ...] = ()
        self._starts: tuple[int, ...] = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LeaderEpochCache) and (self._epochs, self._starts) == (other._epochs, other._starts)

    def __repr__(self) -> str:
        return f"LeaderEpochCache{self.entries()}"

    @staticmethod
    def of(entries: Iterable[tuple[int, int]]) -> LeaderEpochCache:
        """Return a cache to which the given (epoch, start offset) entries have been assigned in order.

        Raises:
            ValueError: an epoch or offset is negative.
        """
        cache = LeaderEpochCache()
        for epoch, start in entries:
            cache.assign(epoch, start)
        return cache

    @staticmethod
    def restored(epochs: tuple[int, ...], starts: tuple[int, ...]) -> LeaderEpochCache:
        """Return a cache with the given entries, which come from another cache."""
        cache = LeaderEpochCache()
        cache._epochs = epochs
        cache._starts = starts
        return cache

    def assign(self, epoch: int, offset: int) -> None:
        """Record that `epoch` starts at `offset` (Kafka: `#assign`).

        If `epoch` is already the latest epoch, later offsets are ignored. Otherwise, the last entries are dropped if their epoch or start
        offset is not lower than that of the new entry, because they contradict the new entry. Therefore, a leader that appended nothing
        leaves no entry in the cache.

        Raises:
            ValueError: the epoch or offset is negative.
        """
        epochs, starts = self._epochs, self._starts
        if epochs and epochs[-1] == epoch and offset >= starts[-1]:
            return
        if epoch < 0 or offset < 0:
            raise ValueError(f"epoch {epoch} at offset {offset} cannot be assigned; both must be 0 or more")
        left = len(epochs)
        while left and (epochs[left - 1] >= epoch or starts[left - 1] >= offset):
            left -= 1
        self._epochs = (*epochs[:left], epoch)
        self._starts = (*starts[:left], offset)

    def end_offset_for(self, epoch: int, leo: int) -> tuple[int, int]:
        """Return the largest known epoch that is at most `epoch`, and its end offset (Kafka: `#endOffsetFor`).

        An epoch ends where the next one starts. The latest epoch ends at the log end offset `leo`. If `epoch` is below all known epochs, the result
        is `epoch` and the start of the first known epoch. If `epoch` is undefined or above all known epochs, the result is `UNDEFINED`.
        """
        epochs, starts = self._epochs, self._starts
        if epoch == NO_EPOCH or not epochs or epoch > epochs[-1]:
            return UNDEFINED
        if epoch == epochs[-1]:
            return epoch, leo
        higher = bisect_right(epochs, epoch)
        return (epochs[higher - 1] if higher else epoch), starts[higher]

    def previous_epoch(self, epoch: int) -> int:
        """Return the highest known epoch below `epoch`; NO_EPOCH if there is none (Kafka: `#previousEpoch`)."""
        at = bisect_left(self._epochs, epoch)
        return self._epochs[at - 1] if at else NO_EPOCH

    @property
    def latest_epoch(self) -> int:
        """The highest epoch; NO_EPOCH if the cache is empty (Kafka: `#latestEpoch`)."""
        return self._epochs[-1] if self._epochs else NO_EPOCH

    def entries(self) -> tuple[tuple[int, int], ...]:
        """Return all entries (epoch, start offset), oldest first."""
        return tuple(zip(self._epochs, self._starts, strict=True))

    def __len__(self) -> int:
        return len(self._epochs)

    def truncate_from_end(self, end_offset: int) -> None:
        """Drop the entries that start at `end_offset` or later (Kafka: `#truncateFromEnd`). A negative offset has no effect."""
        if end_offset < 0:
            return
        at = bisect_left(self._starts, end_offset)
        self._epochs = self._epochs[:at]
        self._starts = self._starts[:at]

    def truncate_from_start(self, start_offset: int) -> None:
        """Drop the entries before `start_offset`, but keep the entry of the epoch that contains it.

        Kafka calls `#truncateFromStart` when the oldest records in a log are deleted.
        """
        at = bisect_right(self._starts, start_offset)
        if at == 0 or (at == 1 and self._starts[0] == start_offset):
            return
        self._epochs = self._epochs[at - 1 :]
        self._starts = (start_offset, *self._starts[at:])

    def clear(self) -> None:
        """Drop all entries (Kafka: `#clearAndFlush`)."""
        self._epochs = self._starts = ()

    def copy(self) -> LeaderEpochCache:
        """Return a copy of this cache."""
        return LeaderEpochCache.restored(self._epochs, self._starts)


def format_checkpoint(entries: Iterable[tuple[int, int]]) -> str:
    """Return the text of `leader-epoch-checkpoint`: version 0, the number of entries, and then one line `epoch startOffset` per entry."""
    lines = [f"{epoch} {start}\n" for epoch, start in entries]
    return f"0\n{len(lines)}\n{''.join(lines)}"


def parse_checkpoint(text: str) -> tuple[tuple[int, int], ...]:
    """Return the (epoch, start offset) entries of a `leader-epoch-checkpoint` file.

    Raises:
        ValueError: the text is not a valid `leader-epoch-checkpoint` file. The error message names the line and its expected content.
    """
    lines = text.splitlines()
    if not lines or lines[0].strip() != "0":
        found = repr(lines[0]) if lines else "nothing"
        raise ValueError(f"leader-epoch-checkpoint line 1: found {found}; the version must be 0")
    if len(lines) < 2 or not _is_number(lines[1].strip()):
        found = repr(lines[1]) if len(lines) > 1 else "nothing"
        raise ValueError(f"leader-epoch-checkpoint line 2: found {found}; it must be the number of entries")
    count = int(lines[1])
    entries = []
    for number, line in enumerate(lines[2:], start=3):
        parts = line.split()
        if len(parts) != 2 or not all(map(_is_number, parts)):
            raise ValueError(f"leader-epoch-checkpoint line {number}: found {line!r}; it must be `epoch startOffset`, for example `3 1200`")
        entries.append((int(parts[0]), int(parts[1])))
    if len(entries) != count:
        raise ValueError(f"leader-epoch-checkpoint line 2: the number of entries is {count}, but the file has {len(entries)}")
    return tuple(entries)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 19
