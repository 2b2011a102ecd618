"""Parts of charts in inline SVG: bars in stripes, the marks of the time axis, legends, and short names.

Positions on the axis are percentages, because charts take the available width.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

import attrs

from core.sim.units import SECOND, format_duration
from scenarios.io.escaping import escape_value

_STEPS: Final = tuple(
    n * unit
    for unit, many in (
        (1, (1, 2, 5, 10, 20, 50, 100, 200, 500)),
        (1_000, (1, 2, 5, 10, 20, 50, 100, 200, 500)),
        (SECOND, (1, 2, 5, 10, 20, 30)),
    )
    for n in many
) + tuple(n * 60 * SECOND for n in (1, 2, 5, 10, 20, 30, 60, 120, 360, 720, 1_440, 2_880, 7_200, 14_400, 43_200, 86_400, 525_600))
"""Possible distances between the marks of the time axis, in µs."""


CURVE: Final = (300, 88)
"""The width and height of a small chart."""


@attrs.frozen
class Bar:
    """A part of a stripe: its start and end in µs, its CSS class, the text in the bar, its tooltip, and its severity."""

    start: int
    end: int
    look: str
    inside: str
    title: str
    weight: int = 0


def stripe(bars: Sequence[Bar], end: int, top: int, height: int) -> str:
    """Return bars at their positions on the axis."""
    parts = []
    for bar in bars:
        x, width = 100 * bar.start / end, max(100 * (bar.end - bar.start) / end, 0.06)
        times = f"{format_duration(bar.start)} to {format_duration(bar.end)}"
        rect = f'<rect class="{bar.look}" x="{percent(x)}" y="{top}" width="{percent(width)}" height="{height}"><title>{escape(escape_value(bar.title))}, {times}</title></rect>'
        parts.append(rect)
        if bar.inside and width > 1.5:
            # The bar clips text that does not fit.
            parts.append(
                f'<svg x="{percent(x)}" y="{top}" width="{percent(width)}" height="{height}"><text class="bar" x="4" y="{height - 3}">'
                f"{escape(escape_value(bar.inside))}</text></svg>"
            )
    return "".join(parts)


def time_marks(end: int) -> list[int]:
    """Return the times at the marks of the axis, in µs."""
    step = next((step for step in _STEPS if end / step <= 10), _STEPS[-1])
    return list(range(0, end + 1, step)) if end // step <= 200 else [0, end]


def grid_line(at: int, end: int, height: int) -> str:
    """Return the vertical grid line that marks a time in a lane."""
    return f'<line class="grid" x1="{percent(100 * at / end)}" x2="{percent(100 * at / end)}" y1="0" y2="{height}"/>'


def axis_label(number: int, at: int, end: int) -> str:
    """Return the label that marks a time on the axis below the lanes. If there is little space, only every third label is shown."""
    anchor = "start" if not at else "end" if at > 0.97 * end else "middle"
    look = "quiet" if number % 3 == 0 else "quiet minor"
    return f'<text class="{look}" x="{percent(100 * at / end)}" y="13" text-anchor="{anchor}">{format_duration(at)}</text>'


def shortened(name: str) -> str:
    """Return a name, shortened if necessary to fit beside the chart. The end of the name, which contains the number of the partition, is
    kept."""
    return name if len(name) <= 28 else f"{name[:17]}…{name[-10:]}"


def swatch(look: str, words: str) -> str:
    """Return an entry of a legend."""
    return (
        f'<span><svg width="26" height="14" aria-hidden="true" data-look="{look}"><rect class="{look}" x="0" y="0" width="26" height="14"/></svg>'
        f"{escape(words)}</span>"
    )


def percent(percent: float) -> str:
    """Format a position on the time axis with as few characters as possible."""
    return f"{percent:.2f}".rstrip("0").rstrip(".") + "%"


def small_curve(label: str, end_us: int, top: int, lines: Mapping[str, Sequence[Sequence[tuple[int, int]]]]) -> str:
    """Return a small chart with a frame. `axis.js` draws its lines with D3.

    Args:
        label: what the chart shows.
        end_us: the end of the time axis.
        top: the greatest value.
        lines: the steps of each CSS class, in pieces, as (time in µs, value).
    """
    width, height = CURVE
    data = escape(json.dumps({"end": max(end_us, 1), "top": top, "lines": list(lines.items())}, separators=(",", ":")))
    return (
        f'<svg class="curve" role="img" aria-label="{label}" width="{width}" height="{height}" viewBox="0 0 {width} {height}" data-curve="{data}">'
        f'<path class="grid" d="M4 4V{height - 16}H{width - 4}"/>'
        f'<text class="quiet" x="8" y="13">{top:,}</text><text class="quiet" x="4" y="{height - 4}">0</text>'
        f'<text class="quiet" x="{width - 4}" y="{height - 4}" text-anchor="end">{format_duration(end_us)}</text></svg>'
    )
