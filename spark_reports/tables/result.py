"""A finished table, fetched from Spark, in the form that the output shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from spark_reports.severity import in_words, sorted_rows


@attrs.frozen
class Result:
    """The rows of a summary.

    Attributes:
        name, title, notes: the same values as in the summary.
        columns: the names of the columns in order; a column whose name ends in `_us` contains times in µs.
        rows: all rows, sorted by the keys, or the worst rows, worst first, if `more` is not 0; values are str, int, bool, or None.
        more: the number of rows that the table has in addition to `rows`.
        by_row: whether the first column contains the name of a figure; if so, this name determines the unit of the values in the row.
        worst: the columns by which the rows are sorted to find the worst ones (`severity`).
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
        """Return the name that determines the unit of a value: the name of the value's column or, if `by_row` is true, the name of the
        value's row.
        """
        return str(row[0]) if self.by_row and index and not isinstance(row[index], bool) else self.columns[index]

    @property
    def count(self) -> int:
        """The total number of rows of the table, including the rows that are not in `rows`."""
        return len(self.rows) + self.more

    def cut(self, most: int) -> Result:
        """Return the table with at most a given number of rows. If the table has more rows, the worst rows are kept."""
        if len(self.rows) <= most:
            return self
        rows = self.rows if self.more else sorted_rows(self.rows, self.columns, self.worst)
        return attrs.evolve(self, rows=rows[:most], more=self.count - most)

    def shown(self) -> str:
        """Return a sentence that says which rows are shown, or '' if all rows are shown."""
        if not self.more:
            return ""
        order = f"the worst by {in_words(self.worst)}" if self.worst else "the first rows"
        return f"{len(self.rows):,} of {self.count:,} rows: {order}; -o DIR writes all rows"


@attrs.frozen
class Report:
    """A complete report.

    Attributes:
        tables: the tables in the order of the output: `sessions`, `overview` with the worst session first, and then the summaries.
        totals: the figures of all sessions together (`summaries.overview.FIGURES`), computed from all rows; None if they are not known.
        drawn: the data for the charts (`summaries.registry.CHARTS`); empty if there are no charts.
        partitions: the number of partitions of all sessions, including those without a chart.
        notices: what the report leaves out of the sessions, one sentence for each session.
    """

    tables: Sequence[Result]
    totals: Mapping[str, int | None] = attrs.field(factory=dict)
    drawn: Sequence[Result] = ()
    partitions: int = 0
    notices: Sequence[str] = ()
