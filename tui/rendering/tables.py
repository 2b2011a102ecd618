"""Paints tables. A column is as wide as its content. If the screen is too narrow, the least important columns are left out."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
from rich.cells import cell_len
from rich.style import Style
from textual.strip import Strip

from scenarios.io.escaping import escape_value
from tui.rendering.palette import Palette
from tui.rendering.rows import Row, clip

Cell = tuple[str, Style] | list[tuple[str, Style]]
"""The content of a cell: a styled text, or several styled texts side by side."""


@attrs.frozen
class Column:
    """A column of a table.

    Attributes:
        title: the text of the column's header.
        right: whether the content is right-aligned.
        rank: the higher the rank, the earlier the column is left out; a column of rank 0 is never left out.
        rest: whether the column takes the remaining width of the table; if so, content that does not fit into the column is cut.
        least: the minimum width, in cells, of a column whose `rest` is true.
    """

    title: str
    right: bool = False
    rank: int = 0
    rest: bool = False
    least: int = 10


def _parts(cell: Cell) -> list[tuple[str, Style]]:
    return cell if isinstance(cell, list) else [cell]


def _length(cell: Cell) -> int:
    return sum(cell_len(escape_value(text)) for text, _ in _parts(cell))


def widths_of(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], width: int, gap: int) -> list[int]:
    """Return the width of each column. The width is -1 for a column that is left out."""
    wanted = [
        max([cell_len(column.title), *(_length(row[number]) for row in rows)]) if not column.rest else column.least
        for number, column in enumerate(columns)
    ]
    kept = [True] * len(columns)

    def total() -> int:
        return 1 + sum(each + gap for each, stays in zip(wanted, kept, strict=True) if stays)

    for number in sorted((n for n, column in enumerate(columns) if column.rank), key=lambda n: -columns[n].rank):
        if total() <= width:
            break
        kept[number] = False
    spare = width - total()
    return [
        -1 if not stays else each + max(0, spare) if column.rest else each
        for each, stays, column in zip(wanted, kept, columns, strict=True)
    ]


def paint_table(
    columns: Sequence[Column],
    rows: Sequence[Sequence[Cell]],
    paint: Palette,
    width: int,
    *,
    selected: int = -1,
    focused: bool = True,
    gap: int = 2,
    marks: bool = False,
) -> list[Strip]:
    """Return the lines of the table, starting with the header.

    Args:
        columns, rows: the content of the table.
        paint, width: the palette, and the width of the table in cells.
        selected: the index of the highlighted row; -1 for none.
        focused: whether the table has the keyboard focus.
        gap: the number of spaces between columns.
        marks: whether the table has a column for the mark that precedes the selected row.
    """
    widths = widths_of(columns, rows, width - (1 if marks else 0), gap)
    head = Row().add("  " if marks else " ", paint.muted)
    for column, each in zip(columns, widths, strict=True):
        if each >= 0:
            head.add(column.title.rjust(each) if column.right else clip(column.title, each).ljust(each), paint.muted)
            head.add(" " * gap, paint.muted)
    lines = [head.strip(width)]
    for number, cells in enumerate(rows):
        chosen = number == selected
        row = Row().add(("► " if chosen else "  ") if marks else " ", paint.key)
        for column, each, cell in zip(columns, widths, cells, strict=True):
            if each < 0:
                continue
            start = row.width
            length = _length(cell)
            if column.right and length < each:
                row.pad(start + each - length)
            for text, style in _parts(cell):
                room = start + each - row.width
                if room > 0:
                    row.add(clip(text, room), style)
            row.pad(start + each + gap)
        lines.append(row.strip(width, (paint.cursor if focused else paint.row) if chosen else None))
    return lines
