"""Begins searches for what can go wrong from the present moment, and shows what they find, as they find it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from tui.handlers.screen_interface import ScreenInterface
from tui.session.loading import LoadedSession
from tui.session.session_search import GOAL

if TYPE_CHECKING:
    from textual.timer import Timer

PAGE: Final = "explore"
"""The name of the page with the search."""

LOOKED_EVERY: Final = 0.25
"""How often the screen asks the search what is new, in seconds."""


class Exploring:
    """The handler for the search of a session."""

    def __init__(self, loaded: LoadedSession, screen: ScreenInterface, open_page: Callable[[str], object]) -> None:
        self.search = loaded.search
        self.screen = screen
        self._open_page = open_page
        self._goal = GOAL
        self._timer: Timer | None = None

    def explore(self) -> None:
        """Show the search; if it is on the screen, or if there is none, ask for the goal of a new one."""
        if self.search.beside is not None and self.screen.context().page != PAGE:
            self._open_page(PAGE)
            return
        about = (
            "Enter a condition, for example lost > 0, offline > 0, stalled(orders-0) > 0, or leader(orders-0) == none. isrlab searches for the "
            "fewest faults that make it true, from this moment on. The session itself does not change."
        )
        self.screen.prompts.ask_text(
            "What can go wrong? Search for the faults that make this true", about, self._goal, self._wrong, self._begin
        )

    def _wrong(self, goal: str) -> str | None:
        try:
            self.search.check(goal)
        except ValueError as wrong:
            return str(wrong)
        return None

    def _begin(self, goal: str) -> None:
        self._goal = goal
        self.search.begin(goal)
        self._open_page(PAGE)
        if self._timer is None:
            self._timer = self.screen.app.set_interval(LOOKED_EVERY, self.look)
        self._timer.resume()

    def look(self) -> None:
        """Show what is new."""
        beside = self.search.beside
        if beside is None:
            return
        before = len(beside.found)
        anything = beside.poll()
        if beside.ended and self._timer is not None:
            self._timer.pause()
        if not anything:
            return
        if self.screen.context().page == PAGE:
            self.screen.show_now()
        elif len(beside.found) > before:
            found = beside.found[-1]
            self.screen.prompts.say(f"found: {found.acts}: {found.value}; to see it, press {self.screen.keymap.key('screen-explore')}")
        elif beside.ended:
            self.screen.prompts.say(beside.failed or "the search has ended", refused=bool(beside.failed))
