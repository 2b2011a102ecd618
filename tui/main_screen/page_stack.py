"""The pages other than the overview, in the order of their keys, and the open page."""

from __future__ import annotations

from typing import Final

from core.kafka.transaction.transaction_log import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from core.lab.views.cluster_view import ClusterView
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
    ("transactions", "Transactions", "Txns"),
    ("groups", "Groups", "Groups"),
)
"""All pages in the order of their keys, which start at 2 and end with 0.

Each page has a name, a label for its tab, and a shorter label for narrow screens.
"""

LESSONS: Final = "lessons"
"""The page of lessons. Its tab appears only while it is open."""

NEEDS: Final = {"transactions": TRANSACTION_STATE_TOPIC, "groups": GROUP_METADATA_TOPIC}
"""For each page whose tab appears only after a certain topic has been created, the name of this topic."""

TABS: Final[tuple[Tab, ...]] = (
    ("1", "Overview", "Overview", OVERVIEW),
    *((str(number % 10), label, brief, f"screen-{name}") for number, (name, label, brief) in enumerate(PAGES, start=2)),
    ("L", "Lessons", "Lessons", f"screen-{LESSONS}"),
)
"""The tabs of all screens."""


def tabs_of(view: ClusterView, page: str | None) -> tuple[Tab, ...]:
    """Return the tabs to show. If the cluster has no transactions or no groups, the tab of the corresponding page is left out unless that
    page is open.
    """
    topics = {topic.name for topic in view.topics}
    empty = {f"screen-{name}" for name, topic in NEEDS.items() if topic not in topics and name != page}
    if page != LESSONS:
        empty.add(f"screen-{LESSONS}")
    return tuple(tab for tab in TABS if tab[3] not in empty)


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
