"""What every group of actions finds on the main screen: the session, the view, and the ways to say and ask something."""

from __future__ import annotations

from collections.abc import Callable

from textual.screen import Screen

from core.ids import TopicPartition
from core.view import ClusterView
from tui import dialogs
from tui.palette import Palette
from tui.panels.events import EventLog
from tui.session import Session
from tui.situation import Situation
from tui.target import Stage


class MainScreen(Screen[None]):
    """Base of the main screen. `view` is the moment shown; `left` are moments that were left, as (words, view), newest last."""

    session: Session
    stage: Stage
    paint: Palette
    view: ClusterView
    events: EventLog
    left: list[tuple[str, ClusterView]]

    @property
    def chosen(self) -> TopicPartition | None:
        """The selected partition."""
        raise NotImplementedError

    def say(self, text: str, *, refused: bool = False) -> None:
        """Show a message in the footer for a moment."""
        raise NotImplementedError

    def refresh_view(self) -> None:
        """Take a new view now and show it."""
        raise NotImplementedError

    def situation(self) -> Situation:
        """What actions are decided on."""
        raise NotImplementedError

    def write(self, title: str, about: str, text: str, wrong: Callable[[str], str | None], then: Callable[[str], None]) -> None:
        """Ask for a line of text; `then` gets it when it is right."""

        def written(answer: str | None) -> None:
            if answer is not None:
                then(answer)

        self.app.push_screen(dialogs.Write(title, about, text, wrong, self.paint), written)

    @property
    def room(self) -> int:
        """Columns that a box over the screen has for its lines."""
        return max(20, min(self.app.size.width * 92 // 100 - 7, 149))
