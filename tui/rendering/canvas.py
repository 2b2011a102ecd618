"""A line, or a rectangle of lines, that is drawn cell by cell."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rich.style import Style
from textual.strip import Strip

from tui.rendering.rows import Row

LIGHT: Final = "╭╮╰╯─│"
"""The corners and the edges of a box: top left, top right, bottom left, bottom right, horizontal, vertical."""

HEAVY: Final = "┏┓┗┛━┃"
"""The corners and the edges of the box of a selected item."""


class CanvasLine:
    """A line that is being built, with the character and the style of each cell."""

    def __init__(self, width: int, style: Style) -> None:
        self.cells = [" "] * width
        self.styles = [style] * width

    def put(self, at: int, text: str, style: Style) -> None:
        """Overwrite cells with text. Parts of the text that lie outside the line are ignored."""
        for number, char in enumerate(text):
            if 0 <= at + number < len(self.cells):
                self.cells[at + number] = char
                self.styles[at + number] = style

    def strip(self, width: int, under: Style | None = None) -> Strip:
        """Return the line, with everything that was drawn on it, as a strip."""
        row, at = Row(), 0
        while at < len(self.cells):
            stop = at
            while stop < len(self.cells) and self.styles[stop] is self.styles[at]:
                stop += 1
            row.add("".join(self.cells[at:stop]), self.styles[at])
            at = stop
        return row.strip(width, under)


class Canvas:
    """A rectangle of lines. Parts of a drawing that lie outside the rectangle are ignored."""

    def __init__(self, width: int, height: int, style: Style) -> None:
        self.width = width
        self.rows = [CanvasLine(width, style) for _ in range(height)]

    @property
    def height(self) -> int:
        """The number of lines."""
        return len(self.rows)

    def put(self, x: int, y: int, text: str, style: Style) -> None:
        """Overwrite cells of a line with text."""
        if 0 <= y < len(self.rows):
            self.rows[y].put(x, text, style)

    def join(self, x: int, y: int, parts: Iterable[tuple[str, Style]]) -> None:
        """Write several texts one after the other."""
        for text, style in parts:
            self.put(x, y, text, style)
            x += len(text)

    def char(self, x: int, y: int) -> str:
        """Return the character of a cell; a space outside the rectangle."""
        return self.rows[y].cells[x] if 0 <= y < len(self.rows) and 0 <= x < self.width else " "

    def box(self, x: int, y: int, width: int, height: int, style: Style, *, heavy: bool = False) -> None:
        """Draw a box and clear its inside."""
        top_left, top_right, bottom_left, bottom_right, across, down = HEAVY if heavy else LIGHT
        self.put(x, y, top_left + across * (width - 2) + top_right, style)
        for row in range(y + 1, y + height - 1):
            self.put(x, row, down + " " * (width - 2) + down, style)
        self.put(x, y + height - 1, bottom_left + across * (width - 2) + bottom_right, style)

    def strips(self, width: int) -> list[Strip]:
        """Return the lines as strips."""
        return [row.strip(width) for row in self.rows]
