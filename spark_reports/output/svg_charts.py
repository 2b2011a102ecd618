"""Charts of a session as inline SVG: the leader, ISR, and availability of each partition over time, and the high watermarks of partitions.

Colors are CSS classes of the page's style sheet, so charts adapt to dark mode, light mode, and print. The meaning of each color is also
shown by a pattern, by a word in wide bars, and by the tooltip. Charts with a time axis fill the available width.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Final

import attrs

from core.sim.units import format_duration
from scenarios.io.escaping import escape_value
from spark_reports.output.svg_parts import Bar, axis_label, grid_line, shortened, small_curve, stripe, swatch, time_marks

PLOT: Final = 960
"""The nominal width of the time axis. The axis takes the available width, so positions are percentages."""

LANE: Final = 44
"""The height of a partition's lane, which shows the leader, the ISR, and the availability."""

SEGMENTS: Final = 4_000
"""The maximum number of bars in a chart. If there are too many bars, the shortest harmless bars are merged into their neighbors."""

_STATES: Final = {
    "in sync": "s-sync",
    "under-replicated": "s-under",
    "at min": "s-at",
    "under min": "s-min",
    "offline": "s-offline",
}
"""The CSS class of each ISR state, with the worst state last."""

_CLOSED: Final = {
    "stalled": ("u-stalled", "acks=all waits"),
    "writes": ("u-writes", "no writes"),
    "reads": ("u-reads", "no reads or writes"),
}
"""The CSS class and the label for each operation that can be unavailable to clients, with the worst case last."""

_PATTERNS: Final = {
    "s-under": '<path d="M-2 8L8 -2M-2 18L18 -2"/>',
    "s-at": '<path d="M3 0V8"/>',
    "s-min": '<path d="M0 0L8 8M8 0L0 8"/>',
    "u-stalled": '<circle cx="4" cy="4" r="1.7"/>',
    "u-writes": '<path d="M-2 8L8 -2M-2 18L18 -2"/>',
}
"""The pattern of each CSS class (strokes, a grid, or dots), which distinguishes the class without color. CSS classes that are not listed
here have no pattern."""

Row = Mapping[str, Any]


def patterns() -> str:
    """Return the SVG definitions of the patterns, which a page contains only once."""
    made = "".join(
        f'<pattern id="p-{look}" class="{look}" width="8" height="8" patternUnits="userSpaceOnUse"><rect width="8" height="8"/>{drawn}</pattern>'
        for look, drawn in _PATTERNS.items()
    )
    return f'<svg class="patterns" width="0" height="0" aria-hidden="true"><defs>{made}</defs></svg>'


def joined(states: Sequence[Row]) -> int:
    """Return the number of short bars that `timeline` omits for lack of space."""
    of: dict[tuple[str, int], list[Row]] = {}
    for row in states:
        of.setdefault((row["topic"], row["partition"]), []).append(row)
    room = _room(len(of))
    return sum(len(bars) - len(_thinned(bars, room)) for rows in of.values() for bars in (_leaders(rows), _isr(rows)))


