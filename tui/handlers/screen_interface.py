"""The interface through which handlers use the screen.

The main screen implements this interface, and tests can provide a simpler implementation.
"""

from __future__ import annotations

from typing import Protocol

from textual.app import App

from core.lab.views.cluster_view import ClusterView
from tui.actions.context import ActionContext
from tui.actions.custom_keys import Keymap
from tui.actions.prompter import Prompter
from tui.rendering.palette import Palette


class ScreenInterface(Protocol):
    """A screen that shows a view, messages, and questions."""

    @property
    def prompts(self) -> Prompter:
        """The object through which handlers show messages and ask questions."""

    @property
    def view(self) -> ClusterView:
        """The view of the cluster that is on the screen."""

    @property
    def paint(self) -> Palette:
        """The styles."""

    @property
    def app(self) -> App[object]:
        """The application that shows the screen."""

    @property
    def keymap(self) -> Keymap:
        """The keys of the actions."""

    def context(self) -> ActionContext:
        """Return the context for actions."""

    def show_now(self) -> None:
        """Update the parts of the screen that differ from the current view."""

    def refresh_view(self) -> None:
        """Take a new view and show it."""

    def follow_events(self) -> None:
        """Select the newest event of the session."""

    def show_event(self, seq: int) -> None:
        """Select an event on the open page if possible, otherwise in the event log."""
