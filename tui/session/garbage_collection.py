"""Controls Python's garbage collector. Small collections run between frames, and full collections run only while the session is idle.

By default, the collector can scan the whole heap in the middle of a frame. Such a scan takes as long as several frames. After the first
screen is shown, objects that live as long as the session are excluded from collection (`gc.freeze`).
"""

from __future__ import annotations

import gc
from typing import Final

STARTUP_SECONDS: Final = 0.3
"""The time between startup and the first screen, in seconds."""

IDLE_SECONDS: Final = 0.5
"""The number of seconds for which the session must be idle before a full collection runs."""

_NEW: Final = 4
"""The number of frames between two garbage collections of new objects."""

_YOUNG: Final = 32
"""The number of frames after which surviving objects are frozen until the next full collection.

Freezing is safe because a running cluster creates no reference cycles.
"""

_OLD: Final = 5_000
"""After this number of frames, a full collection is due, because old objects may have become garbage by then."""


_CLUSTERS: Final = 8
"""The number of clusters that time travel can replace before a full collection runs without waiting for an idle moment."""


class GarbageCollection:
    """Controls Python's garbage collector for the playground. If the playground shares its process with other code, the methods do nothing.

    Attributes:
        frames: the number of frames since the last full collection.
        due: whether long-lived objects may have become garbage, for example a cluster that time travel replaced.
    """

    def __init__(self, *, own_process: bool) -> None:
        self._own = own_process
        self.frames = self._left = 0
        self.due = False

    def freeze_long_lived(self) -> None:
        """Exclude all existing objects from garbage collection. From now on, the collector runs only on request."""
        if self._own:
            gc.freeze()
            gc.disable()

    def after_frame(self) -> None:
        """Collect the garbage of the last frames."""
        self.frames += 1
        if self._own and self.frames % _NEW == 0 and not gc.isenabled():
            gc.collect(0)
            if self.frames % _YOUNG == 0:
                gc.freeze()
            if self.frames > _OLD:
                self.due = True

    def cluster_replaced(self) -> None:
        """Record that a cluster was replaced. If many clusters have been replaced, collect garbage immediately."""
        self.due = True
        self._left += 1
        if self._own and self._left % _CLUSTERS == 0 and not gc.isenabled():
            gc.collect()

    def collect_when_idle(self) -> None:
        """Run a full collection if one is due."""
        if self._own and self.due and not gc.isenabled():
            self.due, self.frames = False, 0
            gc.unfreeze()
            gc.collect()
            gc.freeze()
