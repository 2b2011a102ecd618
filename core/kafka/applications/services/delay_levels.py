"""The levels of a delay service. All records in a level have the same delay, and each level has its own topic.

Therefore, the records in a partition become due in offset order if their timestamps are in ascending order. A requested delay is rounded up
to the shortest level that is long enough.
"""

from __future__ import annotations

import re
from typing import Final

from core.sim.units import SECOND, format_duration, parse_duration

LEVELS: Final = ("5s", "10s", "30s", "1m", "2m", "5m", "10m", "20m", "30m", "45m", "1h", "2h")
"""The names of the default levels, in ascending order."""

TOPIC_PREFIX: Final = "delay_topic_"
"""The prefix of the name of each level's topic, which is followed by the name of the level."""

_NAME: Final = re.compile(r"[1-9]\d{0,5}(ms|s|m|h)")


def level_us(name: str) -> int:
    """Return the delay of a level, in µs.

    Raises:
        ValueError: the name is not a whole number and a unit.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"a level is a whole number with the unit ms, s, m, or h, for example 30s, not '{name[:20]}'")
    return parse_duration(name)


def level_topic(name: str) -> str:
    """Return the topic of a level."""
    return TOPIC_PREFIX + name


def level_for(wanted: int, levels: tuple[str, ...], *, chained: bool = False) -> str:
    """Return the shortest level that is at least as long as a requested delay in µs.

    If the requested delay is longer than every level and levels are `chained`, return the longest level. The rest of the delay determines
    the record's next level.

    Raises:
        ValueError: the requested delay is longer than every level, and levels are not chained.
    """
    for name in levels:
        if level_us(name) >= wanted:
            return name
    if chained:
        return levels[-1]
    raise ValueError(f"a delay of {wanted / SECOND:g} s is longer than the longest level, which is {levels[-1]}")


def worker_name(service: str, level: str) -> str:
    """Return the name of the worker for a level."""
    return f"{service}-{level}"


def producer_name(wanted: int) -> str:
    """Return the default name for a producer of delayed records, which is used if a script does not name the producer."""
    return f"delayed-{format_duration(wanted)}"
