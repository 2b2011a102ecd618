"""How the playground is shown: how often it is painted, in which palette and glyphs, by which keys. From flags and environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

import attrs
from rich.console import Console

from core.sim.repr_mixin import ReprMixin
from tui.actions.keymap import DEFAULT, Keymap
from tui.terminal.filters import wants_ascii

FRAMES: Final = 20
"""Frames per second while something moves, when nobody asks for another number."""

MOST_FRAMES: Final = 60
"""Frames per second at most: Textual writes no more often."""

SLOW_FRAMES: Final = 2
"""Frames per second on a slow link."""


@attrs.frozen(repr=False)
class DisplayOptions(ReprMixin):
    """What somebody wants to see.

    Attributes:
        fps: frames per second; None: as the link allows.
        slow_link: write as little as possible: few frames, no mouse, the clock in whole tenths.
        ascii_only: paint in ASCII; None: as the environment asks.
        palette: a name of `tui.rendering.palette.PALETTES`; None: what the terminal can show.
        keymap: the keys.
    """

    fps: int | None = None
    slow_link: bool = False
    ascii_only: bool | None = None
    palette: str | None = None
    keymap: Keymap = DEFAULT

    @property
    def frames(self) -> int:
        """Frames per second."""
        return self.fps if self.fps is not None else SLOW_FRAMES if self.slow_link else FRAMES

    @property
    def wants_ascii(self) -> bool:
        """Whether to paint in ASCII."""
        return self.ascii_only if self.ascii_only is not None else wants_ascii()

    def palette_for(self, console: Console, environ: Mapping[str, str] = os.environ) -> str:
        """The palette's name: the one asked for, none where `NO_COLOR` is set, otherwise what the terminal has colours for."""
        if self.palette is not None:
            return self.palette
        if environ.get("NO_COLOR") or console.color_system is None:
            return "plain"
        return "sixteen" if console.color_system == "standard" else "dark"
