"""The base of all pages. A page is shown between the header and the footer. All keys of the overview also work on a page.

A page is not a widget. A page returns its lines for a given size, handles keys and clicks, and keeps track of the selected event. The
widget `PagePanel` shows the open page. Therefore, tests can check the lines of a page without a widget.

A page with a list can have a filter: the key / asks for the words of the filter, and Esc clears the filter. The list shows only entries that
contain every word.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final, Protocol

from textual import events
from textual.message import Message
from textual.strip import Strip

from core.kafka.events import EventTuple
from core.kafka.settings.settings import Settings
from core.lab.history.history import History
from core.lab.history.playable import ClusterReports
from core.lab.views.cluster_view import ClusterView
from core.lab.views.partition_view import PartitionView
from tui.actions.context import Question, TextPrompt
from tui.actions.prompter import Prompter
from tui.actions.selection import Selection
from tui.analysis.isr_reasons import IsrReasons
from tui.panels.lines import Lines
from tui.rendering.palette import Palette
from tui.rendering.rows import Row, blank, wrap
from tui.session.loading import LoadedSession
from tui.session.play_target import PlayTarget
from tui.session.status import RunSoFar

OVERVIEW: Final = "overview"
"""The name of the screen that is shown if no page is open."""


class PageSession(Protocol):
    """The part of the session that pages use: its reports, and its history with the events in memory. `Session` documents each member."""

    @property
    def reports(self) -> ClusterReports: ...
    @property
    def history(self) -> History: ...

    def settings(self) -> Settings: ...
    def run_so_far(self) -> RunSoFar: ...


class PageContext(Protocol):
    """The interface through which a page uses the main screen. The main screen implements and documents each member of this interface."""

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

    def open_page(self, name: str) -> None: ...
    def go_to_event(self, seq: int) -> None: ...
    def show_event(self, seq: int) -> None: ...
    def show_now(self) -> None: ...
    def refresh_view(self) -> None: ...
    def call_after_refresh(self, callback: Callable[[], object]) -> bool: ...
    def start_over(self, target: PlayTarget) -> None: ...
    def put(self, question: Question | TextPrompt) -> None: ...
    def unclean_words(self, p: PartitionView) -> str: ...


class Page:
    """Base class of all pages.

    Attributes:
        screen: the interface to the main screen.
        name: the id of the page, which the action that opens the page also uses.
        calm: whether the page can skip some frames while only offsets change.
        wide: whether the page shows the offsets of partitions other than the selected one.
        top: the index of the first line shown, for pages that scroll.
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

    # --- the state of a page ---------------------------------------------------------------------------------------

    def lines(self, width: int, height: int) -> list[Strip]:
        """Return the lines of the page, at most `height` lines."""
        raise NotImplementedError

    @property
    def unfinished(self) -> bool:
        """Whether the page needs more frames to finish its work."""
        return False

    def opened(self) -> None:
        """Called when the page is opened."""

    def closed(self) -> None:
        """Called when another page or the overview replaces this page."""

    @property
    def event(self) -> EventTuple | None:
        """The event that is selected on the page, or None."""
        return None

    def select(self, seq: int) -> bool:
        """Select an event. Return False if the page does not show the given event."""
        return False

    # --- keys and clicks -------------------------------------------------------------------------------------------

    def move(self, key: str) -> bool:
        """Handle `up`, `down`, `left`, `right`, `pageup`, `pagedown`, or `home`. Return False if the page does not use the key."""
        return False

    def enter(self) -> bool:
        """Handle Enter, which opens the selected entry. Return False if there is nothing to open."""
        return False

    def click(self, x: int, y: int, meta: dict[str, object]) -> None:
        """Handle a click at a cell of the page. `meta` is the metadata of the clicked text."""

    def what_if(self) -> None:
        """Ask for a setting that is different in another run. Only the page that compares runs does this."""

    def filter(self) -> bool:
        """Handle the key that changes how much is shown. Return False if the page does not use the key."""
        return False

    def search(self) -> bool:
        """Handle the key that asks for a filter. Return False if the page has nothing to filter."""
        return False

    def follow(self) -> bool:
        """Handle the key for following the newest event. Return False if the page does not follow events."""
        return False

    def takes(self, action: str) -> bool:
        """Handle the key of an action that means something else on this page. Return False if it means the same as everywhere."""
        return False

    def back(self) -> bool:
        """Handle Escape by going one step back within the page. Return False if the screen must close the page."""
        return False

    # --- scrolling -------------------------------------------------------------------------------------------------

    def window(self, content: list[Strip], height: int) -> list[Strip]:
        """Return the visible lines of the content. If more lines follow, the last visible line shows their number."""
        self._rows, self._height = len(content), height
        self.top = max(0, min(self.top, len(content) - height))
        shown = content[self.top : self.top + height]
        if shown and self.top + height < len(content):
            more = len(content) - self.top - height + 1
            width = shown[-1].cell_length
            shown[-1] = Row().add(f" ↓ {more} more lines, PgDn", self.paint.faint).strip(width)
        return shown

    def scroll(self, key: str) -> bool:
        """Scroll the content. Return False if the key does not scroll."""
        by = {"pageup": -max(1, self._height - 2), "pagedown": max(1, self._height - 2), "home": -self._rows}.get(key)
        if by is None:
            return False
        self.top = max(0, min(self.top + by, self._rows - self._height))
        return True


class PagePanel(Lines, can_focus=True):
    """The widget that shows a page, below the tabs."""

    class Clicked(Message):
        """The message that the panel sends after a click or a scroll, because the content of the page may have changed."""

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
        """Pass the click to the page."""
        if self.page is not None:
            self.page.click(event.x, event.y, event.style.meta)
            self.post_message(self.Clicked())

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Handle scrolling up in the same way as the up arrow key."""
        self._scrolled("up")

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Handle scrolling down in the same way as the down arrow key."""
        self._scrolled("down")

    def _scrolled(self, key: str) -> None:
        if self.page is not None and self.page.move(key):
            self.post_message(self.Clicked())


# --- pages with a filter -------------------------------------------------------------------------------------------


def has_words(text: str, wanted: str) -> bool:
    """Return whether text contains every wanted word, regardless of case."""
    text = text.lower()
    return all(word in text for word in wanted.lower().split())


def no_match(what: str, wanted: str, paint: Palette, width: int) -> list[Strip]:
    """Paint what a list says if its filter leaves nothing: `what` does not match, for example `setting`, and how to leave the filter."""
    said = f"No {what} matches '{wanted}'. To change the filter, press /. To clear the filter, press Esc."
    return [Row().add(f" {line}", paint.warn).strip(width) for line in wrap(said, width - 2)]


class FilteredPage(Page):
    """Base class of pages with a filter.

    Attributes:
        what: a plural noun for the listed entries.
        words: a description of the words that the filter accepts, with examples.
        wanted: the words of the filter; if empty, the list shows all entries.
    """

    what: ClassVar[str] = ""
    words: ClassVar[str] = ""

    wanted = ""

    def search(self) -> bool:
        """Ask for the words of the filter."""

        def take(text: str) -> None:
            self.wanted = text
            self.screen.show_now()

        self.screen.prompts.ask_text(
            f"Filter {self.what}", f"{self.words}. To show everything, leave the line empty.", self.wanted, lambda _: None, take
        )
        return True

    def back(self) -> bool:
        """Clear the filter. Return False if there is no filter to clear."""
        if self.wanted:
            self.wanted = ""
            return True
        return False
