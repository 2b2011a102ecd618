"""Computes the layout of the panels for a given screen size, in pure functions without widgets.

There are four size classes:

*minimal* (below 80×20): a few lines that change rarely.
*small* (from 80×20): all panels, with one line per broker.
*medium* (from 100×30): brokers as cards if there are enough rows, and an inspector below the events.
*wide* (from 160×30): a column on the right for the scenario, the inspector, and the totals.
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
"""The minimum number of rows of a screen that shows panels. A smaller screen shows the minimal view."""

TALL: Final = 50
"""The minimum number of rows of a wide screen that shows the picture of the cluster, and a chip for each of sixty brokers."""

MOST_PICTURED: Final = 20
"""The maximum number of brokers in the picture beside the partitions. For more brokers, the map of all partitions is there."""

MOST_MAPPED: Final = 20_000
"""The maximum number of partitions in the map beside the partitions. The screen of the map shows more."""

ROOMY: Final = 16
"""The minimum number of lines below the brokers at which the scenario panel of a small screen has five lines instead of three."""


class SizeClass(enum.StrEnum):
    """A class of screen sizes."""

    MINIMAL = "minimal"
    SMALL = "small"
    MEDIUM = "medium"
    WIDE = "wide"


@attrs.frozen(repr=False)
class Layout(ReprMixin):
    """The regions of the panels. If a panel is not shown at this size, its region is None."""

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
    totals: Region | None = None
    timeline: Region | None = None
    page: Region | None = None
    lesson: Region | None = None
    picture: Region | None = None
    partition_map: Region | None = None
    cards: bool = False
    totals_headline: bool = False
    shared: bool = False
    """Whether the inspector has only a headline and one line.

    While the events panel has the focus, the inspector also takes the scenario's region.
    """

    def with_the_cause(self) -> Layout:
        """Return the layout while the events panel has the focus.

        The inspector is larger in this layout, because a cause takes more than two lines.
        """
        if not self.shared or self.inspector is None or self.scenario is None:
            return self
        return attrs.evolve(self, inspector=self.inspector.union(self.scenario), scenario=None)

    def with_page(self, width: int, height: int) -> Layout:
        """Return the layout while a page is open in place of the panels."""
        return Layout(self.size, self.header, self.footer, self.tabs, page=Region(0, 2, width, max(0, height - 3)))


def size_class(width: int, height: int) -> SizeClass:
    """Return the size class of a screen."""
    if width < LEAST_WIDTH or height < LEAST_HEIGHT:
        return SizeClass.MINIMAL
    if width >= 160 and height >= 30:
        return SizeClass.WIDE
    return SizeClass.MEDIUM if width >= 100 and height >= 30 else SizeClass.SMALL


def arrange(width: int, height: int, *, brokers: int, partitions: int, replicas: int, scenario: bool) -> Layout:
    """Return the layout for a screen size and a cluster size.

    Args:
        width, height: the size of the screen, in cells.
        brokers, partitions: the number of brokers and partitions to show.
        replicas: the maximum number of replicas of a partition.
        scenario: whether a scenario's expectations are shown.
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
    totals_rows = 3 if cards else 2 if height >= 26 else 1
    totals = Region(0, height - 1 - totals_rows, width, totals_rows)
    room = totals.y - y
    if cards:
        least_detail, most_detail, least_events, most_grid = 3, 7 + replicas, 6 if room > 22 else 5, max(11, room * 11 // 20)
    else:
        least_detail = most_detail = COMPACT + ((5 if room >= ROOMY else 3) if scenario else 0)
        least_events, most_grid = 4, room
    grid_rows = max(3, min(2 + partitions, max(5, min(most_grid, room - least_detail - least_events))))
    detail = max(least_detail, min(most_detail, room - grid_rows - least_events))
    grid = Region(0, y, width, grid_rows)
    y += grid_rows
    events = Region(0, y, width, max(1, totals.y - detail - y))
    y += events.height
    below = Region(0, y, width, max(0, totals.y - y))
    shared = scenario and not cards
    inspector = below
    expected = below if scenario else None
    if shared:
        inspector, expected = below.split_horizontal(COMPACT)
    if scenario and cards:
        right = width * 9 // 20
        inspector, expected = Region(0, y, width - right - 1, below.height), Region(width - right, y, right, below.height)
    return Layout(
        size, header, footer, tabs, None, broker_region, grid, events, inspector, expected, totals, timeline, cards=cards, totals_headline=cards, shared=shared
    )  # fmt: skip


def _wide(width: int, height: int, header: Region, footer: Region, brokers: int, partitions: int, replicas: int, scenario: bool) -> Layout:
    side = min(78, max(58, width * 36 // 100))
    left = width - side - 1
    bottom = height - 1
    broker_rows = broker_panel.height_for(brokers, left, True, 11 if height >= TALL else 4)
    y = 2 + broker_rows
    room = bottom - y
    grid_rows = max(3, min(2 + partitions, room * 11 // 20))
    grid = Region(0, y, left, grid_rows)
    events = Region(0, y + grid_rows, left, room - grid_rows)
    x = left + 1
    tall = bottom - 2
    totals_rows = 6
    expected = picture = partition_map = None
    fits = height >= TALL and (brokers <= MOST_PICTURED or partitions <= MOST_MAPPED)
    picture_rows = min(22, tall - totals_rows - 29) if fits else 0
    y = 2
    if scenario:
        inspector_rows = min(max(10, 8 + replicas), tall // 3)
        scenario_rows = tall - totals_rows - inspector_rows - picture_rows
        expected = Region(x, y, side, scenario_rows)
        y += scenario_rows
    else:
        inspector_rows = tall - totals_rows - picture_rows
    inspector = Region(x, y, side, inspector_rows)
    if picture_rows:
        beside = Region(x, y + inspector_rows, side, picture_rows)
        picture, partition_map = (beside, None) if brokers <= MOST_PICTURED else (None, beside)
        inspector_rows += picture_rows
    totals = Region(x, y + inspector_rows, side, totals_rows)
    return Layout(
        SizeClass.WIDE, header, footer, None, None, Region(0, 2, left, broker_rows), grid, events, inspector, expected, totals,
        cards=True, totals_headline=True, picture=picture, partition_map=partition_map,
    )  # fmt: skip
