"""A picture of a cluster that is being drawn: the boxes and the lines of nodes, controllers above and clients below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs
from rich.style import Style
from textual.strip import Strip

from core.kafka.ids import broker_at
from core.sim.repr_mixin import ReprMixin
from tui.analysis.topology import Band, PictureNode, Topology
from tui.maps.link_words import Parts, link_parts, width_of
from tui.rendering.canvas import Canvas
from tui.rendering.palette import Palette
from tui.rendering.rows import clip

CLIENT_BOX: Final = 18
"""The preferred width of a client's box, in cells."""


WIDEST_BOX: Final = 30
"""The maximum width of a broker's box, in cells."""


Spot = tuple[int, int, int, int, str]
"""The cells of a node in the picture: the first line, the line after the last, the first column, the column after the last, and the node's
address."""


@attrs.frozen(repr=False)
class Picture(ReprMixin):
    """A drawn picture.

    Attributes:
        lines: the lines.
        spots: the cells of each node, for clicks.
        rows: the addresses of the nodes as they appear, line by line, for the arrow keys.
    """

    lines: list[Strip]
    spots: list[Spot]
    rows: list[list[str]]

    def node_at(self, x: int, y: int) -> str:
        """Return the address of the node at a cell, or an empty string."""
        return next((name for top, end, left, stop, name in self.spots if top <= y < end and left <= x < stop), "")


