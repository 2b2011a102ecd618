"""The result of a sweep over models, with one row for each system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import attrs

from scenarios.sweeps.grid.model_grid import ModelCell, ModelGrid
from scenarios.sweeps.simulation.histogram import Histogram
from scenarios.sweeps.simulation.simulate_model_run import ModelRun
from scenarios.sweeps.statistics.estimates import Estimate, bootstrap, wilson


@attrs.frozen
class ModelCellResult:
    """The result row of a system.

    Attributes:
        cell: the system that the row describes.
        runs: the number of runs.
        losing: the seeds of the runs that lost acknowledged writes, in order.
        offline: the number of runs in which no server accepted writes at the end.
        loss: the probability of a loss in a run.
        lost: the mean proportion of acknowledged writes that a run lost.
        lost_most: the number of lost writes in the worst run.
        dirty, stale, backward: the mean proportions of reads that were dirty, that were stale, and that were behind an earlier read by the
            same client.
        write_down, read_down: the mean proportion of the time without writes, and the mean proportion of the time without reads.
        p50, p99, p999: percentiles of the times that acknowledged writes took, in µs; None if nothing was acknowledged.
        bytes_per_write: the bytes between servers for each acknowledged write; None if the model does not count them.
        acked, failed, unknown, faults, phantom: sums over all runs.
    """

    cell: ModelCell
    runs: int
    losing: tuple[int, ...]
    offline: int
    loss: Estimate
    lost: Estimate
    lost_most: int
    dirty: Estimate
    stale: Estimate
    backward: Estimate
    write_down: Estimate
    read_down: Estimate
    p50: float | None
    p99: float | None
    p999: float | None
    bytes_per_write: float | None
    acked: int
    failed: int
    unknown: int
    faults: int
    phantom: int


@attrs.frozen
class ModelSweepResult:
    """The result of a finished sweep over models."""

    grid: ModelGrid
    cells: tuple[ModelCellResult, ...]

    @property
    def runs(self) -> int:
        """The total number of runs over all systems."""
        return sum(cell.runs for cell in self.cells)


def model_cell_result(grid: ModelGrid, cell: ModelCell, runs: Sequence[ModelRun]) -> ModelCellResult:
    """Return the row of a system. `runs` must be in the order of the seeds."""
    latencies = Histogram()
    for run in runs:
        latencies.merge(dict(run.latencies))
    losing = tuple(run.seed for run in runs if run.lost_acknowledged)
    acked, sent = sum(run.acked for run in runs), sum(run.bytes_sent for run in runs)
    percentiles = latencies.percentiles((0.5, 0.99, 0.999))
    return ModelCellResult(
        cell=cell,
        runs=len(runs),
        losing=losing,
        offline=sum(run.offline for run in runs),
        loss=wilson(len(losing), len(runs)),
        lost=_mean([_share(run.lost_acknowledged, run.acked) for run in runs]),
        lost_most=max(run.lost_acknowledged for run in runs),
        dirty=_mean([_share(run.dirty, run.reads) for run in runs]),
        stale=_mean([_share(run.stale, run.reads) for run in runs]),
        backward=_mean([_share(run.backward, run.reads) for run in runs]),
        write_down=_mean([run.write_down_us / grid.horizon for run in runs]),
        read_down=_mean([run.read_down_us / grid.horizon for run in runs]),
        p50=None if percentiles[0] is None else percentiles[0].value,
        p99=None if percentiles[1] is None else percentiles[1].value,
        p999=None if percentiles[2] is None else percentiles[2].value,
        bytes_per_write=sent / acked if sent and acked else None,
        acked=acked,
        failed=sum(run.failed for run in runs),
        unknown=sum(run.unknown for run in runs),
        faults=sum(run.faults for run in runs),
        phantom=sum(run.phantom for run in runs),
    )


def _mean(values: list[float]) -> Estimate:
    """Return the mean of the values with its bootstrap interval. All bootstraps use the same seed, so systems with the same numbers get the
    same bounds."""
    return bootstrap(values, "bootstrap")


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


ESTIMATES: Final = ("loss", "lost", "dirty", "stale", "backward", "write_down", "read_down")
"""The columns that have bounds."""

MODEL_COLUMNS: Final = (
    "cell", "name", "model", "runs", "losing_runs", "offline_runs",
    *(f"{name}{bound}" for name in ESTIMATES for bound in ("", "_low", "_high")),
    "lost_most", "latency_p50_us", "latency_p99_us", "latency_p999_us", "bytes_per_write", "acked", "failed", "unknown", "faults", "phantom", "losing_seeds",
)  # fmt: skip
"""The columns of `cells.csv`. The columns with bounds contain the bounds of 95% confidence intervals."""


def model_row(outcome: ModelCellResult) -> list[Any]:
    """Return the row of a system in the order of `MODEL_COLUMNS`. Numbers are rounded, so that the output is the same on every machine."""
    bounds = [getattr(outcome, name) for name in ESTIMATES]
    return [
        outcome.cell.number, outcome.cell.name, outcome.cell.variant.model, outcome.runs, len(outcome.losing), outcome.offline,
        *(round(value, 6) for each in bounds for value in (each.value, each.low, each.high)),
        outcome.lost_most, *(None if value is None else round(value) for value in (outcome.p50, outcome.p99, outcome.p999, outcome.bytes_per_write)),
        outcome.acked, outcome.failed, outcome.unknown, outcome.faults, outcome.phantom, " ".join(map(str, outcome.losing)),
    ]  # fmt: skip
