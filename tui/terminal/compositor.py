"""Writes the painted lines of panels directly to the terminal, for speed.

Textual's compositor cuts every line of the screen wherever a widget begins or ends, and renders the pieces one by one. Cutting and
rendering account for most of the cost of a repaint. Panels do not overlap, so the lines that a panel paints can be written unchanged. If a
notification covers panels, or if a gap between panels must be painted, Textual's compositor is used.

This module depends on internals of Textual that can change with any version: `CompositorUpdate`; the attributes `render_update`, `clear`,
`visible_widgets`, `root`, and `_dirty_regions` of `Compositor`; `Screen._compositor`; `App._display` and `App._batch_count`. Therefore,
it is used only with the versions of Textual with which its tests pass (`TESTED`). With another version, Textual's compositor paints
everything, which looks the same and takes more time.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Final

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.control import Control
from textual._compositor import Compositor, CompositorUpdate
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

Piece = tuple[int, int, Strip]
"""Cells to write: the column and row of the first cell on the screen, and the content."""

TESTED: Final = frozenset({"8.2.3", "8.2.4", "8.2.5", "8.2.6", "8.2.7", "8.2.8"})
"""The versions of Textual with which tests/tui/terminal/test_compositor.py passes."""

Places = Sequence[tuple[Widget, Region]]
"""Widgets, each with its region of the screen."""


class PaintedUpdate(CompositorUpdate):
    """A screen update that consists of pieces painted by panels."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self.pieces = pieces

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the pieces of lines as Rich segments."""
        for x, y, strip in self.pieces:
            yield Control.move_to(x, y)
            yield from strip

    def render_segments(self, console: Console) -> str:
        """Return the text to write to the terminal."""
        return "".join([f"\x1b[{y + 1};{x + 1}H{strip.render(console)}" for x, y, strip in self.pieces])


class PanelCompositor(Compositor):
    """A compositor for a screen whose widgets do not overlap."""

    def __init__(self) -> None:
        super().__init__()
        self._judged: object = None
        self._places: Places | None = None

    def clear(self) -> None:
        """Clear the state when the screen closes."""
        super().clear()
        self._judged = self._places = None

    @property
    def places(self) -> Places | None:
        """All visible widgets with their regions, or None if widgets overlap or are clipped."""
        seen = self.visible_widgets
        if self._judged is not seen:  # Each layout creates a new mapping.
            found = [(widget, region) for widget, (region, _) in seen.items() if widget is not self.root]
            whole = all(clip.contains_region(region) for region, clip in seen.values())
            apart = not any(one.overlaps(other) for at, (_, one) in enumerate(found) for _, other in found[:at])
            self._judged, self._places = seen, found if whole and apart else None
        return self._places

    def render_update(
        self, full: bool = False, screen_stack: list[Screen[object]] | None = None, simplify: bool = False
    ) -> RenderableType | None:
        """Return an update for all changed regions, or None if nothing changed."""
        pieces = None if full else self._painted()
        if pieces is None:
            return super().render_update(full, screen_stack, simplify)
        self._dirty_regions.clear()
        return PaintedUpdate(pieces) if pieces else None

    def _painted(self) -> list[Piece] | None:
        """Return the pieces of lines that widgets paint in the changed regions, or None if some changed cells do not belong to a widget."""
        places = self.places
        if places is None:
            return None
        pieces: list[Piece] = []
        for dirty in self._dirty_regions:
            missing = dirty.area
            for widget, place in places:
                part = place.intersection(dirty)
                if part:
                    missing -= part.area
                    strips = widget.render_lines(part.translate((-place.x, -place.y)))
                    pieces.extend([(part.x, y, strip) for y, strip in enumerate(strips, part.y)])
                    if not missing:
                        break
            else:
                return None
        return pieces


def compose_panels(screen: Screen[None]) -> str:
    """Replace the compositor of a new screen with a `PanelCompositor` if the version of Textual is known to support it. The screen must not
    have composed anything yet.

    Returns:
        A notice for people if Textual's compositor stays; otherwise, an empty string.
    """
    installed = version("textual")
    if installed not in TESTED:
        return f"isrlab does not know Textual {installed}, so it draws more slowly; install Textual {max(TESTED)} for full speed"
    screen._compositor = PanelCompositor()
    return ""


def is_open(screen: Screen[None]) -> bool:
    """Return whether changes to a screen can be written immediately. Changes can be written immediately if the screen is active, no batch
    update is running, and the widgets do not overlap.
    """
    compositor = screen._compositor
    return screen.is_active and not screen.app._batch_count and isinstance(compositor, PanelCompositor) and compositor.places is not None


def write(screen: Screen[None], pieces: Sequence[Piece]) -> None:
    """Write pieces of lines to the terminal immediately."""
    screen.app._display(screen, PaintedUpdate(pieces))
