"""The interface of a screen that handlers work on. The main screen implements it; a test may have a simpler one."""

from __future__ import annotations

from typing import Protocol

from textual.app import App

from core.lab.views.view import ClusterView
from tui.actions.context import ActionContext
from tui.actions.prompter import Prompter
from tui.rendering.palette import Palette


class ScreenInterface(Protocol):
    """A screen that shows a view, messages and questions."""

    @property
    def prompts(self) -> Prompter:
        """Shows messages and questions."""

    @property
    def view(self) -> ClusterView:
        """The view on the screen."""

    @property
    def paint(self) -> Palette:
        """The styles."""

    @property
    def room(self) -> int:
        """Columns for the lines of a box over the screen."""

    @property
    def app(self) -> App[object]:
        """The application of the screen."""

    def context(self) -> ActionContext:
        """The context in which actions decide."""

    def key(self, action: str) -> str:
        """The key of an action, as people read it."""

    def show_now(self) -> None:
        """Shows what has changed in the present view."""

    def refresh_view(self) -> None:
        """Takes a new view and shows it."""

    def follow_events(self) -> None:
        """Selects the newest event of the session."""

    def show_event(self, seq: int) -> None:
        """Selects an event where it is easiest to read."""
