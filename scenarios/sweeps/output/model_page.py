"""Renders a sweep over models as one self-contained HTML file with a picture of the trade-off and the table.

The picture is an SVG image with a point for each system. The horizontal axis is the time without writes, the vertical axis is the
probability of a loss, and the size of a point represents the 99.9th percentile of write latency. Both coordinates of a point have
confidence intervals.
"""

from __future__ import annotations

from html import escape
from typing import Final

from scenarios.io.escaping import escape_text, escape_value
from scenarios.sweeps.output.html import BOTTOM, HEIGHT, LEFT, RIGHT, STYLE, WIDTH
from scenarios.sweeps.output.model_texts import CLASSES, MODEL_HEADINGS, latency_class, model_notes, model_numbers, model_title
from scenarios.sweeps.output.result_texts import percent
from scenarios.sweeps.output.scales import end_of_shares
from scenarios.sweeps.statistics.model_results import ModelCellResult, ModelSweepResult

PHONE: Final = 380
"""The width of the picture on a phone, where the wide picture would be too small to read."""

RADII: Final = (4, 7, 11, 16)
"""The radius of a point, by latency class."""

LINE: Final = 15
"""The height of a label."""

_STYLE: Final = """
svg text { font-size: 12px } svg .legend { fill: none; stroke: var(--point) } svg .safe { fill: var(--good) } svg .losing { fill: var(--bad) } svg .dot { opacity: .8 }
svg .leader { stroke: var(--soft); stroke-width: .7 } td.text { white-space: normal; min-width: 12rem }
svg.phone { display: none }
@media (max-width: 40rem) { svg.desktop { display: none } svg.phone { display: inline } svg text { font-size: 12px } svg .aside { display: inline } }
"""


def render(outcome: ModelSweepResult) -> str:
    """Return the result of a sweep over models as an HTML page."""
    title = escape(escape_value(model_title(outcome)))
    about = f"<p>{escape(escape_value(' '.join(outcome.grid.about.split())))}</p>" if outcome.grid.about else ""
    notes = "".join(f"<li>{escape(escape_value(line))}</li>" for line in model_notes(outcome))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{title}</title><style>{STYLE}{_STYLE}</style></head><body><h1>{title}</h1>{about}\n"
        f"<figure>{picture(outcome, WIDTH, 'desktop')}{picture(outcome, PHONE, 'phone')}<figcaption>A system that is lower in the picture loses writes in fewer runs, one that is further left has less time without writes, and one with a smaller point writes faster. Bars are 95% "
        f"intervals. A diamond marks a system that lost acknowledged writes in at least one run; a circle marks a system that lost none."
        f"</figcaption></figure>\n"
        f'<div class="wide">{_table(outcome)}</div>\n<ul class="notes">{notes}</ul>'
        f"<details><summary>The grid</summary><pre>{escape(escape_text(outcome.grid.text))}</pre></details></body></html>\n"
    )


def _table(outcome: ModelSweepResult) -> str:
    head = '<th class="text">system</th>' + "".join(f"<th>{text}</th>" for text in MODEL_HEADINGS)
    rows = []
    for cell in outcome.cells:
        kind = "lost" if cell.losing else "kept"
        numbers = "".join(
            f'<td class="{kind}">{escape(text)}</td>' if column == 1 else f"<td>{escape(text)}</td>"
            for column, text in enumerate(model_numbers(cell))
        )
        rows.append(f'<tr><td class="text">{escape(escape_value(cell.cell.name))}</td>{numbers}</tr>')
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def picture(outcome: ModelSweepResult, width: int, kind: str) -> str:
    """Return the picture of the trade-off as SVG, with a width and a class."""
    right = end_of_shares(max(cell.write_down.high for cell in outcome.cells))
    top = end_of_shares(max(cell.loss.high for cell in outcome.cells))
    legend, head = _legend(width)
    steps = 5 if width == WIDTH else 2

    def x(share: float) -> float:
        return round(LEFT + share / right * (width - LEFT - RIGHT), 1)

    def y(share: float) -> float:
        return round(HEIGHT - BOTTOM - share / top * (HEIGHT - head - BOTTOM), 1)

    parts = [
        f'<svg class="{kind}" viewBox="0 0 {width} {HEIGHT}" width="{width}" height="{HEIGHT}" role="img" aria-label="Probability of a loss against time without writes">'
    ]
    for step in range(steps + 1):
        at = right * step / steps
        parts.append(f'<line class="grid" x1="{x(at)}" y1="{y(0)}" x2="{x(at)}" y2="{y(top)}"/>')
        parts.append(f'<text class="soft" x="{x(at)}" y="{HEIGHT - BOTTOM + 28}" text-anchor="middle">{percent(at)}</text>')
    for step in range(6):
        share = top * step / 5
        parts.append(f'<line class="grid" x1="{x(0)}" y1="{y(share)}" x2="{x(right)}" y2="{y(share)}"/>')
        parts.append(f'<text class="soft" x="{LEFT - 8}" y="{y(share) + 4}" text-anchor="end">{percent(share)}</text>')
    parts.append(
        f'<text x="{(LEFT + width - RIGHT) / 2}" y="{HEIGHT - 5}" text-anchor="middle">share of the time during which no write is possible</text>'
    )
    middle = (head + HEIGHT - BOTTOM) / 2
    parts.append(
        f'<text x="14" y="{middle}" text-anchor="middle" class="aside" transform="rotate(-90 14 {middle})">probability of a loss in a run</text>'
    )
    parts.append(legend)
    for cell in outcome.cells:
        loss, down = cell.loss, cell.write_down
        px, py = x(down.value), y(loss.value)
        parts.append(f'<line class="bar" x1="{px}" y1="{y(loss.low)}" x2="{px}" y2="{y(loss.high)}"/>')
        parts.append(f'<line class="bar" x1="{x(down.low)}" y1="{py}" x2="{x(down.high)}" y2="{py}"/>')
    places = {cell.cell.number: (x(cell.write_down.value), y(cell.loss.value)) for cell in outcome.cells}
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


def _point(cell: ModelCellResult, px: float, py: float) -> str:
    radius = RADII[latency_class(cell)]
    title = f"<title>{escape(escape_text(cell.cell.name))}</title>"
    if cell.losing:
        size = round(radius * 1.25, 1)
        return f'<path class="dot losing" d="M{px} {round(py - size, 1)}l{size} {size}l-{size} {size}l-{size} -{size}Z">{title}</path>'
    return f'<ellipse class="dot safe" cx="{px}" cy="{py}" rx="{radius}" ry="{radius}">{title}</ellipse>'


def _labels(outcome: ModelSweepResult, places: dict[int, tuple[float, float]], picture_width: int) -> list[str]:
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
