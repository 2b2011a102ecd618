"""The dialog with a question and its answers."""

from __future__ import annotations

import contextlib
from typing import ClassVar, Final

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option as ListOption

from scenarios.io.escaping import escape_value
from tui.actions.context import Option, Question
from tui.dialogs.dialog import LEAVE, PICTURE, Answered
from tui.rendering.palette import Palette
from tui.rendering.rows import wrap
from tui.terminal.foreign_text import plain_text

FRAME: Final = 10
"""The total width, in cells, of the border, the margins, and the scroll bar of a question."""

LEAST_ROOM: Final = 20
"""The minimum width, in cells, of a note beside its answer. If the space beside the answer is narrower, the note is on its own lines below
the answer.
"""


class Answers(OptionList):
    """The list of answers to a question. The list can be empty."""

    def _move_page(self, direction: int) -> None:
        with contextlib.suppress(LookupError):  # Textual's list cannot scroll by a page before its first layout, or if it is empty
            super()._move_page(direction)  # type: ignore[arg-type]


class QuestionDialog(Answered[Option | None]):
    """The dialog with a question.

    The user answers with the key of an answer, with the arrow keys and Enter, or with the mouse. Escape cancels.
    """

    BINDINGS: ClassVar[list[Binding | tuple[str, str] | tuple[str, str, str]]] = [
        Binding("escape", "dismiss(None)", "cancel", show=False),
        LEAVE,
        PICTURE,
    ]

    def __init__(self, question: Question, paint: Palette, *, asks_to_leave: bool = False) -> None:
        """Create the dialog. `asks_to_leave` is True if the question asks whether to quit the playground."""
        super().__init__()
        self.question = question
        self.asks_to_leave = asks_to_leave
        self.paint = paint

    def compose(self) -> ComposeResult:
        """Yield a box with the question and its answers."""
        paint = self.paint
        options = self.question.options
        widest = max((len(escape_value(option.label)) for option in options), default=0)
        room = self.app.size.width * 92 // 100 - FRAME - 3 - widest - 2
        rows = []
        for number, option in enumerate(options):
            possible = option.refused is None
            text = Text(no_wrap=True, overflow="ellipsis")
            text.append(f" {option.key or ' '} ", paint.key if possible else paint.key_off)
            note, label = escape_value(option.refused or option.note), escape_value(option.label)
            # A note that does not fit is wrapped beside its answer, or below the answer if there is little room. It is never cut.
            beside = len(note) <= room or room >= LEAST_ROOM
            text.append(label.ljust(widest + 2 if beside else 0), paint.text if possible else paint.key_off)
            indent = widest + 5 if beside else 5
            lines = wrap(note, room if beside else room + widest) if len(note) > room else [note]
            text.append(
                ("" if beside else "\n" + " " * indent) + ("\n" + " " * indent).join(lines), paint.muted if possible else paint.key_off
            )
            rows.append(ListOption(text, id=str(number), disabled=not possible))
        with Vertical(id="box") as box:
            box.border_title = plain_text(self.question.title)
            box.border_subtitle = "Esc: cancel"
            room = self.app.size.width * 92 // 100 - FRAME
            about = [part for line in self.question.about.split("\n") for part in (wrap(line, room) if len(line) > room else [line])]
            yield Static(plain_text("\n".join(about)), id="about")
            yield Answers(*rows, id="options")

    def on_mount(self) -> None:
        """Highlight the first possible answer."""
        if self.is_abandoned:
            return
        options = self.query_one(OptionList)
        options.highlighted = next((n for n, option in enumerate(self.question.options) if option.refused is None), None)
        options.focus()

    def take_key(self, event: events.Key) -> bool:
        """Choose the answer that has this key. Return False if no answer has the key."""
        for option in self.question.options:
            if option.key and event.character == option.key:
                self.dismiss(option)
                return True
        return False

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Choose the answer that the user selected with Enter or a click."""
        event.stop()
        self.dismiss(self.question.options[int(event.option.id or 0)])
