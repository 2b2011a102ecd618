"""Messages in the footer, and dialogs over the screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from textual.app import App
from textual.strip import Strip

from tui.actions.context import Option, Question
from tui.dialogs.details import DetailsDialog
from tui.dialogs.question import QuestionDialog
from tui.dialogs.text_line import TextLineDialog
from tui.panels.footer import FooterMessage
from tui.rendering.palette import Palette
from tui.session.session import Session

MESSAGE_SECONDS: Final = 5.0
"""How long a message stays in the footer, in seconds."""


class PromptScreen(Protocol):
    """The screen on which messages and dialogs appear."""

    @property
    def app(self) -> App[object]: ...
    @property
    def paint(self) -> Palette: ...

    def show_now(self) -> None: ...
    def refresh_view(self) -> None: ...
    def set_timer(self, delay: float, callback: Callable[[], None]) -> object: ...


class Prompts:
    """The messages and dialogs of a screen. `message` is the message in the footer, or None."""

    def __init__(self, session: Session, screen: PromptScreen) -> None:
        self.session = session
        self.screen = screen
        self.message: FooterMessage | None = None

    def say(self, text: str, *, refused: bool = False) -> None:
        """Show a message in the footer for `MESSAGE_SECONDS`."""
        self.message = message = FooterMessage(text, refused)
        self.screen.set_timer(MESSAGE_SECONDS, lambda: self._unsay(message))
        self.screen.show_now()

    def drop_message(self) -> None:
        """Remove the message from the footer."""
        if self.message is not None:
            self.message = None
            self.screen.show_now()

    def _unsay(self, message: FooterMessage) -> None:
        if self.message is message:
            self.drop_message()

    def ask(self, question: Question, answered: Callable[[Option | None], None], *, leaves: bool = False) -> None:
        """Ask a question. `leaves` is True if the question asks whether to quit the playground."""
        self.screen.app.push_screen(QuestionDialog(question, self.screen.paint, asks_to_leave=leaves), answered)

    def ask_text(
        self, title: str, about: str, text: str, wrong: Callable[[str], str | None], then: Callable[[str], None], *, travels: bool = False
    ) -> None:
        """Ask for a line of text. Virtual time is paused while the dialog is open.

        Args:
            title: the heading of the dialog.
            about: the description of the input.
            text: the initial text.
            wrong: a function that returns a message about an error in the text, or None if the text is valid.
            then: the function that is called with the text when the text is valid.
            travels: whether `then` goes to another moment of the session, where the session stays paused.
        """
        session = self.session
        playing = session.playback.playing
        if playing:
            session.history.pause()
            self.screen.show_now()

        def written(answer: str | None) -> None:
            if playing and not session.playback.moving and (answer is None or not travels):
                session.playback.play()
            if answer is not None:
                then(answer)
            self.screen.refresh_view()

        self.screen.app.push_screen(TextLineDialog(title, about, text, wrong, self.screen.paint), written)

    def show_details(self, title: str, paint: Callable[[int], Sequence[Strip]]) -> None:
        """Show lines in a dialog. The function `paint` returns the lines for a width in cells, again after each resize."""
        self.screen.app.push_screen(DetailsDialog(title, paint))
