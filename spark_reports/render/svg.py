"""Charts of a session as inline SVG: a partition's leader, ISR state and unavailability over time, and its high watermark.

Colours are classes that the page's style sheet fills in, so that a chart follows dark, light and print. What a colour says
is also said in words: inside a bar when it is wide enough, and in the title that a pointer shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Final

import attrs

from core.units import SECOND, format_duration
from scenarios.visible import visible

LABEL: Final = 190
"""Width of the partitions' names."""

PLOT: Final = 960
"""Width of the time axis."""

ROW: Final = 27
"""Height of a partition's row: leader, ISR state, unavailability."""

SEGMENTS: Final = 4_000
"""Bars of a chart at most; where there are more, the shortest harmless ones are joined to their neighbours."""

CURVE: Final = (300, 88)
"""Width and height of a high watermark's chart."""

_STATES: Final = {"in sync": "s-sync", "under-replicated": "s-under", "at min": "s-at", "under min": "s-min", "offline": "s-offline"}

_STEPS: Final = tuple(
    n * unit
    for unit, many in (
        (1, (1, 2, 5, 10, 20, 50, 100, 200, 500)),
        (1_000, (1, 2, 5, 10, 20, 50, 100, 200, 500)),
        (SECOND, (1, 2, 5, 10, 20, 30)),
    )
    for n in many
) + tuple(n * 60 * SECOND for n in (1, 2, 5, 10, 20, 30, 60, 120, 360, 720, 1_440, 2_880, 7_200, 14_400, 43_200, 86_400, 525_600))
"""Distances between the axis's marks that people can read, in µs."""

Row = Mapping[str, Any]


@attrs.frozen
class _Bar:
    """A piece of a stripe: from and to in µs, its colour's class, what it says inside, what it says when pointed at, how bad it is."""

    start: int
    end: int
    look: str
    inside: str
    title: str
    weight: int = 0


def timeline(states: Sequence[Row], windows: Sequence[Row], end_us: int) -> str:
    """The chart of a session's partitions: rows of the tables `timeline` and `unavailability`, and when the session ended."""
    of: dict[tuple[str, int], list[Row]] = {}
    for row in states:
        of.setdefault((row["topic"], row["partition"]), []).append(row)
    closed: dict[tuple[str, int], list[Row]] = {}
    for row in windows:
        closed.setdefault((row["topic"], row["partition"]), []).append(row)
    end = max(end_us, 1)
    room = max(12, SEGMENTS // (3 * max(1, len(of))))
    height = len(of) * ROW + 24
    parts = [
        f'<svg class="timeline" role="img" aria-label="Leader and ISR of each partition over time" width="{LABEL + PLOT + 20}" '
        f'height="{height}" viewBox="0 0 {LABEL + PLOT + 20} {height}">',
        _axis(end, LABEL, PLOT, len(of) * ROW),
    ]
    for number, (where, rows) in enumerate(of.items()):
        top = number * ROW
        name = visible(f"{where[0]}-{where[1]}")
        parts.append(
            f'<text x="{LABEL - 8}" y="{top + 13}" text-anchor="end"><title>{escape(name)}</title>{escape(_shortened(name))}</text>'
        )
        parts.append(_stripe(_thinned(_leaders(rows), room), end, top + 2, 13))
        parts.append(_stripe(_thinned(_isr(rows), room), end, top + 16, 4))
        parts.append(_stripe(_thinned(_closed(closed.get(where, ())), room), end, top + 21, 3))
    parts.append("</svg>")
    return "".join(parts)


def curve(points: Sequence[Row], end_us: int) -> str:
    """The high watermark and the log end of one partition's leader: rows of the table `curves`."""
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
    parts.append(f'<text class="quiet" x="{left + 4}" y="13">{top:,}</text><text class="quiet" x="{left}" y="{height - 4}">0</text>')
    parts.append(f'<text class="quiet" x="{width - 4}" y="{height - 4}" text-anchor="end">{format_duration(end_us)}</text></svg>')
    return "".join(parts)


def legend(states: Sequence[Row]) -> str:
    """What the colours of `timeline` mean."""
    brokers = sorted({row["leader"] for row in states if row["leader"] >= 0})
    marks = [(f"l{broker % 8}", f"b{broker} leads") for broker in brokers[:16]]
    marks += [(look, name) for name, look in _STATES.items()]
    marks += [("u-reads", "neither read nor written"), ("u-writes", "not written (acks=all)"), ("u-stalled", "acks=all writes stalled")]
    items = (
        f'<span><svg width="12" height="10" aria-hidden="true"><rect class="{look}" x="1" y="1" width="10" height="8"/></svg>{escape(words)}</span>'
        for look, words in marks
    )
    return f'<div class="legend">{"".join(items)}</div>'


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
            "",
            f"{row['state']}: ISR [{row['isr']}], min.insync.replicas {row['min_isr']}",
            order.index(row["state"]),
        )
        for row in rows
    ]


_CLOSED = {"reads": "no reads", "writes": "no writes", "stalled": "acks=all writes stalled"}
"""Windows of `unavailability` in words."""


def _closed(windows: Sequence[Row]) -> list[_Bar]:
    return [
        _Bar(
            row["from_us"],
            row["to_us"],
            f"u-{row['what']}",
            "",
            f"{_CLOSED[row['what']]} for {format_duration(row['lasts_us'])}: {row['why']}",
            9,
        )
        for what in reversed(_CLOSED)
        for row in windows
        if row["what"] == what
    ]


def _thinned(bars: list[_Bar], most: int) -> list[_Bar]:
    """At most `most` bars: harmless short ones go first, and the one before takes their place."""
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
        x, width = LABEL + PLOT * bar.start / end, max(PLOT * (bar.end - bar.start) / end, 0.6)
        times = f"{format_duration(bar.start)} to {format_duration(bar.end)}"
        parts.append(
            f'<rect class="{bar.look}" x="{_n(x)}" y="{top}" width="{_n(width)}" height="{height}"><title>{escape(bar.title)}, {times}</title></rect>'
        )
        if bar.inside and width > 22:
            parts.append(f'<text class="bar" x="{_n(x + 4)}" y="{top + 10}" pointer-events="none">{escape(bar.inside)}</text>')
    return "".join(parts)


def _axis(end: int, left: int, width: int, height: int) -> str:
    """Vertical lines with their times below."""
    step = next((step for step in _STEPS if end / step <= 10), _STEPS[-1])
    marks = range(0, end + 1, step) if end // step <= 200 else (0, end)
    parts = []
    for at in marks:
        x = _n(left + width * at / end)
        parts.append(f'<path class="grid" d="M{x} 0V{height + 4}"/>')
        parts.append(f'<text class="quiet" x="{x}" y="{height + 17}" text-anchor="middle">{format_duration(at)}</text>')
    return "".join(parts)


def _shortened(name: str) -> str:
    """A name that fits beside the chart; its end, with the partition's number, stays."""
    return name if len(name) <= 28 else f"{name[:17]}…{name[-10:]}"


def _n(number: float) -> str:
    """A coordinate in few characters."""
    return f"{number:.1f}".removesuffix(".0")
