"""Prints the tables of a report on the terminal.

Colors appear only on a terminal, and only if NO_COLOR is not set.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, Final

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from spark_reports.output.cell_text import ALARM_COLUMNS, cell_text, heading
from spark_reports.tables.result import Result

PIPE_WIDTH: Final = 10_000
"""The width that is used if the output is not a terminal, so that each row fits on one line."""


def render(results: Sequence[Result], out: IO[str]) -> None:
    """Write every table with its title to `out`. An empty table takes only one line."""
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
    # The first table already shows the name of a single session.
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


def _cell(column: str, value: object) -> Text:
    return Text(cell_text(column, value), style="bold" if value and column in ALARM_COLUMNS else "")
