"""The handler for keys whose meaning depends on the focused panel or the open page, and for keys that switch between panels and pages."""

from __future__ import annotations

from typing import Final, Protocol

from core.kafka.events import DETAIL, NORMAL, NOTABLE
from core.kafka.ids import TopicPartition
from core.sim.events import first_cause
from tui.actions.selection import Selection
from tui.dialogs.dialog import WIDEST
from tui.handlers.cause_finder import CauseFinder
from tui.handlers.screen_interface import ScreenInterface
from tui.main_screen.layout import SizeClass
from tui.main_screen.page_stack import PageStack
from tui.main_screen.panel_set import PanelSet
from tui.main_screen.presenter import Frame
from tui.pages.page import Page
from tui.panels.scenario import paint_scenario
from tui.session.session import Session

_LEVELS: Final = (NOTABLE, NORMAL, DETAIL)


class PanelScreen(ScreenInterface, Protocol):
    """A screen that consists of panels."""

    def frame(self) -> Frame:
        """Return the current frame."""

    def rearrange(self) -> None:
        """Lay out the panels and show the changes."""


class Navigation:
    """The handler for keys that move between panels, between pages, and between rows."""

    def __init__(
        self, session: Session, screen: PanelScreen, selection: Selection, panels: PanelSet, pages: PageStack, cause_finder: CauseFinder
    ) -> None:
        self.session = session
        self.screen = screen
        self.selection = selection
        self.panels = panels
        self.pages = pages
        self.cause_finder = cause_finder

    def move(self, key: str) -> None:
        """Move the selection in response to an arrow key: left and right for brokers, up and down for partitions or events."""
        if self.pages.page is not None and self.pages.page.move(key):
            pass
        elif self.panels.timeline.has_focus and key in ("left", "right"):
            self.panels.timeline.move(1 if key == "right" else -1, self.screen.view.seq)
        elif key in ("left", "right"):
            self.selection.move_broker(1 if key == "right" else -1, self.panels.brokers.order or [b.id for b in self.screen.view.brokers])
        elif self.panels.events.has_focus:
            rows = max(1, self.panels.events.box.height - 2)
            self.panels.events.move({"up": -1, "down": 1, "pageup": -rows, "pagedown": rows, "home": -self.panels.events.rows.total}[key])
        elif self.panels.brokers.has_focus and key == "down":
            self.panels.grid.focus()
        else:
            rows = max(1, self.panels.grid.box.height - 3)
            by = {"up": -1, "down": 1, "pageup": -rows, "pagedown": rows, "home": -len(self.screen.view.partitions)}[key]
            self.selection.move_partition(by, [p.tp for p in self.panels.grid.order])
        self.screen.show_now()

    def select_by_name(self, partition: TopicPartition | None = None, broker: int | None = None) -> None:
        """Select a partition or broker, and remove any filter that hides the selection."""
        self.selection.choose(partition, broker)
        if self.selection.words and (
            partition not in {None, *(p.tp for p in self.panels.grid.order)} or broker not in {None, *self.panels.brokers.order}
        ):
            self.filter_by("")
            self.selection.choose(partition, broker)
        if self.selection.filter_name and partition not in {None, *(p.tp for p in self.panels.grid.order)}:
            self.selection.filter_name = ""
        self.screen.show_now()
        if self.pages.page is None:
            (self.panels.grid if broker is None else self.panels.brokers).focus()

    def next_level(self) -> None:
        """Switch the event log to the next level."""
        if self.pages.page is None or not self.pages.page.filter():
            level = _LEVELS[(_LEVELS.index(self.panels.events.level) + 1) % len(_LEVELS)]
            self.panels.events.use(self.session.history.event_buffer.ring(level), level)
        self.screen.show_now()

    def follow(self) -> None:
        """Follow the newest event."""
        if self.pages.page is None or not self.pages.page.follow():
            self.panels.events.follow()
        self.screen.show_now()

    def zoom(self) -> None:
        """Show the selected item in full."""
        if self.pages.page is not None:
            if self.pages.page.enter():
                self.screen.show_now()
            return
        if self.panels.timeline.has_focus:
            self.cause_finder.time_travel.go_to_mark(self.panels.timeline.mark)
            return
        if self.panels.events.has_focus and self.panels.events.toggle():
            self.screen.show_now()
            return
        frame, paint, presenter = self.screen.frame(), self.screen.paint, self.panels.presenter
        state = self.panels.presenter.loaded.scenario()
        if self.panels.layout is not None and self.panels.layout.shared and not self.panels.events.has_focus and state is not None:
            self.screen.prompts.show_details(
                "Scenario", lambda width: paint_scenario(state, paint, (width, 8 + 6 * len(state.expectations)))
            )
            return
        everything = self.panels.shows_everything
        title, _, _ = presenter.selected_in_full(frame, paint, WIDEST, everything=everything)
        self.screen.prompts.show_details(title, lambda width: presenter.selected_in_full(frame, paint, width, everything=everything)[1])

    def to_cause(self) -> None:
        """Go from the selected event to its cause, or from a value to the event that last changed the value."""
        context = self.screen.context()
        event = context.event
        if event is None or not (context.page or context.focus == "events"):
            self.cause_finder.ask_for_reading()
        elif self.pages.page is not None and self.pages.page.select(first_cause(event)):
            self.screen.show_now()
        else:
            self.cause_finder.show_or_go_back(first_cause(event))

    def search(self) -> None:
        """Ask for words to filter by."""
        if self.pages.page is None:
            self.screen.prompts.ask_text(
                "Filter partitions, brokers, and events",
                "Enter words that must all match, for example b55, offline, orders-, dead, truncated, or #120. To show everything, leave the line empty.",
                self.selection.words,
                lambda _: None,
                self.filter_by,
            )
        elif not self.pages.page.search():
            self.screen.prompts.say("this screen has nothing to filter", refused=True)

    def filter_by(self, words: str) -> None:
        """List only rows that contain the given words, and move the selection to a listed partition and a listed broker."""
        self.selection.words = " ".join(words.split())
        self.panels.events.filter_by(self.selection.words)
        self.screen.show_now()
        self.selection.move_into([p.tp for p in self.panels.grid.order], self.panels.brokers.order)
        self.screen.show_now()

    def back(self) -> None:
        """Cancel the running task. Without one, go one step back: within the page, from the page to the overview, or from the filtered list
        to the unfiltered list.
        """
        if self.session.history.task is not None:
            self.session.history.cancel_task()
            self.screen.refresh_view()
        elif self.pages.page is None and self.selection.words:
            self.filter_by("")
        elif self.pages.page is None or not self.pages.page.back():
            self.leave_page()
        else:
            self.screen.show_now()

    def open_page(self, name: str) -> Page:
        """Open a page."""
        page, other = self.pages.open(name)
        if other:
            self.screen.rearrange()
            self.panels.page_panel.focus()
        if self.panels.layout is not None and self.panels.layout.size is SizeClass.MINIMAL:
            self.screen.prompts.say("enlarge the terminal to 80×20 to see it", refused=True)
        self.screen.show_now()
        if page.unfinished:
            self.screen.refresh_view()
        return page

    def what_if(self) -> None:
        """Open the page that compares runs, and ask for a setting that is different in another run."""
        page = self.open_page("compare")
        page.what_if()

    def leave_page(self) -> None:
        """Return to the overview."""
        if self.pages.close():
            self.screen.rearrange()
            self.panels.grid.focus()
        self.screen.show_now()

    def show_event(self, seq: int) -> None:
        """Select an event on the open page if possible, otherwise in the event log."""
        for level in (self.panels.events.level, *_LEVELS):
            if level > self.panels.events.level:
                continue
            ring = self.session.history.event_buffer.ring(level)
            if ring.index_of(seq) is not None:
                self.leave_page()
                self.panels.events.use(ring, level)
                self.panels.events.go_to(seq)
                self.panels.events.focus()
                return
        self.screen.prompts.say(f"event {seq} is no longer in memory; to go back to it, press g and enter #{seq}", refused=True)
