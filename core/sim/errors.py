"""Errors of the simulation."""

from __future__ import annotations


class ActRefused(Exception):
    """An act is impossible in the present state of the system. The message says why, and what would be possible."""


class Standstill(ActRefused):
    """The system does not finish its work at one moment of virtual time, because that work takes no time."""
