"""Renders a sweep as one self-contained HTML file with a chart of the trade-off and the table. The page loads nothing from elsewhere, and
names are escaped.

The chart is an SVG image with a point for each cell. The horizontal axis is the time without acknowledgments (no writes, or stalled). The
vertical axis is the probability of a loss. Both the time and the probability have confidence intervals. Cells at the same position share a
point and a label.
"""

from __future__ import annotations

from html import escape
from typing import Final

from core.sim.units import format_duration
from scenarios.io.escaping import escape_text, escape_value
from scenarios.sweeps.output.result_texts import HEADINGS, cell_values, notes_of, numbers_of, percent, title_of, varied_words
from scenarios.sweeps.output.scales import round_up
from scenarios.sweeps.statistics.cell_results import CellResult, SweepResult

WIDTH: Final = 860
HEIGHT: Final = 420
LEFT: Final = 70
RIGHT: Final = 30
TOP: Final = 20
BOTTOM: Final = 50

_STEPS: Final = (0.001, 0.01, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_200, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400)
"""The possible intervals between the grid lines of the time axis, in seconds."""

STYLE: Final = """
:root { color-scheme: light dark; --ink: #1b2430; --soft: #66707c; --line: #d5dae0; --paper: #fff; --bad: #b3261e; --good: #1d6f42; --point: #2457a6 }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ed; --soft: #9aa4b0; --line: #38414c; --paper: #14181d; --bad: #ff8a80; --good: #7ddba3; --point: #8ab4f8 } }
body { margin: 2rem auto; max-width: 76rem; padding: 0 1rem; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif }
h1 { font-size: 1.4rem; overflow-wrap: anywhere } pre { overflow-x: auto } figure { margin: 1.5rem 0; overflow-x: auto } figcaption, .notes { color: var(--soft) }
svg { max-width: 100%; height: auto } svg text { fill: var(--ink); font: 12px system-ui, sans-serif } svg .soft { fill: var(--soft) }
svg .grid { stroke: var(--line) } svg .bar { stroke: var(--point); opacity: .55 } svg circle, svg .point { fill: var(--point) }
table { font-size: 13px; border-collapse: collapse; font-variant-numeric: tabular-nums } .wide { overflow-x: auto }
th, td { padding: .3rem .7rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap } th { vertical-align: bottom }
td.text, th.text { text-align: left } td.lost { color: var(--bad); font-weight: 600 } td.kept { color: var(--good) }
@media (max-width: 40rem) { body { margin: 1rem auto } svg text { font-size: 20px } svg circle { r: 9px } svg .point { transform-box: fill-box; transform-origin: center; transform: scale(1.6) } svg .aside { display: none } .notes { padding-left: 1.1rem } }
@media print { body { margin: 0; max-width: none } }
"""


def render(outcome: SweepResult) -> str:
    """Return the result of a sweep as an HTML page."""
    title = escape(escape_value(title_of(outcome)))
    about = f"<p>{escape(escape_value(' '.join(outcome.grid.about.split())))}</p>" if outcome.grid.about else ""
    notes = "".join(f"<li>{escape(escape_value(line))}</li>" for line in notes_of(outcome))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{title}</title><style>{STYLE}</style></head><body><h1>{title}</h1>{about}\n"
        f"<figure>{picture(outcome)}<figcaption>A cell that is lower in the chart loses records in fewer runs, and one that is further left has less time without acknowledged writes. Bars are 95% intervals, "
        f"and the numbers identify cells. A diamond marks a cell that lost acknowledged records in at least one run; a circle marks a "
        f"cell that lost none.</figcaption></figure>\n"
        f'<div class="wide">{_table(outcome)}</div>\n<ul class="notes">{notes}</ul>'
        f"<details><summary>The grid</summary><pre>{escape(escape_text(outcome.grid.text))}</pre></details></body></html>\n"
    )


