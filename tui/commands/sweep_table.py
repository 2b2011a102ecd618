"""Prints the table of a sweep on the terminal and, for a sweep over models, its picture."""

from __future__ import annotations

from typing import IO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from scenarios.io.escaping import escape_value
from scenarios.sweeps.output.model_picture import picture
from scenarios.sweeps.output.model_texts import MODEL_HEADINGS, model_notes, model_numbers, model_title
from scenarios.sweeps.output.result_texts import HEADINGS, cell_values, notes_of, numbers_of, title_of, varied_words
from scenarios.sweeps.statistics.cell_results import SweepResult
from scenarios.sweeps.statistics.model_results import ModelSweepResult

WIDTH = 200
"""The width that is used if the output is not a terminal; it is large enough that nothing is truncated."""


def render(outcome: SweepResult, file: IO[str]) -> None:
    """Print the table and its notes."""
    console = Console(file=file, highlight=False, width=None if file.isatty() else WIDTH, emoji=False, markup=False)
    words = varied_words(outcome)
    table = Table(title=Text(escape_value(title_of(outcome))), title_justify="left")
    table.add_column("cell", justify="right")
    for word in words or ("",):
        table.add_column(Text(escape_value(word or "name")))
    for head in HEADINGS:
        table.add_column(head, justify="right")
    for cell in outcome.cells:
        table.add_row(*(Text(escape_value(value)) for value in (str(cell.cell.number), *cell_values(cell, words), *numbers_of(cell))))
    console.print(table)
    for line in notes_of(outcome):
        console.print(Text(escape_value(line)), soft_wrap=True)


def render_models(outcome: ModelSweepResult, file: IO[str]) -> None:
    """Print the picture, the table, and its notes."""
    console = Console(file=file, highlight=False, width=None if file.isatty() else WIDTH, emoji=False, markup=False)
    for line in picture(outcome):
        console.print(Text(escape_value(line)), soft_wrap=True)
    table = Table(title=Text(escape_value(model_title(outcome))), title_justify="left")
    table.add_column("", justify="right")
    table.add_column("system")
    for head in MODEL_HEADINGS:
        table.add_column(head, justify="right")
    for cell in outcome.cells:
        table.add_row(*(Text(escape_value(value)) for value in (str(cell.cell.number), cell.cell.name, *model_numbers(cell))))
    console.print(table)
    for line in model_notes(outcome):
        console.print(Text(escape_value(line)), soft_wrap=True)
