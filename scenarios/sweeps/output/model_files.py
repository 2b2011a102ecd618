"""Writes the result of a sweep over models to files: `runs.csv`, `cells.csv`, `cells.json`, and `sweep.html`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from scenarios.io.output_files import write_atomically
from scenarios.sweeps.errors import SweepError
from scenarios.sweeps.output import model_page
from scenarios.sweeps.output.result_files import csv_text
from scenarios.sweeps.simulation.simulate_model_run import MODEL_FIELDS, ModelRun
from scenarios.sweeps.simulation.simulate_run import as_row
from scenarios.sweeps.statistics.model_results import MODEL_COLUMNS, ModelSweepResult, model_row


def write_model_results(out: Path, outcome: ModelSweepResult, runs: Sequence[ModelRun], say: Callable[[str], None]) -> None:
    """Write all files of a finished sweep.

    Raises:
        SweepError: the files cannot be written.
    """
    try:
        write_atomically(out / "runs.csv", model_runs_csv(runs))
        write_atomically(out / "cells.csv", csv_text(MODEL_COLUMNS, map(model_row, outcome.cells)))
        write_atomically(out / "cells.json", model_json(outcome))
        write_atomically(out / "sweep.html", model_page.render(outcome))
    except OSError as failure:
        raise SweepError(f"{out}: cannot write the results: {failure.strerror or failure}") from failure
    say(f"written to {out}: runs.csv, cells.csv, cells.json, sweep.html")


def model_runs_csv(runs: Iterable[ModelRun]) -> str:
    """Return CSV with a row for each run. Latencies have the form bucket:count, separated by spaces."""
    rows = []
    for run in runs:
        *plain, latencies = as_row(run)
        rows.append([*plain, " ".join(f"{bucket}:{count}" for bucket, count in latencies)])
    return csv_text(MODEL_FIELDS, rows)


def model_json(outcome: ModelSweepResult) -> str:
    """Return the table as one JSON document."""
    grid = outcome.grid
    cells = []
    for cell in outcome.cells:
        row = dict(zip(MODEL_COLUMNS, model_row(cell), strict=True))
        row["losing_seeds"] = list(cell.losing)
        cells.append(row)
    data = {"sweep": grid.name, "about": grid.about, "horizon_us": grid.horizon, "runs": outcome.runs, "cells": cells}
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
