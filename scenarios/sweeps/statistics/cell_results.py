"""The result of a sweep, with one row for each cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import attrs

from scenarios.sweeps.grid.grid import Cell, Grid
from scenarios.sweeps.simulation.histogram import Histogram, Percentile
from scenarios.sweeps.simulation.simulate_run import Run
from scenarios.sweeps.statistics.estimates import Estimate, bootstrap, wilson

PERCENTILES: Final = (0.5, 0.99, 0.999)
"""The percentiles of produce latency."""

SHOWN_SEEDS: Final = 8
"""The maximum number of seeds that the notes list for runs with a loss."""


@attrs.frozen
class CellResult:
    """The result row of a cell.

    Attributes:
        cell: the cell of the grid.
        runs: the number of runs.
        settled: whether the cell got no more runs because its confidence interval was narrow enough.
        losing: the seeds of the runs that lost acknowledged records, in order.
        loss: the probability of a loss within the horizon, estimated from the proportion of runs with a loss.
        lost_acknowledged: the mean number of lost acknowledged records per run.
        lost_acknowledged_most: the number of lost acknowledged records in the worst run.
        lost_read, lost_read_most: the mean number, per run, of lost records that a consumer had read (acknowledged or not), and the number
            of such records in the worst run.
        write_down, read_down, stalled: the mean time without writes, the mean time without reads, and the mean time during which acks=all
            writes wait, each in µs per partition and run; `write_down` does not include `stalled`.
        unacknowledged: the sum of `write_down` and `stalled`, in µs.
        latencies: the percentiles of produce latency in the simulated time, in µs; None if nothing was sent.
        acked, failed, unanswered, duplicated: the numbers of acknowledged, failed, unanswered, and duplicated records in all runs.
        faults, episodes, unclean, not_whole, events: the sums over all runs (see `simulate_run.Run`).
        simulated_us: the virtual time of all runs, in µs.
    """

    cell: Cell
    runs: int
    settled: bool
    losing: tuple[int, ...]
    loss: Estimate
    lost_acknowledged: Estimate
    lost_acknowledged_most: int
    lost_read: Estimate
    lost_read_most: int
    write_down: Estimate
    read_down: Estimate
    stalled: Estimate
    unacknowledged: Estimate
    latencies: tuple[Percentile | None, ...]
    acked: int
    failed: int
    unanswered: int
    duplicated: int
    faults: int
    episodes: int
    unclean: int
    not_whole: int
    events: int
    simulated_us: int


@attrs.frozen
class SweepResult:
    """The result of a finished sweep."""

    grid: Grid
    cells: tuple[CellResult, ...]

    @property
    def runs(self) -> int:
        """The total number of runs in all cells."""
        return sum(cell.runs for cell in self.cells)


def cell_result(cell: Cell, runs: Sequence[Run], *, settled: bool = False) -> CellResult:
    """Return the row of a cell. `runs` must be in the order of the seeds.

    All bootstraps use the same seed, so that cells with the same numbers get the same bounds.
    """
    latencies, waits = Histogram(), Histogram()
    for run in runs:
        latencies.merge(dict(run.latencies))
        waits.merge(dict(run.waits))
    losing = tuple(run.seed for run in runs if run.lost_acknowledged)
    return CellResult(
        cell=cell,
        runs=len(runs),
        settled=settled,
        losing=losing,
        loss=wilson(len(losing), len(runs)),
        lost_acknowledged=bootstrap([run.lost_acknowledged for run in runs], "bootstrap"),
        lost_acknowledged_most=max(run.lost_acknowledged for run in runs),
        lost_read=bootstrap([run.lost_read for run in runs], "bootstrap"),
        lost_read_most=max(run.lost_read for run in runs),
        write_down=bootstrap([run.write_down_us / cell.partitions for run in runs], "bootstrap"),
        read_down=bootstrap([run.read_down_us / cell.partitions for run in runs], "bootstrap"),
        stalled=bootstrap([run.stalled_us / cell.partitions for run in runs], "bootstrap"),
        unacknowledged=bootstrap([(run.write_down_us + run.stalled_us) / cell.partitions for run in runs], "bootstrap"),
        latencies=tuple(latencies.percentiles(PERCENTILES, waits)),
        acked=sum(run.acked for run in runs),
        failed=sum(run.failed for run in runs),
        unanswered=sum(run.unanswered for run in runs),
        duplicated=sum(run.duplicated for run in runs),
        faults=sum(run.faults for run in runs),
        episodes=sum(run.episodes for run in runs),
        unclean=sum(run.unclean for run in runs),
        not_whole=sum(run.not_whole for run in runs),
        events=sum(run.events for run in runs),
        simulated_us=sum(run.simulated_us for run in runs),
    )


COLUMNS: Final = (
    "cell", "name", "release", "runs", "settled", "losing_runs",
    "loss", "loss_low", "loss_high", "lost_acknowledged", "lost_acknowledged_low", "lost_acknowledged_high", "lost_acknowledged_most",
    "lost_read", "lost_read_low", "lost_read_high", "lost_read_most",
    "write_down_us", "write_down_low_us", "write_down_high_us", "read_down_us", "read_down_low_us", "read_down_high_us",
    "stalled_us", "stalled_low_us", "stalled_high_us",
    "latency_p50_us", "latency_p99_us", "latency_p999_us", "p50_at_least", "p99_at_least", "p999_at_least",
    "acked", "failed", "unanswered", "duplicated", "faults", "episodes", "unclean_elections", "not_whole", "events", "simulated_us", "losing_seeds",
)  # fmt: skip
"""The columns of `cells.csv`.

The columns with bounds contain the bounds of 95% confidence intervals. `…_at_least` is true if a percentile depends on unanswered records.
"""


def as_row(outcome: CellResult) -> list[Any]:
    """Return the row of a cell in the order of `COLUMNS`. Numbers are rounded, so that they print the same everywhere."""
    estimates = [
        *_bounds(outcome.loss, 6), *_bounds(outcome.lost_acknowledged, 3), outcome.lost_acknowledged_most,
        *_bounds(outcome.lost_read, 3), outcome.lost_read_most,
        *_bounds(outcome.write_down, 0), *_bounds(outcome.read_down, 0), *_bounds(outcome.stalled, 0),
    ]  # fmt: skip
    return [
        outcome.cell.number, outcome.cell.name, outcome.cell.release.name, outcome.runs, outcome.settled, len(outcome.losing),
        *estimates,
        *(None if found is None else round(found.value) for found in outcome.latencies),
        *(None if found is None else found.at_least for found in outcome.latencies),
        outcome.acked, outcome.failed, outcome.unanswered, outcome.duplicated, outcome.faults, outcome.episodes, outcome.unclean, outcome.not_whole,
        outcome.events, outcome.simulated_us, " ".join(map(str, outcome.losing)),
    ]  # fmt: skip


def _bounds(estimate: Estimate, digits: int) -> list[float | int]:
    values = (estimate.value, estimate.low, estimate.high)
    return [round(value, digits) if digits else round(value) for value in values]
