"""Charts of consumer groups: which consumer owns each partition over time, the rebalances, and the lag of each partition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Final

from scenarios.io.escaping import escape_value
from spark_reports.output.svg_parts import Bar, axis_label, grid_line, shortened, small_curve, stripe, swatch, time_marks

Row = Mapping[str, Any]

LANES: Final = 24
"""The maximum number of partitions in a group that have a lane."""

BARS: Final = 120
"""The maximum number of bars in a lane."""

_HEIGHT: Final = 20

_OUTCOMES: Final = {"stable": "u-stalled", "empty": "s-sync", "repeated": "u-writes", "open": "u-writes"}
"""The CSS class of a rebalance, by outcome."""


def lanes(group: str, owners: Sequence[Row], rebalances: Sequence[Row], end_us: int) -> str:
    """Return the lanes of a group: its rebalances, and, for each partition, the consumers that own it.

    Args:
        group: the name of the group.
        owners: rows of the table `owners`.
        rebalances: rows of the table `rebalances`.
        end_us: the end of the session.
    """
    end = max(end_us, 1)
    marks = time_marks(end)
    grid = "".join(grid_line(at, end, _HEIGHT) for at in marks)
    of: dict[tuple[str, int], list[Row]] = {}
    for row in owners:
        of.setdefault((row["topic"], row["partition"]), []).append(row)
    clients = {name: number for number, name in enumerate(sorted({row["client"] for row in owners if row["client"]}))}
    moves = [
        Bar(
            row["from_us"],
            row["from_us"] + row["lasts_us"],
            _OUTCOMES[row["outcome"]],
            "",
            f"rebalance {row['number']}, {row['outcome']}" + (f": {row['reason']}" if row["reason"] else ""),
        )
        for row in rebalances
    ]
    parts = [f'<div class="timeline lanes" role="img" aria-label="Partitions and consumers of group {escape(escape_value(group))}">']
    parts.append(f'<div class="lane"><span>rebalances</span><svg width="100%" height="{_HEIGHT}">{grid}')
    parts.append(stripe(_longest(moves), end, 3, 14) + "</svg></div>")
    for (topic, partition), rows in list(of.items())[:LANES]:
        name = escape_value(f"{topic}-{partition}")
        bars = [_owner(row, clients, end) for row in rows]
        parts.append(
            f'<div class="lane"><span title="{escape(name)}">{escape(shortened(name))}</span><svg width="100%" height="{_HEIGHT}">{grid}'
        )
        parts.append(stripe(_longest(bars), end, 2, 16) + "</svg></div>")
    labels = "".join(axis_label(number, at, end) for number, at in enumerate(marks))
    parts.append(f'<div class="lane axis"><span></span><svg width="100%" height="18">{labels}</svg></div></div>')
    if len(of) > LANES:
        parts.append(f'<p class="notes">The chart shows {LANES} of {len(of):,} partitions.</p>')
    return "".join(parts)


def _owner(row: Row, clients: Mapping[str, int], end: int) -> Bar:
    """Return the bar for a consumer, or for a period without an owner. A short bar has no text."""
    name = row["client"] or "no owner"
    inside = name if (row["to_us"] - row["from_us"]) / end > 0.01 + 0.007 * len(name) else ""
    if not row["client"]:
        return Bar(row["from_us"], row["to_us"], "s-min", inside, "no running consumer owns the partition", 9)
    return Bar(row["from_us"], row["to_us"], f"l{clients[name] % 8}", inside, f"{name} owns the partition")


def _longest(bars: Sequence[Bar]) -> list[Bar]:
    """If there are too many bars, return only the longest ones, in chronological order. Bars for periods without an owner are kept first,
    even if they are short."""
    kept = sorted(bars, key=lambda bar: (-bar.weight, bar.start - bar.end))[:BARS]
    return sorted(kept, key=lambda bar: bar.start)


def lane_legend() -> str:
    """Return the legend for the chart that `lanes` returns."""
    marks = [
        ("u-stalled", "rebalance"),
        ("u-writes", "rebalance that did not complete"),
        ("l0", "a consumer owns the partition"),
        ("s-min", "no owner"),
    ]
    return f'<div class="legend">{"".join(swatch(*mark) for mark in marks)}</div>'


def lag_curve(points: Sequence[Row], end_us: int) -> str:
    """Return a chart of a group's lag in a partition, from rows of the table `lag_curves`."""
    end = max(end_us, 1)
    steps = [(min(row["at_us"], end), max(row["lag"], 0)) for row in points]
    bars = [[(min(row["at_us"], end), 0), (min(row["at_us"], end), max(row["max_lag"], 0))] for row in points]
    top = max([1, *(row["max_lag"] for row in points)])
    return small_curve("Lag over time", end_us, top, {"lag-worst": bars, "hw": [[*steps, (end, steps[-1][1])]]})
