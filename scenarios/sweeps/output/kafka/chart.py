"""The chart of a sweep over Kafka's settings.

The chart is an SVG image with a point for each cell. The horizontal axis is the time without acknowledgments (no writes, or stalled). The
vertical axis is the probability of a loss. Both the time and the probability have confidence intervals. Cells at the same position share a
point and a label.
"""

from __future__ import annotations

from html import escape
from typing import Final

from core.sim.units import format_duration
from scenarios.io.escaping import escape_text
from scenarios.sweeps.output.chart import HEIGHT, WIDTH, Frame
from scenarios.sweeps.output.scales import round_up
from scenarios.sweeps.simulation.kafka.cell import KafkaCell
from scenarios.sweeps.statistics.cell_results import CellResult, SweepResult

_STEPS: Final = (0.001, 0.01, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_200, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400)
"""The possible intervals between the grid lines of the time axis, in seconds."""


def picture(outcome: SweepResult[KafkaCell]) -> str:
    """Return the chart of the trade-off as SVG."""
    longest = max((cell.means["unacknowledged"].high for cell in outcome.cells), default=0.0) or 1.0
    highest = max((cell.loss.high for cell in outcome.cells), default=0.0) or 1.0
    frame = Frame(_round_time(longest * 1.05), min(1.0, round_up(highest * 1.05)))
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="Probability of a loss against time without acknowledged writes">'
    ]
    for step in range(6):
        at = frame.right * step / 5
        parts += frame.upright(at, format_duration(round(at)), below=18)
        parts += frame.across(frame.top * step / 5)
    parts += frame.titles("time per run during which a partition acknowledges no writes", above=8)
    points: dict[tuple[float, float], list[CellResult[KafkaCell]]] = {}
    for cell in outcome.cells:
        points.setdefault((frame.x(cell.means["unacknowledged"].value), frame.y(cell.loss.value)), []).append(cell)
    taken: list[tuple[float, float]] = []
    for (px, py), cells in points.items():
        for cell in cells:
            parts += frame.bars(cell.means["unacknowledged"], cell.loss)
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
