"""Output filters for limited terminals. One filter removes every color, and the other replaces every glyph that is not ASCII.

With the output filters, widgets need no special cases for limited terminals. Without colors, the cursor is shown in reverse video. Each
glyph is replaced by ASCII characters of the same width, and glyphs for different states remain different.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Final

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

from tui.rendering.palette import CURSORS


def wants_ascii(environ: Mapping[str, str] = os.environ, encoding: str | None = None) -> bool:
    """Return whether to paint in ASCII.

    If `ISRLAB_ASCII` is set, ASCII is used unless the value is 0 or empty. If `ISRLAB_ASCII` is not set, ASCII is used unless the encoding
    of stdout is a UTF encoding.
    """
    asked = environ.get("ISRLAB_ASCII")
    if asked is not None:
        return asked not in ("", "0")
    written = encoding if encoding is not None else (getattr(sys.__stdout__, "encoding", None) or "utf-8")
    return "utf" not in written.lower()


_ASCII: Final = str.maketrans(
    {
        "★": "*", "⑂": "Y", "☆": "?", "●": "o", "○": "-", "⊗": "X", "⊘": "0", "✕": "x", "◌": "~", "◐": "e", "◑": "h", "▓": "%", "█": "#", "▀": "#", "▄": "#", "▌": "|",
        "▐": "|", "■": "#", "━": "#", "╸": "#", "╌": "=", "╍": "=", "┄": "=", "▒": "=", "░": ".", "·": ".", "…": "~", "–": "-",
        "—": "-", "−": "-", "→": ">", "←": "<", "↔": "=", "↑": "^", "↓": "v", "⇄": "=", "►": ">", "▶": ">", "◄": "<", "◂": "<",
        "▸": ">", "▾": "v", "▲": "A", "▼": "V", "△": "^", "▽": "v", "◆": "#", "◇": "+", "✔": "+", "✓": "+", "✖": "X", "‖": "=", "│": "|",
        "┃": "|", "─": "-", "┌": "+", "┐": "+", "└": "+", "┘": "+", "╭": "+", "╮": "+", "╯": "+", "╰": "+", "├": "+", "┤": "+",
        "┬": "+", "┴": "+", "┼": "+", "×": "x", "±": "~", "≥": ">", "≤": "<", "≠": "!", "µ": "u", "⏎": "<", "∞": "&", "¶": "#",
        "▏": "|", "▕": "|", "▔": "-", "▁": "_", "▆": "#", "▂": "=", "▅": "#", "▃": "=", "▇": "#", "◬": "!", "▪": ".", "↻": "@", "▎": "|",
        "🔎": ">", "•": "*", "≈": "~", "◔": "w", "┏": "#", "┓": "#", "┗": "#", "┛": "#", "┯": "#",
    }
)  # fmt: skip


def to_ascii(text: str) -> str:
    """Convert text to ASCII of the same width on the screen."""
    if text.isascii():
        return text
    replaced = text.translate(_ASCII)
    if replaced.isascii() and len(replaced) == cell_len(text):
        return replaced
    return "".join(
        char
        if char.isascii()
        else (char.translate(_ASCII) if cell_len(char) == 1 and char.translate(_ASCII).isascii() else "?" * cell_len(char))
        for char in text
    )


class AsciiFilter(LineFilter):
    """A filter that replaces characters that are not ASCII."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments with their text converted to ASCII."""
        return [
            segment if segment.text.isascii() else Segment(to_ascii(segment.text), segment.style, segment.control) for segment in segments
        ]


class PlainFilter(LineFilter):
    """A filter that removes every color and shows the cursor in reverse video."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments without colors."""
        plain = []
        for text, style, control in segments:
            if style is not None:
                reverse = bool(style.reverse) or style.bgcolor in CURSORS
                style = Style(
                    bold=style.bold, dim=style.dim, underline=style.underline, italic=style.italic, reverse=reverse, meta=style.meta
                )
            plain.append(Segment(text, style, control))
        return plain
