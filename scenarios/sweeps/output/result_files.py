"""Writes the result of a sweep to files.

`runs.csv` has a row for each run. `cells.csv` and `cells.json` have an entry for each cell. For each cell, `losses/*.yaml` contains
scenarios that repeat the first runs with a loss. `sweep.html` shows everything.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from scenarios.io.csv_values import csv_value
from scenarios.io.output_files import write_atomically
from scenarios.sweeps.errors import SweepError
from scenarios.sweeps.grid.grid import Cell
from scenarios.sweeps.output.loss_scenario import losing_episode, script_of
from scenarios.sweeps.output.parquet_files import write_parquet
from scenarios.sweeps.output.result_texts import counted
from scenarios.sweeps.simulation import simulate_run
from scenarios.sweeps.simulation.simulate_run import Run
from scenarios.sweeps.statistics import cell_results
from scenarios.sweeps.statistics.cell_results import SweepResult

SCENARIOS: Final = 5
"""The maximum number of runs of a cell that are written as scenarios."""


def write_results(out: Path, outcome: SweepResult, runs: Sequence[Run], say: Callable[[str], None] = lambda _: None) -> None:
    """Write all files of a finished sweep.

    Raises:
        SweepError: the files cannot be written.
    """
    try:
        write_atomically(out / "runs.csv", runs_csv(runs))
        write_atomically(out / "cells.csv", cells_csv(outcome))
        write_atomically(out / "cells.json", json_of(outcome))
        tables = write_parquet(out, outcome, runs)
        write_html(out / "sweep.html", outcome)
        scripts = _write_scenarios(out / "losses", outcome)
    except OSError as failure:
        raise SweepError(f"{out}: cannot write the results: {failure.strerror or failure}") from failure
    say(
        f"written to {out}: runs.csv, cells.csv, cells.json, sweep.html{', runs.parquet, cells.parquet' if tables else ''}"
        + (f", losses/ ({counted(scripts, 'scenario')})" if scripts else "")
    )


def runs_csv(runs: Iterable[Run]) -> str:
    """Return CSV with a row for each run.

    The items of lists are separated by spaces, and latencies and waits have the form bucket:count.
    """
    rows = []
    for run in runs:
        *plain, latencies, waits = simulate_run.as_row(run)
        words = [" ".join(map(str, value)) if isinstance(value, tuple) else value for value in plain]
        rows.append([*words, *(" ".join(f"{bucket}:{count}" for bucket, count in counts) for counts in (latencies, waits))])
    return csv_text(simulate_run.FIELDS, rows)


def cells_csv(outcome: SweepResult) -> str:
    """Return CSV with a row for each cell."""
    return csv_text(cell_results.COLUMNS, map(cell_results.as_row, outcome.cells))


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return the given columns and rows as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([csv_value(value) for value in row] for row in rows)
    return text.getvalue()


def json_of(outcome: SweepResult) -> str:
    """Return the table as one JSON document."""
    grid = outcome.grid
    cells = []
    for cell in outcome.cells:
        row = dict(zip(cell_results.COLUMNS, cell_results.as_row(cell), strict=True))
        row["values"] = dict(cell.cell.values)
        row["losing_seeds"] = list(cell.losing)
        cells.append(row)
    data = {"sweep": grid.name, "about": grid.about, "horizon_us": grid.horizon, "runs": outcome.runs, "cells": cells}
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def write_html(path: Path, outcome: SweepResult) -> None:
    from scenarios.sweeps.output import html

    write_atomically(path, html.render(outcome))


def _write_scenarios(directory: Path, outcome: SweepResult) -> int:
    """For each cell, write the first seeds that lost acknowledged records as scenarios. Return the number of scenarios."""
    wanted: list[tuple[Cell, int]] = [(cell.cell, seed) for cell in outcome.cells for seed in cell.losing[:SCENARIOS]]
    if not wanted:
        return 0
    directory.mkdir(exist_ok=True)
    for cell, seed in wanted:
        path = directory / f"cell-{cell.number}-seed-{seed}.yaml"
        if not path.exists():
            played = losing_episode(outcome.grid, cell, seed)
            assert played is not None
            write_atomically(path, script_of(outcome.grid, cell, seed, played))
    return len(wanted)
