"""A chart with a row for each cell: its name, and an estimate with its confidence interval in each of several panels.

No two intervals share a place, however many cells have the same numbers. On a wide screen, the panels are next to each other, and on a phone,
one is below the other. The terminal shows the same panels as text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from html import escape
from typing import Any, Final

import attrs

from scenarios.io.escaping import escape_text, escape_value
from scenarios.sweeps.statistics.cell_results import CellResult
from scenarios.sweeps.statistics.estimates import Estimate

WIDTH: Final = 1216
"""The width of the picture on a wide screen."""

PHONE: Final = 380
"""The width of the picture on a phone."""

ROW: Final = 26
"""The height of a row."""

GAP: Final = 56
"""The space between two panels."""

COLUMNS: Final = 64
"""The width of a panel in a terminal, in characters."""

_TIMES: Final = (
    0.001, 0.002, 0.02, 0.2, 0.4, 1, 2, 4, 10, 20, 40, 60, 120, 240, 600, 1_200, 2_400, 3_600, 7_200, 14_400, 28_800, 86_400, 172_800,
)  # fmt: skip
"""The usual steps of an axis with times, in half seconds."""

LETTER: Final = 6.6
"""The mean width of a letter."""

STYLE: Final = """
svg .safe { fill: var(--good) } svg .losing { fill: var(--bad) } svg .bar { stroke-width: 3; stroke-linecap: round } svg .stripe { fill: var(--line); opacity: .25 }
svg.phone { display: none } @media (max-width: 40rem) { svg.desktop { display: none } svg.phone { display: inline } }
"""


def round_step(most: float) -> float:
    """Return a round number of which at most five reach a value."""
    power = 10.0 ** math.floor(math.log10(most / 5))
    return next(step * power for step in (1, 2, 2.5, 5, 10) if step * power * 5 >= most * (1 - 1e-9))


def time_step(most: float) -> float:
    """Return a time in µs of which at most five reach a time, and which is a usual number of seconds, minutes, or hours."""
    return next((5e5 * step for step in _TIMES if 2.5e6 * step >= most), round_step(most))


@attrs.frozen
class Panel:
    """A quantity that the chart shows.

    Attributes:
        title: what it is.
        estimate: returns the estimate of a cell; None to leave its row empty.
        label: returns a value as text, for the axis.
        logarithmic: whether the axis is logarithmic. It then begins at the power of ten below the least positive value.
        most: the largest value that the axis needs.
        losing: returns whether the quantity includes a loss, which has a diamond instead of a circle.
        step: returns the distance between the grid lines of an axis that is not logarithmic, for its largest value.
    """

    title: str
    estimate: Callable[[CellResult[Any]], Estimate | None]
    label: Callable[[float], str]
    logarithmic: bool = False
    most: float = math.inf
    losing: Callable[[CellResult[Any]], bool] = lambda cell: bool(cell.losing)
    step: Callable[[float], float] = round_step


@attrs.frozen
class _Axis:
    """The axis of a panel: the values of its ends and of its grid lines."""

    low: float
    high: float
    logarithmic: bool
    ticks: tuple[float, ...]

    def share(self, value: float) -> float:
        """Return where a value is on the axis, from 0 to 1."""
        if not self.logarithmic:
            return min(1.0, max(0.0, value / self.high))
        return min(1.0, math.log(max(value, self.low) / self.low) / math.log(self.high / self.low))


def _axis(panel: Panel, cells: Sequence[CellResult[Any]]) -> _Axis:
    found = [estimate for cell in cells if (estimate := panel.estimate(cell)) is not None]
    values = [value for each in found for value in (each.value, each.low, each.high) if 0 < value < math.inf]
    most = min(panel.most, max(values, default=1.0))
    if not panel.logarithmic:
        step = panel.step(most)
        ticks = tuple(step * number for number in range(math.ceil(most / step - 1e-9) + 1))
        return _Axis(0.0, ticks[-1], logarithmic=False, ticks=ticks)
    first = math.floor(math.log10(min(values, default=0.1)) + 1e-9)
    last = max(first + 1, math.ceil(math.log10(most) - 1e-9))
    every = math.ceil((last - first) / 5)
    ticks = tuple(float(f"1e{power}") for power in range(first, last + 1, every))
    return _Axis(float(f"1e{first}"), float(f"1e{last}"), logarithmic=True, ticks=ticks)


def picture(cells: Sequence[CellResult[Any]], panels: Sequence[Panel], label: str) -> str:
    """Return the chart for wide screens and for phones as SVG."""
    return _drawn(cells, panels, label, WIDTH, "desktop") + _drawn(cells, panels, label, PHONE, "phone")


def _drawn(cells: Sequence[CellResult[Any]], panels: Sequence[Panel], label: str, width: int, kind: str) -> str:
    wide = kind == "desktop"
    shown = [escape_value(f"{cell.cell.number}  {cell.cell.name}") for cell in cells]
    left = min(0.42 * width, max(map(len, shown)) * LETTER + 12) if wide else 8.0
    row = ROW if wide else 2 * ROW
    span = (width - left - GAP * len(panels)) / len(panels) if wide else width - GAP
    tall = 30 + row * len(cells) + 30
    height = tall if wide else tall * len(panels)
    parts = [
        f'<svg class="{kind}" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-label="{escape(label)}">'
    ]
    for number in range(len(cells)) if wide else ():
        if number % 2 == 0:
            parts.append(f'<rect class="stripe" x="0" y="{30 + row * number}" width="{width}" height="{row}"/>')
    for place, panel in enumerate(panels):
        start = left + GAP / 2 + place * (span + GAP) if wide else GAP / 2
        top = 30 if wide else 30 + place * tall
        axis = _axis(panel, cells)
        foot = top + row * len(cells)
        parts.append(f'<text x="{start:.1f}" y="{top - 12}">{escape(panel.title)}</text>')
        for tick in axis.ticks:
            at = start + span * axis.share(tick)
            parts.append(f'<line class="grid" x1="{at:.1f}" y1="{top}" x2="{at:.1f}" y2="{foot}"/>')
            parts.append(f'<text class="soft" x="{at:.1f}" y="{foot + 17}" text-anchor="middle">{escape(panel.label(tick))}</text>')
        for number, (cell, text) in enumerate(zip(cells, shown, strict=True)):
            middle = top + row * number + (ROW / 2 if wide else 1.5 * ROW)
            if place == 0 or not wide:
                room = int((left if wide else span) / LETTER)
                fitting = escape(text) if len(text) <= room else f"<title>{escape(text)}</title>{escape(_shortened(text, room))}"
                x, y = (4, middle + 4) if wide else (start, middle - 0.6 * ROW)
                parts.append(f'<text x="{x}" y="{y:.1f}">{fitting}</text>')
            parts += _interval(panel.estimate(cell), axis, start, span, middle, losing=panel.losing(cell), title=text)
    return "".join(parts) + "</svg>"


def _shortened(text: str, room: int) -> str:
    """Return a name that is too long with its long words cut, so that the values between them remain, and then cut at the end."""
    text = re.sub(r"[\w.]{14,}", lambda word: f"{word[0][:11]}…", text)
    return text if len(text) <= room else f"{text[: room - 2]}…"


def _interval(estimate: Estimate | None, axis: _Axis, start: float, span: float, middle: float, *, losing: bool, title: str) -> list[str]:
    if estimate is None:
        return []
    low, high = (start + span * axis.share(value) for value in (estimate.low, min(estimate.high, axis.high)))
    at = start + span * axis.share(estimate.value)
    parts = []
    if estimate.high < math.inf and estimate.high > estimate.low:
        parts.append(f'<line class="bar" x1="{low:.1f}" y1="{middle}" x2="{high:.1f}" y2="{middle}"/>')
    name = f"<title>{escape(escape_text(title))}</title>"
    if losing:
        parts.append(f'<path class="losing" d="M{at:.1f} {middle - 7}l7 7l-7 7l-7 -7Z">{name}</path>')
    else:
        parts.append(f'<circle class="safe" cx="{at:.1f}" cy="{middle}" r="5">{name}</circle>')
    return parts


def text_picture(cells: Sequence[CellResult[Any]], panels: Sequence[Panel]) -> list[str]:
    """Return the lines of the chart for a terminal. The numbers of the rows are those of the cells."""
    lines = []
    for panel in panels:
        axis = _axis(panel, cells)
        known = any(estimate.low < estimate.high for cell in cells if (estimate := panel.estimate(cell)) is not None)
        lines.append(f"    {panel.title}{', with 95% intervals' if known else ''}")
        for cell in cells:
            field = [" "] * COLUMNS
            estimate = panel.estimate(cell)
            if estimate is not None:
                low, at, high = (
                    round(axis.share(value) * (COLUMNS - 1)) for value in (estimate.low, estimate.value, min(estimate.high, axis.high))
                )
                if estimate.high < math.inf:
                    field[low : high + 1] = "─" * (high + 1 - low)
                field[at] = "◆" if panel.losing(cell) else "●"
            lines.append(f"{cell.cell.number:>3} │{''.join(field)}".rstrip())
        lines.append("    └" + "─" * COLUMNS)
        marks = [" "] * (COLUMNS + 24)
        for tick in axis.ticks:
            text = panel.label(tick)
            start = 5 + max(0, round(axis.share(tick) * (COLUMNS - 1)) - len(text) // 2)
            if all(mark == " " for mark in marks[max(0, start - 1) : start + len(text)]):
                marks[start : start + len(text)] = text
        lines.append("".join(marks).rstrip())
    return lines
