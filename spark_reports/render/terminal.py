"""A report as tables for the terminal: colours only where there is a terminal and NO_COLOR is not set, names as plain text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, Final

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from core.sim.units import format_duration
from scenarios.visible import visible
from spark_reports.render.result import Result

PIPE_WIDTH: Final = 10_000
"""Columns to use when the output is no terminal: a row is a line, whatever its length."""

ALARMS: Final = frozenset(
    {
        "unclean",
        "records_lost",
        "records_lost_acknowledged",
        "records_lost_read",
        "records_diverged",
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
    }
)
"""Columns in which anything but zero is set in bold: they are what a reader must not overlook."""


def render(results: Sequence[Result], out: IO[str]) -> None:
    """Write every table with its title to `out`; a table without rows is one line that says so."""
    console = Console(file=out, highlight=False, markup=False, emoji=False, width=None if out.isatty() else PIPE_WIDTH)
    ascii_only = not (getattr(out, "encoding", None) or "utf-8").lower().replace("-", "").startswith("utf")
    for result in results:
        console.print()
        console.print(Text(result.title, style="bold"))
        if not result.rows:
            console.print("  none")
            continue
        console.print(_table(result, ascii_only), overflow="fold", crop=False)
        if result.more:
            console.print(f"  {result.shown()}")


def _table(result: Result, ascii_only: bool) -> Table:
    # With a single session its name says nothing; it stands in the first table already.
    single = (
        len({row[0] for row in result.rows}) == 1
        and result.columns[0] == "session"
        and len(result.columns) > 1
        and result.name != "sessions"
    )
    shown = range(1 if single else 0, len(result.columns))
    table = Table(box=box.ASCII2 if ascii_only else box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for index in shown:
        number = any(isinstance(row[index], int) and not isinstance(row[index], bool) for row in result.rows)
        table.add_column(heading(result.columns[index]), justify="right" if number else "left", overflow="fold")
    for row in result.rows:
        table.add_row(
            *(
                _cell(result.meaning(index, row), heading(value) if result.by_row and index == 0 else value)
                for index, value in enumerate(row)
                if index in shown
            )
        )
    return table


def heading(column: object) -> str:
    """A column's name as people read it."""
    return str(column).removesuffix("_us").replace("_", " ")


def _cell(column: str, value: object) -> Text:
    return Text(text_of(column, value), style="bold" if value and column in ALARMS else "")


def text_of(column: str, value: object) -> str:
    """A value as people write it: times with units, counts with separators, names without anything that could move the cursor."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return format_duration(value) if column.endswith("_us") else _acks(value) if column == "acks" else _number(column, value)
    return visible(str(value))


def _acks(value: int) -> str:
    return "all" if value < 0 else str(value)


def _number(column: str, value: int) -> str:
    """Counts with separators; numbers that are names without."""
    return str(value) if column in ("partition", "broker", "seed", "change") else f"{value:,}"
