"""Display options from flags and environment: frame rate, palette, glyphs and keys."""

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
"""Default frames per second while something moves."""

MOST_FRAMES: Final = 60
"""Most frames per second: Textual writes no more often."""

SLOW_FRAMES: Final = 2
"""Frames per second on a slow link."""


@attrs.frozen(repr=False)
class DisplayOptions(ReprMixin):
    """How to show the playground.

    Attributes:
        fps: frames per second; None: depends on the link.
        slow_link: write little: few frames, no mouse, the clock in tenths of seconds.
        ascii_only: write ASCII only; None: depends on the environment.
        palette: a name in `tui.rendering.palette.PALETTES`; None: depends on the terminal.
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
        """Whether to write ASCII only."""
        return self.ascii_only if self.ascii_only is not None else wants_ascii()

    def palette_for(self, console: Console, environ: Mapping[str, str] = os.environ) -> str:
        """The name of the palette: the requested one, none if `NO_COLOR` is set, otherwise one that the terminal can show."""
        if self.palette is not None:
            return self.palette
        if environ.get("NO_COLOR") or console.color_system is None:
            return "plain"
        return "sixteen" if console.color_system == "standard" else "dark"
