"""What handlers may ask of the screen they work on. The main screen has it; a test may have a simpler one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from textual.app import App
from textual.strip import Strip

from core.lab.views.view import ClusterView
from tui.actions.context import ActionContext, Option, Question
from tui.rendering.palette import Palette


class Surface(Protocol):
    """A screen that shows a view, says something, and asks."""

    @property
    def view(self) -> ClusterView:
        """The moment that is shown."""

    @property
    def paint(self) -> Palette:
        """The styles."""

    @property
    def room(self) -> int:
        """Columns that a box over the screen has for its lines."""

    @property
    def app(self) -> App[object]:
        """The application that it is a screen of."""

    def context(self) -> ActionContext:
        """What actions are decided on."""

    def key(self, action: str) -> str:
        """The key of an action as people read it."""

    def show_now(self) -> None:
        """Show what has changed, in the view that is shown."""

    def refresh_view(self) -> None:
        """Take a new view now and show it."""

    def follow_events(self) -> None:
        """Show the newest of the events that the session has now."""

    def show_event(self, seq: int) -> None:
        """Select an event where it is best read."""

    def say(self, text: str, *, refused: bool = False) -> None:
        """Show a message in the footer for a moment."""

    def drop_message(self) -> None:
        """Take the message in the footer away."""

    def ask(self, question: Question, answered: Callable[[Option | None], None], *, leaves: bool = False) -> None:
        """Ask a question; `leaves`: it is whether to leave the playground."""

    def write(
        self, title: str, about: str, text: str, wrong: Callable[[str], str | None], then: Callable[[str], None], *, travels: bool = False
    ) -> None:
        """Ask for a line of text; `then` gets it when it is right. While somebody writes, time stands still.

        Args:
            title, about, text, wrong: of the dialog.
            then: gets the line.
            travels: whether that goes through time, and leaves it paused.
        """

    def look_closer(self, title: str, lines: Sequence[Strip]) -> None:
        """Show lines in a box over the screen."""
