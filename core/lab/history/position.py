"""A moment of a session, and an act that was done in it.

A cluster is deterministic, so a moment of a session is known by how many steps led to it and which acts were done in between.
"""

from __future__ import annotations

import attrs

from core.lab.acts import Act
from core.sim.repr_mixin import ReprMixin


@attrs.frozen(repr=False)
class Position(ReprMixin):
    """A moment of a session: steps and acts done, virtual time in µs, the last event's seq. Compared by the first three."""

    steps: int
    acts: int
    time: int
    seq: int = attrs.field(default=0, eq=False)

    @property
    def place(self) -> tuple[int, int, int]:
        """What orders the moments of one branch."""
        return self.steps, self.acts, self.time


@attrs.frozen(repr=False)
class PlayedAct(ReprMixin):
    """An act that somebody did: after how many steps, at which virtual time, which seq its event has; `joined`: with the one before it."""

    steps: int
    time: int
    seq: int
    act: Act
    joined: bool = False
