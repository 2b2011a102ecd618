"""The dialog that shows details of the selection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.strip import Strip
from textual.widgets import Static

from tui.dialogs.dialog import CLOSE, Dialog
from tui.terminal.foreign_text import plain_text


class DetailsDialog(Dialog[None]):
    """A scrollable dialog that shows the given lines."""

    BINDINGS: ClassVar = [*CLOSE, Binding("y", "app.copy_shown", show=False, id="copy")]

    def __init__(self, title: str, lines: Sequence[Strip]) -> None:
        super().__init__()
        self._heading = title
        self._lines = lines

    def compose(self) -> ComposeResult:
        """Yield a box with the lines."""
        text = Text("\n").join(Text.assemble(*((s.text, s.style or "") for s in line)) for line in self._lines)
        text.no_wrap = True
        with VerticalScroll(id="box") as box:
            box.border_title = plain_text(self._heading)
            box.border_subtitle = "Esc: back"
            yield Static(text)

    @property
    def text(self) -> str:
        """The whole text without colors."""
        return "\n".join(line.text.rstrip() for line in self._lines)
