"""Compares the two ways to estimate how often records are lost where losses are frequent enough for both: `make bench`, or
`bench_rare_loss.py --days=N --runs=N`.

A plain sweep simulates every fault of a horizon. A sweep with `rare` draws many years of faults and simulates some windows for each number of
brokers that are down at the same time. The intervals of the two must overlap.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from core.sim.units import SECOND
from scenarios.sweeps.grid.grid import Grid
from scenarios.sweeps.grid_file.read_grid import read_grid
from scenarios.sweeps.simulation.kafka.rare_windows import YEAR
from scenarios.sweeps.statistics.estimates import TAIL, Estimate
from scenarios.sweeps.statistics.quantiles import gamma_quantile
from scenarios.sweeps.statistics.rare_loss import losses_per_year, seen_losses_per_year, strata_of
from tests.scenarios.sweeps.grids import TWO_BROKERS

GRID: Final = f"{TWO_BROKERS}faults:\n  crash: {{every: 2h, lasts: {{mean: 20m}}}}\n"


def plainly(days: int) -> tuple[Estimate, int]:
    """Return how many windows per year lose records when all windows of some days are simulated, and the number of these windows."""
    grid: Grid[Any] = read_grid(f"{GRID}horizon: {days}d\n", "bench")
    run = grid.experiment.simulate(grid, grid.cells[0], 1)
    count, years = len(run.losing), days * 86_400 * SECOND / YEAR
    bounds = (gamma_quantile(TAIL, count) / years, gamma_quantile(1 - TAIL, count + 1) / years)
    return Estimate(count / years, *bounds), run.episodes


def by_strata(runs: int) -> tuple[Estimate, Estimate | None]:
    """Return the same from windows by the number of brokers that are down: from all windows, and from those kinds that lost records."""
    grid: Grid[Any] = read_grid(f"{GRID}rare: {{years: 1}}\n", "bench")
    cell = grid.cells[0]
    strata = strata_of([grid.experiment.samples(grid, cell, grid.experiment.simulate(grid, cell, seed)) for seed in range(1, runs + 1)])
    return losses_per_year(strata), seen_losses_per_year(strata)


def number(option: str, default: int) -> int:
    """Return the value of a command-line option."""
    return next((int(given.removeprefix(option)) for given in sys.argv if given.startswith(option)), default)


def main() -> None:
    """Print both estimates and what they cost."""
    days, runs = number("--days=", 60), number("--runs=", 100)
    begun = time.process_time()
    plain, windows = plainly(days)
    between = time.process_time()
    every, seen = by_strata(runs)
    ended = time.process_time()
    assert seen is not None
    print(f"windows per year that lose records; {between - begun:.0f} s and {ended - between:.0f} s of processor time")
    for name, found in (
        (f"all {windows:,} windows of {days} days", plain),
        (f"{runs} windows for each number of brokers, where lost", seen),
        (f"{runs} windows for each number of brokers, all", every),
    ):
        print(f"{name:<52} {found.value:8.1f} ({found.low:.1f} – {found.high:.1f})")
    assert plain.low <= seen.high
    assert seen.low <= plain.high


if __name__ == "__main__":
    main()
