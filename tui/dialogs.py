"""What comes up over the main screen: a question, a closer look, the help."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, Final, Generic, TypeVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding
from textual.command import CommandList, CommandPalette
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen, Screen
from textual.strip import Strip
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option as ListOption

from scenarios.visible import visible
from tui.actions.context import Option, Question
from tui.actions.keymap import Keymap, written
from tui.actions.registry import ACTIONS, MOVES
from tui.panels.timeline import LOOKS, WORDS
from tui.rendering.palette import Palette
from tui.rendering.rows import wrap
from tui.terminal.foreign_text import words

PICTURE: Final = Binding("P", "app.picture", show=False, id="picture")
"""As on the main screen, with the dialog in it."""

LEAVE: Final = Binding("ctrl+c", "app.leave", show=False, priority=True)
"""Before a line to write in takes it for copying."""

CLOSE: Final[list[Binding | tuple[str, str] | tuple[str, str, str]]] = [
    Binding("escape,q,enter", "dismiss", "close", show=False),
    LEAVE,
    PICTURE,
]


FRAME: Final = 10
"""Cells of a question's width that its border, its margins and a scroll bar take."""

LEAST_ROOM: Final = 20
"""Cells that the words beside an answer need, to be written on several lines."""

Given = TypeVar("Given")


if TYPE_CHECKING:
    AScreen = Screen
else:
    AScreen = Generic  # Textual asks the first of a screen's bases for its styles: that is to be one of its own


class AnsweredOnce(AScreen[Given]):
    """A screen over the main one that is answered once: keys of the same read that come after the answer find nothing to answer."""

    _answered = False

    @property
    def is_abandoned(self) -> bool:
        """Whether the playground was left before all of this screen was built."""
        return not self.query("Input, OptionList")

    def dismiss(self, result: Given | None = None) -> AwaitComplete:
        """Give the answer and go; does nothing after that, or while another screen stands over this one."""
        if self._answered or self.app.screen is not self:
            return AwaitComplete()
        self._answered = True
        return super().dismiss(result)


class TypedAhead(AnsweredOnce[Given]):
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


class Dialog(AnsweredOnce[Given], ModalScreen[Given]):
    """Base of all dialogs."""

    CSS_PATH = "dialogs.tcss"


class Answered(TypedAhead[Given], Dialog[Given]):
    """Base of dialogs that are answered by keys."""

    def on_key(self, event: events.Key) -> None:
        """A key that nothing on it has a use for."""
        if self.take_key(event):
            event.stop()


class Found(CommandList):
    """What the palette has found."""

    async def _on_click(self, event: events.Click) -> None:
        """A click at an answer that is still seen, but listed no more, is at nothing; Textual's list fails at it."""
        answer = event.style.meta.get("option")
        if answer is not None and answer >= self.option_count:
            event.prevent_default()


class Finder(TypedAhead[None], CommandPalette):
    """Textual's command palette: letters typed while it came up are in its line."""

    BINDINGS: ClassVar = [LEAVE]

    writes: ClassVar[bool] = True

    def compose(self) -> ComposeResult:
        """As Textual has it, with a list of our own."""
        for widget in super().compose():
            yield Found() if type(widget) is CommandList else widget

    def _action_command_list(self, command: str) -> None:
        with contextlib.suppress(LookupError):  # Textual's list fails at a page of what is not laid out yet
            super()._action_command_list(command)

    def take_key(self, event: events.Key) -> bool:
        """A letter."""
        if not event.is_printable or event.character is None:
            return False
        self.write_ahead(self.query_one(Input), event.character)
        return True


class Answers(OptionList):
    """The answers to a question; there may be none."""

    def _move_page(self, direction: int) -> None:
        with contextlib.suppress(LookupError):  # Textual's list fails at a page of what is not laid out yet, or of nothing
            super()._move_page(direction)  # type: ignore[arg-type]