def _room(lanes: int) -> int:
    """Return the maximum number of bars in a stripe of `timeline`, given the number of lanes. Each partition has a lane, and each lane has
    three stripes: the leader, the ISR, and the availability.
    """
    return max(12, SEGMENTS // (3 * max(1, lanes)))


def timeline(states: Sequence[Row], windows: Sequence[Row], end_us: int) -> str:
    """Return the chart of a session's partitions, from rows of the tables `timeline` and `unavailability`."""
    of: dict[tuple[str, int], list[Row]] = {}
    for row in states:
        of.setdefault((row["topic"], row["partition"]), []).append(row)
    closed: dict[tuple[str, int], list[Row]] = {}
    for row in windows:
        closed.setdefault((row["topic"], row["partition"]), []).append(row)
    end = max(end_us, 1)
    room = _room(len(of))
    marks = time_marks(end)
    grid = "".join(grid_line(at, end, LANE) for at in marks)
    parts = ['<div class="timeline" role="img" aria-label="Leader, ISR, and availability of each partition over time">']
    for where, rows in of.items():
        name = escape(escape_value(f"{where[0]}-{where[1]}"))
        parts.append(
            f'<div class="lane"><span title="{name}">{escape(shortened(escape_value(f"{where[0]}-{where[1]}")))}</span><svg width="100%" height="{LANE}"><svg class="z" width="100%">{grid}'
        )
        parts.append(stripe(_thinned(_leaders(rows), room), end, 1, 14))
        parts.append(stripe(_thinned(_isr(rows), room), end, 16, 12))
        parts.append(stripe(_thinned(_closed(closed.get(where, ())), room), end, 29, 12))
        parts.append("</svg></svg></div>")
    labels = "".join(axis_label(number, at, end) for number, at in enumerate(marks))
    parts.append(
        f'<div class="lane axis"><span></span><svg width="100%" height="18"><svg class="z" width="100%">{labels}</svg></svg></div></div>'
    )
    return "".join(parts)


def curve(points: Sequence[Row], end_us: int, held: Sequence[Row] = ()) -> str:
    """Return a chart of the high watermark and the log end of a partition's leader, from rows of the table `curves`.

    The chart also shows the last stable offset for the intervals in which transactions held it back, from the rows of the table `held`.
    """
    end = max(end_us, 1)
    top = max([1, *(row[name] for row in points for name in ("log_end", "high_watermark") if row[name] is not None)])
    lines: dict[str, list[list[tuple[int, int]]]] = {}
    for name, look in (("log_end", "leo"), ("high_watermark", "hw")):
        steps = [(min(row["at_us"], end), row[name]) for row in points if row[name] is not None]
        if steps:
            lines[look] = [[*steps, (end, steps[-1][1])]]
    if held:
        lines["lso"] = [[(min(row[at], end), min(row["offset"], top)) for at in ("from_us", "to_us")] for row in held]
    return small_curve("High watermark and log end over time", end_us, top, lines)


def legend(states: Sequence[Row], windows: Sequence[Row]) -> str:
    """Return the legend for the chart that `timeline` returns, for the classes that occur in the rows."""
    occur = {row["state"] for row in states}
    marks = [(look, name) for name, look in reversed(_STATES.items()) if name in occur]
    closed = {row["what"] for row in windows}
    words = {"reads": "no reads or writes", "writes": "no acks=all writes", "stalled": "acks=all writes wait"}
    shut = [(look, words[what]) for what, (look, _) in reversed(_CLOSED.items()) if what in closed]
    rows = [("ISR", marks), *([("clients", shut)] if shut else [])]
    return "".join(f'<div class="legend"><b>{name}</b>{"".join(swatch(*mark) for mark in found)}</div>' for name, found in rows)


def _leaders(rows: Sequence[Row]) -> list[Bar]:
    bars: list[Bar] = []
    for row in rows:
        if row["leader"] < 0:
            continue
        if bars and bars[-1].end == row["from_us"] and bars[-1].look == f"l{row['leader'] % 8}" and bars[-1].inside == f"b{row['leader']}":
            bars[-1] = attrs.evolve(bars[-1], end=row["to_us"])
        else:
            bars.append(Bar(row["from_us"], row["to_us"], f"l{row['leader'] % 8}", f"b{row['leader']}", f"b{row['leader']} leads"))
    return bars


def _isr(rows: Sequence[Row]) -> list[Bar]:
    order = list(_STATES)
    return [
        Bar(
            row["from_us"],
            row["to_us"],
            _STATES[row["state"]],
            "" if row["state"] == "in sync" else row["state"],
            f"{row['state']}: ISR [{row['isr']}], min.insync.replicas {row['min_isr']}",
            order.index(row["state"]),
        )
        for row in rows
    ]


def _closed(windows: Sequence[Row]) -> list[Bar]:
    return [
        Bar(row["from_us"], row["to_us"], look, words, f"{words} for {format_duration(row['lasts_us'])}: {row['why']}", 9)
        for what, (look, words) in _CLOSED.items()
        for row in windows
        if row["what"] == what
    ]


def _thinned(bars: list[Bar], most: int) -> list[Bar]:
    """Return the given bars, or only `most` of them if there are more. Short harmless bars are omitted first. The bar before an omitted bar
    is extended to fill the gap."""
    if len(bars) <= most:
        return bars
    kept = set(sorted(range(len(bars)), key=lambda i: (-bars[i].weight, bars[i].start - bars[i].end))[:most])
    result: list[Bar] = []
    for number, bar in enumerate(bars):
        if number in kept:
            result.append(bar)
        elif result and result[-1].end == bar.start:
            result[-1] = attrs.evolve(result[-1], end=bar.end)
    return result
