"""Sessions side by side: what an engineer compares two releases, or two settings, by; made of the rows of their overview."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from spark_reports.tables.result import Result

MOST: Final = 8
"""Sessions that are compared side by side at most."""


OVERVIEW: Final = "overview"
"""The table that the figures are taken from."""


def for_people(tables: Sequence[Result]) -> list[Result]:
    """The tables as people read them: the figures of one session below each other, and those of a few once, where they are compared."""
    compared = any(table.name == "comparison" for table in tables)
    return [_upright(table) for table in tables if table.name != OVERVIEW or not compared]


def _upright(table: Result) -> Result:
    if table.name != OVERVIEW or table.count != 1:
        return table
    (row,) = table.rows
    return attrs.evolve(
        table,
        title="The session in figures",
        columns=("figure", "value"),
        rows=list(zip(table.columns[1:], row[1:], strict=True)),
        by_row=True,
    )


def compare(sessions: Result, overview: Result) -> Result | None:
    """A row for each measure with a column for each session; None when there is one session, or too many to stand side by side."""
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
        "comparison", "Sessions compared", f"{overview.notes} `differs` marks what is not the same in all.", columns, rows, by_row=True
    )
