"""The widget all panels share: a list of finished lines, of which only those that changed are painted again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from tui.palette import Palette
from tui.rows import blank, over

RIGHT: Final = 3
"""The right mouse button, as Textual numbers them."""


class Lines(Widget):
    """Shows lines as they are (Line API). `show` repaints the rows that differ and no others."""

    DEFAULT_CSS = "Lines { position: absolute; }"

    def __init__(self, paint: Palette, *, id: str) -> None:
        super().__init__(id=id)
        self.paint = paint
        self.box = Size(0, 0)
        self._lines: list[Strip] = []

    def place(self, region: Region | None) -> None:
        """Stand there on the screen from now on, or nowhere. `box` is the size at once, before Textual has laid out."""
        self.display = region is not None
        if region is None:
            self.box = Size(0, 0)
            return
        self.box = region.size
        self.styles.offset = (region.x, region.y)
        self.styles.width = region.width
        self.styles.height = region.height

    @property
    def lines(self) -> Sequence[Strip]:
        """What is shown now."""
        return self._lines

    def show(self, lines: list[Strip]) -> None:
        """Show these lines from now on."""
        old = self._lines
        self._lines = lines
        width = self.box.width
        if len(old) != len(lines):
            self.refresh()
            return
        dirty = []
        for y, line in enumerate(lines):
            if line is not old[y] and line != old[y]:
                start, end = changed(old[y], line, width)
                dirty.append(Region(start, y, end - start, 1))
        if dirty:
            self.refresh(*dirty)

    def render_line(self, y: int) -> Strip:
        """One row."""
        line = self._lines[y] if y < len(self._lines) else blank(self.box.width)
        return over(line, self.paint.base)


def changed(old: Strip, new: Strip, width: int) -> tuple[int, int]:
    """The columns, first inclusive to last exclusive, in which two lines of that width differ; a slow link is sent no more."""
    before, after = list(old), list(new)
    start = 0
    shared = 0
    for one, other in zip(before, after, strict=False):
        if one != other:
            break
        start += other.cell_length
        shared += 1
    end = width
    for one, other in zip(reversed(before[shared:]), reversed(after[shared:]), strict=False):
        if one != other:
            break
        end -= other.cell_length
    return (start, end) if start < end else (0, width)
