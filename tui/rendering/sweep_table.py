"""Prints the picture and the table of a sweep on the terminal."""

from __future__ import annotations

from typing import IO, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from scenarios.io.escaping import escape_value
from scenarios.sweeps.output import differences
from scenarios.sweeps.output.interval_chart import text_picture
from scenarios.sweeps.output.presentations import presentation_of
from scenarios.sweeps.output.texts import title_of
from scenarios.sweeps.statistics.cell_results import SweepResult

WIDTH = 200
"""The width that is used if the output is not a terminal; it is large enough that nothing is truncated."""


def render(outcome: SweepResult[Any], file: IO[str]) -> None:
    """Print the picture, the table with its notes, and the differences between cells."""
    shown = presentation_of(outcome.grid)
    console = Console(file=file, highlight=False, width=None if file.isatty() else WIDTH, emoji=False, markup=False)
    for line in text_picture(outcome.cells, shown.panels(outcome)):
        console.print(Text(escape_value(line)), soft_wrap=True)
    table = Table(title=Text(escape_value(title_of(outcome))), title_justify="left")
    table.add_column(shown.number_heading, justify="right")
    for word in shown.name_headings(outcome):
        table.add_column(Text(escape_value(word)))
    for head in shown.headings:
        table.add_column(head, justify="right", overflow="fold")
    for cell in outcome.cells:
        texts = (str(cell.cell.number), *shown.names(outcome, cell), *shown.numbers(cell))
        table.add_row(*(Text(escape_value(text)) for text in texts))
    console.print(table)
    if outcome.differences:
        changes = Table(title=differences.TITLE, title_justify="left")
        for head in differences.headings_of(outcome):
            changes.add_column(head)
        for row in differences.rows_of(outcome):
            changes.add_row(*(Text(escape_value(text)) for text in row))
        console.print(changes)
        console.print(Text(differences.note_of(outcome)), soft_wrap=True)
    for line in shown.notes(outcome):
        console.print(Text(escape_value(line)), soft_wrap=True)
