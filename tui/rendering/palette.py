"""Six palettes. Each palette has a style for each role, and a theme for Textual's own widgets.

Widgets use a role such as `bad` or `committed`, never a color. No state is shown by color alone, because each state also has its own glyph
or word. Each palette except `plain` is built from sixteen hues. `dark` is the default. In `color-blind`, the colors for good, warning, and
bad differ by more than 40 (CIE76) for each common type of color blindness. In `contrast`, the contrast ratio of all text is above 7:1.
`sixteen` uses only the colors of a terminal with sixteen colors. `plain` uses only bold, dim, underline, and reverse, for `NO_COLOR`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import attrs
from rich.color import Color
from rich.style import Style
from textual.theme import Theme

from core.sim.repr_mixin import ReprMixin


@attrs.frozen(eq=False, repr=False)
class Palette(ReprMixin):
    """A style for each role. Palettes are compared by identity because they are part of many cache keys."""

    base: Style
    """The default foreground and background."""
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
    """The most conspicuous style, for losses."""
    leader: Style
    broker: Style
    partition: Style
    number: Style
    committed: Style
    """The part of a log below its high watermark."""
    pending: Style
    """The part of a log between its high watermark and its LEO."""
    missing: Style
    """The part of a log that this replica lacks but the replica with the longest log has."""
    you: Style
    row: Style
    """The background of the selected row."""
    cursor: Style
    """The background of the selected item in the focused panel."""


@attrs.frozen(kw_only=True, repr=False)
class Hues(ReprMixin):
    """The colors of a palette, as `#rrggbb`."""

    background: str
    """The background of the screen."""
    raised: str
    """The background of dialogs and of the selected row."""
    cursor: str
    """The background of the selected item in the focused panel."""
    text: str
    strong: str
    muted: str
    faint: str
    accent: str
    """The color of the title of the focused panel."""
    key: str
    good: str
    warn: str
    bad: str
    leader: str
    broker: str
    partition: str
    committed: str


def made_of(hues: Hues, *, bold: bool = False) -> Palette:
    """Build a palette from hues.

    If `bold` is true, the styles `good` and `warn` are bold. Roles that look alike share one style object. `Row.add` relies on this.
    """
    plain = bold or None
    known: dict[Style, Style] = {}

    def style(color: str | None = None, bgcolor: str | None = None, bold: bool | None = None) -> Style:
        made = Style(color=color, bgcolor=bgcolor, bold=bold)
        return known.setdefault(made, made)

    return Palette(
        base=style(color=hues.text, bgcolor=hues.background),
        text=style(color=hues.text),
        strong=style(color=hues.strong, bold=True),
        muted=style(color=hues.muted),
        faint=style(color=hues.faint),
        title=style(color=hues.muted, bold=True),
        title_focused=style(color=hues.accent, bold=True),
        brand=style(color=hues.background, bgcolor=hues.accent, bold=True),
        key=style(color=hues.key, bold=True),
        key_off=style(color=hues.faint),
        good=style(color=hues.good, bold=plain),
        warn=style(color=hues.warn, bold=plain),
        bad=style(color=hues.bad, bold=True),
        alarm=style(color=hues.background, bgcolor=hues.bad, bold=True),
        leader=style(color=hues.leader, bold=True),
        broker=style(color=hues.broker, bold=True),
        partition=style(color=hues.partition, bold=True),
        number=style(color=hues.strong),
        committed=style(color=hues.committed),
        pending=style(color=hues.warn),
        missing=style(color=hues.faint),
        you=style(color=hues.key),
        row=style(bgcolor=hues.raised),
        cursor=style(bgcolor=hues.cursor),
    )


HUES: Final = {
    "dark": Hues(
        background="#10151c", raised="#1b2430", cursor="#26415f", text="#d8dee9", strong="#f4f7fb", muted="#94a3b5", faint="#56657a",
        accent="#6cb6ff", key="#f7d774", good="#6fd3c1", warn="#f0b429", bad="#ff7a59", leader="#f7d774", broker="#8fd3e8",
        partition="#b9c7ff", committed="#4f9be8",
    ),
    "light": Hues(
        background="#fbfaf6", raised="#ecebe4", cursor="#c9dcf2", text="#2b3038", strong="#0c1016", muted="#525b68", faint="#8d95a0",
        accent="#0b5cad", key="#7a4f00", good="#00695c", warn="#8a5200", bad="#b0005c", leader="#7a4f00", broker="#0b5c74",
        partition="#3d3a9e", committed="#1f6fc4",
    ),
    "color-blind": Hues(
        background="#0b0f14", raised="#18202a", cursor="#1c2f48", text="#d8dee9", strong="#ffffff", muted="#a3b0bf", faint="#66758a",
        accent="#8cc4ff", key="#ffffff", good="#5aa6ff", warn="#ffe033", bad="#ff5c86", leader="#ffe033", broker="#c4d4e8",
        partition="#d8dee9", committed="#5aa6ff",
    ),
    "contrast": Hues(
        background="#000000", raised="#1c1c1c", cursor="#00264d", text="#ffffff", strong="#ffffff", muted="#e4e4e4", faint="#b4b4b4",
        accent="#00e5ff", key="#ffff00", good="#66d9ff", warn="#ffe100", bad="#ff8a9c", leader="#ffff00", broker="#8ff4ff",
        partition="#ffffff", committed="#7cc0ff",
    ),
    "sixteen": Hues(
        background="#000000", raised="#000000", cursor="#0000aa", text="#aaaaaa", strong="#ffffff", muted="#aaaaaa", faint="#555555",
        accent="#55ffff", key="#ffffff", good="#55ffff", warn="#ffff55", bad="#ff5555", leader="#ffff55", broker="#ffffff",
        partition="#ffffff", committed="#00aaaa",
    ),
}  # fmt: skip
"""The hues of every palette except `plain`.