def _table(outcome: SweepResult) -> str:
    words = varied_words(outcome) or ["name"]
    head = (
        "<th>cell</th>"
        + "".join(f'<th class="text">{escape(escape_value(word))}</th>' for word in words)
        + "".join(f"<th>{text}</th>" for text in HEADINGS)
    )
    rows = []
    for cell in outcome.cells:
        values = "".join(f'<td class="text">{escape(escape_value(value))}</td>' for value in cell_values(cell, varied_words(outcome)))
        kind = "lost" if cell.losing else "kept"
        numbers = "".join(
            f'<td class="{kind}">{escape(text)}</td>' if column == 1 else f"<td>{escape(text)}</td>"
            for column, text in enumerate(numbers_of(cell))
        )
        rows.append(f"<tr><td>{cell.cell.number}</td>{values}{numbers}</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


# --- the chart -----------------------------------------------------------------------------------------------------


def picture(outcome: SweepResult) -> str:
    """Return the chart of the trade-off as SVG."""
    most = max((cell.unacknowledged.high for cell in outcome.cells), default=0.0) or 1.0
    highest = max((cell.loss.high for cell in outcome.cells), default=0.0) or 1.0
    right, top = _round_time(most * 1.05), min(1.0, round_up(highest * 1.05))

    def x(us: float) -> float:
        return round(LEFT + us / right * (WIDTH - LEFT - RIGHT), 1)

    def y(share: float) -> float:
        return round(HEIGHT - BOTTOM - share / top * (HEIGHT - TOP - BOTTOM), 1)

    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="Probability of a loss against time without acknowledged writes">'
    ]
    for step in range(6):
        at, share = right * step / 5, top * step / 5
        parts.append(f'<line class="grid" x1="{x(at)}" y1="{y(0)}" x2="{x(at)}" y2="{y(top)}"/>')
        parts.append(
            f'<text class="soft" x="{x(at)}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{escape(format_duration(round(at)))}</text>'
        )
        parts.append(f'<line class="grid" x1="{x(0)}" y1="{y(share)}" x2="{x(right)}" y2="{y(share)}"/>')
        parts.append(f'<text class="soft" x="{LEFT - 8}" y="{y(share) + 4}" text-anchor="end">{percent(share)}</text>')
    parts.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">time per run during which a partition acknowledges no writes</text>'
    )
    middle = (TOP + HEIGHT - BOTTOM) / 2
    parts.append(
        f'<text x="14" y="{middle}" text-anchor="middle" class="aside" transform="rotate(-90 14 {middle})">probability of a loss in a run</text>'
    )
    points: dict[tuple[float, float], list[CellResult]] = {}
    for cell in outcome.cells:
        points.setdefault((x(cell.unacknowledged.value), y(cell.loss.value)), []).append(cell)
    taken: list[tuple[float, float]] = []
    for (px, py), cells in points.items():
        for cell in cells:
            loss, down = cell.loss, cell.unacknowledged
            parts.append(f'<line class="bar" x1="{px}" y1="{y(loss.low)}" x2="{px}" y2="{y(loss.high)}"/>')
            parts.append(f'<line class="bar" x1="{x(down.low)}" y1="{py}" x2="{x(down.high)}" y2="{py}"/>')
        names = "".join(f"{cell.cell.number}: {cell.cell.name}\n" for cell in cells)
        shape = (
            f'<path class="point" d="M{px} {py - 8}l8 8l-8 8l-8 -8Z">'
            if any(cell.losing for cell in cells)
            else f'<circle cx="{px}" cy="{py}" r="5">'
        )
        parts.append(f"{shape}<title>{escape(escape_text(names))}</title></{'path' if shape.startswith('<path') else 'circle'}>")
        label = ", ".join(str(cell.cell.number) for cell in cells)
        at = py - 8
        while any(abs(px - other) < 40 and abs(at - line) < 13 for other, line in taken):
            at -= 13
        taken.append((px, at))
        parts.append(f'<text x="{px + 8}" y="{at}">{label}</text>')
    return "".join(parts) + "</svg>"


def _round_time(us: float) -> float:
    """Return the shortest length of the time axis, in µs, that suffices for all values: five times one of `_STEPS` or, if all of these are
    too short, a round number."""
    step = next((seconds for seconds in _STEPS if 5e6 * seconds >= us), None)
    return 5e6 * step if step is not None else round_up(us)
