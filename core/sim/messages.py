"""The messages of the kernel itself; all others are the protocol's."""

from __future__ import annotations

from typing import NamedTuple


class Disconnected(NamedTuple):
    """The connection to a node is gone: its process ended, or it refuses connections."""

    node: str


class Timer(NamedTuple):
    """A node's own timer: which, and for what."""

    name: str
    about: object = None
