"""A scenario's expectations as they are met or failed, for the screen."""

from __future__ import annotations

import enum

import attrs

from core.sim.repr_mixin import ReprMixin


class Verdict(enum.StrEnum):
    """How an expectation stands."""

    PENDING = "pending"
    HELD = "held"
    FAILED = "failed"


@attrs.frozen(repr=False)
class Expected(ReprMixin):
    """One expectation: its condition, the note of its step, and once it has failed what was wanted and what was there."""

    verdict: Verdict
    text: str
    note: str = ""
    wanted: str = ""
    got: str = ""
    where: str = ""


@attrs.frozen(repr=False)
class ScenarioState(ReprMixin):
    """What the panel shows: the scenario's name and text, its expectations, what it does next and what it said last."""

    name: str
    about: str
    expectations: tuple[Expected, ...]
    next: str = ""
    said: str = ""
    ended: bool = False
