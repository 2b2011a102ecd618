"""Pictures that belong to a single table. The page shows each picture above the table's rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any, Final

from core.sim.units import format_duration
from scenarios.io.escaping import escape_value
from spark_reports.output.bar_charts import Segment, bar_chart, bar_legend
from spark_reports.output.group_charts import lag_curve, lane_legend, lanes
from spark_reports.tables.result import Report, Result

Row = Mapping[str, Any]
Rows = list[Row]

CURVES: Final = 24
"""The maximum number of lag charts for each session."""

GROUPS: Final = 12
"""The maximum number of groups in each session whose lanes are shown."""

SESSIONS: Final = 12
"""The maximum number of sessions with pictures for each table."""

STEPS: Final = 24
"""The maximum number of steps that a picture shows for a record."""

_STEP_LOOKS: Final = {
    "appended": "l0",
    "copied": "l4",
    "committed": "l1",
    "acked": "l7",
    "recovered": "l7",
    "read": "l5",
    "processed": "l3",
    "offset committed": "l6",
    "processed again": "s-under",
    "processed twice": "s-under",
    "succeeded twice": "s-under",
    "dead letter": "s-at",
}
"""The CSS class of each kind of step, except for the kinds that record a loss."""

_DELIVERED: Final = (
    ("once", "l0", "once"),
    ("twice", "s-under", "more than once"),
    ("half", "s-at", "only in part"),
    ("never", "s-min", "never"),
)
_LATE: Final = (("p50", "l0"), ("p95", "s-under"), ("p99", "s-at"), ("max", "s-min"))
_TRIED: Final = (("succeeded", "l0"), ("failed", "s-under"))
_TIERS: Final = (
    ("acked", "l0", "acknowledged and kept"),
    ("unconfirmed", "s-sync", "unconfirmed"),
    ("given-up", "s-under", "given up"),
    ("lost", "s-min", "acknowledged and lost"),
)
"""For each picture, the columns or tiers that its segments show, with their CSS classes and meanings."""


def pictures(report: Report) -> dict[str, str]:
    """Return the pictures of all tables that have a picture and are not empty, by table name."""
    if not report.drawn:
        return {}
    rows = {result.name: rows_of(result) for result in (*report.tables, *report.drawn)}
    ends = {row["session"]: row["end_us"] for row in rows.get("overview") or rows["sessions"]}
    found = {}
    for table, (draw, legend) in _PICTURES.items():
        parts = []
        charted = [session for session in ends if any(row["session"] == session for row in rows.get(table, ()))]
        for session in charted[:SESSIONS]:
            own = {name: [row for row in several if row.get("session") == session] for name, several in rows.items()}
            if picture := draw(own, ends[session]):
                parts.append((f"<h3>{escape(escape_value(session))}</h3>" if len(ends) > 1 else "") + picture)
        if parts:
            found[table] = legend() + "".join(parts)
    return found


def rows_of(result: Result) -> Rows:
    """Return the rows of a table as mappings."""
    return [dict(zip(result.columns, row, strict=True)) for row in result.rows]


def _groups(own: Mapping[str, Rows], end: int) -> str:
    parts = []
    owners = sorted(own.get("owners", ()), key=lambda row: (row["group"], row["topic"], row["partition"], row["from_us"]))
    for group in list(dict.fromkeys(row["group"] for row in owners))[:GROUPS]:
        moves = [row for row in own.get("rebalances", ()) if row["group"] == group]
        picture = lanes(group, [row for row in owners if row["group"] == group], moves, end)
        parts.append(f"<figure><figcaption>Group {escape(escape_value(group))}</figcaption>{picture}</figure>")
    return "".join(parts)


def _lags(own: Mapping[str, Rows], end: int) -> str:
    of: dict[tuple[str, str, int], Rows] = {}
    for row in sorted(own.get("lag_curves", ()), key=lambda row: row["at_us"]):
        of.setdefault((row["group"], row["topic"], row["partition"]), []).append(row)
    late = [key for key in of if any(row["max_lag"] for row in of[key])]
    most = sorted(late, key=lambda key: (-max(row["max_lag"] for row in of[key]), key))[:CURVES]
    figures = "".join(
        f"<figure>{lag_curve(of[key], end)}<figcaption>{escape(escape_value(f'{key[0]}: {key[1]}-{key[2]}'))}</figcaption></figure>"
        for key in sorted(most)
    )
    cut = f'<p class="notes">The {CURVES} worst of {len(late):,} partitions that lagged.</p>' if len(late) > CURVES else ""
    return figures and f'{cut}<div class="curves">{figures}</div>'


def _deliveries(rows: Sequence[Row]) -> str:
    of: dict[tuple[str, str], dict[str, int]] = {}
    for row in rows:
        counts = of.setdefault((row["group"], row["topic"]), {})
        for name, _, _ in _DELIVERED:
            counts[name] = counts.get(name, 0) + (row[name] or 0)
    bars = [
        (
            f"{group}: {topic}",
            [Segment(look, counts[name], f"{counts[name]:,}", f"{counts[name]:,} records {words}") for name, look, words in _DELIVERED],
        )
        for (group, topic), counts in of.items()
    ]
    chart = bar_chart("Records processed once, more than once, in part, or never, by group", bars, _count)
    return chart and f"<figure>{chart}</figure>"


def _delays(rows: Sequence[Row]) -> str:
    """Return a bar for each worker. Each segment ends at a percentile of the lateness; the first one ends at the median."""
    bars = []
    for row in rows:
        segments, before = [], 0
        for name, look in _LATE:
            late = max(row[f"{name}_late_us"], 0)
            words = f"{name}: {format_duration(row[f'{name}_late_us'])} late"
            segments.append(Segment(look, late - before, format_duration(late), words))
            before = late
        bars.append((row["worker"], segments))
    chart = bar_chart("Lateness of delayed records by worker", bars, format_duration)
    return chart and f"<figure>{chart}</figure>"


def _retries(rows: Sequence[Row]) -> str:
    bars = [
        (
            f"{row['worker']}, try {row['number']}",
            [Segment(look, row[name], f"{row[name]:,}", f"{row[name]:,} records {name}") for name, look in _TRIED],
        )
        for row in sorted(rows, key=lambda row: (row["number"], row["worker"]))
    ]
    chart = bar_chart("Successful and failed tries of records", bars, _count)
    return chart and f"<figure>{chart}</figure>"


def _audit(rows: Sequence[Row]) -> str:
    of: dict[tuple[str, int], dict[str, int]] = {}
    for row in rows:
        of.setdefault((row["topic"], row["bucket_us"]), {})[row["tier"]] = row["records"]
    bars = []
    for (topic, bucket), tiers in of.items():
        # A lost record was acknowledged, so it is one of the acknowledged records.
        counts = {**tiers, "acked": max(tiers.get("acked", 0) - tiers.get("lost", 0), 0)}
        segments = [
            Segment(look, counts[name], f"{counts[name]:,}", f"{counts[name]:,} records {words}")
            for name, look, words in _TIERS
            if counts.get(name)
        ]
        bars.append((f"{topic} from {format_duration(bucket)}", segments))
    chart = bar_chart("Records by minute: acknowledged, unconfirmed, given up, and lost", bars, _count)
    return chart and f"<figure>{chart}</figure>"


def _count(number: int) -> str:
    return f"{number:,}"


def _traces(rows: Sequence[Row]) -> str:
    """Return the history of each record as a chain of steps, each with the time since the previous step."""
    of: dict[tuple[str, int, int], Rows] = {}
    for row in sorted(rows, key=lambda row: row["number"]):
        of.setdefault((row["topic"], row["partition"], row["offset"]), []).append(row)
    figures = []
    for (topic, partition, offset), steps in of.items():
        name = escape(escape_value(f"{topic}-{partition}@{offset}"))
        parts, before = [], steps[0]["at_us"]
        for row in steps[:STEPS]:
            look = _STEP_LOOKS.get(row["step"], "s-min")
            since = "" if row is steps[0] else f"<i>+{format_duration(row['at_us'] - before)}</i>"
            parts.append(
                f'<li><svg width="10" height="10" aria-hidden="true"><rect class="{look}" width="10" height="10"/></svg> '
                f"<b>{escape(row['step'])}</b> {escape(escape_value(row['node']))} {since}</li>"
            )
            before = row["at_us"]
        more = f'<li class="notes">{len(steps) - STEPS:,} more steps</li>' if len(steps) > STEPS else ""
        why = escape(steps[0]["why"])
        start = format_duration(steps[0]["at_us"])
        figures.append(
            f'<figure><figcaption>{name}: {why}, from {start}</figcaption><ol class="steps">{"".join(parts)}{more}</ol></figure>'
        )
    return "".join(figures)


def _note(words: str) -> str:
    return f'<p class="notes">{words}</p>'


_Draw = Callable[[Mapping[str, Rows], int], str]

_PICTURES: Final[dict[str, tuple[_Draw, Callable[[], str]]]] = {
    "groups": (_groups, lane_legend),
    "group_lag": (
        _lags,
        lambda: _note(
            "Lag in records: at the end of each interval (line), and the greatest lag in the interval (area). Partitions that never lagged are omitted."
        ),
    ),
    "deliveries": (lambda own, _: _deliveries(own["deliveries"]), lambda: bar_legend([(look, words) for _, look, words in _DELIVERED])),
    "delays": (
        lambda own, _: _delays(own["delays"]),
        lambda: (
            _note("The lateness of records when they reached their destination topics.")
            + bar_legend([(look, f"up to the {'maximum' if name == 'max' else name}") for name, look in _LATE])
        ),
    ),
    "retries": (lambda own, _: _retries(own["retries"]), lambda: bar_legend([(look, name) for name, look in _TRIED])),
    "traces": (lambda own, _: _traces(own["traces"]), lambda: ""),
    "audit": (lambda own, _: _audit(own["audit"]), lambda: bar_legend([(look, words) for _, look, words in _TIERS])),
}
"""For each table, the function that draws the table's picture for one session, and the legend of the picture."""
