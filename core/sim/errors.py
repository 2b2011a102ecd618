"""Errors of the simulation."""

from __future__ import annotations


class ActRefused(Exception):
    """The refusal of an act that is impossible in the present state of the system. The message says why, and what would be possible."""


class Standstill(ActRefused):
    """Endless work at one moment of virtual time: the system never finishes, because that work takes no time."""