class Ask(Answered[Option | None]):
    """A question: an answer by its key, or with the arrows and Enter, or by mouse. Escape asks nothing."""

    BINDINGS: ClassVar[list[Binding | tuple[str, str] | tuple[str, str, str]]] = [
        Binding("escape", "dismiss(None)", "never mind", show=False),
        LEAVE,
        PICTURE,
    ]

    def __init__(self, question: Question, paint: Palette, *, asks_to_leave: bool = False) -> None:
        """Ask; `asks_to_leave` says that it is whether to leave the playground."""
        super().__init__()
        self.question = question
        self.asks_to_leave = asks_to_leave
        self.paint = paint

    def compose(self) -> ComposeResult:
        """A box with the question and its answers."""
        paint = self.paint
        options = self.question.options
        widest = max((len(visible(option.label)) for option in options), default=0)
        room = self.app.size.width * 92 // 100 - FRAME - 3 - widest - 2
        rows = []
        for number, option in enumerate(options):
            possible = option.refused is None
            text = Text(no_wrap=True, overflow="ellipsis")
            text.append(f" {option.key or ' '} ", paint.key if possible else paint.key_off)
            note, label = visible(option.refused or option.note), visible(option.label)
            # Where it does not fit it goes on below itself, or below the answer; what is said of an answer is never cut.
            beside = len(note) <= room or room >= LEAST_ROOM
            text.append(label.ljust(widest + 2 if beside else 0), paint.text if possible else paint.key_off)
            indent = widest + 5 if beside else 5
            lines = wrap(note, room if beside else room + widest) if len(note) > room else [note]
            text.append(
                ("" if beside else "\n" + " " * indent) + ("\n" + " " * indent).join(lines), paint.muted if possible else paint.key_off
            )
            rows.append(ListOption(text, id=str(number), disabled=not possible))
        with Vertical(id="box") as box:
            box.border_title = words(self.question.title)
            box.border_subtitle = "Esc: never mind"
            yield Static(words(self.question.about), id="about")
            yield Answers(*rows, id="options")

    def on_mount(self) -> None:
        """The first possible answer is chosen at the start."""
        if self.is_abandoned:
            return
        options = self.query_one(OptionList)
        options.highlighted = next((n for n, option in enumerate(self.question.options) if option.refused is None), None)
        options.focus()

    def take_key(self, event: events.Key) -> bool:
        """An answer's own key chooses it."""
        for option in self.question.options:
            if option.key and event.character == option.key:
                self.dismiss(option)
                return True
        return False

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Enter or a click."""
        event.stop()
        self.dismiss(self.question.options[int(event.option.id or 0)])


class Write(Answered[str | None]):
    """Asks for a line of text; what is wrong with it is said below while one types. Escape writes nothing."""

    writes: ClassVar[bool] = True

    BINDINGS: ClassVar[list[Binding | tuple[str, str] | tuple[str, str, str]]] = [
        Binding("escape", "dismiss(None)", "never mind", show=False),
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
            box.border_title = words(self._heading)
            box.border_subtitle = "Enter: do it   Esc: never mind"
            yield Static(words(self._about), id="about")
            yield Input(self._text, id="text", select_on_focus=True)
            yield Static("", id="wrong")

    def on_mount(self) -> None:
        """The line has the keys."""
        if not self.is_abandoned:
            self.query_one(Input).focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Say what is wrong so far, once something is written."""
        text = event.value.strip()
        self.query_one("#wrong", Static).update(words((self._wrong(text) or "") if text else "", self.paint.warn))

    def _submit(self) -> None:
        """Take it, if it is right."""
        text = self.query_one(Input).value.strip()
        wrong = self._wrong(text)
        if wrong is None:
            self.dismiss(text)
        else:
            self.query_one("#wrong", Static).update(words(wrong, self.paint.warn))


