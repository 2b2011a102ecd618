"""The counts of a comparison as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from core.lab.comparison.comparison import Run
from core.lab.comparison.first_difference import first_difference
from core.models.report import Report
from core.sim.units import format_duration

COLUMNS: Final = ("acked", "lost", "dirty", "stale", "back", "no write", "no read", "median", "longest")
"""The titles of the columns."""

MEANINGS: Final = (
    "lost: acknowledged writes that are missing from the final data",
    "dirty: reads of rows that are missing from the final data",
    "stale: reads that miss an acknowledged write",
    "back: reads that miss what the same client has read before",
    "no write, no read: how long probes found no server that answers",
    "median, longest: the time that acknowledged writes took",
)
"""What the columns mean."""


def cells(report: Report, *, why_stale: bool = False) -> tuple[str, ...]:
    """Return the cells of a system's row, in the order of the columns.

    Args:
        report: the counts.
        why_stale: whether to add, in parentheses, how many stale reads miss only lost writes.
    """
    stale = f"{report.stale:,}" + (f" ({report.stale_because_lost:,})" if why_stale and report.stale_because_lost else "")
    return (
        f"{report.acked:,}",
        f"{report.lost:,}" if report.authority else "offline",
        f"{report.dirty:,}",
        stale,
        f"{report.backward:,}",
        seconds(report.write_unavailable_us),
        seconds(report.read_unavailable_us),
        format_duration(report.latency(0.5)),
        format_duration(report.latency(1)),
    )


def seconds(us: int) -> str:
    """Return a time in seconds with one digit; `–` if it is 0."""
    return f"{us / 1_000_000:.1f}s" if us else "–"


def text_table(names: Sequence[str], reports: Sequence[Report]) -> list[str]:
    """Return the lines of a table with a row for each system."""
    rows = [("", *COLUMNS), *((name, *cells(report)) for name, report in zip(names, reports, strict=True))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        " ".join([row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]).rstrip()
        for row in rows
    ]


def markdown_table(titles: Sequence[str], reports: Sequence[Report]) -> list[str]:
    """Return the lines of the same table in Markdown."""
    head = ["| |" + "|".join(f" {column} " for column in COLUMNS) + "|", "|---|" + "---:|" * len(COLUMNS)]
    return [
        *head,
        *(f"| {title} | " + " | ".join(cells(report, why_stale=True)) + " |" for title, report in zip(titles, reports, strict=True)),
    ]


def difference_lines(runs: Sequence[Run]) -> list[str]:
    """Return the lines that show the first difference that a client sees."""
    if len(runs) < 2:
        return []
    difference = first_difference(runs)
    if difference is None:
        return ["clients see no difference"]
    width = max(len(run.variant.name) for run in runs)
    return [
        f"the first difference that a client sees: at {format_duration(difference.at)}, {difference.client}, {difference.request}",
        *(f"  {run.variant.name.ljust(width)}  {answer}" for run, answer in zip(runs, difference.answers, strict=True)),
    ]
