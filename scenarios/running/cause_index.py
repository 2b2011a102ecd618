"""The first cause of every event of a run, in little memory: a run of a virtual day records tens of millions of events."""

from __future__ import annotations

import zlib
from array import array
from functools import lru_cache
from typing import Final

EVENTS_PER_BLOCK: Final = 16_384
"""The number of events whose causes are compressed together."""


class CauseIndex:
    """The first cause of each event, by sequence number. A cause is 0 if there is none.

    Most causes are a few events back, so the distances to them compress to a byte or two.
    """

    def __init__(self) -> None:
        self._blocks: Final[list[bytes]] = []
        self._last: Final = array("q")

    def append(self, cause: int) -> None:
        """Add the cause of the next event."""
        self._last.append(cause)
        if len(self._last) == EVENTS_PER_BLOCK:
            start = len(self._blocks) * EVENTS_PER_BLOCK
            self._blocks.append(zlib.compress(array("q", (seq - cause for seq, cause in enumerate(self._last, start))).tobytes(), 1))
            del self._last[:]

    def __getitem__(self, seq: int) -> int:
        """Return the first cause of an event."""
        block, place = divmod(seq - 1, EVENTS_PER_BLOCK)
        if block == len(self._blocks):
            return self._last[place]
        return block * EVENTS_PER_BLOCK + place - _unpacked(self._blocks[block])[place]


@lru_cache(maxsize=8)
def _unpacked(block: bytes) -> array[int]:
    return array("q", zlib.decompress(block))
