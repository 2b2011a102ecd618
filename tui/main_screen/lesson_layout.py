"""The layout of the panels while a lesson runs. The lesson's panel takes the place of panels that the lesson does not point at, and covers none."""

from __future__ import annotations

from typing import Final

import attrs
from textual.geometry import Region

from scenarios.lessons.places import PlaceKind
from tui.main_screen.layout import Layout, SizeClass

ROWS: Final = 11
"""The lines of the lesson's panel on a small screen."""

ROWS_WITH_TABLE: Final = 15
"""The lines on a small screen if the lesson has a table."""

LEAST_ROWS: Final = 6
LEAST_PAGE: Final = 8
"""The minimum numbers of lines of the lesson's panel and of a page, if they share the screen."""

MORE_ROWS: Final = 16
"""The lines on a medium screen."""

LEAST_EVENTS: Final = 3
"""The minimum number of lines of the panel above the lesson, including its headline."""


def with_lesson(
    layout: Layout, width: int, height: int, *, partitions: int, table: bool, place: PlaceKind | None, page: bool, needed: int = ROWS
) -> Layout:
    """Return the layout while a lesson runs.

    Args:
        layout: the layout without a lesson.
        width, height: the size of the screen, in cells.
        partitions: the number of partitions.
        table: whether the lesson has a table.
        place: the part of the screen that the lesson points at, or None.
        page: whether a page is open.
        needed: the number of lines that the lesson needs beside a page.
    """
    if layout.size is SizeClass.MINIMAL:
        return attrs.evolve(layout, minimal=None, lesson=layout.minimal)
    if layout.size is SizeClass.WIDE:
        return _wide(layout, width, height, page)
    bottom = height - 1
    if page:
        rows = min(max(LEAST_ROWS, needed), bottom - 2 - LEAST_PAGE)
        return Layout(
            layout.size, layout.header, layout.footer, layout.tabs, page=Region(0, 2, width, bottom - 2 - rows), lesson=Region(0, bottom - rows, width, rows)
        )  # fmt: skip
    assert layout.brokers is not None
    small = layout.size is SizeClass.SMALL
    grid = Region(0, layout.brokers.bottom, width, min(2 + partitions, 5 if small else 9))
    room = bottom - grid.bottom
    wanted = MORE_ROWS if not small else ROWS_WITH_TABLE if table else ROWS
    above_needed = LEAST_EVENTS if not small or not table or place in (PlaceKind.EVENTS, PlaceKind.DETAILS) else 0
    rows = max(4, min(max(wanted, room - 12), room - above_needed))
    above = Region(0, grid.bottom, width, max(0, room - rows))
    events: Region | None = above
    inspector: Region | None = None
    if not small:
        left = width * 11 // 20
        events, inspector = Region(0, above.y, left, above.height), Region(left + 1, above.y, width - left - 1, above.height)
    elif place is PlaceKind.DETAILS:
        events, inspector = None, above
    if above.height < 2:
        events = inspector = None
    return Layout(
        layout.size, layout.header, layout.footer, layout.tabs, brokers=layout.brokers, grid=grid, events=events, inspector=inspector,
        lesson=Region(0, bottom - rows, width, rows), cards=layout.cards,
    )  # fmt: skip


def _wide(layout: Layout, width: int, height: int, page: bool) -> Layout:
    """Return the layout on a wide screen, on which the lesson is in the column on the right, in place of the picture or the map."""
    beside = layout.inspector
    assert beside is not None
    for shown in (layout.picture, layout.partition_map):
        beside = beside if shown is None else beside.union(shown)
    if page:
        return Layout(
            layout.size, layout.header, layout.footer, layout.tabs, page=Region(0, 2, beside.x - 1, height - 3), lesson=Region(beside.x, 2, beside.width, height - 3)
        )  # fmt: skip
    rows = max(8, min(30, beside.height - 10))
    return attrs.evolve(
        layout,
        lesson=Region(beside.x, beside.y, beside.width, rows),
        inspector=Region(beside.x, beside.y + rows, beside.width, beside.height - rows),
        scenario=None,
        picture=None,
        partition_map=None,
    )
