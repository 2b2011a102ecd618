"""A screen without a terminal. It records the messages and questions of handlers, and the test answers the questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from textual.strip import Strip

from core.lab.views.cluster_view import ClusterView
from tui.actions.context import ActionContext, Option, Question
from tui.actions.selection import Selection
from tui.main_screen.display_options import DisplayOptions
from tui.main_screen.presenter import Frame, Presenter
from tui.rendering.palette import Palette, palette_of
from tui.session.loading import load_session
from tui.session.play_target import PlayTarget


class FakeScreen:
    """A fake of the main screen, as handlers see it. `said` contains the messages, `asked` the questions with the functions that receive
    the answers, `about` the text over the last input line, and `shown` the lines of dialogs.
    """

    def __init__(self, target: PlayTarget | None = None, until: int = 0) -> None:
        self.loaded = load_session(target)
        self.session = self.loaded.session
        self.session.history.pause()
        if until:
            self.session.history.replay_run.advance_to(until)
        self.selection = Selection()
        self.selection.keep_within(self.view)
        self.presenter = Presenter(self.loaded, DisplayOptions(), self.selection)
        self.keymap = self.presenter.display.keymap
        self.paint: Palette = palette_of("dark")
        self.room = 100
        self.app: Any = self
        self.prompts = self
        self.said: list[tuple[str, bool]] = []
        self.asked: list[tuple[Question, Callable[[Option | None], None]]] = []
        self.lines: list[tuple[str, Callable[[str], str | None], Callable[[str], None]]] = []
        self.shown: list[tuple[str, Sequence[Strip]]] = []
        self.events_shown: list[int] = []
        self.followed = 0
        self.copied = self.about = ""

    @property
    def view(self) -> ClusterView:
        return self.session.history.view()

    def frame(self, **wanted: Any) -> Frame:
        session = self.session
        return Frame(session.history.view(), session.status(), session.settings(), session.history.event_buffer, **wanted)

    def context(self) -> ActionContext:
        return self.presenter.context(self.frame())

    def show_now(self) -> None: ...

    def refresh_view(self) -> None: ...

    def drop_message(self) -> None: ...

    def follow_events(self) -> None:
        self.followed += 1

    def show_event(self, seq: int) -> None:
        self.events_shown.append(seq)

    def say(self, text: str, *, refused: bool = False) -> None:
        self.said.append((text, refused))

    def ask(self, question: Question, answered: Callable[[Option | None], None], *, leaves: bool = False) -> None:
        self.asked.append((question, answered))

    def answer(self, label: str) -> None:
        """Give the answer to the last question whose label begins with the given text."""
        question, answered = self.asked.pop()
        answered(next(option for option in question.options if option.label.startswith(label)))

    def ask_text(
        self, title: str, about: str, text: str, wrong: Callable[[str], str | None], then: Callable[[str], None], *, travels: bool = False
    ) -> None:
        self.lines.append((title, wrong, then))
        self.about = about

    def fill_in(self, text: str) -> None:
        """Enter a line in the prompt that was opened last."""
        _, wrong, then = self.lines.pop()
        assert wrong(text) is None, wrong(text)
        then(text)

    def show_details(self, title: str, paint: Callable[[int], Sequence[Strip]]) -> None:
        self.shown.append((title, paint(self.room)))

    def copy_to_clipboard(self, text: str) -> None:
        self.copied = text

    def arrive(self) -> None:
        """Finish every jump through time that has started."""
        while self.session.history.task is not None:
            self.session.history.continue_task()
