"""Draws the picture of the cluster: controllers above, brokers by zone in the middle, links below them, and clients at the bottom.

If the boxes of all brokers fit side by side, the links between brokers are drawn as arcs below the boxes. Otherwise, each broker is a cell
in a grid, and the links with a problem are listed. In both cases, each node shows its link to the selected node.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs
from rich.style import Style
from textual import events
from textual.message import Message
from textual.strip import Strip

from core.kafka.health import STALL_BOUND
from core.kafka.ids import broker_at
from core.lab.reports.traffic_report import LinkTraffic
from core.sim.repr_mixin import ReprMixin
from tui.analysis.topology import Band, PictureNode, Tie, Topology, age, pair_of
from tui.panels.lines import Lines
from tui.rendering.canvas import Canvas
from tui.rendering.palette import Palette
from tui.rendering.rows import Row, blank, clip, rule, wrap

LEAST_BOX: Final = 13
"""The minimum width of a broker's box, in cells."""

WIDEST_BOX: Final = 30
"""The maximum width of a broker's box, in cells."""

CLIENT_BOX: Final = 18
"""The preferred width of a client's box, in cells."""

MOST_PAIRED: Final = 4
"""The maximum number of brokers for which the links between all pairs are drawn. For more brokers, only the links of the selected broker
and those with a problem are drawn."""

MOST_ARCS: Final = 8
"""The maximum number of lines for links between brokers."""

LEAST_CELL: Final = 8
"""The minimum width of a broker's cell in the grid, in cells. 60 brokers in three zones then fit into a screen of 80×24."""

_FAULTS: Final = {
    "cut": ("✕", "bad"), "held": ("‖", "warn"), "slow": ("≈", "warn"), "loss": ("◌", "warn"), "repeats": ("⇄", "warn"), "reorders": ("⇄", "warn"),
}  # fmt: skip
"""The glyph and the style of each fault of a link."""

Spot = tuple[int, int, int, int, str]
"""The cells of a node in the picture: the first line, the line after the last, the first column, the column after the last, and the node's
address."""

Parts = list[tuple[str, Style]]


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


def link_parts(tie: Tie, node: str, paint: Palette, *, brief: bool = False) -> Parts:
    """Return the state of a link as seen from a node: its fault, and the messages in both directions. Empty if the link works and nothing
    is under way.
    """
    parts: Parts = []
    word, way, much = tie.fault_from(node)
    if word:
        glyph, role = _FAULTS.get(word, ("!", "warn"))
        style: Style = getattr(paint, role)
        direction = "" if way == "↔" else f" {way}"
        size = much.split(" ")[0] if brief else much
        parts.append((f"{glyph} {size if brief and size else word}{direction}" + (f" {much}" if much and not brief else ""), style))
    out, out_stuck, back, back_stuck = tie.counts_from(node)
    for moving, stuck, arrow in ((out, out_stuck, "→"), (back, back_stuck, "←")):
        if stuck:
            parts.append((f" {arrow}{stuck}" + ("" if brief else " stuck"), paint.bad))
        if moving:
            parts.append((f" {arrow}{moving}", paint.you))
    return [(parts[0][0].lstrip(), parts[0][1]), *parts[1:]] if parts else []


def _width(parts: Parts) -> int:
    return sum(len(text) for text, _ in parts)


class _Drawing:
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
        link = self._link(node, room)
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

    def _link(self, node: PictureNode, room: int) -> Parts:
        """Return the node's link to the selected node, in at most `room` cells."""
        tie = self.topology.tie(node.name, self.selected) if node.name != self.selected else None
        if tie is None:
            return []
        parts = link_parts(tie, node.name, self.paint, brief=True)
        while parts and _width(parts) > room:
            parts = parts[:-1]
        return parts

    def picture(self, head: Strip, detail: list[Strip]) -> Picture:
        """Return the finished picture below its headline and above its details."""
        return Picture(
            [head, *self.canvas.strips(self.canvas.width), *detail],
            [(top + 1, end + 1, left, stop, name) for top, end, left, stop, name in self.spots],
            self.rows,
        )


# --- brokers side by side ----------------------------------------------------------------------------------------------


