"""The command palette, which finds actions, partitions, brokers, and terms by name."""

from __future__ import annotations

import contextlib
from typing import Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.command import CommandList, CommandPalette
from textual.css.query import NoMatches
from textual.widgets import Input
from textual.worker import Worker

from tui.dialogs.dialog import LEAVE, TypeAheadScreen


class PaletteCommandList(CommandList):
    """The list of search results in the command palette."""

    async def _on_click(self, event: events.Click) -> None:
        """Ignore a click on a result that is still visible but no longer in the list.

        Textual's own list raises an error if the user clicks a result that is no longer in the list.
        """
        answer = event.style.meta.get("option")
        if answer is not None and answer >= self.option_count:
            event.prevent_default()


class TypeAheadCommandPalette(TypeAheadScreen[None], CommandPalette):
    """Textual's command palette, extended so that it also receives the letters that were typed while it was opening."""

    BINDINGS: ClassVar = [LEAVE]

    writes: ClassVar[bool] = True

    def compose(self) -> ComposeResult:
        """Yield Textual's widgets, with a `PaletteCommandList` in place of Textual's list."""
        for widget in super().compose():
            yield PaletteCommandList() if type(widget) is CommandList else widget

    def run_worker(self, work: Any, *args: Any, **kwargs: Any) -> Worker[Any]:
        """Start a search. If the palette has closed before the search starts, there is no list to fill, which is no error."""

        async def search() -> None:
            try:
                await work()
            except NoMatches:
                if not self.is_abandoned:
                    raise

        return super().run_worker(search, *args, **kwargs)

    def _action_command_list(self, command: str) -> None:
        with contextlib.suppress(LookupError):  # Textual's list cannot scroll by a page before its first layout
            super()._action_command_list(command)

    def take_key(self, event: events.Key) -> bool:
        """Append a printable character to the input line. Return False for any other key."""
        if not event.is_printable or event.character is None:
            return False
        self.write_ahead(self.query_one(Input), event.character)
        return True
