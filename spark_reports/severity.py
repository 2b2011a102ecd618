"""Orders the rows of a table by severity.

If a table has more rows than can be shown, only the worst rows are shown, and the output names the columns that define the order. Each
table lists the columns that define the order, starting with the most important one. Unless the name of the column has the prefix `-`, the
greatest value is the worst. String values are ordered by their positions in `RANKS`. DataFrames in Spark and rows that were fetched from
Spark are sorted by the same columns.
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
"""The values of `state` columns.

There is no value for a leader that is not serving clients, because the table `unavailability` contains such intervals.
"""

RANKS: Final[Mapping[str, tuple[str, ...]]] = {
    "state": tuple(STATE_WORDS[status] for status in sorted(STATE_WORDS, reverse=True)),
    "status": ("open", "waits for marker", "hanging"),
    "outcome": ("succeeded twice", "dead letter", "dropped"),
    "what": ("diverged", "duplicated", "exposed", "lost, seen", "lost", "stalled", "writes", "reads"),
}
"""The values of each text column, from the least severe to the most severe. A value that is not listed is less severe than all listed
values.
"""

LEAST: Final = "-"
"""The prefix of a column whose smallest value is the worst."""


def sql_order(worst: Sequence[str], keys: Sequence[str]) -> list[Column]:
    """Return the sort order of a DataFrame: the worst rows first, and rows of equal severity by their keys."""
    from pyspark.sql import functions as F

    found = []
    for name in worst:
        column = F.col(name.removeprefix(LEAST))
        if name in RANKS:
            column = F.array_position(F.array(*map(F.lit, RANKS[name])), column)
        found.append(F.asc_nulls_last(column) if name.startswith(LEAST) else F.desc_nulls_last(column))
    return [*found, *map(F.col, keys)]


def sorted_rows(rows: Sequence[tuple[object, ...]], columns: Sequence[str], worst: Sequence[str]) -> list[tuple[object, ...]]:
    """Sort rows so that the worst rows come first. The given rows must be in the order of their keys."""
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
    """Return a description of the order of severity."""
    words = [
        name.removeprefix(LEAST).removesuffix("_us").replace("_", " ") + (", lowest first" if name.startswith(LEAST) else "")
        for name in worst
    ]
    return ", then ".join(words)
