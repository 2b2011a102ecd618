"""The command palette."""

from __future__ import annotations

import contextlib
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.command import CommandList, CommandPalette
from textual.widgets import Input

from tui.dialogs.dialog import LEAVE, TypeAheadScreen


class PaletteCommandList(CommandList):
    """What the palette has found."""

    async def _on_click(self, event: events.Click) -> None:
        """A click at an answer that is still seen, but listed no more, is at nothing; Textual's list fails at it."""
        answer = event.style.meta.get("option")
        if answer is not None and answer >= self.option_count:
            event.prevent_default()


class TypeAheadCommandPalette(TypeAheadScreen[None], CommandPalette):
    """Textual's command palette: letters typed while it came up are in its line."""

    BINDINGS: ClassVar = [LEAVE]

    writes: ClassVar[bool] = True

    def compose(self) -> ComposeResult:
        """As Textual has it, with a list of our own."""
        for widget in super().compose():
            yield PaletteCommandList() if type(widget) is CommandList else widget

    def _action_command_list(self, command: str) -> None:
        with contextlib.suppress(LookupError):  # Textual's list fails at a page of what is not laid out yet
            super()._action_command_list(command)

    def take_key(self, event: events.Key) -> bool:
        """A letter."""
        if not event.is_printable or event.character is None:
            return False
        self.write_ahead(self.query_one(Input), event.character)
        return True
