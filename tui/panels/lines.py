"""The widget all panels share: a list of finished lines, of which only those that changed are painted again.

A frame of the main screen changes a few cells in many lines of many panels. Textual would pass a message for each panel; what changed
in all of them is gathered and written at once instead (`gathered`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import attrs
from rich.cells import cell_len
from rich.segment import Segment
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from tui.rendering.palette import Palette
from tui.rendering.rows import Line, blank, over
from tui.terminal.compositor import Piece
from tui.terminal.foreign_text import ControlCharacterFilter

RIGHT: Final = 3
"""The right mouse button, as Textual numbers them."""


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
            (left, top, _, _), changes = self._at, [self._change(y) for y in changed_rows]
            strips = self._filtered([strip for _, strip in changes])
            self.pieces.extend([(left + x, top + y, strip) for y, (x, _), strip in zip(changed_rows, changes, strips, strict=True)])
            return
        width = self.box.width
        dirty = []
        for y in changed_rows:
            start, end = changed(old[y], lines[y], width)
            dirty.append(Region(start, y, end - start, 1))
        self.refresh(*dirty)

    def _change(self, y: int) -> tuple[int, Strip]:
        """What has changed in a row, and its first column; all of it when it is not known what stands there."""
        before, line, base, width = self._finished.get(y), self._lines[y], self.paint.base, self.box.width
        if before is None or before.paint is not self.paint or not before.line.cell_length == line.cell_length == width:
            return 0, self._finish(y)
        now = list(line)
        start, stop = differing_segments(list(before.line), now)
        self._finished[y] = _Finished(line, self.paint)
        return _width(now[:start]), over(Line(now[start:stop]), base)

    def _finish(self, y: int) -> Strip:
        """A row with what stands beneath it, as wide as the panel."""
        line = self._lines[y] if y < len(self._lines) else blank(self.box.width)
        known = self._finished.get(y)
        if known is None or known.line is not line or known.paint is not self.paint:
            known = self._finished[y] = _Finished(line, self.paint)
        if known.strip is None:
            known.strip = over(line, self.paint.base).adjust_cell_length(self.box.width, self.paint.base)
        return known.strip

    def _filtered(self, strips: list[Strip]) -> list[Strip]:
        """Lines as they go to the terminal."""
        for each in self.app.get_line_filters():
            if isinstance(each, ControlCharacterFilter):
                continue  # Rows are built of text that is harmless already.
            behind = self.background_colors[1]
            strips = [strip.apply_filter(each, behind) for strip in strips]
        return strips

    def render_lines(self, crop: Region) -> list[Strip]:
        """Rows of the panel: it has no border, no padding and no tint for Textual to add."""
        rows = self._filtered([self._finish(y) for y in crop.line_range])
        if crop.column_span != (0, self.box.width):
            rows = [row.crop(*crop.column_span).adjust_cell_length(crop.width, self.paint.base) for row in rows]
        return rows

    def render_line(self, y: int) -> Strip:
        """One row."""
        return self._finish(y)


def _width(segments: Sequence[Segment]) -> int:
    """Cells that segments take."""
    return sum([len(text) if text.isascii() else cell_len(text) for text, _, _ in segments])


def differing_segments(before: Sequence[Segment], after: Sequence[Segment]) -> tuple[int, int]:
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
    first, last = differing_segments(list(old), after)
    start = _width(after[:first])
    end = width - _width(after[last:])
    return (start, end) if start < end else (0, width)


def collect_updates(panels: Sequence[Lines], show: Callable[[], None]) -> list[Piece]:
    """Let panels show something new; returns what has to be written for it."""
    pieces: list[Piece] = []
    for panel in panels:
        panel.pieces = pieces
    try:
        show()
    finally:
        for panel in panels:
            panel.pieces = None
    return pieces
