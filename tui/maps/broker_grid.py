"""The picture with the brokers as a grid by zone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tui.analysis.topology import Band, Topology
from tui.maps.drawing import Drawing, draw_chip, draw_clients, draw_control
from tui.rendering.palette import Palette
from tui.rendering.rows import clip

LEAST_CELL: Final = 8
"""The minimum width of a broker's cell in the grid, in cells. 60 brokers in three zones then fit into a screen of 80×24."""


_CELLS: Final = ((26, 3), (22, 3), (18, 3), (16, 2), (24, 1), (18, 1), (14, 1), (11, 1), (LEAST_CELL, 1))
"""The widths and heights of a broker's cell in the grid, the most preferred first."""


def _zone_counts(topology: Topology) -> list[int]:
    """Return the number of brokers in each zone."""
    return [sum(node.zone == zone for node in topology.in_band(Band.BROKERS)) for zone in topology.zones or ("",)]


def _stacked_rows(counts: Sequence[int], across: int, tall: int) -> int:
    """Return the number of lines of a grid whose zones are one below the other."""
    return sum(-(-count // across) for count in counts) * tall + (len(counts) if len(counts) > 1 else 0)


def least_grid(topology: Topology, width: int) -> int:
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


def draw_grid(drawing: Drawing, y: int, height: int) -> None:
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
                draw_chip(drawing, node, x + place * (block // across), y, block // across - 1, tall)
                lines.setdefault(y, []).append(node.name)
            y += tall
    drawing.rows += [lines[line] for line in sorted(lines)]
    if left:
        note = f" {left} more brokers do not fit; enlarge the terminal or select them with ← → on the overview "
        canvas.put(max(1, canvas.width - len(note) - 1), max(top, last - 1), clip(note, canvas.width - 2), paint.warn)


def draw_as_grid(topology: Topology, paint: Palette, size: tuple[int, int], selected: str, focused: bool) -> Drawing:
    """Draw the picture with the brokers as a grid by zone."""
    width, room = size
    clients, control = len(topology.in_band(Band.CLIENTS)), min(1, len(topology.in_band(Band.CONTROL)))
    spare = room - control - least_grid(topology, width)
    client_rows = 0 if not clients else 1 if spare < 3 else 2 if room < 24 else 4
    drawing = Drawing(topology, paint, (width, max(0, room)), selected, focused)
    draw_control(drawing, 0, control)
    draw_grid(drawing, control, room - control - client_rows)
    y = max((end for _, end, *_ in drawing.spots), default=control)
    draw_clients(drawing, y, client_rows)
    del drawing.canvas.rows[max((end for _, end, *_ in drawing.spots), default=0) :]
    return drawing
