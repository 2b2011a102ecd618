"""Orders the rows of a table by severity.

If not all rows are shown, the worst rows are shown, and the output names the order. A table names the columns that define the order, the
most important first. The greatest value is the worst. Texts are compared by `RANKS`. DataFrames in Spark and fetched rows in Python are
sorted by the same columns.
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
"""The values of `state` columns. A leader that does not serve has no value here, but appears in the windows without reads and writes."""

RANKS: Final[Mapping[str, tuple[str, ...]]] = {
    "state": tuple(STATE_WORDS[status] for status in sorted(STATE_WORDS, reverse=True)),
    "what": ("diverged", "duplicated", "exposed", "lost, seen", "lost", "stalled", "writes", "reads"),
}
"""The texts of each column from least to worst. A text that is not listed is ranked below all listed texts."""

LEAST: Final = "-"
"""The prefix of a column whose smallest value is the worst."""


def sql_order(worst: Sequence[str], keys: Sequence[str]) -> list[Column]:
    """Return the sort order of a DataFrame: worst first, then by the keys."""
    from pyspark.sql import functions as F

    found = []
    for name in worst:
        column = F.col(name.removeprefix(LEAST))
        if name in RANKS:
            column = F.array_position(F.array(*map(F.lit, RANKS[name])), column)
        found.append(F.asc_nulls_last(column) if name.startswith(LEAST) else F.desc_nulls_last(column))
    return [*found, *map(F.col, keys)]


def sorted_rows(rows: Sequence[tuple[object, ...]], columns: Sequence[str], worst: Sequence[str]) -> list[tuple[object, ...]]:
    """Sort rows that are in the order of their keys, so that the worst come first."""
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
    """Return the order of severity in words."""
    words = [
        name.removeprefix(LEAST).removesuffix("_us").replace("_", " ") + (", lowest first" if name.startswith(LEAST) else "")
        for name in worst
    ]
    return ", then ".join(words)
