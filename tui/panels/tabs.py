"""The line with the names and keys of all screens, which is below the header on every screen. The open screen is highlighted."""

from __future__ import annotations

from rich.style import Style
from textual import events
from textual.message import Message
from textual.strip import Strip

from tui.panels.lines import Lines
from tui.rendering.palette import Palette
from tui.rendering.rows import Row

Tab = tuple[str, str, str, str]
"""The tab of a screen: its key, its name, a shorter name, and the action that opens the screen."""


def paint_tabs(tabs: tuple[Tab, ...], current: str, paint: Palette, width: int) -> Strip:
    """Paint the names of all screens with their keys, and highlight the open one. If the line is too narrow, shorten the names or leave
    them out.
    """
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
    """Return the width of the line with all names, in cells."""
    return 1 + sum(len(key) + len(name) + 2 for key, name, _, _ in tabs)


class Tabs(Lines):
    """The widget that shows the tabs. A click on a tab opens its screen."""

    _painted: object = None

    class Chosen(Message):
        """The message that is sent when the user clicks the tab of a screen."""

        def __init__(self, action: str) -> None:
            super().__init__()
            self.action = action

    def update(self, tabs: tuple[Tab, ...], action: str) -> None:
        """Show the tabs. `action` is the action that opens the current screen."""
        painted = (tabs, action, self.box.width, id(self.paint))
        if painted == self._painted:
            return
        self._painted = painted
        current = next(name for _, name, _, opens in tabs if opens == action)
        self.show([paint_tabs(tabs, current, self.paint, self.box.width)])

    def on_click(self, event: events.Click) -> None:
        """Request the action that opens the clicked screen."""
        action = event.style.meta.get("action")
        if action is not None:
            self.post_message(self.Chosen(str(action)))
