"""Paints the screen with the replication models from frozen views: a block for each system, a table of counts, the history, and the help."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs
from rich.style import Style
from textual.strip import Strip

from core.lab.model_comparison.live import LiveEvent, LiveView
from core.lab.model_comparison.table import COLUMNS, COPY_COLUMNS, COPY_MEANINGS, MEANINGS
from core.models.server import CopyView
from core.sim.units import SECOND
from tui.rendering.palette import Palette
from tui.rendering.rows import LEAST_TEXT, Row, blank, fit, rule, wrap

WIDE: Final = 160
"""The minimum width at which all systems fit side by side."""

TALL: Final = 36
"""The minimum height at which two rows of systems fit."""

WINDOW: Final = 40
"""The smallest number of database rows that a full-width bar stands for."""

KEYS: Final = (
    ("Space n", "Space: play or pause; n: advance by 20 ms"),
    ("k", "kill the primary's process in all systems"),
    ("z", "pause the primary's process in all systems"),
    ("i", "cut the primary off, together with clients a and ra, in all systems"),
    ("s h", "repair everything: heal links, resume and start processes"),
    ("r w", "r: restart; w: restart with weaker or stronger settings"),
    ("+ -", "play faster or slower"),
    ("← → Tab", "select a system"),
    ("<", "show the events that led to the latest harm in the selected system"),
    ("t", "table: harm to clients, or risks and costs of copies"),
    ("? Esc q", "?: open or close this help; Esc: back; q: quit"),
)
"""The keys of the screen, each with its effect."""

GLYPHS: Final = (
    "a bar shows rows: █ seen by readers of the copy, ▓ acknowledged but not seen, ▒ stored but not acknowledged, · missing; "
    "disk: rows that survive a loss of power"
)
"""The glyphs of a bar and the numbers below it."""

FOOTER: Final = (
    ("Space", "play"), ("n", "step"), ("k", "kill"), ("z", "pause"), ("i", "cut off"), ("s", "repair"), ("w", "weaker"), ("<", "why"), ("t", "table"), ("?", "help"),
    ("q", "quit"), ("r", "restart"), ("+ -", "speed"), ("Tab", "next system"),
)  # fmt: skip
"""The keys in the last line, the most important ones first."""


@attrs.frozen
class Scene:
    """The state from which the screen is painted.

    Attributes:
        views: the views of the systems.
        playing, speed: whether virtual time advances, and the number of virtual seconds per wall second.
        said: the sentence about the latest action, or a hint at the start and at the end.
        selected: the index of the selected system.
        history: the events that led to the latest harm in the selected system; None if they are not shown.
        help: whether the help is visible.
        copies: whether the table shows the copies instead of the harm to clients.
    """

    views: tuple[LiveView, ...]
    playing: bool = False
    speed: float = 1
    said: str = ""
    selected: int = 0
    history: tuple[LiveEvent, ...] | None = None
    help: bool = False
    copies: bool = False


def paint_scene(scene: Scene, width: int, height: int, paint: Palette) -> list[Strip]:
    """Return the lines of the whole screen."""
    said = wrap(scene.said, width - 2) or [""]
    top = [_header(scene, width, paint), *(Row().add(f" {line}", paint.strong).strip(width) for line in said)]
    if scene.help:
        return _filled(top + help_lines(width, paint, copies=scene.copies), width, height - 1, paint)
    if scene.history is not None:
        return _filled(top + history_lines(scene.views[scene.selected], scene.history, width, paint), width, height - 1, paint)
    table = table_lines(scene, width, paint)
    room = height - len(top) - len(table) - 1
    return _filled([*top, *_blocks(scene, width, room, paint), *table], width, height - 1, paint)


def _filled(lines: list[Strip], width: int, height: int, paint: Palette) -> list[Strip]:
    lines = lines[:height]
    return [*lines, *[blank(width)] * (height - len(lines)), _footer(width, paint)]


def _footer(width: int, paint: Palette) -> Strip:
    """Return the keys that fit into the last line."""
    row = Row()
    for key, what in FOOTER:
        if not row.fits(f" {key} {what}", width):
            break
        row.add(f" {key} ", paint.key).add(what, paint.muted)
    return row.strip(width)


def _header(scene: Scene, width: int, paint: Palette) -> Strip:
    now = scene.views[0].now
    state = "▶ playing" if scene.playing else "‖ paused"
    row = Row().add(" isrlab ", paint.brand).add("  one workload, the same faults  ", paint.muted)
    return row.add(f"{now / SECOND:8.3f} s  ", paint.number).add(f"{state} ×{scene.speed:g}", paint.strong).strip(width)


def _blocks(scene: Scene, width: int, height: int, paint: Palette) -> list[Strip]:
    """Return the lines of the systems' blocks. Depending on the size of the screen, there are four columns, two rows of two blocks, or only
    the two blocks of the pair that contains the selected system, or only its block."""
    count = len(scene.views)
    if width >= WIDE:
        groups = [range(count)]
    elif (width - 1) // 2 - 2 < LEAST_TEXT:
        groups = [range(scene.selected, scene.selected + 1)]
    elif height + len(scene.views) + 5 >= TALL:
        groups = [range(first, min(first + 2, count)) for first in range(0, count, 2)]
    else:
        first = scene.selected // 2 * 2
        groups = [range(first, min(first + 2, count))]
    lines: list[Strip] = []
    for number, group in enumerate(groups):
        tall = height // len(groups) + (height % len(groups) if number == len(groups) - 1 else 0)
        each = (width - len(group) + 1) // len(group)
        columns = [block_lines(scene.views[index], each, tall, paint, is_selected=index == scene.selected) for index in group]
        for parts in zip(*columns, strict=True):
            row = Row()
            for place, part in enumerate(parts):
                row.add("│" if place else "", paint.faint).put(tuple(part), part.cell_length)
            lines.append(row.strip(width))
    return lines


def block_lines(view: LiveView, width: int, height: int, paint: Palette, *, is_selected: bool) -> list[Strip]:
    """Return the lines of a system: its primary, a bar for each copy, the cause of the harm, and the latest events."""
    title = f"{'► ' if is_selected else ''}{view.title}"
    lines = [rule(title, "", width, paint.title_focused if is_selected else paint.title, paint.faint, paint.muted)]
    primary = f" ★ primary: {view.primary}" if view.primary else " ✕ no primary"
    lines.append(Row().add(primary, paint.leader if view.primary else paint.bad).strip(width))
    end = max((max(copy.stored, copy.visible) for copy in view.copies), default=0)
    least = min((min(copy.stored, copy.visible) for copy in view.copies), default=0)
    span = max(WINDOW, (end - least) * 5 // 4)
    for copy in view.copies:
        lines += copy_lines(copy, max(0, end - span), end, width, paint, is_primary=copy.name == view.primary)
    style = paint.alarm if view.is_harmed else paint.text
    most = (height - len(lines)) * 3 // 4 if view.is_harmed else (height - len(lines)) // 2
    lines += [Row().add(f" {line}", style).strip(width) for line in wrap(view.why, width - 2)[: max(3, most)]]
    room = height - len(lines)
    told: list[Strip] = []
    for event in reversed(view.events):
        found = event_lines(event, width, paint)
        if len(told) + len(found) > room:
            break
        told = [*found, *told]
    lines += told
    return [*lines[:height], *[blank(width)] * (height - len(lines))]


def copy_lines(copy: CopyView, start: int, end: int, width: int, paint: Palette, *, is_primary: bool) -> list[Strip]:
    """Return the two lines of a copy: a bar, and the numbers of rows that are durable, acknowledged, and visible."""
    mark = "★" if is_primary else "●" if copy.running else "✕"
    role = copy.role if copy.running else "dead"
    row = Row().add(f" {mark} {copy.name} ", paint.broker).add(fit(role, 11) + " ", paint.text if copy.running else paint.bad)
    row.join(bar_parts(copy, start, end, max(4, width - row.width - 1), paint))
    numbers = f"disk {copy.durable:,} acked {copy.acknowledged:,} seen {copy.visible:,}"
    named = f"   rows: {numbers}"  # the rows of the probes that measure the outage count, too, unlike in the table of the clients
    return [row.strip(width), Row().add(named if len(named) < width else f"   {numbers}", paint.muted).strip(width)]


def bar_parts(copy: CopyView, start: int, end: int, width: int, paint: Palette) -> list[tuple[str, Style]]:
    """Return the bar that shows a range of a copy's rows: visible, only acknowledged, only stored, and missing rows."""
    span = max(1, end - start)

    def cells(number: int) -> int:
        return width if number >= end else max(0, min(width - 1, (number - start) * width // span))

    visible = cells(min(copy.visible, copy.stored))
    acknowledged = max(visible, cells(copy.acknowledged))
    stored = max(acknowledged, cells(copy.stored))
    return [
        ("█" * visible, paint.committed),
        ("▓" * (acknowledged - visible), paint.good),
        ("▒" * (stored - acknowledged), paint.pending),
        ("·" * (width - stored), paint.missing),
    ]


def event_lines(event: LiveEvent, width: int, paint: Palette) -> list[Strip]:
    """Return the lines of an event: its time and its sentence."""
    time = f" {event.at / SECOND:7.3f} "
    beside = width - len(time) - 1 >= LEAST_TEXT  # Otherwise, the sentence stands below the time.
    indent = len(time) if beside else 2
    found = [] if beside else [Row().add(time, paint.muted).strip(width)]
    for number, line in enumerate(wrap(event.text, width - indent - 1)):
        found.append(Row().add(time if beside and number == 0 else " " * indent, paint.muted).add(line, paint.text).strip(width))
    return found


def table_lines(scene: Scene, width: int, paint: Palette) -> list[Strip]:
    """Return the table of counts: either the harm that has been done so far, or the copies of each write. If columns do not fit, the last
    ones are left out."""
    columns = COPY_COLUMNS if scene.copies else COLUMNS
    rows = [("", *columns), *((view.name, *(view.copy_cells if scene.copies else view.cells)) for view in scene.views)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(columns) + 1)]
    widths[1:] = [max(size, 5) for size in widths[1:]]
    while sum(widths) + len(widths) + 3 > width and len(widths) > 2:
        widths.pop()
    lines = [
        rule(
            "copies so far" if scene.copies else "so far",
            "t: harms" if scene.copies else "t: copies",
            width,
            paint.title,
            paint.faint,
            paint.muted,
        )
    ]
    for number, cells in enumerate(rows):
        mark = "► " if number - 1 == scene.selected else "  "
        row = Row().add(f"{mark}{cells[0]:<{widths[0]}}", paint.title if number == 0 else paint.strong)
        for column, size in enumerate(widths[1:], 1):
            is_bad = number > 0 and columns[column - 1] in ("lost", "dirty", "exposed") and cells[column] != "0"
            row.add(" ", paint.text).add(f"{cells[column]:>{size}}", paint.bad if is_bad else paint.muted if number == 0 else paint.number)
        lines.append(row.strip(width))
    return lines


def history_lines(view: LiveView, events: Sequence[LiveEvent], width: int, paint: Palette) -> list[Strip]:
    """Return the lines of the events that led to the latest harm in a system."""
    lines = [rule(f"{view.title}: what led to the latest harm", "Esc: back", width, paint.title_focused, paint.faint, paint.muted)]
    for event in events:
        lines += event_lines(event, width, paint)
    if not events:
        lines.append(Row().add(" no harm and no change of the primary so far", paint.text).strip(width))
    lines.append(blank(width))
    lines += [Row().add(f" {line}", paint.strong).strip(width) for line in wrap(view.why, width - 2)]
    return lines


def help_lines(width: int, paint: Palette, *, copies: bool = False) -> list[Strip]:
    """Return the help: the keys, the glyphs, and the meanings of the columns of the current table."""
    lines = [rule("Keys", "Esc: back", width, paint.title_focused, paint.faint, paint.muted)]
    for keys, what in KEYS:
        for number, line in enumerate(wrap(what, max(LEAST_TEXT, width - 12))):
            lines.append(Row().add(f" {keys if number == 0 else '':<9} ", paint.key).add(line, paint.text).strip(width))
    lines += [
        Row().add(f" {line}", paint.muted).strip(width)
        for text in (GLYPHS, "; ".join(COPY_MEANINGS if copies else MEANINGS))
        for line in wrap(text, width - 2)
    ]
    return lines
