"""Writes the rows of a sweep as Parquet.

The columns are the same as in `runs.csv` and `cells.csv`, but the columns have types, and lists are stored as lists.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from scenarios.sweeps.simulation import simulate_run
from scenarios.sweeps.simulation.simulate_run import Run
from scenarios.sweeps.statistics import cell_results
from scenarios.sweeps.statistics.cell_results import SweepResult

if TYPE_CHECKING:
    import pyarrow


def write_parquet(out: Path, outcome: SweepResult, runs: Sequence[Run]) -> bool:
    """Write `runs.parquet` and `cells.parquet`. Each file appears only when it is complete. If pyarrow is missing, return False."""
    if find_spec("pyarrow") is None:
        return False
    _write(out / "runs.parquet", runs_table(runs))
    _write(out / "cells.parquet", cells_table(outcome))
    return True


def runs_table(runs: Sequence[Run]) -> pyarrow.Table:
    """Return a table with a row for each run. Latencies are lists of structs with `bucket` (`histogram`) and `count`."""
    import pyarrow as pa

    bucket = pa.struct([("bucket", pa.int64()), ("count", pa.int64())])
    types = {"losing": pa.list_(pa.int64()), "latencies": pa.list_(bucket), "waits": pa.list_(bucket)}
    schema = pa.schema([(name, types.get(name, pa.int64())) for name in simulate_run.FIELDS])
    rows = [dict(zip(simulate_run.FIELDS, simulate_run.as_row(run), strict=True)) for run in runs]
    for row in rows:
        for name in ("latencies", "waits"):
            row[name] = [{"bucket": at, "count": count} for at, count in row[name]]
    return pa.Table.from_pylist(rows, schema)


def cells_table(outcome: SweepResult) -> pyarrow.Table:
    """Return a table with a row for each cell. The column `losing_seeds` contains lists."""
    import pyarrow as pa

    types = {"name": pa.string(), "release": pa.string(), "settled": pa.bool_(), "losing_seeds": pa.list_(pa.int64())}
    types |= {name: pa.bool_() for name in ("p50_at_least", "p99_at_least", "p999_at_least")}
    shares = {f"{name}{bound}" for name in ("loss", "lost_acknowledged", "lost_read") for bound in ("", "_low", "_high")}
    schema = pa.schema([(name, types.get(name, pa.float64() if name in shares else pa.int64())) for name in cell_results.COLUMNS])
    rows = [
        dict(zip(cell_results.COLUMNS, cell_results.as_row(cell), strict=True)) | {"losing_seeds": cell.losing} for cell in outcome.cells
    ]
    return pa.Table.from_pylist(rows, schema)


def _write(path: Path, table: pyarrow.Table) -> None:
    from pyarrow import parquet

    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    parquet.write_table(table, part, compression="zstd")
    part.replace(path)
