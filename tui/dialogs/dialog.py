"""Base classes of all dialogs. A dialog can be answered only once, and receives the keys that were pressed while it was opening."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, Generic, TypeVar

from rich.cells import cell_len
from textual import events
from textual.await_complete import AwaitComplete
from textual.binding import Binding
from textual.screen import ModalScreen, Screen
from textual.widgets import Input

from tui.rendering.rows import ELLIPSIS, LEAST_TEXT, clip, wrap

PICTURE: Final = Binding("P", "app.picture", show=False, id="picture")
"""The key that saves a picture of the screen, including the open dialog. The main screen uses the same key."""

LEAVE: Final = Binding("ctrl+c", "app.leave", show=False, priority=True)
"""The key that quits the playground. It also quits from an input line, which would otherwise use the key for copying."""

CLOSE: Final[list[Binding | tuple[str, str] | tuple[str, str, str]]] = [
    Binding("escape,q,enter", "dismiss", "close", show=False),
    LEAVE,
    PICTURE,
]

FRAME: Final = 7
"""The total width, in cells, of the border, the padding, and the scroll bar of a dialog."""

WIDEST: Final = 156
"""The maximum width of a dialog in cells, as in `dialogs.tcss`."""

LOW: Final = 20
"""The number of rows below which a dialog takes all rows, without space around its text."""

Result = TypeVar("Result")


if TYPE_CHECKING:
    AScreen = Screen
else:
    AScreen = Generic  # Textual inherits styles from the first base that is a DOM node. At runtime, this class is not one.


class AnsweredOnce(AScreen[Result]):
    """A screen over the main screen that can be answered only once. Keys that arrive together with the answer have no further effect."""

    _answered = False

    @property
    def is_abandoned(self) -> bool:
        """Whether the user quit the playground before this screen was fully built."""
        return not self.query("Input, OptionList")

    def dismiss(self, result: Result | None = None) -> AwaitComplete:
        """Answer with `result`, and close the screen. If the user has already answered, or if another screen is above this one, do nothing."""
        if self._answered or self.app.screen is not self:
            return AwaitComplete()
        self._answered = True
        return super().dismiss(result)


class TypeAheadScreen(AnsweredOnce[Result]):
    """A screen that also receives the keys that the user pressed while the screen was opening. The application passes keys that were
    pressed too early to the screen."""

    writes: ClassVar[bool] = False
    """Whether the screen has an input line."""

    _early: tuple[events.Key, ...] = ()
    _stands = False
    _written = 0

    def on_mount(self) -> None:
        """Handle the keys that were pressed before the screen was ready.

        Textual calls this method after the `on_mount` of derived classes.
        """
        self._stands = not self.is_abandoned
        for event in self._early if self._stands else ():
            self.take_key(event)

    def pressed_ahead(self, event: events.Key) -> bool:
        """Handle a key that the application passes to this screen, and return whether the screen uses it."""
        if self._stands and self.is_abandoned:
            return False
        if self._stands:
            return self.take_key(event)
        self._early = (*self._early, event)
        return True

    def paste_ahead(self, text: str) -> bool:
        """Insert the first line of text that was pasted before the input line had the focus. Return False if there is no input line."""
        if not self.writes:
            return False
        for character in text.splitlines()[0] if text else "":
            self.pressed_ahead(events.Key(character, character))
        return True

    def take_key(self, event: events.Key) -> bool:
        """Handle a key. If the screen does not use the key, return False."""
        raise NotImplementedError

    def write_ahead(self, line: Input, character: str, before: str = "") -> None:
        """Insert a character that was typed before the input line had the focus.

        Characters that the user typed later follow this character. If the line still contains the initial text `before`, the character
        replaces that text.
        """
        at = self._written
        if at == 0 and line.value == before:
            line.value = ""
        line.select_on_focus = False
        line.value = line.value[:at] + character + line.value[at:]
        line.cursor_position = len(line.value)
        self._written += 1


def room(columns: int) -> int:
    """Return the number of columns for text in a dialog on a screen with the given number of columns."""
    return max(LEAST_TEXT, min(columns * 92 // 100, WIDEST) - FRAME)


def room_below(rows: int) -> int:
    """Return the number of rows for text in a dialog on a screen with the given number of rows."""
    return rows - 2 if rows < LOW else rows * 92 // 100 - 4


def fitted(text: str, width: int, most: int) -> str:
    """Return text, broken into lines of a width, at most `most` of them. Text that does not fit ends with an ellipsis."""
    lines = [part for line in text.split("\n") for part in (wrap(line, width) if cell_len(line) > width else [line])]
    if len(lines) > most:
        lines = [*lines[: most - 1], clip(f"{lines[most - 1]} {ELLIPSIS}", width)]
    return "\n".join(lines)


class Dialog(AnsweredOnce[Result], ModalScreen[Result]):
    """The base class of all dialogs."""

    CSS_PATH = "dialogs.tcss"

    def on_resize(self) -> None:
        """Break the text of the dialog into lines again when the size of the terminal changes."""
        self.set_class(self.app.size.height < LOW, "-low")
        if self.is_mounted and self.query("#box"):
            self.lay_out(self.app.size.width, self.app.size.height)

    def lay_out(self, columns: int, rows: int) -> None:
        """Break the text of the dialog into lines for a screen of the given size. A dialog whose text Textual breaks does nothing."""


class Answered(TypeAheadScreen[Result], Dialog[Result]):
    """The base class of dialogs that the user answers with keys."""

    def on_key(self, event: events.Key) -> None:
        """Handle a key that no widget of the dialog has handled."""
        if self.take_key(event):
            event.stop()
