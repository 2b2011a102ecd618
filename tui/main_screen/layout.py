"""Where each panel stands on a screen of a given size: one pure function, no widget.

Four classes of size. *minimal* (below 80×20): a few calm lines. *small* (80×24): everything, one line per broker.
*medium* (from 100 columns): brokers as cards where rows allow, an inspector below the events. *wide* (from 160
columns): a column at the right for scenario, inspector and account.
"""

from __future__ import annotations

import enum
from typing import Final

import attrs
from textual.geometry import Region

from core.sim.repr_mixin import ReprMixin
from tui.panels import brokers as broker_panel
from tui.panels.inspector import COMPACT
from tui.panels.timeline import height_for as timeline_height

LEAST_WIDTH: Final = 80
LEAST_HEIGHT: Final = 20
"""Below this the minimal view is shown."""

ROOMY: Final = 16
"""Lines below the brokers of a small screen from which on a scenario has five of them, and otherwise three."""


class SizeClass(enum.StrEnum):
    """How much room there is."""

    MINIMAL = "minimal"
    SMALL = "small"
    MEDIUM = "medium"
    WIDE = "wide"


@attrs.frozen(repr=False)
class Layout(ReprMixin):
    """The regions of the panels; None: not shown at this size."""

    size: SizeClass
    header: Region
    footer: Region
    tabs: Region | None = None
    minimal: Region | None = None
    brokers: Region | None = None
    grid: Region | None = None
    events: Region | None = None
    inspector: Region | None = None
    scenario: Region | None = None
    account: Region | None = None
    timeline: Region | None = None
    page: Region | None = None
    cards: bool = False
    account_headline: bool = False
    shared: bool = False
    """The inspector is its headline and a line below it, and takes the scenario's place, too, while the events have the keys."""

    def with_the_cause(self) -> Layout:
        """The same screen while the events have the keys: why one happened takes more than two lines."""
        if not self.shared or self.inspector is None or self.scenario is None:
            return self
        return attrs.evolve(self, inspector=self.inspector.union(self.scenario), scenario=None)

    def with_page(self, width: int, height: int) -> Layout:
        """The same screen while a page stands in place of the panels."""
        return Layout(self.size, self.header, self.footer, self.tabs, page=Region(0, 2, width, max(0, height - 3)))


def size_class(width: int, height: int) -> SizeClass:
    """The class of a screen."""
    if width < LEAST_WIDTH or height < LEAST_HEIGHT:
        return SizeClass.MINIMAL
    if width >= 160 and height >= 30:
        return SizeClass.WIDE
    return SizeClass.MEDIUM if width >= 100 and height >= 30 else SizeClass.SMALL


def arrange(width: int, height: int, *, brokers: int, partitions: int, replicas: int, scenario: bool) -> Layout:
    """The layout for a screen of that size and a cluster of that many brokers and partitions.

    Args:
        width, height: of the screen, in cells.
        brokers, partitions: how many there are to show.
        replicas: of the partition that has most.
        scenario: whether there are expectations to show.
    """
    size = size_class(width, height)
    header = Region(0, 0, width, min(1, height))
    footer = Region(0, max(0, height - 1), width, 1 if height > 1 else 0)
    if size is SizeClass.MINIMAL:
        return Layout(size, header, footer, minimal=Region(0, 1, width, max(0, height - 2)))
    tabs = Region(0, 1, width, 1)
    strip = timeline_height(height)
    timeline = Region(0, height - 1 - strip, width, strip)
    height -= strip
    if size is SizeClass.WIDE:
        return attrs.evolve(_wide(width, height, header, footer, brokers, partitions, replicas, scenario), tabs=tabs, timeline=timeline)
    cards = size is SizeClass.MEDIUM
    y = 2
    broker_rows = broker_panel.height_for(brokers, width, cards)
    broker_region = Region(0, y, width, broker_rows)
    y += broker_rows
    account_rows = 3 if cards else 2 if height >= 26 else 1
    account = Region(0, height - 1 - account_rows, width, account_rows)
    room = account.y - y
    if cards:
        least_detail, most_detail, least_events, most_grid = 3, 7 + replicas, 6 if room > 22 else 5, max(11, room * 11 // 20)
    else:
        least_detail = most_detail = COMPACT + ((5 if room >= ROOMY else 3) if scenario else 0)
        least_events, most_grid = 4, room
    grid_rows = max(3, min(2 + partitions, max(5, min(most_grid, room - least_detail - least_events))))
    detail = max(least_detail, min(most_detail, room - grid_rows - least_events))
    grid = Region(0, y, width, grid_rows)
    y += grid_rows
    events = Region(0, y, width, max(1, account.y - detail - y))
    y += events.height
    below = Region(0, y, width, max(0, account.y - y))
    shared = scenario and not cards
    inspector = below
    expected = below if scenario else None
    if shared:
        inspector, expected = below.split_horizontal(COMPACT)
    if scenario and cards:
        right = width * 9 // 20
        inspector, expected = Region(0, y, width - right - 1, below.height), Region(width - right, y, right, below.height)
    return Layout(
        size, header, footer, tabs, None, broker_region, grid, events, inspector, expected, account, timeline, cards=cards, account_headline=cards, shared=shared
    )  # fmt: skip


def _wide(width: int, height: int, header: Region, footer: Region, brokers: int, partitions: int, replicas: int, scenario: bool) -> Layout:
    side = min(78, max(58, width * 36 // 100))
    left = width - side - 1
    bottom = height - 1
    broker_rows = broker_panel.height_for(brokers, left, True)
    y = 2 + broker_rows
    room = bottom - y
    grid_rows = max(3, min(2 + partitions, room * 11 // 20))
    grid = Region(0, y, left, grid_rows)
    events = Region(0, y + grid_rows, left, room - grid_rows)
    x = left + 1
    tall = bottom - 2
    account_rows = 6
    expected = None
    if scenario:
        inspector_rows = min(max(10, 8 + replicas), tall // 3)
        scenario_rows = tall - account_rows - inspector_rows
        expected = Region(x, 2, side, scenario_rows)
        y = 2 + scenario_rows
    else:
        inspector_rows, y = tall - account_rows, 2
    inspector = Region(x, y, side, inspector_rows)
    account = Region(x, y + inspector_rows, side, account_rows)
    return Layout(
        SizeClass.WIDE, header, footer, None, None, Region(0, 2, left, broker_rows), grid, events, inspector, expected, account,
        cards=True, account_headline=True,
    )  # fmt: skip
