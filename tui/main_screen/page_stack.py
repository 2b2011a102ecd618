"""The pages other than the overview, in the order of their keys, and the open page."""

from __future__ import annotations

from typing import Final

from tui.pages.page import OVERVIEW, Page, PageContext
from tui.panels.tabs import Tab

PAGES: Final = (
    ("2", "partition", "Partition"),
    ("3", "lane", "Messages"),
    ("4", "metrics", "Metrics"),
    ("5", "durability", "Durability"),
    ("6", "settings", "Settings"),
    ("7", "scenarios", "Scenarios"),
    ("8", "compare", "Compare"),
    ("9", "transactions", "Transactions"),
    ("0", "groups", "Groups"),
    ("*", "topology", "Topology"),
    ("#", "map", "Map"),
    ("L", "lessons", "Lessons"),
    ("!", "explore", "Explore"),
)
"""All pages in the order of their tabs: the key, the name, and the label of each page."""

TABS: Final[tuple[Tab, ...]] = (("1", "Overview", OVERVIEW), *((key, label, f"screen-{name}") for key, name, label in PAGES))
"""The tabs of all screens."""


def page_type(name: str) -> type[Page]:
    """Return the class of a page. The module of the class is imported when the page is first opened."""
    match name:
        case "partition":
            from tui.pages.partition import PartitionPage

            return PartitionPage
        case "lane":
            from tui.pages.messages import MessagesPage

            return MessagesPage
        case "metrics":
            from tui.pages.metrics import MetricsPage

            return MetricsPage
        case "durability":
            from tui.pages.durability import DurabilityPage

            return DurabilityPage
        case "settings":
            from tui.pages.settings import SettingsPage

            return SettingsPage
        case "scenarios":
            from tui.pages.scenarios import ScenariosPage

            return ScenariosPage
        case "compare":
            from tui.pages.compare import ComparePage

            return ComparePage
        case "transactions":
            from tui.pages.transactions import TransactionsPage

            return TransactionsPage
        case "groups":
            from tui.pages.groups import GroupsPage

            return GroupsPage
        case "lessons":
            from tui.lessons.lessons_page import LessonsPage

            return LessonsPage
        case "explore":
            from tui.exploration.exploration_page import ExplorationPage

            return ExplorationPage
        case "topology":
            from tui.maps.topology_page import TopologyPage

            return TopologyPage
        case "map":
            from tui.maps.map_page import MapPage

            return MapPage
        case _:
            raise ValueError(f"there is no page '{name}'")


class PageStack:
    """The pages that have been opened so far. `page` is the page that is open now, or None for the overview."""

    def __init__(self, context: PageContext) -> None:
        self.context = context
        self.page: Page | None = None
        self._pages: dict[str, Page] = {}

    def open(self, name: str) -> tuple[Page, bool]:
        """Open a page. Return the page, and whether this call opened it."""
        page = self._pages.get(name)
        if page is None:
            page = self._pages[name] = page_type(name)(self.context)
        if self.page is page:
            return page, False
        if self.page is not None:
            self.page.closed()
        self.page = page
        page.opened()
        return page, True

    def close(self) -> bool:
        """Close the open page and show the overview. Return whether a page was open."""
        if self.page is None:
            return False
        self.page.closed()
        self.page = None
        return True

    def dispose(self) -> None:
        """Remove all pages, so that their memory can be freed."""
        self._pages.clear()
        self.page = None