The hues of `sixteen` are exactly Rich's ANSI colors, so that Rich does not have to approximate them.
"""

_BOLD: Final = Style(bold=True)
_DIM: Final = Style(dim=True)
_NONE: Final = Style()

PLAIN: Final = Palette(
    base=_NONE, text=_NONE, strong=_BOLD, muted=_NONE, faint=_DIM, title=_BOLD, title_focused=Style(bold=True, underline=True),
    brand=Style(bold=True, reverse=True), key=_BOLD, key_off=_DIM, good=_NONE, warn=_BOLD, bad=_BOLD,
    alarm=Style(bold=True, reverse=True), leader=_BOLD, broker=_BOLD, partition=_BOLD, number=_NONE, committed=_NONE,
    pending=_NONE, missing=_DIM, you=_BOLD, row=_BOLD, cursor=Style(reverse=True),
)  # fmt: skip
"""The palette without colors."""

PALETTES: Final = {name: made_of(hues, bold=name == "contrast") for name, hues in HUES.items()} | {"plain": PLAIN}
"""Every palette by name."""

ABOUT: Final = {
    "dark": "calm, on a dark background",
    "light": "on a light background",
    "color-blind": "good blue, warning yellow, bad magenta",
    "contrast": "high contrast, nothing dimmed",
    "sixteen": "the sixteen colors of old terminals",
    "plain": "no colors",
}
"""A description of each palette."""

COLOR: Final = PALETTES["dark"]
"""The default palette."""

CURSORS: Final = frozenset(Color.parse(hues.cursor) for hues in HUES.values())
"""The background colors of the selected item in the focused panel, in all palettes."""


_LESS_DARK: Final = {"background": "#121212", "raised": "#262626", "cursor": "#00005f"}

LESS: Final = {"dark": {**_LESS_DARK, "faint": "#6c6c6c"}, "color-blind": _LESS_DARK}
"""Replacements for some dark blues on terminals with 256 colors, where the nearest colors would be black and a bright teal."""


def palette_of(name: str, *, few: bool = False) -> Palette:
    """Return the palette with the given name. `few` is true for a terminal that has only 256 colors."""
    return _few(name) if few and name in LESS else PALETTES[name]


@lru_cache
def _few(name: str) -> Palette:
    return made_of(attrs.evolve(HUES[name], **LESS[name]))


def theme_of(name: str) -> Theme:
    """Return the theme that matches a palette, for Textual's own widgets (command palette and dialogs)."""
    hues = HUES.get(name, HUES["dark"])
    return Theme(
        name=f"isrlab-{name}",
        primary=hues.accent,
        secondary=hues.broker,
        warning=hues.warn,
        error=hues.bad,
        success=hues.good,
        accent=hues.key,
        foreground=hues.text,
        background=hues.background,
        surface=hues.raised,
        panel=hues.raised,
        dark=name != "light",
        variables={
            "block-cursor-background": hues.cursor,
            "block-cursor-foreground": hues.strong,
            "block-cursor-text-style": "bold",
            "input-cursor-background": hues.accent,
            "scrollbar": hues.faint,
            "scrollbar-background": hues.background,
        },
    )
