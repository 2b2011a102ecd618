"""Writes the rows of a sweep as Parquet.

The columns are the same as in `runs.csv` and `cells.csv`, but the columns have types, and lists are stored as lists.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from scenarios.sweeps.grid.grid import Grid, Run
from scenarios.sweeps.output.columns import Column
from scenarios.sweeps.simulation.runs import as_row, fields_of
from scenarios.sweeps.statistics.cell_results import SweepResult

if TYPE_CHECKING:
    import pyarrow


def write_parquet(out: Path, outcome: SweepResult, columns: Sequence[Column], runs: Sequence[Run]) -> bool:
    """Write `runs.parquet` and `cells.parquet`. Each file appears only when it is complete. If pyarrow is missing, return False."""
    if find_spec("pyarrow") is None:
        return False
    _write(out / "runs.parquet", runs_table(outcome.grid, runs))
    _write(out / "cells.parquet", cells_table(outcome, columns))
    return True


def runs_table(grid: Grid, runs: Sequence[Run]) -> pyarrow.Table:
    """Return a table with a row for each run. Latencies are lists of structs with `bucket` (`histogram`) and `count`."""
    import pyarrow as pa

    bucket = pa.struct([("bucket", pa.int64()), ("count", pa.int64())])
    types = dict.fromkeys(("losing", "windows", "simulated"), pa.list_(pa.int64()))
    types |= dict.fromkeys(("frequencies", "squares", "largest"), pa.list_(pa.float64()))
    types |= dict.fromkeys(("latencies", "waits"), pa.list_(bucket))
    names = fields_of(grid.experiment.run_type)
    rows = [dict(zip(names, as_row(run), strict=True)) for run in runs]
    for row in rows:
        for name in {"latencies", "waits"} & row.keys():
            row[name] = [{"bucket": at, "count": count} for at, count in row[name]]
    return pa.Table.from_pylist(rows, pa.schema([(name, types.get(name, pa.int64())) for name in names]))


def cells_table(outcome: SweepResult, columns: Sequence[Column]) -> pyarrow.Table:
    """Return a table with a row for each cell."""
    import pyarrow as pa

    types = {int: pa.int64(), float: pa.float64(), str: pa.string(), bool: pa.bool_(), list: pa.list_(pa.int64())}
    rows = [{column.name: column.value(cell) for column in columns} for cell in outcome.cells]
    return pa.Table.from_pylist(rows, pa.schema([(column.name, types[column.type]) for column in columns]))


def _write(path: Path, table: pyarrow.Table) -> None:
    from pyarrow import parquet

    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    parquet.write_table(table, part, compression="zstd")
    part.replace(path)
