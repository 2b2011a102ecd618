"""How the main screen gets to the terminal: what panels paint is written where it stands.

Textual's compositor cuts every line of the screen where any widget begins or ends, and renders the cuts one by one; that is most of what a
repaint costs. Panels lie side by side, so what one of them paints is what is seen there. Where it is not so (a notification lies over
them, a gap between them is to be painted) the compositor does it as ever.

What it builds on is Textual's own business and may change with it: `CompositorUpdate`; of a `Compositor` `render_update`, `visible_widgets`, `root`,
`clear` and `_dirty_regions`; `Screen._compositor`; `App._display` and `_batch_count`. tests/tui/terminal/test_compositor.py notices.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.control import Control
from textual._compositor import Compositor, CompositorUpdate
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

Piece = tuple[int, int, Strip]
"""Cells to write: column and row of the first on the screen, and what stands there."""

Places = Sequence[tuple[Widget, Region]]
"""Widgets with the cells of the screen that are theirs."""


class PaintedUpdate(CompositorUpdate):
    """An update of the screen that is written as it is."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self.pieces = pieces

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The same for Rich."""
        for x, y, strip in self.pieces:
            yield Control.move_to(x, y)
            yield from strip

    def render_segments(self, console: Console) -> str:
        """What goes to the terminal."""
        return "".join([f"\x1b[{y + 1};{x + 1}H{strip.render(console)}" for x, y, strip in self.pieces])


class PanelCompositor(Compositor):
    """Composes a screen whose widgets lie side by side."""

    def __init__(self) -> None:
        super().__init__()
        self._judged: object = None
        self._places: Places | None = None

    def clear(self) -> None:
        """The screen closes."""
        super().clear()
        self._judged = self._places = None

    @property
    def places(self) -> Places | None:
        """Every widget on the screen, when none lies over another; else None."""
        seen = self.visible_widgets
        if self._judged is not seen:  # A new layout has a new one.
            found = [(widget, region) for widget, (region, _) in seen.items() if widget is not self.root]
            whole = all(clip.contains_region(region) for region, clip in seen.values())
            apart = not any(one.overlaps(other) for at, (_, one) in enumerate(found) for _, other in found[:at])
            self._judged, self._places = seen, found if whole and apart else None
        return self._places

    def render_update(
        self, full: bool = False, screen_stack: list[Screen[object]] | None = None, simplify: bool = False
    ) -> RenderableType | None:
        """What has to be written for all that has changed; None when that is nothing."""
        pieces = None if full else self._painted()
        if pieces is None:
            return super().render_update(full, screen_stack, simplify)
        self._dirty_regions.clear()
        return PaintedUpdate(pieces) if pieces else None

    def _painted(self) -> list[Piece] | None:
        """What widgets paint of the cells that have changed; None when these are not all theirs."""
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


def compose_panels(screen: Screen[None]) -> None:
    """Let a screen be composed that way from now on; it has composed nothing yet."""
    screen._compositor = PanelCompositor()


def is_open(screen: Screen[None]) -> bool:
    """Whether what changes on a screen can be written at once: it is the uppermost, nothing waits to be shown together, nothing lies over it."""
    compositor = screen._compositor
    return screen.is_active and not screen.app._batch_count and isinstance(compositor, PanelCompositor) and compositor.places is not None


def write(screen: Screen[None], pieces: Sequence[Piece]) -> None:
    """Write that to the terminal now."""
    screen.app._display(screen, PaintedUpdate(pieces))
