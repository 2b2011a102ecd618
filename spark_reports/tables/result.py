"""Finished tables, out of Spark: what the renderers show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from spark_reports.severity import in_words, sorted_rows


@attrs.frozen
class Result:
    """A summary's rows.

    Attributes:
        name, title, notes: as the summary has them.
        columns: names in order; a name that ends in `_us` is a time in µs.
        rows: sorted by the summary's keys if these are all, else the worst ones, the worst first; values are str, int, bool or None.
        more: how many further rows there are.
        by_row: what a row's values are, the name in its first column tells, not those of the columns.
        worst: columns that decide which rows are the worst (`severity`).
    """

    name: str
    title: str
    notes: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[object, ...]]
    more: int = 0
    by_row: bool = False
    worst: tuple[str, ...] = ()

    def meaning(self, index: int, row: tuple[object, ...]) -> str:
        """The name that tells what a row's value is."""
        return str(row[0]) if self.by_row and index and not isinstance(row[index], bool) else self.columns[index]

    @property
    def count(self) -> int:
        """How many rows there are in all."""
        return len(self.rows) + self.more

    def cut(self, most: int) -> Result:
        """The table with so many rows at most, the worst of them if there are more."""
        if len(self.rows) <= most:
            return self
        rows = self.rows if self.more else sorted_rows(self.rows, self.columns, self.worst)
        return attrs.evolve(self, rows=rows[:most], more=self.count - most)

    def shown(self) -> str:
        """How many rows of how many these are and by which order, in words; empty if they are all."""
        if not self.more:
            return ""
        order = f"the worst by {in_words(self.worst)}" if self.worst else "the first"
        return f"{len(self.rows):,} of {self.count:,} rows: {order}; -o DIR writes all of them"


@attrs.frozen
class Report:
    """A whole report.

    Attributes:
        tables: in the order they are shown; the first is the sessions, the second their overview, the worst session first.
        totals: the figures of all sessions together (`summaries.overview.MEASURES`), over all rows there are; None: not known.
        drawn: what the charts are drawn from (`summaries.CHARTS`), empty without charts.
        partitions: how many partitions there are in all sessions, drawn or not.
    """

    tables: Sequence[Result]
    totals: Mapping[str, int | None] = attrs.field(factory=dict)
    drawn: Sequence[Result] = ()
    partitions: int = 0
