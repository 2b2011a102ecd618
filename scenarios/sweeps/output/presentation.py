"""How the results of an experiment are shown. Each experiment has its own columns, words, and picture, and everything else is the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic

import attrs

from scenarios.sweeps.grid.grid import C, Run
from scenarios.sweeps.output.columns import Column
from scenarios.sweeps.output.interval_chart import Panel
from scenarios.sweeps.statistics.cell_results import CellResult, SweepResult


@attrs.frozen
class Quantity:
    """A quantity in which cells are compared.

    Attributes:
        name: its name in `Experiment.means`; empty for the probability of a loss or, with strata, for the windows per year that lose records.
        heading: its heading.
        text: returns a value that is not negative as text.
    """

    name: str
    heading: str
    text: Callable[[float], str]


@attrs.frozen
class Presentation(Generic[C]):
    """The words and pictures for the results of an experiment. The terminal and the page show the same texts.

    Attributes:
        columns: the columns of the files with an entry for each cell.
        number_heading: the heading of the cells' numbers.
        name_headings, names: return the names or the values that distinguish a cell from others, and their headings.
        headings, numbers: the numbers of a cell as text, and their headings. The second number is the probability of a loss.
        notes: returns the notes that a reader needs to understand the table.
        panels: returns the panels of the picture.
        caption: explains the picture.
        compared: the quantities in which cells are compared.
        write_more: writes files that only this experiment has to a directory, and returns their names for messages.
    """

    columns: tuple[Column, ...]
    number_heading: str
    name_headings: Callable[[SweepResult[C]], list[str]]
    names: Callable[[SweepResult[C], CellResult[C]], list[str]]
    headings: tuple[str, ...]
    numbers: Callable[[CellResult[C]], list[str]]
    notes: Callable[[SweepResult[C]], list[str]]
    panels: Callable[[SweepResult[C]], list[Panel]]
    caption: str
    compared: tuple[Quantity, ...]
    write_more: Callable[[Path, SweepResult[C], Sequence[Run]], list[str]] = lambda *_: []
