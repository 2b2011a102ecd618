"""Errors of the simulation."""

from __future__ import annotations


class ActRefused(Exception):
    """The refusal of an act that is impossible in the current state of the system. The error message gives the reason, and says what would
    be possible.
    """


class Standstill(ActRefused):
    """An error that stops an endless run: the system schedules more and more entries at the same virtual time, so time does not advance."""
