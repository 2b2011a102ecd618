"""The picture of a sweep over models.

The picture is an SVG image with a point for each system. The horizontal axis is the time without writes, the vertical axis is the
probability of a loss, and the size of a point represents the 99.9th percentile of write latency. Both coordinates of a point have
confidence intervals.
"""

from __future__ import annotations

from html import escape
from typing import Final

from scenarios.io.escaping import escape_text, escape_value
from scenarios.sweeps.output.chart import HEIGHT, LEFT, WIDTH, Frame
from scenarios.sweeps.output.models.latency_class import CLASSES, latency_class
from scenarios.sweeps.output.scales import end_of_shares
from scenarios.sweeps.output.texts import percent
from scenarios.sweeps.simulation.models.experiment import ModelCell
from scenarios.sweeps.statistics.cell_results import CellResult, SweepResult

PHONE: Final = 380
"""The width of the picture on a phone, where the wide picture would be too small to read."""

RADII: Final = (4, 7, 11, 16)
"""The radius of a point, by latency class."""

LINE: Final = 15
"""The height of a label."""

STYLE: Final = """
svg text { font-size: 12px } svg .legend { fill: none; stroke: var(--point) } svg .safe { fill: var(--good) } svg .losing { fill: var(--bad) } svg .dot { opacity: .8 }
svg .leader { stroke: var(--soft); stroke-width: .7 } td.text { white-space: normal; min-width: 12rem }
svg.phone { display: none }
@media (max-width: 40rem) { svg.desktop { display: none } svg.phone { display: inline } svg text { font-size: 12px } svg .aside { display: inline } }
"""


def picture(outcome: SweepResult[ModelCell], width: int, kind: str) -> str:
    """Return the picture of the trade-off as SVG, with a width and a class."""
    legend, head = _legend(width)
    right = end_of_shares(max(cell.means["write_down"].high for cell in outcome.cells))
    top = end_of_shares(max(cell.loss.high for cell in outcome.cells))
    frame = Frame(right, top, width, head)
    steps = 5 if width == WIDTH else 2
    parts = [
        f'<svg class="{kind}" viewBox="0 0 {width} {HEIGHT}" width="{width}" height="{HEIGHT}" role="img" aria-label="Probability of a loss against time without writes">'
    ]
    for step in range(steps + 1):
        at = right * step / steps
        parts += frame.upright(at, percent(at), below=28)
    for step in range(6):
        parts += frame.across(top * step / 5)
    parts += frame.titles("share of the time during which no write is possible", above=5)
    parts.append(legend)
    for cell in outcome.cells:
        parts += frame.bars(cell.means["write_down"], cell.loss)
    places = {cell.cell.number: (frame.x(cell.means["write_down"].value), frame.y(cell.loss.value)) for cell in outcome.cells}
    parts += [_point(cell, *places[cell.cell.number]) for cell in outcome.cells]
    return "".join([*parts, *_labels(outcome, places, width)]) + "</svg>"


def _legend(width: int) -> tuple[str, float]:
    """Return a legend that explains the sizes of the points, and the height at which the picture below the legend begins."""
    at, line = LEFT, 22
    parts = [f'<text class="soft" x="{at}" y="{line}">p99.9 of writes:</text>']
    at += 108
    for radius, name in zip(RADII, CLASSES, strict=True):
        span = 2 * radius + 5 + 7 * len(name)
        if at + span > width:
            at, line = LEFT, line + 2 * RADII[-1]
        parts.append(f'<ellipse class="legend" cx="{at + radius}" cy="{line - 4}" rx="{radius}" ry="{radius}"/>')
        parts.append(f'<text class="soft" x="{at + 2 * radius + 5}" y="{line}">{name}</text>')
        at += span + 10
    return "".join(parts), line + 22


def _point(cell: CellResult[ModelCell], px: float, py: float) -> str:
    radius = RADII[latency_class(cell)]
    title = f"<title>{escape(escape_text(cell.cell.name))}</title>"
    if cell.losing:
        size = round(radius * 1.25, 1)
        return f'<path class="dot losing" d="M{px} {round(py - size, 1)}l{size} {size}l-{size} {size}l-{size} -{size}Z">{title}</path>'
    return f'<ellipse class="dot safe" cx="{px}" cy="{py}" rx="{radius}" ry="{radius}">{title}</ellipse>'


def _labels(outcome: SweepResult[ModelCell], places: dict[int, tuple[float, float]], picture_width: int) -> list[str]:
    """Return the names of the systems, each placed beside the system's point. A name that would overlap another is moved up and joined to
    its point by a line."""
    parts = []
    taken: list[tuple[float, float, float]] = []
    for cell in sorted(outcome.cells, key=lambda each: (-places[each.cell.number][1], places[each.cell.number][0])):
        px, py = places[cell.cell.number]
        radius = RADII[latency_class(cell)]
        name = escape_value(cell.cell.name)
        width = 7.0 * len(name)
        left_of = px + radius + 8 + width > picture_width
        start = px - radius - 8 - width if left_of else px + radius + 8
        at = py - radius - 4
        while any(start < other + span and other < start + width and abs(at - line) < LINE for other, span, line in taken):
            at -= LINE
        taken.append((start, width, at))
        parts.append(
            f'<line class="leader" x1="{px}" y1="{py}" x2="{round(start + (width if left_of else 0), 1)}" y2="{round(at - 4, 1)}"/>'
        )
        parts.append(f'<text x="{round(start, 1)}" y="{round(at, 1)}">{escape(name)}</text>')
    return parts
