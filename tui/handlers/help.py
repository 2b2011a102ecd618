"""Shows the help and the glossary, and lets the user choose colors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from textual.strip import Strip

from tui.actions.all_actions import ACTIONS
from tui.actions.context import Option, Question
from tui.actions.custom_keys import Keymap
from tui.dialogs.help import HelpDialog
from tui.handlers.screen_interface import ScreenInterface
from tui.rendering.glossary import paint_glossary
from tui.rendering.palette import ABOUT, PALETTES
from tui.rendering.rows import Row, wrap
from tui.session.loading import LoadedSession

if TYPE_CHECKING:
    from scenarios.finding.index import Entry


@runtime_checkable
class ThemedApp(Protocol):
    """The interface through which handlers change the appearance of the application."""

    palette: str
    ascii_only: bool

    def use_palette(self, name: str) -> None:
        """Switch to a palette."""


class HelpScreens:
    """The handler for the help keys. `size_class` returns the name of the screen's size class."""

    def __init__(self, loaded: LoadedSession, screen: ScreenInterface, keymap: Keymap, size_class: Callable[[], str]) -> None:
        self.loaded = loaded
        self.screen = screen
        self.keymap = keymap
        self.size_class = size_class

    def show_help(self) -> None:
        """Show every key with its current effect."""
        context, size = self.screen.context(), self.screen.app.size
        self.screen.app.push_screen(
            HelpDialog(
                self.screen.paint,
                self.keymap,
                {a.id: a.refuse(context) for a in ACTIONS},
                {a.id: a.words(context) for a in ACTIONS},
                f"Screen {size.width}×{size.height}, {self.size_class()}.",
                self._glossary,
                self.explain,
            )
        )

    def show_glossary(self) -> None:
        """Show the meaning of words and symbols."""
        self.explain()

    def explain(self, word: str = "") -> None:
        """Show the meaning of words and symbols, starting with the given word."""
        self.screen.prompts.show_details("Terms and symbols", lambda width: self._glossary(min(120, width), word))

    def show_entry(self, entry: Entry) -> None:
        """Show what `isrlab find` knows of an entry: what it is, its title, its text, other spellings, and the command that shows it."""
        paint = self.screen.paint
        parts = [(entry.title, paint.strong), (" ".join(entry.text.split()), paint.text)]
        if entry.tags:
            parts.append((", ".join(entry.tags), paint.muted))
        if entry.command:
            parts.append((entry.command, paint.strong))

        def painted(width: int) -> list[Strip]:
            lines: list[Strip] = []
            for text, style in parts:
                if text:
                    lines += [Row().add("", paint.text).strip(width)] if lines else []
                    lines += [Row().add(line, style).strip(width) for line in wrap(text, min(100, width))]
            return lines

        self.screen.prompts.show_details(f"{entry.sort} {entry.name}", painted)

    def _glossary(self, width: int, first: str = "") -> list[Strip]:
        """Return the painted glossary for the current release."""
        return paint_glossary(self.loaded.release, self.screen.paint, width, zookeeper=self.screen.context().on_zookeeper, first=first)

    def choose_colors(self) -> None:
        """Ask which palette to use, and whether to use ASCII or glyphs. The chosen palette and characters apply only to the current
        session.
        """
        app = self.screen.app
        assert isinstance(app, ThemedApp)
        options = [
            Option(str(n), name, (), ABOUT[name] + (" ◂ current" if name == app.palette else "")) for n, name in enumerate(PALETTES, 1)
        ]
        options.append(Option("a", "glyphs" if app.ascii_only else "ASCII", (), "instead of " + ("ASCII" if app.ascii_only else "glyphs")))

        def chosen(option: Option | None) -> None:
            if option is None:
                return
            if option.key == "a":
                app.ascii_only = not app.ascii_only
                self.screen.app.refresh()
            else:
                app.use_palette(option.label)
            self.screen.refresh_view()

        self.screen.prompts.ask(Question("Colors", "In every palette, each state has its own glyph or word.", tuple(options)), chosen)
