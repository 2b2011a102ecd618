"""The help dialog, which shows the terms, the symbols, and every key with its current effect."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.strip import Strip
from textual.widgets import Static

from tui.actions.all_actions import ACTIONS, MOVES
from tui.actions.custom_keys import Keymap, key_text
from tui.dialogs.dialog import CLOSE, Dialog, room
from tui.panels.timeline import LOOKS, WORDS
from tui.rendering.palette import Palette
from tui.rendering.rows import LEAST_TEXT, wrap

BESIDE: Final = 30
"""The width, in cells, of a key and its label, beside which the effect stands."""


class HelpDialog(Dialog[None]):
    """The dialog with the key, label, and effect of every action. If an action is not available, the dialog also shows why."""

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
        extra: str,
        words_and_symbols: Callable[[int], Sequence[Strip]],
        glossary: Callable[[], object],
    ) -> None:
        """Create the dialog.

        Args:
            paint, keymap: the palette, and the keys of the actions.
            reasons: for each action ID, the reason why the action is impossible now, or None if it is possible.
            words: for each action ID, a description of the effect of the action.
            extra: the text of the dialog's last line.
            words_and_symbols: a function that returns the glossary, which appears below the keys, for a width in cells.
            glossary: the function that opens the glossary in a separate dialog.
        """
        super().__init__()
        self.words_and_symbols = words_and_symbols
        self.glossary = glossary
        self.paint = paint
        self.keymap = keymap
        self.reasons = reasons
        self.words = words
        self.extra = extra

    def compose(self) -> ComposeResult:
        """Yield a box with a line for each action."""
        with VerticalScroll(id="box") as box:
            box.border_title = "Keys"
            box.border_subtitle = f"Esc: back   {self.keymap.key('glossary')}: terms and symbols   ↑ ↓: scroll"
            yield Static(self._text(room(self.app.size.width)))

    def lay_out(self, columns: int, rows: int) -> None:
        """Break the effects of the keys and the glossary into lines."""
        self.query_one(Static).update(self._text(room(columns)))

    def action_glossary(self) -> None:
        """Open the glossary in place of the help."""
        self.dismiss(None)
        self.app.call_later(self.glossary)

    def _text(self, width: int) -> Text:
        # The effect stands beside the key and its label, or below them if there is little room.
        beside = width - BESIDE >= LEAST_TEXT
        indent = BESIDE if beside else 4
        paint = self.paint
        text = Text()
        group = ""
        for action in ACTIONS:
            if action.group != group:
                group = action.group
                text.append(f"{'' if not text else chr(10)}{group}\n", paint.title_focused)
            reason = self.reasons.get(action.id)
            keys = " ".join(dict.fromkeys(key_text(key) for key in self.keymap.keys(action.id)))
            text.append(f"  {keys:<11}", paint.key if reason is None else paint.key_off)
            text.append(f"{action.label:<17}" if beside else f"{action.label}\n", paint.strong if reason is None else paint.key_off)
            said = [(line, paint.text if reason is None else paint.key_off) for line in wrap(self.words[action.id], width - indent)]
            if reason is not None:
                said += [(line, paint.muted) for line in wrap(f"unavailable: {reason}", width - indent)]
            for number, (line, style) in enumerate(said):
                text.append(("" if beside and number == 0 else " " * indent) + line + "\n", style)
        text.append("\nNavigation\n", paint.title_focused)
        for keys, what in MOVES:
            for number, line in enumerate(wrap(what, max(LEAST_TEXT, width - 18))):
                text.append(f"  {'' if number else keys:<16}", paint.key).append(f"{line}\n", paint.text)
        text.append("\nTerms and symbols", paint.title_focused).append(f"  also with {self.keymap.key('glossary')}\n", paint.muted)
        for strip in self.words_and_symbols(width):
            text.append_text(Text.assemble(*((s.text, s.style or "") for s in strip))).append("\n")
        text.append("\nMarks on the timeline\n", paint.title_focused)
        for sort, (glyph, role) in LOOKS.items():
            text.append(f"  {glyph} ", getattr(paint, role)).append(f"{WORDS[sort]}\n", paint.text)
        text.append(f"\n{self.extra}", paint.muted)
        return text
