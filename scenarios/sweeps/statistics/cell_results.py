"""The result of a sweep, with one row for each cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Generic

import attrs

from scenarios.sweeps.grid.grid import C, Grid, Run
from scenarios.sweeps.simulation.histogram import Histogram, Percentile
from scenarios.sweeps.simulation.runs import fields_of
from scenarios.sweeps.statistics.differences import Difference
from scenarios.sweeps.statistics.estimates import Estimate, mean, proportion
from scenarios.sweeps.statistics.rare_loss import StratumResult, in_a_year, losses_per_year, strata_of

PERCENTILES: Final = (0.5, 0.99, 0.999)
"""The percentiles of latency."""


@attrs.frozen
class CellResult(Generic[C]):
    """The result row of a cell.

    Attributes:
        cell: the cell of the grid.
        runs: the number of runs.
        settled: whether the cell got no more runs because its confidence interval was narrow enough.
        losing: the seeds of the runs that lost acknowledged records, in order.
        means: estimates by name: the means over the runs of what the experiment measures (`Experiment.means`), and `loss`.
        totals, most: for each number in the rows of runs, its sum over all runs, and its value in the run where it is highest.
        latencies: the percentiles of latency in the simulated time, in µs; None if nothing was sent.
        strata: the results by the number of nodes that are faulty at once, if runs simulate windows that were drawn with weights; else empty.
    """

    cell: C
    runs: int
    settled: bool
    losing: tuple[int, ...]
    means: Mapping[str, Estimate]
    totals: Mapping[str, int]
    most: Mapping[str, int]
    latencies: tuple[Percentile | None, ...]
    strata: tuple[StratumResult, ...] = ()

    @property
    def loss(self) -> Estimate:
        """The probability of a loss within the horizon, estimated from the proportion of runs with a loss. If there are strata, it is the
        probability of a loss in a year."""
        return self.means["loss"]


@attrs.frozen
class SweepResult(Generic[C]):
    """The result of a finished sweep, with the differences between its cells."""

    grid: Grid[C]
    cells: tuple[CellResult[C], ...]
    differences: tuple[Difference, ...] = ()

    @property
    def runs(self) -> int:
        """The total number of runs in all cells."""
        return sum(cell.runs for cell in self.cells)


def cell_result(grid: Grid[C], cell: C, runs: Sequence[Run], *, settled: bool = False) -> CellResult[C]:
    """Return the row of a cell. `runs` must be in the order of the seeds."""
    latencies, waits = Histogram(), Histogram()
    for run in runs:
        latencies.merge(dict(run.latencies))
        waits.merge(dict(run.waits))
    losing = tuple(run.seed for run in runs if run.lost_acknowledged)
    measured = [grid.experiment.means(grid, cell, run) for run in runs]
    numbers = {name: [getattr(run, name) for run in runs] for name in fields_of(grid.experiment.run_type)}
    numbers = {name: values for name, values in numbers.items() if isinstance(values[0], int)}
    strata = strata_of([grid.experiment.samples(grid, cell, run) for run in runs])
    return CellResult(
        cell=cell,
        runs=len(runs),
        settled=settled,
        losing=losing,
        means={
            "loss": in_a_year(losses_per_year(strata)) if strata else proportion(len(losing), len(runs)),
            **{name: mean([values[name] for values in measured], grid.experiment.most) for name in measured[0]},
        },
        totals={name: sum(values) for name, values in numbers.items()},
        most={name: max(values) for name, values in numbers.items()},
        latencies=tuple(latencies.percentiles(PERCENTILES, waits)),
        strata=strata,
    )
