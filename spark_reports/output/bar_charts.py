"""Charts with a horizontal bar for each row, divided into segments. Each segment has a pattern, a number, and a tooltip."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import Final, NamedTuple

from scenarios.io.escaping import escape_value
from spark_reports.output.svg_parts import grid_line, percent, shortened, swatch

ROWS: Final = 40
"""The maximum number of bars in a chart."""

_HEIGHT: Final = 22


class Segment(NamedTuple):
    """A part of a bar: its CSS class, its length, the number that it shows, and its meaning."""

    look: str
    length: int
    shown: str
    words: str


def bar_chart(label: str, rows: Sequence[tuple[str, Sequence[Segment]]], mark: Callable[[int], str]) -> str:
    """Return a chart of the first `ROWS` rows, or nothing if all bars are empty.

    Args:
        label: what the chart shows.
        rows: the name and the segments of each bar.
        mark: the function that formats a number on the axis.
    """
    shown = rows[:ROWS]
    top = max((sum(each.length for each in segments) for _, segments in shown), default=0)
    if top <= 0:
        return ""
    marks = _marks(top)
    grid = "".join(grid_line(at, top, _HEIGHT) for at in marks)
    parts = [f'<div class="timeline bars" role="img" aria-label="{escape(label)}">']
    for name, segments in shown:
        long = escape_value(name)
        parts.append(
            f'<div class="lane"><span title="{escape(long)}">{escape(shortened(long))}</span><svg width="100%" height="{_HEIGHT}">{grid}'
        )
        at = 0
        for each in segments:
            if each.length > 0:
                parts.append(_segment(each, at, top, long))
                at += each.length
        parts.append("</svg></div>")
    labels = "".join(_label(at, top, mark(at)) for at in marks)
    parts.append(f'<div class="lane axis"><span></span><svg width="100%" height="18">{labels}</svg></div></div>')
    if len(rows) > ROWS:
        parts.append(f'<p class="notes">The chart shows {ROWS} of {len(rows):,} rows.</p>')
    return "".join(parts)


def bar_legend(entries: Sequence[tuple[str, str]]) -> str:
    """Return the legend of a chart, given the CSS class and the meaning of each segment."""
    return f'<div class="legend">{"".join(swatch(*entry) for entry in entries)}</div>'


def _segment(each: Segment, at: int, top: int, name: str) -> str:
    x, width = 100 * at / top, max(100 * each.length / top, 0.3)
    box = f'x="{percent(x)}" y="3" width="{percent(width)}" height="16"'
    rect = f'<rect class="{each.look}" {box}><title>{escape(name)}: {escape(escape_value(each.words))}</title></rect>'
    # The bar clips text that does not fit.
    inside = f'<svg {box}><text class="bar" x="4" y="12">{escape(each.shown)}</text></svg>' if width > 2.5 else ""
    return rect + inside


def _marks(top: int) -> list[int]:
    """Return the numbers at which the axis has marks, at most six."""
    step = next(n * 10**power for power in range(19) for n in (1, 2, 5) if top <= 5 * n * 10**power)
    return list(range(0, top + 1, step))


def _label(at: int, top: int, words: str) -> str:
    anchor = "start" if not at else "end" if at > 0.97 * top else "middle"
    return f'<text class="quiet" x="{percent(100 * at / top)}" y="13" text-anchor="{anchor}">{escape(words)}</text>'
