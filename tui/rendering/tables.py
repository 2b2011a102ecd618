"""A table on the screen: columns as wide as what is in them, the least important left out where there is no room, one that takes the rest."""

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
"""A text with its style, or several side by side."""


@attrs.frozen
class Column:
    """One column.

    Attributes:
        title: its headline.
        right: whether numbers stand at its right edge.
        rank: how soon it is left out where there is no room; 0: never.
        rest: whether it takes the room that is left, and is cut where there is none.
        least: the least width of the column that takes the rest.
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
    """The columns' widths; -1 for one that has no room."""
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
    """The table's lines, its headline first.

    Args:
        columns, rows: what stands in it.
        paint, width: the styles, and the cells there are.
        selected: the row that stands out.
        focused: whether keys move it.
        gap: blanks between columns.
        marks: whether a mark stands before the selected row, for tables in which one chooses.
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
