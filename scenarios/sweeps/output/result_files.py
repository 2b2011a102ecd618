"""Writes the result of a sweep to files.

`runs.csv` has a row for each run. `cells.csv` and `cells.json` have an entry for each cell. `differences.csv` compares cells. `sweep.html` shows everything. An experiment can
have more files (`Presentation.write_more`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from scenarios.io.output_files import write_atomically
from scenarios.sweeps.errors import SweepError
from scenarios.sweeps.grid.grid import Grid, Run
from scenarios.sweeps.output import page
from scenarios.sweeps.output.columns import csv_text
from scenarios.sweeps.output.differences import differences_csv
from scenarios.sweeps.output.presentations import presentation_of
from scenarios.sweeps.simulation.runs import as_row, fields_of
from scenarios.sweeps.statistics.cell_results import SweepResult


def write_results(out: Path, outcome: SweepResult, runs: Sequence[Run], say: Callable[[str], None] = lambda _: None) -> None:
    """Write all files of a finished sweep.

    Raises:
        SweepError: the files cannot be written.
    """
    files = {
        "runs.csv": runs_csv(outcome.grid, runs),
        "cells.csv": cells_csv(outcome),
        "cells.json": json_of(outcome),
        "differences.csv": differences_csv(outcome),
        "sweep.html": page.render(outcome),
    }
    try:
        for name, text in files.items():
            write_atomically(out / name, text)
        more = presentation_of(outcome.grid).write_more(out, outcome, runs)
    except OSError as failure:
        raise SweepError(f"{out}: cannot write the results: {failure.strerror or failure}") from failure
    say(f"written to {out}: {', '.join([*files, *more])}")


def runs_csv(grid: Grid, runs: Iterable[Run]) -> str:
    """Return CSV with a row for each run."""
    return csv_text(fields_of(grid.experiment.run_type), map(as_row, runs))


def cells_csv(outcome: SweepResult) -> str:
    """Return CSV with a row for each cell."""
    columns = presentation_of(outcome.grid).columns
    rows = ([column.value(cell) for column in columns] for cell in outcome.cells)
    return csv_text([column.name for column in columns], rows)


def json_of(outcome: SweepResult) -> str:
    """Return the table as one JSON document."""
    grid, columns = outcome.grid, presentation_of(outcome.grid).columns
    cells = []
    for cell in outcome.cells:
        row = {column.name: column.value(cell) for column in columns}
        if cell.cell.values is not None:
            row["values"] = dict(cell.cell.values)
        cells.append(row)
    data = {"sweep": grid.name, "about": grid.about, "horizon_us": grid.horizon, "runs": outcome.runs, "cells": cells}
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
