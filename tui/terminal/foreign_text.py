"""Foreign text in Textual's own widgets: never markup, and nothing in it that the terminal obeys.

Lines of our own spell such characters out where they are built (`tui.rendering.rows`). Dialogs are Textual's widgets: what is written on them goes
through `plain_text`. What one types or pastes into a line stays as it is; a filter keeps it from the terminal.
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
"""What stands for each cell that a character took which the terminal would obey."""


def plain_text(text: str, style: Style | str = "") -> Text:
    """A text for a widget, as it is written, with its line breaks."""
    return Text(escape_text(text), style)


class ControlCharacterFilter(LineFilter):
    """Lets nothing through that the terminal would obey. What replaces it takes as many cells, so lines stay as wide as they are."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments without control characters."""
        return [
            segment if segment.control or segment.text.isprintable() else Segment(_harmless(segment.text), segment.style)
            for segment in segments
        ]


def _harmless(text: str) -> str:
    return "".join(char if escape_text(char) == char and char not in "\n\t" else REPLACEMENT * cell_len(char) for char in text)
