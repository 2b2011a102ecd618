"""The dialog with a question and its answers."""

from __future__ import annotations

import contextlib
from typing import ClassVar, Final

from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option as ListOption

from scenarios.io.escaping import escape_value
from tui.actions.context import Option, Question
from tui.dialogs.dialog import LEAVE, PICTURE, Answered, fitted, room, room_below
from tui.rendering.palette import Palette
from tui.rendering.rows import LEAST_TEXT, wrap
from tui.terminal.foreign_text import plain_text

MARGIN: Final = 3
"""The width, in cells, that a question needs in addition to the frame of a dialog, so that its list has no horizontal scroll bar."""

LEAST_ANSWERS: Final = 4
"""The number of rows of answers that the question leaves room for."""


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
        with Vertical(id="box") as box:
            box.border_title = plain_text(self.question.title)
            box.border_subtitle = "Esc: cancel"
            yield Static(id="about")
            yield Answers(
                *(
                    ListOption("", id=str(number), disabled=option.refused is not None)
                    for number, option in enumerate(self.question.options)
                ),
                id="options",
            )

    def lay_out(self, columns: int, rows: int) -> None:
        """Break the question and its answers into lines."""
        answers = self._answers(columns)
        free = room_below(rows) - 1  # One line stands between the question and the answers.
        most = max(1, free - min(LEAST_ANSWERS, sum(text.plain.count("\n") + 1 for text in answers)))
        about = fitted(self.question.about, room(columns) - MARGIN, most)
        self.query_one("#about", Static).update(plain_text(about))
        options = self.query_one(Answers)
        options.styles.max_height = max(1, free - about.count("\n") - 1)
        for number, text in enumerate(answers):
            options.replace_option_prompt_at_index(number, text)
        options.refresh(layout=True)

    def _answers(self, columns: int) -> list[Text]:
        """Return the text of each answer.

        The note of an answer stands beside its label. If there is little room, the notes stand below the labels. Neither is ever cut.
        """
        paint, options = self.paint, self.question.options
        width = room(columns) - MARGIN - 3
        widest = max((cell_len(escape_value(option.label)) for option in options), default=0)
        beside = width - widest - 2
        texts = []
        for option in options:
            possible = option.refused is None
            note, label = escape_value(option.refused or option.note), escape_value(option.label)
            text = Text(no_wrap=True, overflow="ellipsis")
            text.append(f" {option.key or ' '} ", paint.key if possible else paint.key_off)
            style, note_style = (paint.text, paint.muted) if possible else (paint.key_off, paint.key_off)
            if cell_len(note) <= beside or beside >= LEAST_TEXT:
                lines = wrap(note, beside) if cell_len(note) > beside else [note]
                text.append(label.ljust(widest + 2), style).append(("\n" + " " * (widest + 5)).join(lines), note_style)
            else:
                text.append("\n   ".join(wrap(label, width)), style)
                text.append("".join(f"\n     {line}" for line in wrap(note, width - 2)), note_style)
            texts.append(text)
        return texts

    def on_mount(self) -> None:
        """Highlight the first possible answer."""
        if self.is_abandoned:
            return
        self.lay_out(*self.app.size)
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
