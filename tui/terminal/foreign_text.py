"""Protects Textual's own widgets against control characters and markup in text from external sources.

In the lines that panels paint, `tui.rendering.rows` escapes control characters. Dialogs are Textual widgets, so their text is passed
through `plain_text`. Text that a user types or pastes into an input line is kept unchanged, and `ControlCharacterFilter` protects the
terminal.
"""

from __future__ import annotations

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.color import Color
from textual.filter import LineFilter

from scenarios.io.escaping import escape_text

REPLACEMENT = "·"
"""The replacement for each cell of a control character."""


def plain_text(text: str, style: Style | str = "") -> Text:
    """Return text that a widget can show safely. Line breaks are kept, markup has no effect, and control characters are escaped."""
    return Text(escape_text(text), style)


class ControlCharacterFilter(LineFilter):
    """A filter that replaces control characters. Each replacement has as many cells as the original, so that lines keep their width."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments without control characters."""
        return [
            segment if segment.control or segment.text.isprintable() else Segment(_harmless(segment.text), segment.style)
            for segment in segments
        ]


def _harmless(text: str) -> str:
    return "".join(char if escape_text(char) == char and char not in "\n\t" else REPLACEMENT * cell_len(char) for char in text)
