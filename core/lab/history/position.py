"""A position in a session, and an act at its position.

A cluster is deterministic, so the number of steps and the acts between them identify a moment of a session.
"""

from __future__ import annotations

import attrs

from core.lab.acts import Act
from core.sim.repr_mixin import ReprMixin


@attrs.frozen(repr=False)
class Position(ReprMixin):
    """A moment of a session: the numbers of steps and acts so far, the virtual time in µs, and the last sequence number (not compared)."""

    steps: int
    acts: int
    time: int
    seq: int = attrs.field(default=0, eq=False)

    @property
    def place(self) -> tuple[int, int, int]:
        """The key by which positions of one branch are ordered."""
        return self.steps, self.acts, self.time


@attrs.frozen(repr=False)
class PlayedAct(ReprMixin):
    """An act that a person performed.

    Attributes:
        steps: the number of steps before the act.
        time: the virtual time of the act, in µs.
        seq: the sequence number of the act's event.
        act: the act that was performed.
        joined: whether the act belongs to the same group as the previous act; if it does, both are undone together.
    """

    steps: int
    time: int
    seq: int
    act: Act
    joined: bool = False
