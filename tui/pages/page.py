"""What a screen beside the overview is: a page that stands between header and footer while every key of the overview goes on working.

A page is no widget. It is asked for its lines of a given size, told of keys that move, of Enter and of clicks, and has what is
selected on it. One widget (`PagePanel`) shows whichever is open. So a page can be tested by its lines alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, Final, Protocol

from textual import events
from textual.message import Message
from textual.strip import Strip

from core.kafka.events import EventTuple
from core.kafka.ids import TopicPartition
from core.kafka.settings import Settings
from core.lab.history.branch import Branch
from core.lab.history.event_buffer import EventBuffer
from core.lab.history.playable import PlayableFactory
from core.lab.views.view import ClusterView, PartitionView
from tui.actions.context import Question, TextPrompt
from tui.actions.prompter import Prompter
from tui.actions.selection import Selection
from tui.analysis.isr_reasons import IsrReasons
from tui.panels.lines import Lines
from tui.rendering.palette import Palette
from tui.rendering.rows import Row, blank
from tui.session.loading import LoadedSession
from tui.session.play_target import PlayTarget
from tui.session.status import RunSoFar

if TYPE_CHECKING:
    from core.lab.views.durability_report import DurabilityReport
    from core.lab.views.partition_detail import PartitionDetail

OVERVIEW: Final = "overview"
"""What the screen without a page is called."""


class PageSession(Protocol):
    """What pages see of the session: frozen views, and the events in memory. `Session` says what each of these does."""

    @property
    def event_buffer(self) -> EventBuffer: ...
    @property
    def start(self) -> PlayableFactory: ...
    @property
    def branch(self) -> Branch: ...
    @property
    def branches(self) -> list[Branch]: ...

    def settings(self) -> Settings: ...
    def partition_detail(self, tp: TopicPartition) -> PartitionDetail: ...
    def durability_report(self) -> DurabilityReport: ...
    def run_so_far(self) -> RunSoFar: ...


class PageContext(Protocol):
    """What a page finds around it; the main screen provides it, and says there what each of these does."""

    @property
    def session(self) -> PageSession: ...
    @property
    def loaded(self) -> LoadedSession: ...
    @property
    def view(self) -> ClusterView: ...
    @property
    def paint(self) -> Palette: ...
    @property
    def selection(self) -> Selection: ...
    @property
    def prompts(self) -> Prompter: ...
    @property
    def isr_reasons(self) -> IsrReasons: ...

    def go_to_event(self, seq: int) -> None: ...
    def show_event(self, seq: int) -> None: ...
    def show_now(self) -> None: ...
    def call_after_refresh(self, callback: Callable[[], object]) -> bool: ...
    def start_over(self, target: PlayTarget) -> None: ...
    def put(self, question: Question | TextPrompt) -> None: ...
    def unclean_words(self, p: PartitionView) -> str: ...


class Page:
    """Base of all pages.

    Attributes:
        screen: what it finds around it.
        name: its id, as in the action that opens it.
        calm: whether it may be told anew less often than frames come while nothing but offsets changes.
        wide: whether it shows offsets of other partitions than the selected one.
        top: the first line of its content that is shown, for pages that scroll.
    """

    name: ClassVar[str] = ""
    wide: ClassVar[bool] = False
    calm: ClassVar[bool] = True

    def __init__(self, screen: PageContext) -> None:
        self.screen = screen
        self.top = 0
        self._rows = 0
        self._height = 0

    @property
    def paint(self) -> Palette:
        """The styles."""
        return self.screen.paint

    # --- what a page says of itself --------------------------------------------------------------------------------

    def lines(self, width: int, height: int) -> list[Strip]:
        """Its lines now; as many as there is height, or fewer."""
        raise NotImplementedError

    @property
    def unfinished(self) -> bool:
        """Whether it has more to work out than one frame has time for: frames go on until it has not."""
        return False

    def opened(self) -> None:
        """It comes up."""

    def closed(self) -> None:
        """Another page comes up."""

    @property
    def event(self) -> EventTuple | None:
        """The event selected on it, if it has events."""
        return None

    def select(self, seq: int) -> bool:
        """Select an event on it; False when it does not show that event."""
        return False

    # --- what it is told -------------------------------------------------------------------------------------------

    def move(self, key: str) -> bool:
        """A key that moves: `up`, `down`, `left`, `right`, `pageup`, `pagedown`, `home`; False when the page has no use for it."""
        return False

    def enter(self) -> bool:
        """Enter: the selected thing closer; False when there is nothing."""
        return False

    def click(self, x: int, y: int, meta: dict[str, object]) -> None:
        """A click at a cell of its lines; `meta` is what the clicked text carries."""

    def filter(self) -> bool:
        """The key that shows more or less; False when the page has no filter."""
        return False

    def search(self) -> bool:
        """The key that asks for a filter; False when the page has nothing to filter."""
        return False

    def follow(self) -> bool:
        """The key that follows the newest; False when the page follows nothing."""
        return False

    def back(self) -> bool:
        """Escape: one step back within the page; False when the page itself is to be left."""
        return False

    # --- scrolling -------------------------------------------------------------------------------------------------

    def window(self, content: list[Strip], height: int) -> list[Strip]:
        """The part of a long content that is shown, with a mark where more follows."""
        self._rows, self._height = len(content), height
        self.top = max(0, min(self.top, len(content) - height))
        shown = content[self.top : self.top + height]
        if shown and self.top + height < len(content):
            more = len(content) - self.top - height + 1
            width = shown[-1].cell_length
            shown[-1] = Row().add(f" ↓ {more} more lines, PgDn", self.paint.faint).strip(width)
        return shown

    def scroll(self, key: str) -> bool:
        """Move the window by a key; whether it was one of those that scroll."""
        by = {"pageup": -max(1, self._height - 2), "pagedown": max(1, self._height - 2), "home": -self._rows}.get(key)
        if by is None:
            return False
        self.top = max(0, min(self.top + by, self._rows - self._height))
        return True


class PagePanel(Lines, can_focus=True):
    """Shows a page below the line of screens."""

    class Clicked(Message):
        """The page itself was clicked and may look different now."""

    def __init__(self, paint: Palette, *, id: str) -> None:
        super().__init__(paint, id=id)
        self.page: Page | None = None

    def update(self, page: Page) -> None:
        """Show a page."""
        self.page = page
        width, height = self.box
        lines = page.lines(width, height)[:height]
        while len(lines) < height:
            lines.append(blank(width))
        self.show(lines)

    def on_click(self, event: events.Click) -> None:
        """A click is the page's."""
        if self.page is not None:
            self.page.click(event.x, event.y, event.style.meta)
            self.post_message(self.Clicked())

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """As the arrow upwards."""
        self._scrolled("up")

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """As the arrow downwards."""
        self._scrolled("down")

    def _scrolled(self, key: str) -> None:
        if self.page is not None and self.page.move(key):
            self.post_message(self.Clicked())
