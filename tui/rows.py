"""Building one line of the screen: text with styles, cut and padded to a width, as a Textual `Strip`."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

ELLIPSIS: Final = "…"
"""What stands where a text was cut."""


class Row:
    """A line under construction. `width` is what stands so far, in cells."""

    __slots__ = ("_segments", "width")

    def __init__(self) -> None:
        self._segments: list[Segment] = []
        self.width = 0

    def add(self, text: str, style: Style) -> Row:
        """Put text at the end."""
        if text:
            segments = self._segments
            last = segments[-1].style if segments else None
            if last is style or (last is not None and hash(last) == hash(style) and last == style):
                segments[-1] = Segment(segments[-1].text + text, last)
            else:
                segments.append(Segment(text, style))
            self.width += len(text) if text.isascii() else cell_len(text)
        return self

    def join(self, parts: Iterable[tuple[str, Style]]) -> Row:
        """Put several texts at the end."""
        for text, style in parts:
            self.add(text, style)
        return self

    def pad(self, column: int) -> Row:
        """Blanks up to a column; nothing when the line is already past it."""
        if column > self.width:
            self._segments.append(Segment(" " * (column - self.width)))
            self.width = column
        return self

    def fits(self, text: str, width: int) -> bool:
        """Whether the text still fits into a line of that width."""
        return self.width + cell_len(text) <= width

    def strip(self, width: int, under: Style | None = None) -> Strip:
        """The line, cut (with an ellipsis) or padded to a width; `under` is the style beneath everything, to the edge."""
        strip = Strip(self._segments, self.width)
        if self.width > width:
            last = next((segment.style for segment in reversed(self._segments)), None)
            strip = Strip([*strip.crop(0, max(0, width - 1)), Segment(ELLIPSIS if width > 0 else "", last)])
        elif self.width < width:
            strip = Strip([*self._segments, Segment(" " * (width - self.width))], width)
        return over(strip, under) if under is not None else strip


_over: dict[Style, dict[Style | None, Style]] = {}


def over(strip: Strip, under: Style) -> Strip:
    """The line with a style beneath everything. As `Strip.apply_style`, but each pair of styles is added once and for all."""
    known = _over.get(under)
    if known is None:
        known = _over[under] = {None: under}
    segments = []
    for text, style, control in strip:
        added = known.get(style)
        if added is None:
            added = under + style
            if style is None or not style.meta:
                known[style] = added
        segments.append(Segment(text, added, control))
    return Strip(segments, strip.cell_length)


@lru_cache(maxsize=256)
def blank(width: int) -> Strip:
    """An empty line."""
    return Strip([Segment(" " * width)], width)


def clip(text: str, width: int) -> str:
    """The text cut to a width with an ellipsis, not padded."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(0, width - 1)) + (ELLIPSIS if width > 0 else "")


def fit(text: str, width: int) -> str:
    """The text cut or padded to exactly that width."""
    return set_cell_size(clip(text, width), width)


def wrap(text: str, width: int) -> list[str]:
    """The text in lines of at most that width, broken at blanks where there are any."""
    lines: list[str] = []
    line = ""
    for word in text.split():
        while cell_len(word) > width > 0:
            if line:
                lines.append(line)
                line = ""
            head = set_cell_size(word, width).rstrip()
            lines.append(head)
            word = word[len(head) :]
        if not line:
            line = word
        elif cell_len(line) + 1 + cell_len(word) <= width:
            line += " " + word
        else:
            lines.append(line)
            line = word
    if line:
        lines.append(line)
    return lines


def rule(title: str, right: str, width: int, title_style: Style, line_style: Style, note_style: Style) -> Strip:
    """A panel's headline: its title, a thin line, a note at the right where there is room for it."""
    row = Row().add(f" {title} ", title_style)
    note = f" {right} " if right else ""
    room = width - row.width - cell_len(note)
    if room < 2:
        note = clip(note, max(0, width - row.width - 2)) if width - row.width - 2 > 8 else ""
        room = width - row.width - cell_len(note)
    row.add("─" * max(0, room), line_style).add(note, note_style)
    return row.strip(width)


def thousands(number: int) -> str:
    """`1,234,567`."""
    return f"{number:,}"


def short_number(number: int) -> str:
    """At most six characters: `950`, `12,345`, `1.23M`."""
    if abs(number) < 100_000:
        return f"{number:,}"
    for size, letter in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if abs(number) >= size:
            return f"{number / size:.3g}{letter}"
    return str(number)
