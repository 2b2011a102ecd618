"""What the simulation refuses."""

from __future__ import annotations


class ActRefused(Exception):
    """An act that is impossible in the system's present state: the message says what, and what would be right."""


class Standstill(ActRefused):
    """The system is busy without end at one moment of virtual time: what it does there takes no time."""
