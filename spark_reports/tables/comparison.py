"""Compares the figures of sessions side by side. The sessions can have, for example, different releases or different settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from spark_reports.tables.result import Result

MOST: Final = 8
"""The maximum number of sessions that are compared."""


OVERVIEW: Final = "overview"
"""The name of the table with the figures."""


def for_people(tables: Sequence[Result]) -> list[Result]:
    """Return the tables, arranged for human readers.

    If there is a comparison, the overview is omitted. If there is only one session, the overview has a row for each figure.
    """
    compared = any(table.name == "comparison" for table in tables)
    return [_upright(table) for table in tables if table.name != OVERVIEW or not compared]


def _upright(table: Result) -> Result:
    if table.name != OVERVIEW or table.count != 1:
        return table
    (row,) = table.rows
    return attrs.evolve(
        table,
        title="Figures of the session",
        columns=("figure", "value"),
        rows=list(zip(table.columns[1:], row[1:], strict=True)),
        by_row=True,
    )


def compare(sessions: Result, overview: Result) -> Result | None:
    """Return a table with a row for each figure and a column for each session, or None if there is only one session or if there are more
    than `MOST`.
    """
    if not 2 <= sessions.count <= MOST:
        return None
    release = sessions.columns.index("release")
    releases = {str(row[0]): str(row[release]) for row in sessions.rows}
    figures = {str(row[0]): row[1:] for row in overview.rows}
    rows: list[tuple[object, ...]] = []
    for number, measure in enumerate(overview.columns[1:]):
        values = [figures[name][number] for name in releases]
        rows.append((measure, *values, len(set(values)) > 1))
    columns: tuple[str, ...] = (
        "measure",
        *(name if len(set(releases.values())) == 1 else f"{name} ({release})" for name, release in releases.items()),
        "differs",
    )
    return Result(
        "comparison",
        "Comparison of sessions",
        f"{overview.notes} `differs` marks figures that are not the same in all sessions.",
        columns,
        rows,
        by_row=True,
    )
