"""Charts of a session as inline SVG: the leader, ISR, and availability of each partition over time, and the high watermarks of partitions.

Colors are classes of the page's style sheet, so charts follow dark mode, light mode, and print. The meaning of each color is also shown by
a pattern, by a word in wide bars, and by the title that appears under the pointer. Charts over time take the available width.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Final

import attrs

from core.sim.units import SECOND, format_duration
from scenarios.io.escaping import escape_value

PLOT: Final = 960
"""The nominal width of the time axis. The axis takes the available width, so positions are percentages."""

LANE: Final = 44
"""The height of a partition's lane, which shows the leader, the ISR, and the availability."""

SEGMENTS: Final = 4_000
"""The maximum number of bars in a chart. If there are too many bars, the shortest harmless bars are merged into their neighbors."""

CURVE: Final = (300, 88)
"""The width and height of a high watermark chart."""

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
"""The CSS class and the words for each operation that can be unavailable to clients, with the worst case last."""

_PATTERNS: Final = {
    "s-under": '<path d="M-2 8L8 -2M-2 18L18 -2"/>',
    "s-at": '<path d="M3 0V8"/>',
    "s-min": '<path d="M0 0L8 8M8 0L0 8"/>',
    "u-stalled": '<circle cx="4" cy="4" r="1.7"/>',
    "u-writes": '<path d="M-2 8L8 -2M-2 18L18 -2"/>',
}
"""The pattern of each class (strokes, a grid, or dots), which distinguishes the class without color. Unlisted classes have no pattern."""

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

Row = Mapping[str, Any]


@attrs.frozen
class _Bar:
    """A part of a stripe: start and end in µs, class, text in the bar, text under the pointer, and severity."""

    start: int
    end: int
    look: str
    inside: str
    title: str
    weight: int = 0


def patterns() -> str:
    """Return the SVG definitions of the patterns, which a page contains only once."""
    made = "".join(
        f'<pattern id="p-{look}" class="{look}" width="8" height="8" patternUnits="userSpaceOnUse"><rect width="8" height="8"/>{drawn}</pattern>'
        for look, drawn in _PATTERNS.items()
    )
    return f'<svg class="patterns" width="0" height="0" aria-hidden="true"><defs>{made}</defs></svg>'


def joined(states: Sequence[Row]) -> int:
    """Return the number of short bars that `timeline` omits because there is no space."""
    of: dict[tuple[str, int], list[Row]] = {}
    for row in states:
        of.setdefault((row["topic"], row["partition"]), []).append(row)
    room = _room(len(of))
    return sum(len(bars) - len(_thinned(bars, room)) for rows in of.values() for bars in (_leaders(rows), _isr(rows)))


def _room(lanes: int) -> int:
    """Return the number of bars that a stripe can show."""
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
    marks = _marks(end)
    grid = "".join(_line(at, end) for at in marks)
    parts = ['<div class="timeline" role="img" aria-label="Leader, ISR, and availability of each partition over time">']
    for where, rows in of.items():
        name = escape(escape_value(f"{where[0]}-{where[1]}"))
        parts.append(
            f'<div class="lane"><span title="{name}">{escape(_shortened(escape_value(f"{where[0]}-{where[1]}")))}</span><svg width="100%" height="{LANE}">{grid}'
        )
        parts.append(_stripe(_thinned(_leaders(rows), room), end, 1, 14))
        parts.append(_stripe(_thinned(_isr(rows), room), end, 16, 12))
        parts.append(_stripe(_thinned(_closed(closed.get(where, ())), room), end, 29, 12))
        parts.append("</svg></div>")
    labels = "".join(_label(number, at, end) for number, at in enumerate(marks))
    parts.append(f'<div class="lane axis"><span></span><svg width="100%" height="18">{labels}</svg></div></div>')
    return "".join(parts)


def curve(points: Sequence[Row], end_us: int, held: Sequence[Row] = ()) -> str:
    """Return a chart of the high watermark and the log end of a partition's leader, from rows of the table `curves`.

    The rows of the table `held` add the last stable offset for the intervals in which transactions held it back.
    """
    width, height = CURVE
    left, bottom = 4, height - 16
    end = max(end_us, 1)
    top = max([1, *(row[name] for row in points for name in ("log_end", "high_watermark") if row[name] is not None)])
    parts = [
        f'<svg class="curve" role="img" aria-label="High watermark and log end over time" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}"><path class="grid" d="M{left} 4V{bottom}H{width - 4}"/>'
    ]
    for name, look in (("log_end", "leo"), ("high_watermark", "hw")):
        path, last = "", 0.0
        for row in points:
            if row[name] is None:
                continue
            x, y = _n(left + (width - 8) * min(row["at_us"], end) / end), _n(bottom - (bottom - 6) * row[name] / top)
            path += f"H{x}V{y}" if path else f"M{x} {y}"
            last = float(x)
        if path:
            parts.append(f'<path class="{look}" d="{path}{f"H{width - 4}" if last < width - 4 else ""}"/>')
    stable = "".join(
        f"M{_n(left + (width - 8) * min(row['from_us'], end) / end)} {_n(bottom - (bottom - 6) * min(row['offset'], top) / top)}"
        f"H{_n(left + (width - 8) * min(row['to_us'], end) / end)}"
        for row in held
    )
    if stable:
        parts.append(f'<path class="lso" d="{stable}"/>')
    parts.append(f'<text class="quiet" x="{left + 4}" y="13">{top:,}</text><text class="quiet" x="{left}" y="{height - 4}">0</text>')
    parts.append(f'<text class="quiet" x="{width - 4}" y="{height - 4}" text-anchor="end">{format_duration(end_us)}</text></svg>')
    return "".join(parts)


