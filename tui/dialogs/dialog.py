"""What all dialogs share: they are answered once, and get the keys that were pressed while they came up."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, Generic, TypeVar

from textual import events
from textual.await_complete import AwaitComplete
from textual.binding import Binding
from textual.screen import ModalScreen, Screen
from textual.widgets import Input

PICTURE: Final = Binding("P", "app.picture", show=False, id="picture")
"""As on the main screen, with the dialog in it."""

LEAVE: Final = Binding("ctrl+c", "app.leave", show=False, priority=True)
"""Before a line to write in takes it for copying."""

CLOSE: Final[list[Binding | tuple[str, str] | tuple[str, str, str]]] = [
    Binding("escape,q,enter", "dismiss", "close", show=False),
    LEAVE,
    PICTURE,
]

Result = TypeVar("Result")


if TYPE_CHECKING:
    AScreen = Screen
else:
    AScreen = Generic  # Textual asks the first of a screen's bases for its styles: that is to be one of its own


class AnsweredOnce(AScreen[Result]):
    """A screen over the main one that is answered once: keys of the same read that come after the answer find nothing to answer."""

    _answered = False

    @property
    def is_abandoned(self) -> bool:
        """Whether the playground was left before all of this screen was built."""
        return not self.query("Input, OptionList")

    def dismiss(self, result: Result | None = None) -> AwaitComplete:
        """Give the answer and go; does nothing after that, or while another screen stands over this one."""
        if self._answered or self.app.screen is not self:
            return AwaitComplete()
        self._answered = True
        return super().dismiss(result)


class TypeAheadScreen(AnsweredOnce[Result]):
    """A screen that comes up and is meant by keys pressed meanwhile. They come by another way, from what had the keys before."""

    writes: ClassVar[bool] = False
    """Whether it has a line to write in."""

    _early: tuple[events.Key, ...] = ()
    _stands = False
    _written = 0

    def on_mount(self) -> None:
        """What was pressed before it stood. Textual calls this after what a dialog of that kind does when it is mounted."""
        self._stands = not self.is_abandoned
        for event in self._early if self._stands else ():
            self.take_key(event)

    def pressed_ahead(self, event: events.Key) -> bool:
        """A key came by another way; whether there is a use for it here."""
        if self._stands and self.is_abandoned:
            return False
        if self._stands:
            return self.take_key(event)
        self._early = (*self._early, event)
        return True

    def paste_ahead(self, text: str) -> bool:
        """A text was pasted before a line had the keys; whether this screen has one, which then takes the text's first line."""
        if not self.writes:
            return False
        for character in text.splitlines()[0] if text else "":
            self.pressed_ahead(events.Key(character, character))
        return True

    def take_key(self, event: events.Key) -> bool:
        """Take a key; False when there is no use for it."""
        raise NotImplementedError

    def write_ahead(self, line: Input, character: str, before: str = "") -> None:
        """Write a character that came before the line had the keys: what came since stands behind it, `before`, which stood there, goes."""
        at = self._written
        if at == 0 and line.value == before:
            line.value = ""
        line.select_on_focus = False
        line.value = line.value[:at] + character + line.value[at:]
        line.cursor_position = len(line.value)
        self._written += 1


class Dialog(AnsweredOnce[Result], ModalScreen[Result]):
    """Base of all dialogs."""

    CSS_PATH = "dialogs.tcss"


class Answered(TypeAheadScreen[Result], Dialog[Result]):
    """Base of dialogs that are answered by keys."""

    def on_key(self, event: events.Key) -> None:
        """A key that nothing on it has a use for."""
        if self.take_key(event):
            event.stop()
