"""The tables of `kafka-consumer-groups`: columns with a minimum width, separated by one space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from scenarios.io.escaping import escape_value

MISSING: Final = "-"
"""The text that a cell shows if its value is missing."""


class Column(NamedTuple):
    """A column of a table.

    Attributes:
        title: the column heading.
        least: the minimum width; 0 if the cells are not padded.
        grows: whether the column grows to the width of its longest value.
        after: the text after a padded cell.
    """

    title: str
    least: int = 0
    grows: bool = False
    after: str = " "


def table(columns: Sequence[Column], rows: Sequence[Sequence[object]]) -> str:
    """Return the title line and the rows, each with a line break."""
    texts = [[escape_value(str(cell)) for cell in row] for row in rows]
    widths = [max([column.least, *(len(row[number]) for row in texts if column.grows)]) for number, column in enumerate(columns)]
    lines = [[column.title for column in columns], *texts]
    return "".join(
        "".join(
            cell + " " * (width - len(cell)) + column.after if column.least else cell
            for cell, width, column in zip(line, widths, columns, strict=True)
        )
        + "\n"
        for line in lines
    )


def or_missing(value: object) -> str:
    """Return the text of a value that can be missing."""
    return MISSING if value is None or value == "" else str(value)