def legend(states: Sequence[Row], windows: Sequence[Row]) -> str:
    """Return the legend of `timeline` for the classes that occur in the rows."""
    occur = {row["state"] for row in states}
    marks = [(look, name) for name, look in reversed(_STATES.items()) if name in occur]
    closed = {row["what"] for row in windows}
    words = {"reads": "no reads or writes", "writes": "no acks=all writes", "stalled": "acks=all writes wait"}
    shut = [(look, words[what]) for what, (look, _) in reversed(_CLOSED.items()) if what in closed]
    rows = [("ISR", marks), *([("clients", shut)] if shut else [])]
    return "".join(f'<div class="legend"><b>{name}</b>{"".join(_swatch(*mark) for mark in found)}</div>' for name, found in rows)


def _swatch(look: str, words: str) -> str:
    return (
        f'<span><svg width="26" height="14" aria-hidden="true" data-look="{look}"><rect class="{look}" x="0" y="0" width="26" height="14"/></svg>'
        f"{escape(words)}</span>"
    )


def _leaders(rows: Sequence[Row]) -> list[_Bar]:
    bars: list[_Bar] = []
    for row in rows:
        if row["leader"] < 0:
            continue
        if bars and bars[-1].end == row["from_us"] and bars[-1].look == f"l{row['leader'] % 8}" and bars[-1].inside == f"b{row['leader']}":
            bars[-1] = attrs.evolve(bars[-1], end=row["to_us"])
        else:
            bars.append(_Bar(row["from_us"], row["to_us"], f"l{row['leader'] % 8}", f"b{row['leader']}", f"b{row['leader']} leads"))
    return bars


def _isr(rows: Sequence[Row]) -> list[_Bar]:
    order = list(_STATES)
    return [
        _Bar(
            row["from_us"],
            row["to_us"],
            _STATES[row["state"]],
            "" if row["state"] == "in sync" else row["state"],
            f"{row['state']}: ISR [{row['isr']}], min.insync.replicas {row['min_isr']}",
            order.index(row["state"]),
        )
        for row in rows
    ]


def _closed(windows: Sequence[Row]) -> list[_Bar]:
    return [
        _Bar(row["from_us"], row["to_us"], look, words, f"{words} for {format_duration(row['lasts_us'])}: {row['why']}", 9)
        for what, (look, words) in _CLOSED.items()
        for row in windows
        if row["what"] == what
    ]


def _thinned(bars: list[_Bar], most: int) -> list[_Bar]:
    """Return at most `most` bars. Short harmless bars are omitted first, and the bar before an omitted bar is extended."""
    if len(bars) <= most:
        return bars
    kept = set(sorted(range(len(bars)), key=lambda i: (-bars[i].weight, bars[i].start - bars[i].end))[:most])
    result: list[_Bar] = []
    for number, bar in enumerate(bars):
        if number in kept:
            result.append(bar)
        elif result and result[-1].end == bar.start:
            result[-1] = attrs.evolve(result[-1], end=bar.end)
    return result


def _stripe(bars: Sequence[_Bar], end: int, top: int, height: int) -> str:
    parts = []
    for bar in bars:
        x, width = 100 * bar.start / end, max(100 * (bar.end - bar.start) / end, 0.06)
        times = f"{format_duration(bar.start)} to {format_duration(bar.end)}"
        rect = f'<rect class="{bar.look}" x="{_p(x)}" y="{top}" width="{_p(width)}" height="{height}"><title>{escape(escape_value(bar.title))}, {times}</title></rect>'
        parts.append(rect)
        if bar.inside and width > 1.5:
            # The bar clips text that does not fit.
            parts.append(
                f'<svg x="{_p(x)}" y="{top}" width="{_p(width)}" height="{height}"><text class="bar" x="4" y="{height - 3}">'
                f"{escape(escape_value(bar.inside))}</text></svg>"
            )
    return "".join(parts)


def _marks(end: int) -> list[int]:
    """Return the times at the marks of the axis, in µs."""
    step = next((step for step in _STEPS if end / step <= 10), _STEPS[-1])
    return list(range(0, end + 1, step)) if end // step <= 200 else [0, end]


def _line(at: int, end: int) -> str:
    return f'<line class="grid" x1="{_p(100 * at / end)}" x2="{_p(100 * at / end)}" y1="0" y2="{LANE}"/>'


def _label(number: int, at: int, end: int) -> str:
    """Return the label of a time below the lanes. If there is little space, only every third label is shown."""
    anchor = "start" if not at else "end" if at > 0.97 * end else "middle"
    look = "quiet" if number % 3 == 0 else "quiet minor"
    return f'<text class="{look}" x="{_p(100 * at / end)}" y="13" text-anchor="{anchor}">{format_duration(at)}</text>'


def _shortened(name: str) -> str:
    """Return a name that fits beside the chart. The end of the name, which contains the number of the partition, is kept."""
    return name if len(name) <= 28 else f"{name[:17]}…{name[-10:]}"


def _p(percent: float) -> str:
    """Format a position on the time axis with as few characters as possible."""
    return f"{percent:.2f}".rstrip("0").rstrip(".") + "%"


def _n(number: float) -> str:
    """Format a coordinate with as few characters as possible."""
    return f"{number:.1f}".removesuffix(".0")
