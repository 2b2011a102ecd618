"""The kernel's own messages. All other messages belong to the protocol."""

from __future__ import annotations

from typing import NamedTuple


class Disconnected(NamedTuple):
    """The connection to a node is gone: its process ended, or it refused the connection."""

    node: str


class Timer(NamedTuple):
    """A node's own timer: its name, and what it is for."""

    name: str
    about: object = None
