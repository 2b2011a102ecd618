"""A line of text to write."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.widgets import Input, Static

from tui.dialogs.dialog import LEAVE, Answered
from tui.rendering.palette import Palette
from tui.terminal.foreign_text import plain_text


class TextLineDialog(Answered[str | None]):
    """Asks for a line of text; what is wrong with it is said below while one types. Escape writes nothing."""

    writes: ClassVar[bool] = True

    BINDINGS: ClassVar[list[Binding | tuple[str, str] | tuple[str, str, str]]] = [
        Binding("escape", "dismiss(None)", "cancel", show=False),
        LEAVE,
    ]

    def __init__(self, title: str, about: str, text: str, wrong: Callable[[str], str | None], paint: Palette) -> None:
        """Ask.

        Args:
            title, about: what is wanted.
            text: what stands there at the start.
            wrong: says what is wrong with a text, or None.
            paint: the colours.
        """
        super().__init__()
        self._heading = title
        self._about = about
        self._text = text
        self._wrong = wrong
        self.paint = paint

    def take_key(self, event: events.Key) -> bool:
        """Enter takes the line. A character was typed before the line had the keys; what came since stands behind it."""
        if event.key in ("enter", "ctrl+j"):  # the second is what a terminal makes of Enter before the application has begun
            self._submit()
            return True
        if not event.is_printable or event.character is None:
            return False
        self.write_ahead(self.query_one(Input), event.character, self._text)
        return True

    def compose(self) -> ComposeResult:
        """A box with a line to write in."""
        with Vertical(id="box") as box:
            box.border_title = plain_text(self._heading)
            box.border_subtitle = "Enter: confirm   Esc: cancel"
            yield Static(plain_text(self._about), id="about")
            yield Input(self._text, id="text", select_on_focus=True)
            yield Static("", id="wrong")

    def on_mount(self) -> None:
        """The line has the keys."""
        if not self.is_abandoned:
            self.query_one(Input).focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Say what is wrong so far, once something is written."""
        text = event.value.strip()
        self.query_one("#wrong", Static).update(plain_text((self._wrong(text) or "") if text else "", self.paint.warn))

    def _submit(self) -> None:
        """Take it, if it is right."""
        text = self.query_one(Input).value.strip()
        wrong = self._wrong(text)
        if wrong is None:
            self.dismiss(text)
        else:
            self.query_one("#wrong", Static).update(plain_text(wrong, self.paint.warn))
