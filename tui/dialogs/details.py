"""The dialog that shows details of the selection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.strip import Strip
from textual.widgets import Static

from tui.dialogs.dialog import CLOSE, Dialog, room
from tui.terminal.foreign_text import plain_text


class DetailsDialog(Dialog[None]):
    """A scrollable dialog that shows lines. The function `paint` returns the lines for a width in cells."""

    BINDINGS: ClassVar = [*CLOSE, Binding("y", "app.copy_shown", show=False, id="copy")]

    def __init__(self, title: str, paint: Callable[[int], Sequence[Strip]]) -> None:
        super().__init__()
        self._heading = title
        self._paint = paint
        self._lines: Sequence[Strip] = ()

    def compose(self) -> ComposeResult:
        """Yield a box with the lines."""
        with VerticalScroll(id="box") as box:
            box.border_title = plain_text(self._heading)
            box.border_subtitle = "Esc: back"
            yield Static(self._text(self.app.size.width))

    def lay_out(self, columns: int, rows: int) -> None:
        """Paint the lines for the new width."""
        self.query_one(Static).update(self._text(columns))

    def _text(self, columns: int) -> Text:
        self._lines = self._paint(room(columns))
        text = Text("\n").join(Text.assemble(*((s.text, s.style or "") for s in line)) for line in self._lines)
        text.no_wrap = True
        return text

    @property
    def text(self) -> str:
        """The whole text without colors."""
        return "\n".join(line.text.rstrip() for line in self._lines)
