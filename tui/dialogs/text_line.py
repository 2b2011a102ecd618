"""The dialog that asks for a line of text."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.widgets import Input, Static

from tui.dialogs.dialog import FRAME, LEAVE, Answered, fitted, room_below
from tui.rendering.palette import Palette
from tui.terminal.foreign_text import plain_text

LINE_ROWS: Final = 4
"""The number of rows for the line, the empty line above it, and an error of two lines."""


class TextLineDialog(Answered[str | None]):
    """A dialog that asks for a line of text. While the user types, the dialog shows any error in the text. Escape cancels."""

    writes: ClassVar[bool] = True

    BINDINGS: ClassVar[list[Binding | tuple[str, str] | tuple[str, str, str]]] = [
        Binding("escape", "dismiss(None)", "cancel", show=False),
        LEAVE,
    ]

    def __init__(self, title: str, about: str, text: str, wrong: Callable[[str], str | None], paint: Palette) -> None:
        """Create the dialog.

        Args:
            title, about: the heading and description of the input.
            text: the text that the line initially contains.
            wrong: a function that returns a message about an error in the text, or None if the text is valid.
            paint: the palette.
        """
        super().__init__()
        self._heading = title
        self._about = about
        self._text = text
        self._wrong = wrong
        self.paint = paint

    def take_key(self, event: events.Key) -> bool:
        """Handle a key that arrived before the input line had the focus. Enter submits the line, and any character is inserted into the
        line."""
        if event.key in ("enter", "ctrl+j"):  # a terminal sends ctrl+j for Enter before the application has started
            self._submit()
            return True
        if not event.is_printable or event.character is None:
            return False
        self.write_ahead(self.query_one(Input), event.character, self._text)
        return True

    def compose(self) -> ComposeResult:
        """Yield a box with an input line."""
        with Vertical(id="box") as box:
            box.border_title = plain_text(self._heading)
            box.border_subtitle = "Enter: confirm   Esc: cancel"
            yield Static(id="about")
            yield Input(self._text, id="text", select_on_focus=True)
            yield Static("", id="wrong")

    def on_mount(self) -> None:
        """Focus the input line."""
        if not self.is_abandoned:
            self.lay_out(*self.app.size)
            self.query_one(Input).focus()

    def lay_out(self, columns: int, rows: int) -> None:
        """Leave room for the line and an error below the description."""
        width = min(80, columns * 96 // 100) - FRAME + 1  # The dialog has no scroll bar.
        self.query_one("#about", Static).update(plain_text(fitted(self._about, width, max(1, room_below(rows) - LINE_ROWS))))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show what is wrong with the current text. If the line is empty, show nothing."""
        text = event.value.strip()
        self.query_one("#wrong", Static).update(plain_text((self._wrong(text) or "") if text else "", self.paint.warn))

    def _submit(self) -> None:
        """Submit the text if it is valid. If the text is invalid, show the error."""
        text = self.query_one(Input).value.strip()
        wrong = self._wrong(text)
        if wrong is None:
            self.dismiss(text)
        else:
            self.query_one("#wrong", Static).update(plain_text(wrong, self.paint.warn))
