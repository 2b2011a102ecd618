"""The picture with the boxes of all brokers side by side, and the links between brokers as arcs below the boxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.style import Style

from tui.analysis.topology import Band, Tie, Topology, pair_of
from tui.maps.drawing import CLIENT_BOX, WIDEST_BOX, Drawing, draw_clients, draw_control
from tui.maps.link_words import FAULTS, link_parts, width_of
from tui.rendering.palette import Palette
from tui.rendering.rows import clip

LEAST_BOX: Final = 13
"""The minimum width of a broker's box, in cells."""


MOST_PAIRED: Final = 4
"""The maximum number of brokers for which the links between all pairs are drawn. For more brokers, only the links of the selected broker
and those with a problem are drawn."""


MOST_ARCS: Final = 8
"""The maximum number of lines for links between brokers."""


def box_width(topology: Topology, width: int) -> int:
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


def _draw_arcs(drawing: Drawing, arcs: list[tuple[Tie, int]], places: dict[str, int], each: int, y: int) -> None:
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
            style = getattr(paint, FAULTS.get(word, ("", "warn"))[1])
        dash = "╌" if word in ("cut", "held") else "─"
        canvas.put(start, y + line, "╰" + dash * (stop - start - 1) + "╯", style)
        drawn += [(start, line, style), (stop, line, style)]
        crossing = [x for x, deeper in stubs_below if deeper > line and start < x < stop]
        whole, brief = link_parts(tie, one, paint), link_parts(tie, one, paint, brief=True)
        for parts in (whole, brief, brief[:1], [(text[:1], of) for text, of in brief[:1]]):
            at = _clear_of(crossing, start + 2, stop - 1, width_of(parts) + 2) if parts else -1
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


def _draw_bus(drawing: Drawing, places: dict[str, int], each: int, y: int, top: int) -> None:
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
        glyph, role = FAULTS.get(word, ("│", "faint"))
        if not word and tie is not None and tie.stuck:
            glyph, role = "!", "bad"
        canvas.put(x, y, "╭" if x == first else "╮" if x == last else "┬", paint.faint)
        canvas.put(x, y + 1, glyph, getattr(paint, role))
    canvas.put(centre, y, "┴" if centre not in stops.values() else "┼", paint.faint)


def _draw_zones(drawing: Drawing, places: dict[str, int], each: int, y: int) -> None:
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


def draw_side_by_side(topology: Topology, paint: Palette, size: tuple[int, int], selected: str, focused: bool, each: int) -> Drawing | None:
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
    drawing = Drawing(topology, paint, (width, used), selected, focused)
    draw_control(drawing, 0, control_rows)
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
    draw_clients(drawing, y + arc_rows + gap, client_rows)
    return drawing
