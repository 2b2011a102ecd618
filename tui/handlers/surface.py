"""What handlers may ask of the screen they work on. The main screen has it; a test may have a simpler one."""

from __future__ import annotations

from typing import Protocol

from textual.app import App

from core.lab.views.view import ClusterView
from tui.actions.context import ActionContext
from tui.actions.prompter import Prompter
from tui.rendering.palette import Palette


class Surface(Protocol):
    """A screen that shows a view, says something, and asks."""

    @property
    def prompts(self) -> Prompter:
        """Says and asks on it."""

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
