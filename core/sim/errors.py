"""Errors of the simulation."""

from __future__ import annotations


class ActRefused(Exception):
    """The refusal of an act that is impossible in the current state of the system. The message gives the reason, and says what would be
    possible."""


class Standstill(ActRefused):
    """An error that stops an endless run: the system keeps working at one moment of virtual time, so time does not advance."""
