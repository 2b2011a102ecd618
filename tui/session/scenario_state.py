"""The state of a scenario and of its expectations, for the screen."""

from __future__ import annotations

import enum

import attrs

from core.sim.repr_mixin import ReprMixin


class Verdict(enum.StrEnum):
    """The state of an expectation."""

    PENDING = "pending"
    HELD = "held"
    FAILED = "failed"


@attrs.frozen(repr=False)
class Expected(ReprMixin):
    """An expectation with its condition and the note of its step.

    If the expectation failed, the expected value and the actual value are included.
    """

    verdict: Verdict
    text: str
    note: str = ""
    wanted: str = ""
    got: str = ""
    where: str = ""


@attrs.frozen(repr=False)
class ScenarioState(ReprMixin):
    """The content of the scenario panel: the name, the description, the expectations, the next step, and the latest note and values."""

    name: str
    about: str
    expectations: tuple[Expected, ...]
    next: str = ""
    said: str = ""
    ended: bool = False
    shown: str = ""
