"""Formats the cells and headings of tables. The terminal and the HTML page show the same text."""

from __future__ import annotations

from typing import Final

from core.sim.units import format_duration
from scenarios.io.escaping import escape_value

ALARM_COLUMNS: Final = frozenset(
    {
        "unclean",
        "records_lost",
        "records_lost_acknowledged",
        "records_lost_read",
        "records_diverged",
        "records_out_of_order",
        "records_dropped",
        "longest_no_reads_us",
        "longest_no_writes_us",
        "lost",
        "lost_acknowledged",
        "lost_read",
        "diverged",
        "offline_us",
        "stalled_us",
        "stalled_times",
        "unanswered",
        "batches_unanswered",
        "at_least",
        "longest_stalled_us",
        "offline_times",
        "under_min_us",
        "under_min_times",
        "torn",
        "transactions_hanging",
        "records_never_delivered",
        "records_delivered_twice",
        "dead_letters",
        "incomplete",
        "max_unowned",
        "never",
        "half",
        "twice",
        "early",
        "forgotten",
    }
)
"""Columns whose nonzero values are bold, so that readers do not overlook these values."""


def heading(column: object) -> str:
    """Return the heading of a column: its name with spaces instead of underscores, and without the unit."""
    return str(column).removesuffix("_us").replace("_", " ")


def cell_text(column: str, value: object) -> str:
    """Return a value as text. Times have units, counts have thousands separators, and names have no control characters."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return format_duration(value) if column.endswith("_us") else _acks(value) if column == "acks" else _number(column, value)
    return escape_value(str(value))


def _acks(value: int) -> str:
    return "all" if value < 0 else str(value)


def _number(column: str, value: int) -> str:
    """Return a number as text. Counts have thousands separators, but IDs do not."""
    return str(value) if column in ("partition", "broker", "seed", "change") else f"{value:,}"
