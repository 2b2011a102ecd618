"""The line of screens: every one with its key, the open one marked. It stands below the header on the overview and on every page."""

from __future__ import annotations

from rich.style import Style
from textual import events
from textual.message import Message
from textual.strip import Strip

from tui.panels.lines import Lines
from tui.rendering.palette import Palette
from tui.rendering.rows import Row

Tab = tuple[str, str, str, str]
"""A screen in the line: its key, its name, a shorter one, the action that opens it."""


def paint_tabs(tabs: tuple[Tab, ...], current: str, paint: Palette, width: int) -> Strip:
    """All screens with their keys; the open one stands out. Where there is little room the others are keys only."""
    if _needed(tabs) > width:
        current = next((brief for _, name, brief, _ in tabs if name == current), current)
        tabs = tuple((key, brief, brief, action) for key, _, brief, action in tabs)
    full = _needed(tabs)
    row = Row()
    for key, name, _, action in tabs:
        meta = Style(meta={"action": action})
        here = name == current
        if here:
            row.add(f" {key} {name} ", paint.brand + meta).add(" " if full < width else "", paint.muted)
        elif full <= width:
            row.add(f"{key}", paint.key + meta).add(f" {name} ", paint.muted + meta)
        else:
            row.add(f"{key} ", paint.key + meta)
    return row.strip(width)


def _needed(tabs: tuple[Tab, ...]) -> int:
    """Cells of the line with every name in it."""
    return 1 + sum(len(key) + len(name) + 2 for key, name, _, _ in tabs)


class Tabs(Lines):
    """The line as a widget; a click on a screen opens it."""

    _painted: object = None

    class Chosen(Message):
        """A screen was clicked."""

        def __init__(self, action: str) -> None:
            super().__init__()
            self.action = action

    def update(self, tabs: tuple[Tab, ...], action: str) -> None:
        """Show the line; `action` opens the screen that is open."""
        painted = (tabs, action, self.box.width, id(self.paint))
        if painted == self._painted:
            return
        self._painted = painted
        current = next(name for _, name, _, opens in tabs if opens == action)
        self.show([paint_tabs(tabs, current, self.paint, self.box.width)])

    def on_click(self, event: events.Click) -> None:
        """Open what was clicked."""
        action = event.style.meta.get("action")
        if action is not None:
            self.post_message(self.Chosen(str(action)))
