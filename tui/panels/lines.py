"""The widget all panels share: a list of finished lines, of which only those that changed are painted again.

A frame of the main screen changes a few cells in many lines of many panels. Textual would pass a message for each panel, and put its
rows together anew from all widgets that share them; since panels do not overlap, what changed can be written as it is (`Written`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import attrs
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.control import Control
from rich.segment import Segment
from textual._compositor import CompositorUpdate
from textual.color import Color
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from tui.palette import Palette
from tui.rows import Line, blank, over

RIGHT: Final = 3
"""The right mouse button, as Textual numbers them."""

Piece = tuple[int, int, Strip]
"""Cells to write: column and row of the first on the screen, and what stands there."""


class Written(CompositorUpdate):
    """An update of the screen that is written as it is."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self.pieces = pieces

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The same for Rich."""
        for x, y, strip in self.pieces:
            yield Control.move_to(x, y)
            yield from strip

    def render_segments(self, console: Console) -> str:
        """What goes to the terminal."""
        return "".join([f"\x1b[{y + 1};{x + 1}H{strip.render(console)}" for x, y, strip in self.pieces])


@attrs.define(eq=False)
class _Finished:
    """A row as the terminal has it, or is about to: the line, the palette; and it with what stands beneath, once that was asked for."""

    line: Strip
    paint: Palette
    strip: Strip | None = None


class Lines(Widget):
    """Shows lines as they are (Line API). `show` repaints the rows that differ and no others.

    Attributes:
        box: the size at once, before Textual has laid out.
        pieces: while this is a list, what changes is added to it, for the screen to write, and Textual hears nothing of it.
    """

    DEFAULT_CSS = "Lines { position: absolute; }"

    def __init__(self, paint: Palette, *, id: str) -> None:
        super().__init__(id=id)
        self.paint = paint
        self.box = Size(0, 0)
        self.pieces: list[Piece] | None = None
        self._at: Region | None = None
        self._lines: list[Strip] = []
        self._finished: dict[int, _Finished] = {}
        self._behind = Color(0, 0, 0)

    def place(self, region: Region | None) -> None:
        """Stand there on the screen from now on, or nowhere."""
        self.display = region is not None
        self._at = region
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
        if len(old) != len(lines):
            self.refresh()
            return
        changed_rows = [y for y, line in enumerate(lines) if line is not old[y] and line != old[y]]
        if not changed_rows:
            return
        if self.pieces is not None and self._at is not None and self.region == self._at:
            before = {y: self._finished.get(y) for y in changed_rows}
            for y in changed_rows:
                self._write(y, before[y], self.pieces)
            return
        width = self.box.width
        dirty = []
        for y in changed_rows:
            start, end = changed(old[y], lines[y], width)
            dirty.append(Region(start, y, end - start, 1))
        self.refresh(*dirty)

    def _write(self, y: int, before: _Finished | None, pieces: list[Piece]) -> None:
        """Add what has changed in a row; all of it when it is not known what stands there."""
        assert self._at is not None
        line, base, width = self._lines[y], self.paint.base, self.box.width
        column = 0
        if before is None or before.paint is not self.paint or not before.line.cell_length == line.cell_length == width:
            piece = self._finish(y)
        else:
            now = list(line)
            start, stop = apart(list(before.line), now)
            column = _width(now[:start])
            piece = over(Line(now[start:stop]), base)
            self._finished[y] = _Finished(line, self.paint)
        pieces.append((self._at.x + column, self._at.y + y, self._filtered(piece)))

    def _finish(self, y: int) -> Strip:
        """A row with what stands beneath it, as wide as the panel."""
        line = self._lines[y] if y < len(self._lines) else blank(self.box.width)
        known = self._finished.get(y)
        if known is None or known.line is not line or known.paint is not self.paint:
            known = self._finished[y] = _Finished(line, self.paint)
        if known.strip is None:
            known.strip = over(line, self.paint.base).adjust_cell_length(self.box.width, self.paint.base)
        return known.strip

    def _filtered(self, strip: Strip) -> Strip:
        """A row as it goes to the terminal."""
        for each in self.app.get_line_filters():
            strip = strip.apply_filter(each, self._behind)
        return strip

    def render_lines(self, crop: Region) -> list[Strip]:
        """Rows of the panel: it has no border, no padding and no tint for Textual to add."""
        self._behind = self.background_colors[1]
        rows = [self._filtered(self._finish(y)) for y in crop.line_range]
        if crop.column_span != (0, self.box.width):
            rows = [row.crop(*crop.column_span).adjust_cell_length(crop.width, self.paint.base) for row in rows]
        return rows

    def render_line(self, y: int) -> Strip:
        """One row."""
        return self._finish(y)


def _width(segments: Sequence[Segment]) -> int:
    """Cells that segments take."""
    return sum([len(text) if text.isascii() else cell_len(text) for text, _, _ in segments])


def apart(before: Sequence[Segment], after: Sequence[Segment]) -> tuple[int, int]:
    """The segments of `after`, first inclusive to last exclusive, outside which the two lines, equally wide, are the same."""
    most = min(len(before), len(after))
    start = 0
    while start < most and (before[start] is after[start] or before[start] == after[start]):
        start += 1
    same = 0
    while same < most - start and (before[-1 - same] is after[-1 - same] or before[-1 - same] == after[-1 - same]):
        same += 1
    return start, len(after) - same


def changed(old: Strip, new: Strip, width: int) -> tuple[int, int]:
    """The columns, first inclusive to last exclusive, in which two lines of that width differ; a slow link is sent no more."""
    after = list(new)
    first, last = apart(list(old), after)
    start = _width(after[:first])
    end = width - _width(after[last:])
    return (start, end) if start < end else (0, width)


def written(panels: Sequence[Lines], show: Callable[[], None]) -> Written | None:
    """Let panels show something new; returns what has to be written for it, None when that is nothing."""
    pieces: list[Piece] = []
    for panel in panels:
        panel.pieces = pieces
    try:
        show()
    finally:
        for panel in panels:
            panel.pieces = None
    return Written(pieces) if pieces else None
