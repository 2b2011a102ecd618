"""The places on the screen that a lesson can point at. This module loads nothing else, because every frame of the playground uses it."""

from __future__ import annotations

import enum
from typing import Final

import attrs


class PlaceKind(enum.StrEnum):
    """The parts of the screen that a lesson can point at."""

    BROKERS = "brokers"
    BROKER = "broker"
    PARTITIONS = "partitions"
    PARTITION = "partition"
    EVENTS = "events"
    DETAILS = "details"
    TIME = "time"
    KEYS = "keys"
    PAGE = "page"


PAGES: Final = ("partition", "messages", "metrics", "durability", "settings", "transactions", "groups")
"""The pages of the playground that a lesson can open."""


@attrs.frozen(repr=False)
class Pointer:
    """A place on the screen.

    Attributes:
        kind: the part of the screen.
        name: the broker's number, the partition, or the page; empty for the other kinds.
        broker: the broker whose replica is meant; -1 if the whole partition is meant.
    """

    kind: PlaceKind
    name: str = ""
    broker: int = -1
