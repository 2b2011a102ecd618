"""Sessions side by side: what an engineer compares two releases, or two settings, by; made of the finished tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from spark_reports.render.result import Result

MOST: Final = 8
"""Sessions that are compared side by side at most."""

Rows = Sequence[Mapping[str, Any]]

_NOTES: Final = (
    "Sums over all partitions, brokers and topics of a session; `longest_…` is the longest window of one partition. Percentiles of produce "
    "latency are those of the slowest topic and acks. `differs` marks what is not the same in all."
)


def _sum(table: str, column: str) -> tuple[str, Callable[[Rows], int]]:
    return table, lambda rows: sum(row[column] or 0 for row in rows)


def _most(table: str, column: str) -> tuple[str, Callable[[Rows], int]]:
    return table, lambda rows: max((row[column] or 0 for row in rows), default=0)


def _windows(what: str, how: Callable[[list[int]], int]) -> tuple[str, Callable[[Rows], int]]:
    return "unavailability", lambda rows: how([row["lasts_us"] for row in rows if row["what"] == what])


def _longest(lasts: list[int]) -> int:
    return max(lasts, default=0)


MEASURES: Final[dict[str, tuple[str, Callable[[Rows], int]]]] = {
    "end_us": _sum("sessions", "end_us"),
    "events": _sum("sessions", "events"),
    "records_acknowledged": _sum("records", "acknowledged"),
    "records_lost": _sum("records", "lost"),
    "records_lost_acknowledged": _sum("records", "lost_acknowledged"),
    "records_lost_read": _sum("records", "lost_read"),
    "records_recovered": _sum("records", "recovered"),
    "records_duplicated": _sum("records", "duplicated"),
    "records_diverged": _sum("records", "diverged"),
    "times_exposed": ("harm", lambda rows: sum(row["what"] == "exposed" for row in rows)),
    "no_reads_us": _windows("reads", sum),
    "longest_no_reads_us": _windows("reads", _longest),
    "no_writes_us": _windows("writes", sum),
    "longest_no_writes_us": _windows("writes", _longest),
    "offline_us": _sum("availability", "offline_us"),
    "under_replicated_us": _sum("availability", "under_replicated_us"),
    "under_min_us": _sum("min_isr", "under_min_us"),
    "elections": _sum("elections", "elections"),
    "unclean": _sum("elections", "unclean"),
    "isr_left": _sum("isr_churn", "left"),
    "isr_flaps": _sum("isr_flapping", "flaps"),
    "controllers_elected": ("controllers", len),
    "produce_p50_us": _most("produce_latency", "p50_us"),
    "produce_p99_us": _most("produce_latency", "p99_us"),
    "batches_given_up": _sum("errors", "given_up"),
}
"""What is compared, and what it is made of."""


def compare(tables: Sequence[Result]) -> Result | None:
    """A row for each measure with a column for each session; None when there is one session, or too many to stand side by side."""
    by_name = {table.name: [dict(zip(table.columns, row, strict=True)) for row in table.rows] for table in tables}
    sessions = by_name["sessions"]
    if not 2 <= len(sessions) <= MOST:
        return None
    names = [str(row["session"]) for row in sessions]
    releases = {row["session"]: row["release"] for row in sessions}
    rows: list[tuple[object, ...]] = []
    for measure, (table, how) in MEASURES.items():
        values = [how([row for row in by_name[table] if row["session"] == name]) for name in names]
        rows.append((measure, *values, len(set(values)) > 1))
    columns: tuple[str, ...] = (
        "measure",
        *(name if len(set(releases.values())) == 1 else f"{name} ({releases[name]})" for name in names),
        "differs",
    )
    return Result("comparison", "Sessions compared", _NOTES, columns, rows, by_row=True)
