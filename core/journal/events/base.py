"""What an event is: a tuple in flight, a frozen class that names its columns, and the words its sentence is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

import attrs

EventTuple = tuple[Any, ...]  # (int, int, int, str, *columns)
"""A recorded event as a plain tuple."""

DETAIL: Final = 0
"""Level of events that every round trip makes."""
NORMAL: Final = 1
"""Level of ordinary traffic worth a line."""
NOTABLE: Final = 2
"""Level of events people look for: elections, ISR changes, truncations, errors, losses."""


@attrs.frozen
class Event:
    """Base of all kinds.

    `kind` is the name in the log, `level` how notable, `source` the Kafka class, method or KIP to read on.
    """

    kind: ClassVar[str] = ""
    level: ClassVar[int] = NORMAL
    source: ClassVar[str] = ""

    def sentence(self) -> str:
        """What happened and why, as a colleague would say it, with the numbers in it."""
        raise NotImplementedError(self.kind)


def name_of(topic: str, partition: int) -> str:
    """A partition as Kafka prints it."""
    return f"{topic}-{partition}"


def ids(ids: Sequence[int]) -> str:
    """Broker ids in brackets."""
    return "[" + ",".join(str(i) for i in ids) + "]"


def records(count: int) -> str:
    """A count of records."""
    return "1 record" if count == 1 else f"{count:,} records"


def offsets(start: int, end: int) -> str:
    """Offsets [start, end) in words."""
    return f"offset {start}" if end == start + 1 else f"offsets {start}–{end - 1}"


def leader_name(leader: int) -> str:
    """A leader, or nobody."""
    return "nobody" if leader < 0 else f"b{leader}"
