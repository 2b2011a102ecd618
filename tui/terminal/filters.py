"""For terminals that have less: filters that take every colour out, or every glyph that is not ASCII, on the way to the terminal.

So no widget has to know about either. What had the cursor's background is shown in reverse; a glyph becomes an ASCII one
of the same width, and glyphs that stand for different states stay different.
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
    """Whether to paint in ASCII: `ISRLAB_ASCII` is set to something but 0, or the terminal's encoding is not UTF-8."""
    asked = environ.get("ISRLAB_ASCII")
    if asked is not None:
        return asked not in ("", "0")
    written = encoding if encoding is not None else (getattr(sys.__stdout__, "encoding", None) or "utf-8")
    return "utf" not in written.lower()


_ASCII: Final = str.maketrans(
    {
        "★": "*", "⑂": "Y", "☆": "?", "●": "o", "○": "-", "⊗": "X", "⊘": "0", "✕": "x", "◌": "~", "◐": "e", "█": "#", "▀": "#", "▄": "#", "▌": "|",
        "▐": "|", "■": "#", "━": "#", "╸": "#", "╌": "=", "╍": "=", "┄": "=", "▒": "=", "░": ".", "·": ".", "…": "~", "–": "-",
        "—": "-", "−": "-", "→": ">", "←": "<", "↔": "=", "↑": "^", "↓": "v", "⇄": "=", "►": ">", "▶": ">", "◄": "<", "◂": "<",
        "▸": ">", "▾": "v", "▲": "A", "▼": "V", "△": "^", "▽": "v", "◆": "#", "◇": "+", "✔": "+", "✓": "+", "✖": "X", "‖": "=", "│": "|",
        "┃": "|", "─": "-", "┌": "+", "┐": "+", "└": "+", "┘": "+", "╭": "+", "╮": "+", "╯": "+", "╰": "+", "├": "+", "┤": "+",
        "┬": "+", "┴": "+", "┼": "+", "×": "x", "±": "~", "≥": ">", "≤": "<", "≠": "!", "µ": "u", "⏎": "<", "∞": "&", "¶": "#",
        "▏": "|", "▕": "|", "▔": "-", "▁": "_", "▆": "#", "▂": "=", "▅": "#", "▃": "=", "▇": "#", "◬": "!", "▪": ".", "↻": "@", "▎": "|",
        "🔎": ">", "•": "*",
    }
)  # fmt: skip


def to_ascii(text: str) -> str:
    """The text in ASCII, as wide on the screen as it was."""
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
    """Replaces what is not ASCII on the way to the terminal."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments with ASCII text."""
        return [
            segment if segment.text.isascii() else Segment(to_ascii(segment.text), segment.style, segment.control) for segment in segments
        ]


class PlainFilter(LineFilter):
    """Takes every colour out; what had the cursor's background is shown in reverse."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments without colours."""
        plain = []
        for text, style, control in segments:
            if style is not None:
                reverse = bool(style.reverse) or style.bgcolor in CURSORS
                style = Style(
                    bold=style.bold, dim=style.dim, underline=style.underline, italic=style.italic, reverse=reverse, meta=style.meta
                )
            plain.append(Segment(text, style, control))
        return plain
