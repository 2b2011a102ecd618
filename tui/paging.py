"""Opening and leaving the screens beside the overview, and handing them the keys. Which there are, in the order of their keys, stands here."""

from __future__ import annotations

from typing import Final

from core.kafka.errors import KafkaError
from core.kafka.events import DETAIL, NORMAL, NOTABLE
from scenarios.play_target import PlayTarget
from tui.layout import SizeClass
from tui.panels.tabs import Tab, Tabs
from tui.screen import MainScreen
from tui.screens.page import OVERVIEW, Page, PagePanel

PAGES: Final = (
    ("partition", "Partition", "Partition"),
    ("lane", "Messages", "Lane"),
    ("metrics", "Metrics", "Metrics"),
    ("durability", "Durability", "Harm"),
    ("settings", "Settings", "Settings"),
    ("scenarios", "Scenarios", "Library"),
    ("compare", "Compare", "Compare"),
)
"""Every page, in the order of the keys from 2 on: its name, one word for the line of screens, and a shorter one where there is little room."""

TABS: Final[tuple[Tab, ...]] = (
    ("1", "Overview", "Overview", OVERVIEW),
    *((str(number), label, brief, f"screen-{name}") for number, (name, label, brief) in enumerate(PAGES, start=2)),
)
"""The line of screens."""


def page_type(name: str) -> type[Page]:
    """The page of that name. What it is made of is loaded when it is opened for the first time."""
    match name:
        case "partition":
            from tui.screens.partition import PartitionPage

            return PartitionPage
        case "lane":
            from tui.screens.lane import LanePage

            return LanePage
        case "metrics":
            from tui.screens.metrics import MetricsPage

            return MetricsPage
        case "durability":
            from tui.screens.durability import DurabilityPage

            return DurabilityPage
        case "settings":
            from tui.screens.settings import SettingsPage

            return SettingsPage
        case "scenarios":
            from tui.screens.scenarios import ScenariosPage

            return ScenariosPage
        case "compare":
            from tui.screens.compare import ComparePage

            return ComparePage
        case _:
            raise ValueError(f"there is no page '{name}'")


class Paging(MainScreen):
    """The part of the main screen that has pages."""

    _pages: dict[str, Page]

    def open_page(self, name: str) -> Page:
        """Open a page, or have it open already."""
        page = self._pages.get(name)
        if page is None:
            page = self._pages[name] = page_type(name)(self)
        if self.page is not page:
            if self.page is not None:
                self.page.closed()
            self.page = page
            page.opened()
            self._rearrange()
            self.page_panel.focus()
        if self._layout_now is not None and self._layout_now.size is SizeClass.MINIMAL:
            self.say("that screen needs 80×20; it comes up when there is room", refused=True)
        self.show_now()
        if page.unfinished:
            self.refresh_view()
        return page

    def leave_page(self) -> None:
        """Back to the overview."""
        if self.page is not None:
            self.page.closed()
            self.page = None
            self._rearrange()
            self.grid.focus()
        self.show_now()

    def show_event(self, seq: int) -> None:
        """Select an event where it is best read: on the open page if it can, otherwise in the overview's log."""
        for level in (self.events.level, NOTABLE, NORMAL, DETAIL):
            if level > self.events.level:
                continue
            ring = self.session.rings.of(level)
            if ring.index_of(seq) is not None:
                self.leave_page()
                self.events.use(ring, level)
                self.events.go_to(seq)
                self.events.focus()
                return
        self.say(f"event {seq} is no longer in memory; g and #{seq} goes back to it", refused=True)

    def _leave_page_now(self) -> None:
        self.leave_page()

    def start_over(self, target: PlayTarget) -> None:
        """End this session and open another; acts that are not saved are not thrown away unasked."""
        self.session.pause()
        self.unless_unsaved("Start another session", "start it", "g", lambda: self.call_later(self._open_in_its_place, target))

    def _open_in_its_place(self, target: PlayTarget) -> None:
        try:
            self.app.open_target(target)  # type: ignore[attr-defined]
        except (KafkaError, ValueError) as wrong:
            self.say(str(wrong), refused=True)

    def _search(self) -> None:
        if self.page is None:
            self.write(
                "Filter partitions, brokers and events",
                "Words that all have to be there, for example b55, offline, orders-, dead, truncated, #120; empty shows all.",
                self._words,
                lambda _: None,
                self._look_for,
            )
        elif not self.page.search():
            self.say("this screen has nothing to filter", refused=True)

    def _look_for(self, words: str) -> None:
        """List only what has these words; the selection goes to a partition and a broker that are listed."""
        self._words = " ".join(words.split())
        self.events.look_for(self._words)
        self.show_now()
        partitions, brokers = [p.tp for p in self.grid.order], self.brokers.order
        if partitions and self.chosen not in partitions:
            self.choose(partition=partitions[0])
        if brokers and self.chosen_broker not in brokers:
            self.choose(broker=brokers[0])
        self.show_now()

    def _back(self) -> None:
        if self.page is None and self._words:
            self._look_for("")
        elif self.page is None or not self.page.back():
            self.leave_page()
        else:
            self.show_now()

    def on_tabs_chosen(self, message: Tabs.Chosen) -> None:
        """A screen was clicked in the line of screens."""
        if message.action == OVERVIEW:
            self.leave_page()
        else:
            self.open_page(message.action.removeprefix("screen-"))

    def on_page_panel_clicked(self, message: PagePanel.Clicked) -> None:
        """The page itself was clicked."""
        self.show_now()
