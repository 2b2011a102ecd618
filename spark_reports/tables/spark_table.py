"""Tables that Spark has computed. A limited number of rows can be fetched for display, and all rows can be written to files.

The driver never holds a whole table in memory, regardless of the number of sessions. If a table is too long, only its worst rows are
fetched. The sorted rows are written to one file if there are at most `PART_ROWS` rows, or to several files with about `PART_ROWS` rows
each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Condition
from typing import TYPE_CHECKING, Final

import attrs

from scenarios.errors import InputError
from scenarios.io.output_files import cannot_be_written
from spark_reports.severity import sql_order
from spark_reports.tables import csv_files, parquet_files
from spark_reports.tables.result import Result

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PART_ROWS: Final = 200_000
"""The maximum number of rows in one file."""

_CLOSING_SECONDS: Final = 30
"""The maximum time to wait for running writers. Spark has already been stopped, so that they fail soon."""

Rows = list[tuple[object, ...]]
"""The fetched rows of a table."""

Write = Callable[[str, "DataFrame", Rows | None], None]
"""A function that writes a table with a given name. The function receives the sorted rows, with one partition for each file. If all rows
have
been fetched, the function also receives the fetched rows.
"""


@attrs.frozen
class Table:
    """A table whose rows are in Spark.

    Attributes:
        name, title, notes, worst: the same values as in `Result`.
        keys: the columns by which rows are sorted.
        frame: the rows, unsorted.
        single_partition: whether the rows are in a single partition.
    """

    name: str
    title: str
    notes: str
    keys: tuple[str, ...]
    worst: tuple[str, ...]
    frame: DataFrame
    single_partition: bool

    def fetched(self, most: int) -> Result:
        """Return all rows, sorted by the keys, or the worst rows if there are more than `most`."""
        found = self.frame.orderBy(*self.keys).limit(most + 1).collect()
        # Asking Spark for the columns takes longer, because Spark analyzes the query again.
        columns = tuple(found[0].__fields__) if found else tuple(self.frame.columns)
        rows = [tuple(row) for row in found]
        count = len(rows)
        if count > most:
            count = self.frame.count()
            rows = [tuple(row) for row in self.frame.orderBy(*sql_order(self.worst, self.keys)).limit(most).collect()]
        return Result(self.name, self.title, self.notes, columns, rows, count - len(rows), worst=self.worst)

    def written(self, write: Sequence[Write], count: int, fetched: Rows | None = None) -> None:
        """Call each writer with all rows of the table. `count` is the number of rows, and `fetched` contains all of them if they have been
        fetched.
        """
        parts = math.ceil(count / PART_ROWS)
        if parts > 1:
            placed = self.frame.repartitionByRange(parts, *self.keys)
        else:
            placed = self.frame if self.single_partition else self.frame.coalesce(1)
        ready = placed.sortWithinPartitions(*self.keys)
        for one in write:
            one(self.name, ready, fetched)


def parquet(out: Path | str, shown: Path | str | None = None) -> Write:
    """Return a writer that writes each table to a Parquet dataset. The dataset has the name of the table, and replaces an existing dataset
    of that name. If a file cannot be written, the writer raises `InputError`, which names the directory `shown` or, without one, `out`.
    """
    where = f"file://{out}" if isinstance(out, Path) else out.rstrip("/")

    def write(name: str, frame: DataFrame, fetched: Rows | None) -> None:
        if isinstance(out, Path) and fetched is not None and len(fetched) <= PART_ROWS and parquet_files.can_write(frame.schema):
            try:
                parquet_files.write(name, frame.schema, fetched, out)
            except OSError as wrong:
                raise cannot_be_written(shown or out, wrong) from None
        else:
            frame.write.mode("overwrite").parquet(f"{where}/{name}")

    return write


def csv(out: Path, shown: Path | None = None) -> Write:
    """Return a writer that writes tables as CSV to a directory on this machine. If a file cannot be written, the writer raises `InputError`,
    which names the directory `shown` or, without one, the file.
    """

    def rows(frame: DataFrame, fetched: Rows | None) -> Iterator[tuple[object, ...]]:
        return iter(fetched) if fetched is not None else (tuple(row) for row in frame.toLocalIterator())

    def write(name: str, frame: DataFrame, fetched: Rows | None) -> None:
        try:
            csv_files.write(name, frame.columns, rows(frame, fetched), out, PART_ROWS)
        except InputError as wrong:
            raise wrong if shown is None else InputError(str(wrong).replace(str(out), str(shown))) from None

    return write


class UntilClosed:
    """Calls writers until it is closed. Tables are written by several threads, and when one of them fails, the others are still running."""

    def __init__(self, writers: Sequence[Write]) -> None:
        self.writers: list[Write] = [self._checked(one) for one in writers]
        self._state = Condition()
        self._running = 0
        self._closed = False

    def _checked(self, one: Write) -> Write:
        def write(name: str, frame: DataFrame, fetched: Rows | None) -> None:
            with self._state:
                if self._closed:
                    return
                self._running += 1
            try:
                one(name, frame, fetched)
            finally:
                with self._state:
                    self._running -= 1
                    self._state.notify_all()

        return write

    def close(self) -> None:
        """Wait for the writers that are running. Afterwards, writers do nothing, so that the directory can be moved or removed."""
        with self._state:
            self._closed = True
            self._state.wait_for(lambda: not self._running, timeout=_CLOSING_SECONDS)
