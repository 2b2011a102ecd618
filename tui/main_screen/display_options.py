"""The display options: frame rate, palette, glyphs, and keys. Flags and environment variables set these options."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

import attrs
from rich.console import Console

from core.sim.repr_mixin import ReprMixin
from tui.actions.custom_keys import DEFAULT, Keymap
from tui.terminal.filters import wants_ascii

FRAMES: Final = 20
"""The default number of frames per second while the session plays or a task runs."""

MOST_FRAMES: Final = 60
"""The maximum number of frames per second, which is also Textual's own limit."""

SLOW_FRAMES: Final = 2
"""The number of frames per second on a slow link."""


@attrs.frozen(repr=False)
class DisplayOptions(ReprMixin):
    """The display options of the playground.

    Attributes:
        fps: frames per second; if None, `slow_link` determines the number.
        slow_link: whether to send less to the terminal: fewer frames, no mouse, and a clock that shows tenths of a second.
        ascii_only: whether to write only ASCII; if None, the environment decides.
        palette: a name in `tui.rendering.palette.PALETTES`; if None, the palette depends on the terminal.
        keymap: the keys of the actions.
    """

    fps: int | None = None
    slow_link: bool = False
    ascii_only: bool | None = None
    palette: str | None = None
    keymap: Keymap = DEFAULT

    @property
    def frames(self) -> int:
        """The number of frames per second."""
        return self.fps if self.fps is not None else SLOW_FRAMES if self.slow_link else FRAMES

    @property
    def wants_ascii(self) -> bool:
        """Whether to write only ASCII."""
        return self.ascii_only if self.ascii_only is not None else wants_ascii()

    def palette_for(self, console: Console, environ: Mapping[str, str] = os.environ) -> str:
        """Return the name of the requested palette.

        If no palette is requested, return `plain` if `NO_COLOR` is set, otherwise a palette that the terminal can show.
        """
        if self.palette is not None:
            return self.palette
        if environ.get("NO_COLOR") or console.color_system is None:
            return "plain"
        return "sixteen" if console.color_system == "standard" else "dark"
