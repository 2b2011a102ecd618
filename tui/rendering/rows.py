"""Builds a line of the screen: text with styles, cut or padded to a width, as a Textual `Strip`.

The functions of this module escape control characters, because some of the text comes from external sources.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Final

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.cache import FIFOCache
from textual.strip import Strip

from scenarios.io.escaping import escape_value

ELLIPSIS: Final = "…"
"""The mark at the end of text that was cut."""


LEAST_TEXT: Final = 20
"""The minimum width, in cells, of text beside something else. Text with less room stands below instead."""

Part = tuple[tuple[Segment, ...], int]
"""A finished part of a line and its width in cells."""

_REMEMBERED: Final = 4
"""The maximum number of results in each cache of a line. Textual caches the results of several strip methods in every line."""


class Line(Strip):
    """A strip that creates Textual's seven caches only when they are used. Most lines are written once and then discarded."""

    __slots__ = ()

    def __init__(self, segments: Iterable[Segment], cell_length: int | None = None) -> None:
        self._segments = list(segments)
        self._cell_length = cell_length
        self._render_cache = None
        self._link_ids = None
        self._cell_count = None

    def __getattr__(self, name: str) -> Any:
        if not name.endswith("_cache"):
            raise AttributeError(name)
        memory: FIFOCache[Any, Any] = FIFOCache(_REMEMBERED)
        setattr(self, name, memory)
        return memory


class Row:
    """A line of styled text that is being built. `width` is the current width of the line in cells."""

    __slots__ = ("_segments", "width")

    def __init__(self) -> None:
        self._segments: list[Segment] = []
        self.width = 0

    def add(self, text: str, style: Style) -> Row:
        """Append text. Adjacent texts with the same style become one segment. A palette has only one object for each style."""
        if text:
            if not text.isprintable():
                text = escape_value(text)
            segments = self._segments
            if segments and segments[-1].style is style:
                segments[-1] = Segment(segments[-1].text + text, style)
            else:
                segments.append(Segment(text, style))
            self.width += len(text) if text.isascii() else cell_len(text)
        return self

    def join(self, parts: Iterable[tuple[str, Style]]) -> Row:
        """Append several strings, each with its style."""
        for text, style in parts:
            self.add(text, style)
        return self

    def put(self, segments: Sequence[Segment], width: int) -> Row:
        """Append segments of styled text. `width` is the total width of the segments in cells."""
        own = self._segments
        if own and segments and own[-1].style is segments[0].style:
            own[-1] = Segment(own[-1].text + segments[0].text, own[-1].style)
            segments = segments[1:]
        own.extend(segments)
        self.width += width
        return self

    def pad(self, column: int) -> Row:
        """Append spaces up to a column. If the line is already longer, do nothing."""
        if column > self.width:
            self._segments.append(Segment(" " * (column - self.width)))
            self.width = column
        return self

    @property
    def part(self) -> Part:
        """The current content of the line, as a part that `put` can append to another line."""
        return tuple(self._segments), self.width

    def fits(self, text: str, width: int) -> bool:
        """Whether more text still fits into a line of the given width."""
        return self.width + cell_len(text) <= width

    def strip(self, width: int, under: Style | None = None) -> Strip:
        """Return the line as a strip, cut with an ellipsis or padded to a width. `under` is the base style of the whole strip."""
        segments = self._segments
        if self.width > width:
            last = next((segment.style for segment in reversed(segments)), None)
            kept = Strip(segments, self.width).crop(0, max(0, width - 1))
            strip = Line([*kept, Segment(ELLIPSIS if width > 0 else "", last)], width)
        elif self.width < width:
            strip = Line([*segments, Segment(" " * (width - self.width))], width)
        else:
            strip = Line(segments, width)
        return over(strip, under) if under is not None else strip


_over: dict[int, tuple[Style, dict[int, tuple[Style | None, Style]]]] = {}
"""Cached combinations of two styles, keyed by the identities of the lower and the upper style. The cache holds references to both styles,
so that
their identities remain unique.
"""

_MOST_PAIRS: Final = 4_096


def _sum(under: Style, style: Style | None) -> Style:
    """Combine two styles. If the result equals one of the two styles, return that same style object."""
    if style is None:
        return under
    both = under + style
    return under if both == under else style if both == style else both


def over(strip: Strip, under: Style) -> Strip:
    """Add a base style to all parts of a line, and return the result.

    The result is the same as that of `Strip.apply_style`, but the combination of each pair of styles is cached.
    """
    found = _over.get(id(under))
    if found is None or len(found[1]) > _MOST_PAIRS:
        found = _over[id(under)] = (under, {})
    known = found[1]
    segments = []
    for text, style, control in strip:
        pair = known.get(id(style))
        if pair is None:
            pair = (style, _sum(under, style))
            if style is None or not style.meta:
                known[id(style)] = pair
        segments.append(Segment(text, pair[1], control))
    return Line(segments, strip._cell_length)


@lru_cache(maxsize=256)
def blank(width: int) -> Strip:
    """Return an empty line."""
    return Strip([Segment(" " * width)], width)


def clip(text: str, width: int) -> str:
    """Cut text to a width, with an ellipsis, but do not pad it."""
    text = escape_value(text)
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(0, width - 1)) + (ELLIPSIS if width > 0 else "")


def clip_name(name: str, width: int) -> str:
    """Cut a partition's name to a width. If possible, keep the partition number and cut only the end of the topic's name."""
    topic, dash, number = name.rpartition("-")
    room = width - len(dash) - len(number)
    return clip(topic, room) + dash + number if topic and room >= 4 else clip(name, width)


def fit(text: str, width: int) -> str:
    """Cut or pad text to an exact width."""
    return set_cell_size(clip(text, width), width)


def wrap(text: str, width: int) -> list[str]:
    """Break text into lines of a maximum width, at spaces if possible."""
    lines: list[str] = []
    line = ""
    for word in map(escape_value, text.split()):
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
    """Return the headline of a panel: the title, a thin line and, if there is room, a note on the right."""
    row = Row().add(f" {title} ", title_style)
    note = f" {right} " if right else ""
    room = width - row.width - cell_len(note)
    if room < 2:
        note = clip(note, max(0, width - row.width - 2)) if width - row.width - 2 > 8 else ""
        room = width - row.width - cell_len(note)
    row.add("─" * max(0, room), line_style).add(note, note_style)
    return row.strip(width)


def headline(line: Strip, style: Style) -> Strip:
    """Return a line of text as a headline, in which a thin line replaces the spaces at the end."""
    text = line.text.rstrip()
    used = cell_len(text) + 1
    if used + 2 > line.cell_length:
        return line
    return Line([*line.crop(0, used), Segment("─" * (line.cell_length - used), style)], line.cell_length)


def in_a_sentence(names: Sequence[str]) -> str:
    """Join names, for example `b1`, `b1 and b2`, or `b1, b2, and b3`."""
    return " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])}, and {names[-1]}"


def short_number(number: int) -> str:
    """Format a number in at most six characters, for example `950`, `12,345`, or `1.23M`."""
    if abs(number) < 100_000:
        return f"{number:,}"
    for size, letter in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if abs(number) >= size:
            return f"{number / size:.3g}{letter}"
    return str(number)
