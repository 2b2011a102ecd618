"""The counts of a comparison as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from core.lab.model_comparison.comparison import Run
from core.lab.model_comparison.first_difference import first_difference
from core.lab.model_comparison.systems import Variant
from core.models.report import Report
from core.models.tolerance import CopiesNeeded
from core.sim.units import format_duration

COLUMNS: Final = ("acked", "lost", "dirty", "stale", "own", "back", "no write", "no read", "median", "longest")
"""The titles of the columns that show how clients are affected."""

COPY_COLUMNS: Final = ("exposed", "exposed·s", "sent", "per write", "1 loss", "2 losses")
"""The titles of the columns for the exposure of writes, the replication traffic, and the number of copies that are needed."""

MEANINGS: Final = (
    "lost: acknowledged writes that are missing from the final data",
    "dirty: reads of rows that are missing from the final data",
    "stale: reads that miss an acknowledged write",
    "own: reads that miss an acknowledged write by the same client",
    "back: reads that miss what the same client has read before",
    "no write, no read: the time during which no probe could write, or no probe could read",
    "median, longest: the median and the maximum latency of acknowledged writes",
)
"""The meanings of the columns that show how clients are affected."""

COPY_MEANINGS: Final = (
    "exposed: the maximum number of acknowledged writes that no possible new primary had",
    "exposed·s: the number of exposed writes, multiplied by the seconds for which they were exposed",
    "sent: the bytes sent between servers (100 for each message, plus 1,000 for each row)",
    "per write: bytes between servers for each acknowledged write",
    "1 loss, 2 losses: copies needed to keep acknowledged writes and, after the slash, to accept new ones",
)
"""The meanings of the columns that describe the copies."""


def cells(report: Report, *, why_stale: bool = False) -> tuple[str, ...]:
    """Return the cells of a system's row, in the order of the columns.

    Args:
        report: the counts of the system's run.
        why_stale: whether to add, in parentheses, the number of stale reads that missed only lost writes.
    """
    stale = f"{report.stale:,}" + (f" ({report.stale_because_lost:,})" if why_stale and report.stale_because_lost else "")
    return (
        f"{report.acked:,}",
        f"{report.lost:,}" if report.authority else "offline",
        f"{report.dirty:,}",
        stale,
        f"{report.own_broken:,}",
        f"{report.backward:,}",
        seconds(report.write_unavailable_us),
        seconds(report.read_unavailable_us),
        format_duration(report.latency(0.5)),
        format_duration(report.latency(1)),
    )


def copy_cells(variant: Variant, report: Report) -> tuple[str, ...]:
    """Return the cells of a system's row in the table of the copies, in the order of its columns."""
    return (
        f"{report.exposed:,}",
        f"{report.exposed_us / 1_000_000:,.1f}",
        size(report.bytes_sent),
        size(report.bytes_sent // report.acked) if report.acked else "–",
        *(needed(variant.copies_needed(losses)) for losses in (1, 2)),
    )


def needed(copies: CopiesNeeded) -> str:
    """Return the number of copies that are needed to keep acknowledged writes and, after a slash, the number of copies that are needed to
    also accept new writes; `–` if no number is enough.
    """
    return f"{copies.to_keep} / {copies.to_go_on}" if copies.to_keep else "–"


def size(number: int) -> str:
    """Return a number of bytes with a unit."""
    return f"{number / 1_000_000:.1f}MB" if number >= 1_000_000 else f"{number / 1_000:.1f}kB"


def seconds(us: int) -> str:
    """Return a time in seconds with one decimal place; `–` if the time is 0."""
    return f"{us / 1_000_000:.1f}s" if us else "–"


def text_table(variants: Sequence[Variant], reports: Sequence[Report]) -> list[str]:
    """Return the lines of the table that shows how clients are affected, with a row for each system."""
    return _aligned([("", *COLUMNS), *((each.name, *cells(report)) for each, report in zip(variants, reports, strict=True))])


def copy_table(variants: Sequence[Variant], reports: Sequence[Report]) -> list[str]:
    """Return the lines of the table that shows the exposure of writes, the replication traffic, and the number of copies that are needed,
    with a row for each system.
    """
    return _aligned(
        [("", *COPY_COLUMNS), *((each.name, *copy_cells(each, report)) for each, report in zip(variants, reports, strict=True))]
    )


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        " ".join([row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]).rstrip()
        for row in rows
    ]


def markdown_table(titles: Sequence[str], reports: Sequence[Report]) -> list[str]:
    """Return the lines of the table that shows how clients are affected, in Markdown."""
    return markdown(COLUMNS, titles, [cells(report, why_stale=True) for report in reports])


def markdown(columns: Sequence[str], titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table in Markdown."""
    return [
        "| |" + "|".join(f" {column} " for column in columns) + "|",
        "|---|" + "---:|" * len(columns),
        *(f"| {title} | " + " | ".join(row) + " |" for title, row in zip(titles, rows, strict=True)),
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
