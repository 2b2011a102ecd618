"""Finished tables, out of Spark: what the renderers show."""

from __future__ import annotations

from collections.abc import Sequence

import attrs


@attrs.frozen
class Result:
    """A summary's rows.

    Attributes:
        name, title, notes: as the summary has them.
        columns: names in order; a name that ends in `_us` is a time in µs.
        rows: sorted by the summary's keys; values are str, int, bool or None.
        more: how many further rows there are that were not fetched.
        by_row: what a row's values are, the name in its first column tells, not those of the columns.
    """

    name: str
    title: str
    notes: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[object, ...]]
    more: int = 0
    by_row: bool = False

    def meaning(self, index: int, row: tuple[object, ...]) -> str:
        """The name that tells what a row's value is."""
        return str(row[0]) if self.by_row and index and not isinstance(row[index], bool) else self.columns[index]

    def cut(self, most: int | None) -> Result:
        """The table with so many rows at most."""
        if most is None or len(self.rows) <= most:
            return self
        return attrs.evolve(self, rows=self.rows[:most], more=self.more + len(self.rows) - most)


@attrs.frozen
class Report:
    """A whole report.

    Attributes:
        tables: in the order they are shown; the first is the sessions.
        drawn: what the charts are drawn from (`summaries.CHARTS`), empty without charts.
        partitions: how many partitions there are in all sessions, drawn or not.
    """

    tables: Sequence[Result]
    drawn: Sequence[Result] = ()
    partitions: int = 0