def _box_width(topology: Topology, width: int) -> int:
    """Return the width of a broker's box, or 0 if the boxes do not fit side by side."""
    brokers = topology.in_band(Band.BROKERS)
    gaps = len(brokers) - 1 + 2 * max(0, len(topology.zones) - 1) + 2
    each = (width - gaps) // max(1, len(brokers))
    return min(WIDEST_BOX, each) if each >= LEAST_BOX else 0


def _places(topology: Topology, width: int, each: int) -> dict[str, int]:
    """Return the left column of each broker's box. Zones are further apart than the brokers of a zone."""
    brokers = topology.in_band(Band.BROKERS)
    gaps = len(brokers) - 1 + 2 * max(0, len(topology.zones) - 1)
    spare = width - len(brokers) * each - gaps
    between = min(4, spare // (len(brokers) + 1)) if len(brokers) > 1 else 0
    x = (width - len(brokers) * each - gaps - between * (len(brokers) - 1)) // 2
    found: dict[str, int] = {}
    zone = brokers[0].zone if brokers else ""
    for node in brokers:
        if found:
            x += 1 + between + (2 if node.zone != zone else 0)
        found[node.name], zone = x, node.zone
        x += each
    return found


def _arcs(topology: Topology, selected: str, order: Sequence[str], most: int) -> list[tuple[Tie, int]]:
    """Return the links between brokers to draw, each with its line. Links with a problem come first if not all fit."""
    place = {name: at for at, name in enumerate(order)}
    pairs = [tie for tie in topology.ties.values() if tie.one in place and tie.other in place]
    if len(order) <= MOST_PAIRED:
        known = {(tie.one, tie.other) for tie in pairs}
        pairs += [Tie(*pair) for at, one in enumerate(order) for other in order[at + 1 :] if (pair := pair_of(one, other)) not in known]
    else:
        pairs = [tie for tie in pairs if tie.faults or tie.stuck or selected in (tie.one, tie.other)]

    def span(tie: Tie) -> tuple[int, int]:
        ends = sorted((place[tie.one], place[tie.other]))
        return ends[0], ends[1]

    pairs.sort(key=lambda tie: (not tie.faults, not tie.stuck, selected not in (tie.one, tie.other), span(tie)))
    taken: list[list[tuple[int, int]]] = []
    kept: list[tuple[Tie, int]] = []
    for tie in pairs:
        start, end = span(tie)
        line = next((number for number, ends in enumerate(taken) if all(end <= a or start >= b for a, b in ends)), len(taken))
        if line >= most:
            continue
        if line == len(taken):
            taken.append([])
        taken[line].append((start, end))
        kept.append((tie, line))
    by_length = sorted(range(len(taken)), key=lambda number: (max(b - a for a, b in taken[number]), number))
    rank = {number: at for at, number in enumerate(by_length)}
    return [(tie, rank[line]) for tie, line in kept]


def _draw_arcs(drawing: _Drawing, arcs: list[tuple[Tie, int]], places: dict[str, int], each: int, y: int) -> None:
    """Draw links as arcs below the boxes, whose last line is `y - 1`."""
    canvas, paint = drawing.canvas, drawing.paint
    left_of = {name: at for at, name in enumerate(places)}
    ends: dict[tuple[str, Tie], int] = {}
    for name, x in places.items():
        to_left = sorted(
            (a for a in arcs if name in (a[0].one, a[0].other) and left_of[a[0].far_end(name)] < left_of[name]), key=lambda a: a[1]
        )
        to_right = sorted(
            (a for a in arcs if name in (a[0].one, a[0].other) and left_of[a[0].far_end(name)] > left_of[name]), key=lambda a: -a[1]
        )
        stubs = [*to_left, *to_right]
        for number, (tie, _) in enumerate(stubs):
            ends[name, tie] = x + 1 + (2 * number + 1) * (each - 2) // (2 * len(stubs))
    stubs_below = [(x, line) for tie, line in arcs for name in (tie.one, tie.other) for x in (ends[name, tie],)]
    drawn: list[tuple[int, int, Style]] = []
    for tie, line in arcs:
        one, other = sorted((tie.one, tie.other), key=lambda name: left_of[name])
        start, stop = ends[one, tie], ends[other, tie]
        word = tie.fault_from(one)[0]
        style: Style = paint.bad if tie.stuck and not word else paint.muted if tie.moving else paint.faint
        if word:
            style = getattr(paint, _FAULTS.get(word, ("", "warn"))[1])
        dash = "╌" if word in ("cut", "held") else "─"
        canvas.put(start, y + line, "╰" + dash * (stop - start - 1) + "╯", style)
        drawn += [(start, line, style), (stop, line, style)]
        crossing = [x for x, deeper in stubs_below if deeper > line and start < x < stop]
        whole, brief = link_parts(tie, one, paint), link_parts(tie, one, paint, brief=True)
        for parts in (whole, brief, brief[:1], [(text[:1], of) for text, of in brief[:1]]):
            at = _clear_of(crossing, start + 2, stop - 1, _width(parts) + 2) if parts else -1
            if at >= 0:
                canvas.join(at, y + line, [(" ", style), *parts, (" ", style)])
                break
    for x, line, style in drawn:
        for above in range(y, y + line):
            canvas.put(x, above, "│", style)
        canvas.put(x, y - 1, "┯" if canvas.char(x, y - 1) in "━┯" else "┬", style)


def _clear_of(crossing: Sequence[int], start: int, stop: int, width: int) -> int:
    """Return the place nearest to the middle of [start, stop) where `width` cells are free of crossing lines, or -1 if there is none."""
    middle = (start + stop - width) // 2
    free = [at for at in range(start, stop - width + 1) if not any(at <= x < at + width for x in crossing)]
    return min(free, key=lambda at: (abs(at - middle), at), default=-1)


# --- the parts of the picture ------------------------------------------------------------------------------------------


def _draw_control(drawing: _Drawing, y: int, height: int) -> None:
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


def _draw_bus(drawing: _Drawing, places: dict[str, int], each: int, y: int, top: int) -> None:
    """Draw the links between the active controller and the brokers: a line at `y`, with a branch down to each box."""
    topology, canvas, paint = drawing.topology, drawing.canvas, drawing.paint
    nodes = topology.in_band(Band.CONTROL)
    hub = next((node for node in nodes if node.glyph == "★"), nodes[0])
    spot = next(spot for spot in drawing.spots if spot[4] == hub.name)
    centre = (spot[2] + spot[3] - 1) // 2
    stops = {name: x + each - 3 for name, x in places.items()}
    first, last = min(centre, *stops.values()), max(centre, *stops.values())
    canvas.put(first, y, "─" * (last - first + 1), paint.faint)
    if top < y - 1:
        heavy = canvas.char(centre, y - 1) == "━"
        canvas.put(centre, y - 1, "┯" if heavy else "┬", paint.faint)
    for name, x in stops.items():
        tie = topology.tie(hub.name, name)
        word = tie.fault_from(name)[0] if tie is not None else ""
        glyph, role = _FAULTS.get(word, ("│", "faint"))
        if not word and tie is not None and tie.stuck:
            glyph, role = "!", "bad"
        canvas.put(x, y, "╭" if x == first else "╮" if x == last else "┬", paint.faint)
        canvas.put(x, y + 1, glyph, getattr(paint, role))
    canvas.put(centre, y, "┴" if centre not in stops.values() else "┼", paint.faint)


def _draw_zones(drawing: _Drawing, places: dict[str, int], each: int, y: int) -> None:
    """Draw a line with the zone's name above the brokers of each zone."""
    nodes = {node.name: node for node in drawing.topology.in_band(Band.BROKERS)}
    canvas, paint = drawing.canvas, drawing.paint
    for zone in drawing.topology.zones:
        at = [x for name, x in places.items() if nodes[name].zone == zone]
        start, stop = min(at), max(at) + each
        title = f" {zone or 'no rack'} "
        for x in range(start, stop):
            if canvas.char(x, y) == " ":
                canvas.put(x, y, "─", paint.faint)
        canvas.put(start + 2, y, clip(title, stop - start - 5), paint.title)


def _client_rows(clients: int, width: int, height: int) -> tuple[int, int, int]:
    """Return the number of clients side by side, the width of each, and the number of lines of each, for a number of lines."""
    if height >= 4:
        across = max(1, min(clients, (width + 1) // (CLIENT_BOX + 1)))
        if across * (height // 4) >= clients or height >= 8:
            return across, min(WIDEST_BOX, (width + 1) // across - 1), 4
    across = max(1, min(clients, width // 26))
    return across, min(40, width // across), 1


def _draw_clients(drawing: _Drawing, y: int, height: int) -> None:
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
            _draw_chip(drawing, node, x, top, each - 1)
    if left:
        place = len(shown)
        canvas.put(
            1 + place % across * (each + (1 if tall > 1 else 0)),
            y + place // across * tall,
            clip(f" and {left} more clients", each),
            paint.muted,
        )


def _draw_chip(drawing: _Drawing, node: PictureNode, x: int, y: int, width: int, height: int = 1) -> None:
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
    link = drawing._link(node, width - 2)
    said: Parts = link or ([(worst.brief, paint.warn)] if worst is not None else [])
    brief = node.does.replace("leads ", "★").replace(" of ", "/") if node.band is Band.BROKERS else node.does
    quiet = [(node.word if node.role != "good" else brief, state if node.role != "good" else paint.muted)]
    if height == 1:
        room = x + width - at
        if said and _width(said) > room:
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


# --- brokers as a grid -------------------------------------------------------------------------------------------------


_CELLS: Final = ((26, 3), (22, 3), (18, 3), (16, 2), (24, 1), (18, 1), (14, 1), (11, 1), (LEAST_CELL, 1))
"""The widths and heights of a broker's cell in the grid, the most preferred first."""


def _zone_counts(topology: Topology) -> list[int]:
    """Return the number of brokers in each zone."""
    return [sum(node.zone == zone for node in topology.in_band(Band.BROKERS)) for zone in topology.zones or ("",)]


def _stacked_rows(counts: Sequence[int], across: int, tall: int) -> int:
    """Return the number of lines of a grid whose zones are one below the other."""
    return sum(-(-count // across) for count in counts) * tall + (len(counts) if len(counts) > 1 else 0)


def _least_grid(topology: Topology, width: int) -> int:
    """Return the number of lines that the grid needs with the smallest cells."""
    return _stacked_rows(_zone_counts(topology), max(1, (width - 1) // LEAST_CELL), 1)


def _grid_plan(topology: Topology, width: int, height: int) -> tuple[int, int, bool]:
    """Return the width and the height of a broker's cell, and whether the zones are side by side: the first plan with which all brokers fit,
    or the smallest cells."""
    counts = _zone_counts(topology)
    for each, tall in _CELLS:
        across = width // len(counts) // each
        if len(counts) > 1 and across and -(-max(counts) // across) * tall + 1 <= height:
            return each, tall, True
        if _stacked_rows(counts, max(1, width // each), tall) + (len(topology.zones) == 1) <= height:
            return each, tall, False
    return LEAST_CELL, 1, False


def _draw_grid(drawing: _Drawing, y: int, height: int) -> None:
    """Draw the brokers as a grid by zone."""
    topology, canvas, paint = drawing.topology, drawing.canvas, drawing.paint
    width = canvas.width - 1
    each, tall, beside = _grid_plan(topology, width, height)
    zones = topology.zones or ("",)
    block = width // len(zones) if beside else width
    across = max(1, block // each)
    last, top, left = y + height, y, 0
    lines: dict[int, list[str]] = {}
    for number, zone in enumerate(zones):
        x = 1 + number * block if beside else 1
        y = top if beside else y
        nodes = [node for node in topology.in_band(Band.BROKERS) if node.zone == zone]
        if topology.zones and y < last:
            up = sum(node.role == "good" for node in nodes)
            note = f" {up} of {len(nodes)} up "
            canvas.put(x, y, "─" * (block - 1 - beside), paint.faint)
            canvas.put(x + 1, y, clip(f" {zone or 'no rack'} ", max(4, block - len(note) - 6)), paint.title)
            canvas.put(x + block - len(note) - 2 - beside, y, note, paint.muted if up == len(nodes) else paint.warn)
            y += 1
        for start in range(0, len(nodes), across):
            row = nodes[start : start + across]
            if y + tall > last:
                left += len(row)
                continue
            for place, node in enumerate(row):
                _draw_chip(drawing, node, x + place * (block // across), y, block // across - 1, tall)
                lines.setdefault(y, []).append(node.name)
            y += tall
    drawing.rows += [lines[line] for line in sorted(lines)]
    if left:
        note = f" {left} more brokers do not fit; enlarge the terminal or select them with ← → on the overview "
        canvas.put(max(1, canvas.width - len(note) - 1), max(top, last - 1), clip(note, canvas.width - 2), paint.warn)


def trouble_lines(topology: Topology, paint: Palette, width: int, height: int) -> list[Strip]:
    """Return a line for each link between brokers, controllers, and clients that has a fault or stuck messages, the worst first."""
    ties = [tie for tie in topology.ties.values() if tie.faults or tie.stuck]
    ties.sort(key=lambda tie: (not tie.faults, -tie.stuck))
    lines: list[Strip] = []
    if height < 1:
        return lines
    for tie in ties[:height]:
        row = Row().add(f" {tie.one}", paint.broker).add(" ─ ", paint.faint).add(f"{tie.other:<6}", paint.broker).add(" ", paint.text)
        lines.append(row.join(link_parts(tie, tie.one, paint)).strip(width))
    if len(ties) > height:
        lines[-1] = Row().add(f" and {len(ties) - height + 1} more links with a problem", paint.muted).strip(width)
    return lines


# --- the details of the selected node -------------------------------------------------------------------------------------


def _messages(link: LinkTraffic | None) -> str:
    """Name the messages of a direction, for example `Fetch, 2 Produce, 3 Produce stuck`."""
    if link is None:
        return ""
    said = [f"{count} {name}" if count > 1 else name for name, count in link.moving]
    said += [f"{count} {name} stuck" if count > 1 else f"{name} stuck" for name, count in link.stuck]
    return ", ".join(said)


def _link_lines(topology: Topology, tie: Tie, name: str, paint: Palette, width: int) -> list[Strip]:
    """Return one or two lines about a link in the details of a node: the other end, the fault, the fetches, and the messages by name."""
    far = tie.far_end(name)
    node = topology.node(far)
    parts: Parts = []
    word, way, much = tie.fault_from(name)
    if word:
        glyph, role = _FAULTS.get(word, ("!", "warn"))
        parts.append((f"{glyph} {word}" + ("" if way == "↔" else f" {way}") + (f" {much}" if much else ""), getattr(paint, role)))
    elif node is not None and node.role != "good":
        parts.append((f"{node.glyph} {node.word}", getattr(paint, node.role)))
    mine, theirs = tie.fetched if tie.one == name else tie.fetched[::-1]
    if mine or theirs:
        parts.append((", ".join(filter(None, [f"fetches {mine}" if mine else "", f"serves {theirs}" if theirs else ""])), paint.muted))
    if tie.waits_us > STALL_BOUND:
        parts.append((f"unanswered for {age(tie.waits_us)}", paint.warn))
    out, back = (tie.out, tie.back) if tie.one == name else (tie.back, tie.out)
    rows: list[Strip] = []
    row = Row().add(f" {clip(far, 10):<10}", paint.broker)
    for arrow, link in (("→", out), ("←", back)):
        if said := _messages(link):
            parts.append((f"{arrow} {said}", paint.bad if link is not None and link.stuck else paint.you))
    for text, style in parts:
        if row.width + len(text) + 1 > width and row.width > 12 and not rows:
            rows.append(row.strip(width))
            row = Row().pad(11)
        row.add(" " + text + " ", style)
    return [*rows, row.strip(width)]


def detail_lines(topology: Topology, name: str, paint: Palette, width: int, height: int) -> list[Strip]:
    """Return the details of a node: what it waits for, and its links. Wide screens show both side by side."""
    node = topology.node(name)
    if node is None or height < 1:
        return []
    state: Style = getattr(paint, node.role)
    title = f"{node.kind} {node.name}" if node.kind not in (node.name, "ZooKeeper") else node.name
    zone = f", rack {node.zone}" if node.zone else ""
    lines = [rule(title, f"{node.glyph} {node.word}, {node.does}{zone}", width, paint.title, paint.faint, state)]
    waits: list[tuple[str, Style]] = []
    split = width >= 110
    left = (width - 3) // 2 if split else width - 1
    for wait in node.waits:
        for number, line in enumerate(wrap(wait.full, left - 4)):
            waits.append((("• " if not number else "  ") + line, paint.text if wait.urgent else paint.muted))
    if not waits:
        waits = [("• It waits for nothing out of the ordinary.", paint.muted)]
    ties = topology.ties_of(name)
    if split:
        links = [line for tie in ties for line in _link_lines(topology, tie, name, paint, width - left - 2)]
        rows = max(len(waits), len(links))
        for number in range(min(rows, height - 1)):
            row = Row()
            if number < len(waits):
                row.add(" " + clip(waits[number][0], left - 1), waits[number][1])
            row.pad(left).add("│", paint.faint)
            if number < len(links):
                for segment in links[number]:
                    row.add(segment.text, segment.style or paint.text)
            lines.append(row.strip(width))
    else:
        lines += [Row().add(" " + text, style).strip(width) for text, style in waits]
        lines += [line for tie in ties for line in _link_lines(topology, tie, name, paint, width)]
    if len(lines) > height:
        lines = [*lines[: height - 1], Row().add(f" and {len(lines) - height + 1} more lines", paint.faint).strip(width)]
    return lines[:height]


def wait_lines(topology: Topology, selected: str, paint: Palette, width: int, height: int) -> list[Strip]:
    """Return what the nodes other than the selected one wait for, the urgent first; nothing if there are less than two lines."""
    if height < 3:
        return []
    found = [(node, wait) for node in topology.nodes if node.name != selected for wait in node.waits]
    found.sort(key=lambda each: not each[1].urgent)
    if not found:
        return []
    urgent = sum(wait.urgent for _, wait in found)
    note = f"{urgent} with a problem" if urgent else "nothing out of the ordinary"
    lines = [rule("What the other nodes wait for", note, width, paint.title, paint.faint, paint.warn if urgent else paint.muted)]
    for node, wait in found[: height - 1]:
        row = Row().add(f" {clip(node.name, 12):<12} ", paint.broker)
        lines.append(row.add(clip(wait.full, width - row.width - 1), paint.text if wait.urgent else paint.muted).strip(width))
    if len(found) > height - 1:
        lines[-1] = Row().add(f" and {len(found) - height + 2} more", paint.faint).strip(width)
    return lines


# --- the whole ---------------------------------------------------------------------------------------------------------


def _headline(topology: Topology, paint: Palette, width: int, focused: bool) -> Strip:
    brokers, clients = topology.in_band(Band.BROKERS), topology.in_band(Band.CLIENTS)
    up = sum(node.role == "good" for node in brokers)
    title = f"Topology  {up} of {len(brokers)} brokers up"
    if topology.zones:
        title += f" in {len(topology.zones)} zone{'s' if len(topology.zones) > 1 else ''}"
    cut = sum(bool(tie.faults) for tie in topology.ties.values())
    notes = [
        f"{len(clients)} client{'s' if len(clients) != 1 else ''}",
        f"{cut} faulty link{'s' if cut != 1 else ''}" if cut else "",
        f"{topology.moving} message{'s' if topology.moving != 1 else ''} under way",
        f"{topology.stuck} stuck" if topology.stuck else "",
    ]
    note = " · ".join(filter(None, notes))
    return rule(
        title,
        note,
        width,
        paint.title_focused if focused else paint.title,
        paint.faint,
        paint.warn if cut or topology.stuck else paint.muted,
    )


def paint_topology(
    topology: Topology, paint: Palette, size: tuple[int, int], *, selected: str, focused: bool = True, detail: bool = True
) -> Picture:
    """Draw the picture of a cluster.

    Args:
        topology: the nodes and links.
        paint, size: the palette, and the width and height in cells, including the headline.
        selected: the address of the selected node.
        focused: whether the picture has the keyboard focus.
        detail: whether the details of the selected node are shown below the picture.
    """
    width, height = size
    head = _headline(topology, paint, width, focused)
    body = max(0, height - 1)
    room = body - ((7 if body >= 30 else 4) if detail else 0)
    each = _box_width(topology, width)
    drawing = _side_by_side(topology, paint, (width, room), selected, focused, each) if each else None
    troubles: list[Strip] = []
    if drawing is None:
        troubles = trouble_lines(topology, paint, width, max(0, min(6 if room >= 30 else 3, room - 2 - _least_grid(topology, width))))
        drawing = _as_grid(topology, paint, (width, room - len(troubles)), selected, focused)
    below = troubles
    if detail:
        rest = body - drawing.canvas.height - len(troubles)
        below = [*troubles, *detail_lines(topology, selected, paint, width, rest)]
        below += wait_lines(topology, selected, paint, width, body - drawing.canvas.height - len(below))
    return drawing.picture(head, below)


def _side_by_side(topology: Topology, paint: Palette, size: tuple[int, int], selected: str, focused: bool, each: int) -> _Drawing | None:
    """Draw the picture with the boxes of all brokers side by side; None if there are not enough lines."""
    width, room = size
    nodes = topology.in_band(Band.BROKERS)
    order = [node.name for node in nodes]
    clients, control = len(topology.in_band(Band.CLIENTS)), len(topology.in_band(Band.CONTROL))
    control_rows = 0 if not control else 4 if room >= 26 else 1
    zone_rows = 1 if topology.zones else 0
    bus_rows = 2 - zone_rows if control else 0
    left = room - control_rows - zone_rows - bus_rows
    client_rows = 0 if not clients else 1 if left < 9 else 2 if left < 14 else 4
    boxes = left - client_rows
    if boxes < 4:
        return None
    arcs = _arcs(topology, selected, order, min(MOST_ARCS, max(0, boxes - 4)))
    arc_rows = max((line for _, line in arcs), default=-1) + 1
    most = max((sum(wait.urgent for wait in node.waits) for node in nodes), default=0)
    tall = min(6 + (most > 2), boxes - arc_rows)
    if client_rows == 4 and boxes - arc_rows - tall >= 4 and clients > (width - 1) // (CLIENT_BOX + 1):
        client_rows = 8
    gap = 1 if client_rows and left - client_rows - arc_rows - tall > 0 else 0
    used = room - left + tall + arc_rows + gap + client_rows
    drawing = _Drawing(topology, paint, (width, used), selected, focused)
    _draw_control(drawing, 0, control_rows)
    places = _places(topology, width, each)
    y = control_rows
    if control:
        _draw_bus(drawing, places, each, y, 0 if control_rows > 1 else y)
        y += bus_rows
    if zone_rows:
        _draw_zones(drawing, places, each, y)
        y += 1
    drawing.rows.append(order)
    for node in nodes:
        drawing.box(node, places[node.name], y, each, tall)
    y += tall
    _draw_arcs(drawing, arcs, places, each, y)
    _draw_clients(drawing, y + arc_rows + gap, client_rows)
    return drawing


def _as_grid(topology: Topology, paint: Palette, size: tuple[int, int], selected: str, focused: bool) -> _Drawing:
    """Draw the picture with the brokers as a grid by zone."""
    width, room = size
    clients, control = len(topology.in_band(Band.CLIENTS)), min(1, len(topology.in_band(Band.CONTROL)))
    spare = room - control - _least_grid(topology, width)
    client_rows = 0 if not clients else 1 if spare < 3 else 2 if room < 24 else 4
    drawing = _Drawing(topology, paint, (width, max(0, room)), selected, focused)
    _draw_control(drawing, 0, control)
    _draw_grid(drawing, control, room - control - client_rows)
    y = max((end for _, end, *_ in drawing.spots), default=control)
    _draw_clients(drawing, y, client_rows)
    del drawing.canvas.rows[max((end for _, end, *_ in drawing.spots), default=0) :]
    return drawing


class TopologyPanel(Lines):
    """The widget that shows the picture of the cluster beside the other panels on wide screens. A click selects a broker."""

    class Picked(Message):
        """The message that is sent when the user clicks a broker."""

        def __init__(self, broker: int) -> None:
            super().__init__()
            self.broker = broker

    def __init__(self, paint: Palette, *, id: str) -> None:
        super().__init__(paint, id=id)
        self._picture: Picture | None = None
        self._topology: Topology | None = None

    def update(self, topology: Topology, selected: str) -> None:
        """Show a new picture."""
        width, height = self.box
        self._topology = topology
        self._picture = paint_topology(topology, self.paint, (width, height), selected=selected, focused=False, detail=False)
        self.show(([*self._picture.lines, *[blank(width)] * height])[:height])

    def on_click(self, event: events.Click) -> None:
        """Select the broker under the mouse."""
        if self._picture is None or self._topology is None:
            return
        node = self._topology.node(self._picture.node_at(event.x, event.y))
        if node is not None and node.broker >= 0:
            self.post_message(self.Picked(node.broker))
