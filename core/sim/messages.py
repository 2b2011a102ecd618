"""The messages that the simulation kernel itself sends; the simulated protocol defines all other messages."""

from __future__ import annotations

from typing import NamedTuple


class Disconnected(NamedTuple):
    """The notice that the connection to a node is closed: the node's process ended or refused the connection."""

    node: str


class Timer(NamedTuple):
    """A timer that a node has set for itself: the timer's name, and the argument for the function with that name."""

    name: str
    about: object = None
