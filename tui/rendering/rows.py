"""Building one line of the screen: text with styles, cut and padded to a width, as a Textual `Strip`.

Text may be foreign: what is put into a line, or cut to fit one, has its control characters spelled out.
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
"""What stands where a text was cut."""


Part = tuple[tuple[Segment, ...], int]
"""A finished part of a line, and how many cells it takes."""

_REMEMBERED: Final = 4
"""Results that a line remembers of each of Textual's ways to make another line of it."""


class Line(Strip):
    """A strip that has Textual's seven memories of what was made of it only once something is: most lines are written and forgotten."""

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
    """A line under construction. `width` is what stands so far, in cells."""

    __slots__ = ("_segments", "width")

    def __init__(self) -> None:
        self._segments: list[Segment] = []
        self.width = 0

    def add(self, text: str, style: Style) -> Row:
        """Put text at the end; what is painted alike (a palette has each style once) becomes one segment."""
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
        """Put several texts at the end."""
        for text, style in parts:
            self.add(text, style)
        return self

    def put(self, segments: Sequence[Segment], width: int) -> Row:
        """Put finished segments of that many cells in all at the end."""
        own = self._segments
        if own and segments and own[-1].style is segments[0].style:
            own[-1] = Segment(own[-1].text + segments[0].text, own[-1].style)
            segments = segments[1:]
        own.extend(segments)
        self.width += width
        return self

    def pad(self, column: int) -> Row:
        """Blanks up to a column; nothing when the line is already past it."""
        if column > self.width:
            self._segments.append(Segment(" " * (column - self.width)))
            self.width = column
        return self

    @property
    def part(self) -> Part:
        """What stands so far, for `put`."""
        return tuple(self._segments), self.width

    def fits(self, text: str, width: int) -> bool:
        """Whether the text still fits into a line of that width."""
        return self.width + cell_len(text) <= width

    def strip(self, width: int, under: Style | None = None) -> Strip:
        """The line, cut (with an ellipsis) or padded to a width; `under` is the style beneath everything, to the edge."""
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
"""By the identity of the style beneath, and of that above it (both are held, so that no other can take its place): their sum."""

_MOST_PAIRS: Final = 4_096


def _sum(under: Style, style: Style | None) -> Style:
    """One style over another; one of the two themselves where the other adds nothing."""
    if style is None:
        return under
    both = under + style
    return under if both == under else style if both == style else both


def over(strip: Strip, under: Style) -> Strip:
    """The line with a style beneath everything. As `Strip.apply_style`, but each pair of styles is added once and for all."""
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
    """An empty line."""
    return Strip([Segment(" " * width)], width)


def clip(text: str, width: int) -> str:
    """The text cut to a width with an ellipsis, not padded."""
    text = escape_value(text)
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(0, width - 1)) + (ELLIPSIS if width > 0 else "")


def clip_name(name: str, width: int) -> str:
    """A partition's name cut to a width; what goes is the end of its topic's name, never its number."""
    topic, dash, number = name.rpartition("-")
    room = width - len(dash) - len(number)
    return clip(topic, room) + dash + number if topic and room >= 4 else clip(name, width)


def fit(text: str, width: int) -> str:
    """The text cut or padded to exactly that width."""
    return set_cell_size(clip(text, width), width)


def wrap(text: str, width: int) -> list[str]:
    """The text in lines of at most that width, broken at blanks where there are any."""
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
    """A panel's headline: its title, a thin line, a note at the right where there is room for it."""
    row = Row().add(f" {title} ", title_style)
    note = f" {right} " if right else ""
    room = width - row.width - cell_len(note)
    if room < 2:
        note = clip(note, max(0, width - row.width - 2)) if width - row.width - 2 > 8 else ""
        room = width - row.width - cell_len(note)
    row.add("─" * max(0, room), line_style).add(note, note_style)
    return row.strip(width)


def headline(line: Strip, style: Style) -> Strip:
    """A line of text as a headline: a thin line fills what is blank at its end."""
    text = line.text.rstrip()
    used = cell_len(text) + 1
    if used + 2 > line.cell_length:
        return line
    return Line([*line.crop(0, used), Segment("─" * (line.cell_length - used), style)], line.cell_length)


def in_a_sentence(names: Sequence[str]) -> str:
    """`b1`, `b1 and b2`, `b1, b2 and b3`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


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