class Closer(Dialog[None]):
    """The selected thing in full, scrollable."""

    BINDINGS: ClassVar = [*CLOSE, Binding("y", "app.copy_shown", show=False, id="copy")]

    def __init__(self, title: str, lines: Sequence[Strip]) -> None:
        super().__init__()
        self._heading = title
        self._lines = lines

    def compose(self) -> ComposeResult:
        """A box with the lines."""
        text = Text("\n").join(Text.assemble(*((s.text, s.style or "") for s in line)) for line in self._lines)
        text.no_wrap = True
        with VerticalScroll(id="box") as box:
            box.border_title = words(self._heading)
            box.border_subtitle = "Esc: back"
            yield Static(text)

    @property
    def text(self) -> str:
        """All of it without its colours."""
        return "\n".join(line.text.rstrip() for line in self._lines)


class Help(Dialog[None]):
    """Every key with what it does, from the registry; those impossible now with the reason."""

    BINDINGS: ClassVar[list[Binding | tuple[str, str] | tuple[str, str, str]]] = [
        *CLOSE,
        Binding("question_mark,f1", "dismiss", show=False),
        Binding("K", "glossary", show=False, id="glossary"),
    ]

    def __init__(
        self,
        paint: Palette,
        keymap: Keymap,
        reasons: dict[str, str | None],
        words: dict[str, str],
        width: int,
        extra: str,
        words_and_symbols: Sequence[Strip],
        glossary: Callable[[], object],
    ) -> None:
        """Tell the keys.

        Args:
            paint, keymap: the styles and the keys.
            reasons, words: by action, why it is impossible now or None, and what it does.
            width: cells of a line.
            extra: the last line.
            words_and_symbols: the glossary, below the keys.
            glossary: opens it by itself.
        """
        super().__init__()
        self.words_and_symbols = words_and_symbols
        self.glossary = glossary
        self.paint = paint
        self.keymap = keymap
        self.reasons = reasons
        self.words = words
        self.width = width
        self.extra = extra

    def compose(self) -> ComposeResult:
        """A box with a line per action."""
        with VerticalScroll(id="box") as box:
            box.border_title = "Keys"
            box.border_subtitle = f"{self.keymap.key('glossary')}: words and symbols   ↑ ↓: scroll   Esc: back"
            yield Static(self._text())

    def action_glossary(self) -> None:
        """The words and symbols instead."""
        self.dismiss(None)
        self.app.call_later(self.glossary)

    def _text(self) -> Text:
        paint = self.paint
        text = Text()
        group = ""
        for action in ACTIONS:
            if action.group != group:
                group = action.group
                text.append(f"{'' if not text else chr(10)}{group}\n", paint.title_focused)
            reason = self.reasons.get(action.id)
            keys = " ".join(dict.fromkeys(written(key) for key in self.keymap.keys(action.id)))
            text.append(f"  {keys:<11}", paint.key if reason is None else paint.key_off)
            text.append(f"{action.label:<17}", paint.strong if reason is None else paint.key_off)
            said = [(line, paint.text if reason is None else paint.key_off) for line in wrap(self.words[action.id], self.width - 30)]
            if reason is not None:
                said += [(line, paint.muted) for line in wrap(f"now: {reason}", self.width - 30)]
            for number, (line, style) in enumerate(said):
                text.append(("" if number == 0 else " " * 30) + line + "\n", style)
        text.append("\nMoving about\n", paint.title_focused)
        for keys, what in MOVES:
            text.append(f"  {keys:<16}", paint.key).append(f"{what}\n", paint.text)
        text.append("\nWords and symbols", paint.title_focused).append(f"  also with {self.keymap.key('glossary')}\n", paint.muted)
        for strip in self.words_and_symbols:
            text.append_text(Text.assemble(*((s.text, s.style or "") for s in strip))).append("\n")
        text.append("\nMarks on the timeline\n", paint.title_focused)
        for sort, (glyph, role) in LOOKS.items():
            text.append(f"  {glyph} ", getattr(paint, role)).append(f"{WORDS[sort]}\n", paint.text)
        text.append(f"\n{self.extra}", paint.muted)
        return text
