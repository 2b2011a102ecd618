"""What a lesson waits for, and what its end compares. This module loads nothing else, because every frame of the playground uses it."""

from __future__ import annotations

import enum

import attrs


class Phase(enum.Enum):
    """What a player waits for."""

    ACTS = enum.auto()
    TIME = enum.auto()
    AGAIN = enum.auto()
    READ = enum.auto()
    CHOOSE = enum.auto()
    ACT = enum.auto()
    STUCK = enum.auto()
    END = enum.auto()


@attrs.frozen(repr=False)
class Compared:
    """A value at the start of a lesson and at its end, and why it changed."""

    name: str
    was: str
    now: str
    because: str
