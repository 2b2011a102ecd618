"""Errors of the simulation."""

from __future__ import annotations


class ActRefused(Exception):
    """The refusal of an act that is impossible in the present state of the system. The message says why, and what would be possible."""


class Standstill(ActRefused):
    """An error that stops an endless run: the system keeps working at one moment of virtual time, so time does not advance."""
