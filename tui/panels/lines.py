"""The base widget of all panels: a list of finished lines. Only lines that have changed are painted again.

A frame of the main screen changes a few cells in many lines of many panels. With Textual's own method, each panel would cause a separate
write. Instead, `collect_updates` collects the changes in all panels, and the screen writes them all in a single write.
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
from tui.rendering.rows import Line, Row, blank, over
from tui.terminal.compositor import Piece
from tui.terminal.foreign_text import ControlCharacterFilter

RIGHT: Final = 3
"""Textual's number for the right mouse button."""


@attrs.define(eq=False)
class _Finished:
    """A row of a panel that the terminal shows or is about to show: its line, its palette, and the finished strip, which is None until it
    is requested.
    """

    line: Strip
    paint: Palette
    strip: Strip | None = None


class Lines(Widget):
    """A widget that shows finished lines (Line API). `show` repaints only the rows whose lines have changed.

    Attributes:
        box: the size of the panel, which is known before Textual computes its layout.
        pointed: whether a lesson points at this panel. If it does, the text of the first line stands out.
        pieces: the list that collects changed cells, which the screen writes without a repaint by Textual; None while no changes are being
            collected.
    """

    DEFAULT_CSS = "Lines { position: absolute; }"

    def __init__(self, paint: Palette, *, id: str) -> None:
        super().__init__(id=id)
        self.paint = paint
        self.box = Size(0, 0)
        self.pointed = False
        self.pieces: list[Piece] | None = None
        self._at: Region | None = None
        self._lines: list[Strip] = []
        self._unmarked: list[Strip] = []
        self._finished: dict[int, _Finished] = {}

    def place(self, region: Region | None) -> None:
        """Place the panel at a region of the screen, or hide it if the region is None."""
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
        """The lines that the panel shows now."""
        return self._lines

    def point(self, pointed: bool) -> None:
        """Make the first line stand out, or no longer."""
        if pointed != self.pointed:
            self.pointed = pointed
            self.show(self._unmarked)

    def show(self, lines: list[Strip]) -> None:
        """Show new lines, and repaint the rows that differ."""
        old = self._lines
        self._unmarked = lines
        if self.pointed and lines:
            lines = [emphasized(lines[0], self.paint), *lines[1:]]
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
        """Return the first changed column of a row and the changed part. If the row's old content is unknown, return the whole row."""
        before, line, base, width = self._finished.get(y), self._lines[y], self.paint.base, self.box.width
        if before is None or before.paint is not self.paint or not before.line.cell_length == line.cell_length == width:
            return 0, self._finish(y)
        now = list(line)
        start, stop = differing_segments(list(before.line), now)
        self._finished[y] = _Finished(line, self.paint)
        return _width(now[:start]), over(Line(now[start:stop]), base)

    def _finish(self, y: int) -> Strip:
        """Return a finished row, as wide as the panel, with the base style beneath it."""
        line = self._lines[y] if y < len(self._lines) else blank(self.box.width)
        known = self._finished.get(y)
        if known is None or known.line is not line or known.paint is not self.paint:
            known = self._finished[y] = _Finished(line, self.paint)
        if known.strip is None:
            known.strip = over(line, self.paint.base).adjust_cell_length(self.box.width, self.paint.base)
        return known.strip

    def _filtered(self, strips: list[Strip]) -> list[Strip]:
        """Apply the application's filters to lines, and return the filtered lines."""
        for each in self.app.get_line_filters():
            if isinstance(each, ControlCharacterFilter):
                continue  # `Row` has already escaped control characters.
            behind = self.background_colors[1]
            strips = [strip.apply_filter(each, behind) for strip in strips]
        return strips

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the strips for the visible rows of the panel. Textual's usual steps are skipped, because a panel has no border, padding,
        or tint."""
        rows = self._filtered([self._finish(y) for y in crop.line_range])
        if crop.column_span != (0, self.box.width):
            rows = [row.crop(*crop.column_span).adjust_cell_length(crop.width, self.paint.base) for row in rows]
        return rows

    def render_line(self, y: int) -> Strip:
        """Return a row of the panel."""
        return self._finish(y)


def emphasized(line: Strip, paint: Palette) -> Strip:
    """Return the first line of a panel at which a lesson points. Its text, up to the thin line of a headline, stands out."""
    text = line.text
    end = text.find("─")
    shown = f"▶{text[1:]}" if end < 0 else f"▶{text[1:end]}"
    row = Row().add(shown, paint.brand)
    rest = line.crop(row.width)
    return row.put(tuple(rest), rest.cell_length).strip(line.cell_length)


def _width(segments: Sequence[Segment]) -> int:
    """Return the total width of the segments, in cells."""
    return sum([len(text) if text.isascii() else cell_len(text) for text, _, _ in segments])


def differing_segments(before: Sequence[Segment], after: Sequence[Segment]) -> tuple[int, int]:
    """Return the range of segments in which `after` differs from `before`, as start (inclusive) and end (exclusive).

    Both lines must have the same width.
    """
    most = min(len(before), len(after))
    start = 0
    while start < most and (before[start] is after[start] or before[start] == after[start]):
        start += 1
    same = 0
    while same < most - start and (before[-1 - same] is after[-1 - same] or before[-1 - same] == after[-1 - same]):
        same += 1
    return start, len(after) - same


def changed(old: Strip, new: Strip, width: int) -> tuple[int, int]:
    """Return the range of columns in which two lines differ, as start (inclusive) and end (exclusive).

    Only the columns that differ are written to the terminal.
    """
    after = list(new)
    first, last = differing_segments(list(old), after)
    start = _width(after[:first])
    end = width - _width(after[last:])
    return (start, end) if start < end else (0, width)


def collect_updates(panels: Sequence[Lines], show: Callable[[], None]) -> list[Piece]:
    """Call `show`, and return the changes in all panels as pieces to write."""
    pieces: list[Piece] = []
    for panel in panels:
        panel.pieces = pieces
    try:
        show()
    finally:
        for panel in panels:
            panel.pieces = None
    return pieces
