"""Which rows of a table are the worst: where not all of them are shown, the others go, and what shows them says by which order.

A table names the columns that decide, the first one first, the greatest value worst. A text counts by `RANKS`. Spark orders what it
has not handed over yet, and Python what it has, by the same names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from core.kafka.health import PartitionStatus

if TYPE_CHECKING:
    from pyspark.sql import Column

STATE_WORDS: Final[Mapping[PartitionStatus, str]] = {
    PartitionStatus.OFFLINE: "offline",
    PartitionStatus.UNDER_MIN_ISR: "under min",
    PartitionStatus.STALLED: "stalled",
    PartitionStatus.AT_MIN_ISR: "at min",
    PartitionStatus.UNDER_REPLICATED: "under-replicated",
    PartitionStatus.HEALTHY: "in sync",
}
"""What a column `state` says; that a leader does not serve is a reason for windows in which nobody could read or write."""

RANKS: Final[Mapping[str, tuple[str, ...]]] = {
    "state": tuple(STATE_WORDS[status] for status in sorted(STATE_WORDS, reverse=True)),
    "what": ("diverged", "duplicated", "exposed", "lost, seen", "lost", "stalled", "writes", "reads"),
}
"""Texts from the least to the worst, by column; a text that is not among them counts less than all that are."""

LEAST: Final = "-"
"""Before the name of a column of which the smallest value is the worst."""


def sql_order(worst: Sequence[str], keys: Sequence[str]) -> list[Column]:
    """The order of a frame's rows, worst first; rows alike by their keys."""
    from pyspark.sql import functions as F

    found = []
    for name in worst:
        column = F.col(name.removeprefix(LEAST))
        if name in RANKS:
            column = F.array_position(F.array(*map(F.lit, RANKS[name])), column)
        found.append(F.asc_nulls_last(column) if name.startswith(LEAST) else F.desc_nulls_last(column))
    return [*found, *map(F.col, keys)]


def sorted_rows(rows: Sequence[tuple[object, ...]], columns: Sequence[str], worst: Sequence[str]) -> list[tuple[object, ...]]:
    """Rows that stand in the order of their keys, worst first."""
    places = [(columns.index(name.removeprefix(LEAST)), -1 if name.startswith(LEAST) else 1, RANKS.get(name)) for name in worst]

    def grade(row: tuple[object, ...]) -> list[tuple[bool, float]]:
        found = []
        for place, sign, ranks in places:
            value = row[place]
            if ranks is not None:
                value = ranks.index(value) if value in ranks else -1
            assert value is None or isinstance(value, int | float)
            found.append((value is not None, 0 if value is None else sign * value))
        return found

    return sorted(rows, key=grade, reverse=True)


def in_words(worst: Sequence[str]) -> str:
    """The order, as a reader is told it."""
    words = [
        name.removeprefix(LEAST).removesuffix("_us").replace("_", " ") + (", least first" if name.startswith(LEAST) else "")
        for name in worst
    ]
    return ", then ".join(words)
