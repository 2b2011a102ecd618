"""The look: one calm dark theme, the styles widgets paint with, and the two filters for terminals that have less.

Widgets name a role (`bad`, `committed`), never a colour. The hues are blue, amber and vermilion, which people with any
of the common colour blindnesses tell apart; and no state is told by hue alone: each has its glyph. `PLAIN` paints with
bold, dim, underline and reverse only, for `NO_COLOR`. `AsciiFilter` replaces every glyph on its way to the terminal, so
that no widget has to know about ASCII.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Final

import attrs
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter
from textual.theme import Theme

BACKGROUND: Final = "#10151c"
"""Behind everything."""
RAISED: Final = "#1b2430"
"""Behind dialogs and the selected row."""
CURSOR: Final = "#26415f"
"""Behind the thing that the keys act on."""

THEME: Final = Theme(
    name="isrlab",
    primary="#6cb6ff",
    secondary="#8fd3e8",
    warning="#f0b429",
    error="#ff7a59",
    success="#6fd3c1",
    accent="#f7d774",
    foreground="#d8dee9",
    background=BACKGROUND,
    surface=RAISED,
    panel="#222d3b",
    dark=True,
    variables={
        "block-cursor-background": CURSOR,
        "block-cursor-foreground": "#ffffff",
        "block-cursor-text-style": "bold",
        "input-cursor-background": "#6cb6ff",
        "scrollbar": "#2b3a4d",
        "scrollbar-background": BACKGROUND,
    },
)
"""The theme Textual's own widgets (palette, dialogs) use."""


@attrs.frozen(eq=False)
class Palette:
    """A style for each role. Compared by identity: it is part of every cache's key."""

    base: Style
    """Beneath everything."""
    text: Style
    strong: Style
    muted: Style
    faint: Style
    title: Style
    title_focused: Style
    brand: Style
    key: Style
    key_off: Style
    good: Style
    warn: Style
    bad: Style
    alarm: Style
    """A loss: must be seen from across the room."""
    leader: Style
    broker: Style
    partition: Style
    number: Style
    committed: Style
    """The part of a log below its high watermark."""
    pending: Style
    """Between high watermark and LEO."""
    missing: Style
    """What the longest replica has and this one lacks."""
    you: Style
    row: Style
    """The selected row, beneath other styles."""
    cursor: Style
    """The selected thing in the panel that has the keys, beneath other styles."""


COLOUR: Final = Palette(
    base=Style(color="#d8dee9", bgcolor=BACKGROUND),
    text=Style(color="#d8dee9"),
    strong=Style(color="#f4f7fb", bold=True),
    muted=Style(color="#94a3b5"),
    faint=Style(color="#56657a"),
    title=Style(color="#94a3b5", bold=True),
    title_focused=Style(color="#6cb6ff", bold=True),
    brand=Style(color="#10151c", bgcolor="#6cb6ff", bold=True),
    key=Style(color="#f7d774", bold=True),
    key_off=Style(color="#56657a"),
    good=Style(color="#6fd3c1"),
    warn=Style(color="#f0b429"),
    bad=Style(color="#ff7a59", bold=True),
    alarm=Style(color="#10151c", bgcolor="#ff7a59", bold=True),
    leader=Style(color="#f7d774", bold=True),
    broker=Style(color="#8fd3e8", bold=True),
    partition=Style(color="#b9c7ff", bold=True),
    number=Style(color="#f4f7fb"),
    committed=Style(color="#4f9be8"),
    pending=Style(color="#f0b429"),
    missing=Style(color="#56657a"),
    you=Style(color="#f7d774"),
    row=Style(bgcolor=RAISED),
    cursor=Style(bgcolor=CURSOR),
)
"""The styles of the dark theme."""

_BOLD: Final = Style(bold=True)
_DIM: Final = Style(dim=True)
_NONE: Final = Style()

PLAIN: Final = Palette(
    base=_NONE, text=_NONE, strong=_BOLD, muted=_NONE, faint=_DIM, title=_BOLD, title_focused=Style(bold=True, underline=True),
    brand=Style(bold=True, reverse=True), key=_BOLD, key_off=_DIM, good=_NONE, warn=_BOLD, bad=_BOLD,
    alarm=Style(bold=True, reverse=True), leader=_BOLD, broker=_BOLD, partition=_BOLD, number=_NONE, committed=_NONE,
    pending=_NONE, missing=_DIM, you=_BOLD, row=_BOLD, cursor=Style(reverse=True),
)  # fmt: skip
"""The styles without any colour."""


def wants_ascii(environ: Mapping[str, str] = os.environ, encoding: str | None = None) -> bool:
    """Whether to paint in ASCII: `ISRLAB_ASCII` is set to something but 0, or the terminal's encoding is not UTF-8."""
    asked = environ.get("ISRLAB_ASCII")
    if asked is not None:
        return asked not in ("", "0")
    written = encoding if encoding is not None else (getattr(sys.__stdout__, "encoding", None) or "utf-8")
    return "utf" not in written.lower()


_ASCII: Final = str.maketrans(
    {
        "★": "*", "⑂": "Y", "☆": "?", "●": "o", "○": "-", "⊗": "X", "✕": "x", "◌": "~", "◐": "e", "█": "#", "▀": "#", "▄": "#", "▌": "|",
        "▐": "|", "■": "#", "━": "#", "╸": "#", "╌": "=", "╍": "=", "┄": "=", "▒": "=", "░": ".", "·": ".", "…": ".", "–": "-",
        "—": "-", "−": "-", "→": ">", "←": "<", "↔": "=", "↑": "^", "↓": "v", "⇄": "=", "►": ">", "▶": ">", "◄": "<", "◂": "<",
        "▸": ">", "▲": "^", "▼": "v", "△": "^", "▽": "v", "◆": "#", "◇": "+", "✔": "+", "✓": "+", "✖": "X", "‖": "=", "│": "|",
        "┃": "|", "─": "-", "┌": "+", "┐": "+", "└": "+", "┘": "+", "╭": "+", "╮": "+", "╯": "+", "╰": "+", "├": "+", "┤": "+",
        "┬": "+", "┴": "+", "┼": "+", "×": "x", "±": "~", "≥": ">", "≤": "<", "≠": "!", "µ": "u", "⏎": "<", "∞": "&", "¶": "#",
        "▎": "|", "▏": "|", "▕": "|", "▔": "-", "▁": "_", "▆": "#", "▂": "=", "▅": "#", "🔎": ">", "•": "*",
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

    _cursor: Final = Style.parse(f"on {CURSOR}").bgcolor

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments without colours."""
        plain = []
        for text, style, control in segments:
            if style is not None:
                reverse = bool(style.reverse) or style.bgcolor == self._cursor
                style = Style(
                    bold=style.bold, dim=style.dim, underline=style.underline, italic=style.italic, reverse=reverse, meta=style.meta
                )
            plain.append(Segment(text, style, control))
        return plain
