"""Hands over tables that Spark has computed: a bounded number of rows to be shown, all of them to files.

No table comes to the driver whole, however many sessions there are. Of one with more rows than are wanted the worst come
(`severity`). A table is written as one file, sorted, up to `PART_ROWS` rows, and in parts of about so many beyond that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

from spark_reports.severity import sql_order
from spark_reports.tables import csv_files
from spark_reports.tables.result import Result

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PART_ROWS: Final = 200_000
"""Rows of a table that are written to one file."""

Write = Callable[[str, "DataFrame"], None]
"""Writes a table of that name, given its rows in their order, in one partition for each file."""


@attrs.frozen
class Table:
    """A table's rows, in Spark.

    Attributes:
        name, title, notes, worst: as `Result` has them.
        keys: columns by which its rows are sorted.
        frame: the rows in no order.
        gathered: they are in one partition.
    """

    name: str
    title: str
    notes: str
    keys: tuple[str, ...]
    worst: tuple[str, ...]
    frame: DataFrame
    gathered: bool

    def fetched(self, most: int) -> Result:
        """At most so many rows: all of them by their keys, or else the worst."""
        rows = _rows(self.frame.orderBy(*self.keys), most + 1)
        count = len(rows)
        if count > most:
            count = self.frame.count()
            rows = _rows(self.frame.orderBy(*sql_order(self.worst, self.keys)), most)
        return Result(self.name, self.title, self.notes, tuple(self.frame.columns), rows, count - len(rows), worst=self.worst)

    def written(self, write: Sequence[Write], count: int) -> None:
        """Hand all of its rows, so many, to each of these."""
        parts = math.ceil(count / PART_ROWS)
        if parts > 1:
            placed = self.frame.repartitionByRange(parts, *self.keys)
        else:
            placed = self.frame if self.gathered else self.frame.coalesce(1)
        for one in write:
            one(self.name, placed.sortWithinPartitions(*self.keys))


def _rows(frame: DataFrame, most: int) -> list[tuple[object, ...]]:
    return [tuple(row) for row in frame.limit(most).collect()]


def parquet(out: Path | str) -> Write:
    """Writes tables as Parquet, each to the dataset of its name; what is there under that name is replaced."""
    where = f"file://{out}" if isinstance(out, Path) else out.rstrip("/")
    return lambda name, frame: frame.write.mode("overwrite").parquet(f"{where}/{name}")


def csv(out: Path) -> Write:
    """Writes tables as CSV into a directory of this machine."""

    def rows(frame: DataFrame) -> Iterator[tuple[object, ...]]:
        return (tuple(row) for row in frame.toLocalIterator())

    return lambda name, frame: csv_files.write(name, frame.columns, rows(frame), out, PART_ROWS)
