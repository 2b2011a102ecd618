"""The pages besides the overview, in the order of their keys, and the page that is open."""

from __future__ import annotations

from typing import Final

from tui.pages.page import OVERVIEW, Page, PageContext
from tui.panels.tabs import Tab

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
    """The class of a page; its module is loaded when the page is opened for the first time."""
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
        case _:
            raise ValueError(f"there is no page '{name}'")


class PageStack:
    """The pages that were opened so far. `page` is the open one; None: the overview."""

    def __init__(self, context: PageContext) -> None:
        self.context = context
        self.page: Page | None = None
        self._pages: dict[str, Page] = {}

    def open(self, name: str) -> tuple[Page, bool]:
        """Opens a page; returns it, and whether it was not open before."""
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
        """Returns to the overview; returns whether a page was open."""
        if self.page is None:
            return False
        self.page.closed()
        self.page = None
        return True

    def dispose(self) -> None:
        """Releases all pages."""
        self._pages.clear()
        self.page = None