def neighbour(rows: Sequence[Sequence[str]], at: str, key: str) -> str:
    """Return the node that an arrow key reaches from another node.

    Left and right stay in a row and wrap around at its ends. Up and down go to the node at the same part of the next row.
    """
    rows = [row for row in rows if row]
    line = next((number for number, row in enumerate(rows) if at in row), -1)
    if line < 0:
        return rows[0][0] if rows else at
    row = rows[line]
    place = row.index(at)
    if key in ("left", "right"):
        return row[(place + (1 if key == "right" else -1)) % len(row)]
    if key == "home":
        return rows[0][0]
    other = rows[max(0, min(len(rows) - 1, line + (1 if key == "down" else -1)))]
    if other is row:
        return at
    return other[min(len(other) - 1, (2 * place + 1) * len(other) // (2 * len(row)))]


class Drawing:
    """A picture that is being drawn."""

    def __init__(self, topology: Topology, paint: Palette, size: tuple[int, int], selected: str, focused: bool) -> None:
        self.topology = topology
        self.paint = paint
        self.canvas = Canvas(*size, paint.text)
        self.selected = selected
        self.focused = focused
        self.spots: list[Spot] = []
        self.rows: list[list[str]] = []

    def box(self, node: PictureNode, x: int, y: int, width: int, height: int) -> None:
        """Draw the box of a node: its name and state, what it does, what it waits for, and its link to the selected node."""
        paint, canvas = self.paint, self.canvas
        chosen = node.name == self.selected
        state: Style = getattr(paint, node.role)
        worst = next((wait for wait in node.waits if wait.urgent), None)
        edge = (
            paint.key
            if chosen
            else paint.warn
            if worst is not None and node.role == "good"
            else state
            if node.role != "good"
            else paint.faint
        )
        canvas.box(x, y, width, height, edge, heavy=chosen)
        name = clip(node.name, width - 6)
        canvas.join(x + 2, y, [(f" {node.glyph} ", state), (f"{name} ", paint.strong if chosen else paint.broker)])
        inside, room = height - 2, width - 3
        link = self.link(node, room)
        does = (
            node.does
            if len(node.does) <= room
            else node.does.replace("leads ", "★").replace(", controller", " ctrl").replace(", voter", " voter")
        )
        waits = [(clip(wait.brief, room), paint.warn if wait.urgent else paint.muted) for wait in node.waits]
        quiet: list[tuple[str, Style]] = [(node.word, state), (does, paint.muted), *([(node.also, paint.muted)] if node.also else [])]
        if node.band is Band.CLIENTS:
            quiet.reverse()
        left = inside - bool(link)
        least = 2 if left >= 4 else 0 if worst is not None and left < 2 else 1
        quiet = quiet[: max(left - len(waits), least)]
        left -= len(quiet)
        if len(waits) > left > 0:
            text = clip(node.waits[left - 1].brief, max(1, room - 3))
            waits = [*waits[: left - 1], (f"{text} +{len(waits) - left}", waits[left - 1][1])]
        lines: list[Parts] = [[(clip(text, room), style)] for text, style in [*quiet, *waits[: max(0, left)]]]
        for number, parts in enumerate(lines[:inside]):
            canvas.join(x + 2, y + 1 + number, parts)
        if link and inside:
            canvas.put(x + 1, y + height - 2, " " * (width - 2), paint.text)
            canvas.join(x + 2, y + height - 2, link)
        self.spots.append((y, y + height, x, x + width, node.name))

    def link(self, node: PictureNode, room: int) -> Parts:
        """Return the node's link to the selected node, in at most `room` cells."""
        tie = self.topology.tie(node.name, self.selected) if node.name != self.selected else None
        if tie is None:
            return []
        parts = link_parts(tie, node.name, self.paint, brief=True)
        while parts and width_of(parts) > room:
            parts = parts[:-1]
        return parts

    def picture(self, head: Strip, detail: list[Strip]) -> Picture:
        """Return the finished picture below its headline and above its details."""
        return Picture(
            [head, *self.canvas.strips(self.canvas.width), *detail],
            [(top + 1, end + 1, left, stop, name) for top, end, left, stop, name in self.spots],
            self.rows,
        )


def draw_chip(drawing: Drawing, node: PictureNode, x: int, y: int, width: int, height: int = 1) -> None:
    """Draw a node in one line or in a cell of several lines: its state and name, then its link to the selected node or what it waits for."""
    canvas, paint = drawing.canvas, drawing.paint
    chosen = node.name == drawing.selected
    state: Style = getattr(paint, node.role)
    under = (paint.cursor if drawing.focused else paint.row) if chosen else None

    def style(of: Style) -> Style:
        return of if under is None else of + under

    canvas.put(x, y, " " * width, style(paint.text))
    canvas.join(
        x,
        y,
        [
            ("►" if chosen else " ", style(paint.key)),
            (f"{node.glyph} ", style(state)),
            (clip(node.name, width - 3), style(paint.strong if chosen else paint.broker)),
        ],
    )
    at = x + 4 + min(len(node.name), width - 3)
    worst = next((wait for wait in node.waits if wait.urgent), None)
    link = drawing.link(node, width - 2)
    said: Parts = link or ([(worst.brief, paint.warn)] if worst is not None else [])
    brief = node.does.replace("leads ", "★").replace(" of ", "/") if node.band is Band.BROKERS else node.does
    quiet = [(node.word if node.role != "good" else brief, state if node.role != "good" else paint.muted)]
    if height == 1:
        room = x + width - at
        if said and width_of(said) > room:
            far = next((word for word in said[0][0].split() if broker_at(word) is not None), "")
            at -= room < 2
            said = [(f"!{far}" if len(far) < room else "!", said[0][1])]
        parts = said or ([(clip(quiet[0][0], room), quiet[0][1])] if room > 2 else [])
        canvas.join(at, y, [(text, style(of)) for text, of in parts])
    else:
        for number, parts in enumerate([quiet, said] if height > 2 else [said or quiet]):
            canvas.put(x, y + 1 + number, " " * width, style(paint.text))
            canvas.join(x + 3, y + 1 + number, [(clip(text, width - 3), style(of)) for text, of in parts])
    drawing.spots.append((y, y + height, x, x + width, node.name))


def draw_control(drawing: Drawing, y: int, height: int) -> None:
    """Draw the controllers side by side, or as one line if `height` is 1."""
    nodes = drawing.topology.in_band(Band.CONTROL)
    canvas, paint = drawing.canvas, drawing.paint
    if not nodes:
        return
    drawing.rows.append([node.name for node in nodes])
    if height == 1:
        parts = [
            (node, f" {node.glyph} {node.name} {node.word}" + "".join(f" · {wait.brief}" for wait in node.waits[:1] if wait.urgent) + " ")
            for node in nodes
        ]
        x = max(0, (canvas.width - sum(len(text) for _, text in parts)) // 2)
        for node, text in parts:
            chosen = node.name == drawing.selected
            style: Style = paint.warn if any(wait.urgent for wait in node.waits) else getattr(paint, node.role)
            canvas.put(x, y, text, style + (paint.cursor if chosen and drawing.focused else paint.row) if chosen else style)
            if chosen:
                canvas.put(x, y, "►", paint.key)
            drawing.spots.append((y, y + 1, x, x + len(text), node.name))
            x += len(text)
        return
    each = min(32, (canvas.width - 2 * len(nodes)) // len(nodes))
    x = (canvas.width - each * len(nodes) - 2 * (len(nodes) - 1)) // 2
    for node in nodes:
        drawing.box(node, x, y, each, height)
        x += each + 2


def _client_rows(clients: int, width: int, height: int) -> tuple[int, int, int]:
    """Return the number of clients side by side, the width of each, and the number of lines of each, for a number of lines."""
    if height >= 4:
        across = max(1, min(clients, (width + 1) // (CLIENT_BOX + 1)))
        if across * (height // 4) >= clients or height >= 8:
            return across, min(WIDEST_BOX, (width + 1) // across - 1), 4
    across = max(1, min(clients, width // 26))
    return across, min(40, width // across), 1


def draw_clients(drawing: Drawing, y: int, height: int) -> None:
    """Draw the clients as boxes or, if there is not enough room, one line each. Clients that do not fit are counted."""
    clients = drawing.topology.in_band(Band.CLIENTS)
    canvas, paint = drawing.canvas, drawing.paint
    if not clients or height < 1:
        return
    across, each, tall = _client_rows(len(clients), canvas.width - 2, height)
    fits = across * (height // tall)
    if len(clients) > fits:
        at = next((number for number, node in enumerate(clients) if node.name == drawing.selected), 0)
        first = max(0, min(at - fits // 2, len(clients) - fits + 1))
        shown, left = clients[first : first + max(1, fits - 1)], len(clients) - max(1, fits - 1)
    else:
        shown, left = clients, 0
    for start in range(0, len(shown), across):
        row = shown[start : start + across]
        drawing.rows.append([node.name for node in row])
        for number, node in enumerate(row):
            x = 1 + number * (each + (1 if tall > 1 else 0))
            top = y + start // across * tall
            if tall > 1:
                drawing.box(node, x, top, each, tall)
                continue
            draw_chip(drawing, node, x, top, each - 1)
    if left:
        place = len(shown)
        canvas.put(
            1 + place % across * (each + (1 if tall > 1 else 0)),
            y + place // across * tall,
            clip(f" and {left} more clients", each),
            paint.muted,
        )
