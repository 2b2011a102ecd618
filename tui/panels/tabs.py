"""The line with the names and keys of all screens, which is below the header on every screen. The open screen is highlighted."""

from __future__ import annotations

from collections.abc import Sequence

from rich.style import Style
from textual import events
from textual.message import Message
from textual.strip import Strip

from tui.panels.lines import Lines
from tui.rendering.palette import Palette
from tui.rendering.rows import Row

Tab = tuple[str, str, str]
"""The tab of a screen: its key, its name, and the action that opens the screen."""


def named_tabs(tabs: Sequence[Tab], current: str, width: int) -> set[str]:
    """Return the names of the screens that fit into the line of tabs: the open one, then the others in order. The keys of all screens always
    fit."""
    room = width - sum(len(key) + 1 for key, *_ in tabs) - 1
    named = set()
    for name in sorted((name for _, name, _ in tabs), key=lambda name: name != current):
        room -= len(name) + 1
        if room < 0:
            break
        named.add(name)
    return named


def paint_tabs(tabs: Sequence[Tab], current: str, paint: Palette, width: int) -> Strip:
    """Paint the keys of all screens with their names, and highlight the open one. If the line is too narrow, the last names are left out;
    a name is the same at every width.
    """
    named = named_tabs(tabs, current, width)
    row = Row()
    for key, name, action in tabs:
        meta = Style(meta={"action": action})
        if name == current:
            row.add(f" {key} {name} " if name in named else f" {key} ", paint.brand + meta)
        elif name in named:
            row.add(key, paint.key + meta).add(f" {name} ", paint.muted + meta)
        else:
            row.add(f"{key} ", paint.key + meta)
    return row.strip(width)


class Tabs(Lines):
    """The widget that shows the tabs. A click on a tab opens its screen."""

    _painted: object = None

    class Chosen(Message):
        """The message that is sent when the user clicks the tab of a screen."""

        def __init__(self, action: str) -> None:
            super().__init__()
            self.action = action

    def update(self, tabs: Sequence[Tab], action: str) -> None:
        """Show the tabs. `action` is the action that opens the current screen."""
        painted = (tabs, action, self.box.width, id(self.paint))
        if painted == self._painted:
            return
        self._painted = painted
        current = next(name for _, name, opens in tabs if opens == action)
        self.show([paint_tabs(tabs, current, self.paint, self.box.width)])

    def on_click(self, event: events.Click) -> None:
        """Request the action that opens the clicked screen."""
        action = event.style.meta.get("action")
        if action is not None:
            self.post_message(self.Chosen(str(action)))
