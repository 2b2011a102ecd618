"""When Python's garbage collector runs: between frames in small portions, and in full only when nothing moves.

Left to itself, the collector scans the whole heap in the middle of a frame, which takes longer than several frames. Objects that live as
long as the session are excluded (`gc.freeze`) once the first screen is shown.
"""

from __future__ import annotations

import gc
from typing import Final

STARTUP_SECONDS: Final = 0.3
"""Seconds from the start until the first screen is shown."""

IDLE_SECONDS: Final = 0.5
"""Seconds without movement before a full collection."""

_NEW: Final = 4
"""Frames between two collections of new objects."""

_YOUNG: Final = 32
"""Frames after which surviving objects are frozen until the next full collection: a running cluster leaves no cycles."""

_OLD: Final = 5_000
"""Frames after which old objects may be garbage."""


_CLUSTERS: Final = 8
"""Replaced clusters after which a full collection runs without waiting for an idle moment."""


class GarbageCollection:
    """Controls the collector in a process of the playground's own; does nothing in any other process.

    Attributes:
        frames: frames since the last full collection.
        due: whether long-lived objects may be garbage, for example a cluster that was replaced by time travel.
    """

    def __init__(self, *, own_process: bool) -> None:
        self._own = own_process
        self.frames = self._left = 0
        self.due = False

    def freeze_long_lived(self) -> None:
        """Freezes what exists now; from now on the collector runs only on request."""
        if self._own:
            gc.freeze()
            gc.disable()

    def after_frame(self) -> None:
        """Collects what the last frames left."""
        self.frames += 1
        if self._own and self.frames % _NEW == 0 and not gc.isenabled():
            gc.collect(0)
            if self.frames % _YOUNG == 0:
                gc.freeze()
            if self.frames > _OLD:
                self.due = True

    def cluster_replaced(self) -> None:
        """Notes that a cluster was replaced; collects at once after many replacements."""
        self.due = True
        self._left += 1
        if self._own and self._left % _CLUSTERS == 0 and not gc.isenabled():
            gc.collect()

    def collect_when_idle(self) -> None:
        """Collects everything that is due."""
        if self._own and self.due and not gc.isenabled():
            self.due, self.frames = False, 0
            gc.unfreeze()
            gc.collect()
            gc.freeze()
