"""When Python's garbage collector works: between frames and in small helpings, in full only when nothing moves.

Left to itself it looks at the whole heap in the middle of some frame, which takes longer than several frames may. What lives as long as
the session is set aside (`gc.freeze`) once the first screen stands.
"""

from __future__ import annotations

import gc
from typing import Final

STARTUP_SECONDS: Final = 0.3
"""After which time from the start the first screen stands."""

IDLE_SECONDS: Final = 0.5
"""How long nothing must have moved before everything is looked at."""

_NEW: Final = 4
"""Frames after which what is new is looked at."""

_YOUNG: Final = 32
"""Frames after which what has outlived that is set aside too, until everything is looked at: a cluster leaves no cycles while it runs."""

_OLD: Final = 5_000
"""Frames after which there may be old garbage."""


_CLUSTERS: Final = 8
"""Clusters that may be left behind without a rest."""


class GarbageCollection:
    """The collector's turns in a process that is the playground's alone; anywhere else nothing is done.

    Attributes:
        frames: since everything was looked at last.
        due: whether there may be garbage among what lives long, as after a way through time: whole clusters that nobody needs any more.
    """

    def __init__(self, *, own_process: bool) -> None:
        self._own = own_process
        self.frames = self._left = 0
        self.due = False

    def freeze_long_lived(self) -> None:
        """What lives long is set aside; from now on the collector works when it is told to."""
        if self._own:
            gc.freeze()
            gc.disable()

    def after_frame(self) -> None:
        """What the last frames have left behind."""
        self.frames += 1
        if self._own and self.frames % _NEW == 0 and not gc.isenabled():
            gc.collect(0)
            if self.frames % _YOUNG == 0:
                gc.freeze()
            if self.frames > _OLD:
                self.due = True

    def cluster_replaced(self) -> None:
        """A cluster has been left for another, as by a way through time; many in a row do not wait for a rest."""
        self.due = True
        self._left += 1
        if self._own and self._left % _CLUSTERS == 0 and not gc.isenabled():
            gc.collect()

    def collect_when_idle(self) -> None:
        """Everything that is due."""
        if self._own and self.due and not gc.isenabled():
            self.due, self.frames = False, 0
            gc.unfreeze()
            gc.collect()
            gc.freeze()
