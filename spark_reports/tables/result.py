"""A finished table, outside of Spark: what the output shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from spark_reports.severity import in_words, sorted_rows


@attrs.frozen
class Result:
    """The rows of a summary.

    Attributes:
        name, title, notes: as in the summary.
        columns: the names, in order; a name that ends in `_us` is a time in µs.
        rows: all rows, sorted by the keys; or, if there are `more`, the worst rows, worst first. Values are str, int, bool, or None.
        more: how many more rows the table has.
        by_row: the first column names the figure of each row, so it determines the unit, not the columns.
        worst: the columns that decide which rows are the worst (`severity`).
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
        """The name that says what the value is: of the column or, if `by_row`, of the row."""
        return str(row[0]) if self.by_row and index and not isinstance(row[index], bool) else self.columns[index]

    @property
    def count(self) -> int:
        """The number of rows of the whole table."""
        return len(self.rows) + self.more

    def cut(self, most: int) -> Result:
        """The table with at most this many rows: the worst, if it has more."""
        if len(self.rows) <= most:
            return self
        rows = self.rows if self.more else sorted_rows(self.rows, self.columns, self.worst)
        return attrs.evolve(self, rows=rows[:most], more=self.count - most)

    def shown(self) -> str:
        """Which rows are shown, in words; empty if all are."""
        if not self.more:
            return ""
        order = f"the worst by {in_words(self.worst)}" if self.worst else "the first ones"
        return f"{len(self.rows):,} of {self.count:,} rows: {order}; -o DIR writes all rows"


@attrs.frozen
class Report:
    """A whole report.

    Attributes:
        tables: in the order of the output; the first is `sessions`, the second is `overview`, with the worst session first.
        totals: the figures of all sessions together (`summaries.overview.FIGURES`), over all rows; None: unknown.
        drawn: the rows behind the charts (`summaries.registry.CHARTS`); empty without charts.
        partitions: the number of partitions in all sessions, whether or not they are drawn.
    """

    tables: Sequence[Result]
    totals: Mapping[str, int | None] = attrs.field(factory=dict)
    drawn: Sequence[Result] = ()
    partitions: int = 0
