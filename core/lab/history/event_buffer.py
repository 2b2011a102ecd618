"""The events of a session that are still in memory. The number of events in memory is limited separately for each event level. The index of
an event never changes.

A busy cluster records thousands of events per second, mostly fetches. Three rings keep the latest events: one for events of all levels, one
for events of level normal or higher, and one for events of level notable. An election that happened minutes ago therefore stays in memory,
however much traffic follows.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from itertools import islice
from typing import Final

from core.kafka.events import DETAIL, KINDS, NORMAL, NOTABLE, AppendRefused, EventTuple
from core.sim.events import kind_of, seq_of, time_of
from core.sim.units import SECOND

LEVEL: Final = {name: kind.level for name, kind in KINDS.items()}
"""The level of each event kind."""

RING_SIZES: Final = {DETAIL: 50_000, NORMAL: 50_000, NOTABLE: 20_000}
"""The number of events that each ring keeps."""

_REFUSED: Final = AppendRefused.kind
_partition_of: Final = AppendRefused.reader("topic", "partition")
"""The kind of event that reports a refused append.

A retrying producer is refused a hundred times per second, so only the first refusal of a series is notable.
"""

REFUSAL_SERIES_GAP: Final = 5 * SECOND
"""The time without refusals after which a partition's next refusal starts a new series, in µs of virtual time."""


CHUNK: Final = 512
"""The number of events in a chunk. Copies of a ring share whole chunks, and a ring drops whole chunks."""


class EventRing:
    """The latest events at or above a given level. Index 0 is the first event ever. Events before `first` have been dropped.

    Events are stored in chunks. A full chunk never changes, so a copy of the ring at an earlier event shares all chunks except the last
    one.
    """

    __slots__ = ("_begin", "_floor", "_full", "_last", "_size")

    def __init__(self, size: int) -> None:
        self._size = size
        self._full: deque[list[EventTuple]] = deque()
        self._last: list[EventTuple] = []
        self._begin = 0  # index of the first event of the last chunk
        self._floor = 0  # index of the first event that was kept when the ring was cut

    @property
    def total(self) -> int:
        """The number of events so far, including dropped events."""
        return self._begin + len(self._last)

    @property
    def first(self) -> int:
        """The index of the oldest event in memory."""
        return max(self._floor, self._begin + len(self._last) - self._size)

    def append(self, event: EventTuple) -> None:
        """Add an event."""
        last = self._last
        last.append(event)
        if len(last) == CHUNK:
            self._full.append(last)
            self._last = []
            self._begin += CHUNK
            if len(self._full) * CHUNK >= self._size + CHUNK:
                self._full.popleft()

    def at(self, index: int) -> EventTuple:
        """Return the event at an index.

        Raises:
            IndexError: the event was dropped or does not exist yet.
        """
        if index < self.first:
            raise IndexError(index)
        after = index - self._begin
        return self._last[after] if after >= 0 else self._full[after // CHUNK][after % CHUNK]

    def since(self, index: int) -> list[EventTuple]:
        """Return the events in memory, starting at an index."""
        after = max(index, self.first) - self._begin
        if after >= 0:
            return self._last[after:]
        number = len(self._full) + after // CHUNK
        found = self._full[number][after % CHUNK :]
        for chunk in islice(self._full, number + 1, None):
            found += chunk
        return found + self._last

    def prefix(self, seq: int) -> EventRing:
        """Return a ring with the events in memory up to event `seq`, at the same indices."""
        other = EventRing(self._size)
        total, other._floor = self._after(seq), self.first
        if total <= other._floor:  # No event is kept. Events before the floor might have come after `seq`.
            other._begin = other._floor
            return other
        number = (total - self._begin) // CHUNK + len(self._full)
        other._begin = self._begin - (len(self._full) - number) * CHUNK
        other._full = deque(islice(self._full, number))
        other._last = (self._full[number] if number < len(self._full) else self._last)[: total - other._begin]
        return other

    def index_of(self, seq: int) -> int | None:
        """Return the index of event `seq`; None if the event is not in memory."""
        index = self._after(seq) - 1
        return index if index >= self.first and seq_of(self.at(index)) == seq else None

    def _after(self, seq: int) -> int:
        """Return the index of the first event after `seq`, whether or not the event is in memory; `total` if there is no such event."""
        number = bisect_right(self._full, seq, key=_end)
        chunk = self._last if number == len(self._full) else self._full[number]
        return self._begin - (len(self._full) - number) * CHUNK + bisect_right(chunk, seq, key=seq_of)


def _end(chunk: list[EventTuple]) -> int:
    seq: int = seq_of(chunk[-1])
    return seq


class EventBuffer:
    """The events in memory, in three rings of different levels. `append` is a sink of a journal."""

    __slots__ = ("_all", "_last", "_normal", "_notable")

    def __init__(self, kept: dict[int, int] = RING_SIZES) -> None:
        self._all = EventRing(kept[DETAIL])
        self._normal = EventRing(kept[NORMAL])
        self._notable = EventRing(kept[NOTABLE])
        self._last: dict[tuple[str, int], int] = {}

    def append(self, event: EventTuple) -> int:
        """Add an event to each ring of its level. Return the event's level."""
        self._all.append(event)
        level = LEVEL[kind_of(event)]
        if level >= NORMAL:
            self._normal.append(event)
            if level >= NOTABLE:
                if kind_of(event) == _REFUSED and not self._first_of_a_series(event):
                    return NORMAL
                self._notable.append(event)
        return level

    def _first_of_a_series(self, refused: EventTuple) -> bool:
        """Return whether a refused append starts a new series of refusals for the partition."""
        partition = _partition_of(refused)
        before = self._last.get(partition)
        self._last[partition] = time_of(refused)
        return before is None or time_of(refused) - before > REFUSAL_SERIES_GAP

    def retains_after(self, seq: int) -> bool:
        """Return whether every ring still has all of its events after `seq`."""
        return all(ring.first == 0 or seq_of(ring.at(ring.first)) <= seq for ring in (self._all, self._normal, self._notable) if ring.total)

    def prefix(self, seq: int) -> EventBuffer:
        """Return a buffer that contains this buffer's events up to event `seq`."""
        other = EventBuffer()
        other._all, other._normal, other._notable = self._all.prefix(seq), self._normal.prefix(seq), self._notable.prefix(seq)
        if self._last:
            other._last = other._refused_of_late()
        return other

    def _refused_of_late(self) -> dict[tuple[str, int], int]:
        """For each partition, return the time of the last refusal, if a further refusal would still belong to the same series."""
        ring = self._normal
        found: dict[tuple[str, int], int] = {}
        for index in range(ring.total - 1, ring.first - 1, -1):
            event = ring.at(index)
            if time_of(event) < time_of(self._all.at(self._all.total - 1)) - REFUSAL_SERIES_GAP:
                break
            if kind_of(event) == _REFUSED:
                found.setdefault(_partition_of(event), time_of(event))
        return found

    def ring(self, level: int) -> EventRing:
        """Return the ring for events of at least a given level."""
        return self._notable if level >= NOTABLE else self._normal if level >= NORMAL else self._all

    def find(self, seq: int) -> EventTuple | None:
        """Return the event `seq`; None if no ring has it."""
        for ring in (self._all, self._normal, self._notable):
            index = ring.index_of(seq)
            if index is not None:
                return ring.at(index)
        return None
