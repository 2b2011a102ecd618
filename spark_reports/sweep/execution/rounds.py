"""Does a sweep's runs: which are missing, in chunks of how many, and when a cell has had enough.

Without a wanted width there is one round with all seeds. With one, rounds end at fixed numbers of runs, doubling, and a
cell whose interval is tight enough by then gets no more: a rule that looks at seeds, never at who was quick.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Final

from spark_reports.sweep.execution.checkpoint import Store
from spark_reports.sweep.execution.workers import Workers
from spark_reports.sweep.grid.grid import Grid
from spark_reports.sweep.simulation.simulate_run import Chunk, FinishedChunk, Run
from spark_reports.sweep.statistics.cell_results import CellResult, SweepResult, cell_result
from spark_reports.sweep.statistics.estimates import wilson

FIRST_ROUND: Final = 100
"""Runs of a cell before its interval is looked at for the first time."""

CHUNK_SECONDS: Final = 4.0
"""Processor time that a chunk should take: long beside what starting it costs."""

MAX_CHUNK: Final = 1_000
"""Most runs of a chunk."""

Progress = Callable[[int, int, int], None]
"""Told how many runs are done, how many there are to do at most, and how many have lost acknowledged records."""


def rounds(runs: int, width: float | None) -> list[int]:
    """Numbers of runs after which the intervals are looked at; the last is `runs`."""
    if width is None:
        return [runs]
    found = []
    upto = FIRST_ROUND
    while upto < runs:
        found.append(upto)
        upto *= 2
    return [*found, runs]


def sweep_runs(
    grid: Grid, runs: int, workers: Workers, store: Store | None = None, width: float | None = None, progress: Progress = lambda *_: None
) -> tuple[SweepResult, list[Run]]:
    """Do what is not done yet; returns the outcome and every run that it is made of, by cell and seed.

    Args:
        runs: of each cell, seeds 1 to `runs`.
        store: where finished chunks are kept and found.
        width: of the interval of the probability of a loss, from bound to bound, at which a cell has had enough.
    """
    known = {} if store is None else {(run.cell, run.seed): run for run in store.kept()}
    settled: dict[int, int] = {}
    for upto in rounds(runs, width):
        open_cells = [cell.number for cell in grid.cells if cell.number not in settled]
        pace = _Pace(workers.parallel)
        missing = {cell: [seed for seed in range(1, upto + 1) if (cell, seed) not in known] for cell in open_cells}
        left = sum(map(len, missing.values()))
        expected = sum(settled.values()) + upto * len(open_cells)

        def told(left: int, expected: int = expected) -> None:
            progress(expected - left, expected, sum(run.lost_acknowledged > 0 for run in known.values()))

        told(left)
        for finished in workers.run(grid, pace.chunks(missing)) if left else ():
            if store is not None:
                store.add(finished)
            for run in finished.runs:
                known[run.cell, run.seed] = run
            pace.learn(finished)
            left -= len(finished.runs)
            told(left)
        for number in open_cells:
            losing = sum(known[number, seed].lost_acknowledged > 0 for seed in range(1, upto + 1))
            if upto == runs or (width is not None and wilson(losing, upto).width <= width):
                settled[number] = upto
    rows: list[CellResult] = []
    every: list[Run] = []
    for cell in grid.cells:
        own = [known[cell.number, seed] for seed in range(1, settled[cell.number] + 1)]
        rows.append(cell_result(cell, own, settled=settled[cell.number] < runs))
        every += own
    return SweepResult(grid, tuple(rows)), every


class _Pace:
    """How many runs make a chunk, from how long they took so far."""

    def __init__(self, parallel: int) -> None:
        self.parallel = parallel
        self.seconds: dict[int, tuple[float, int]] = {}

    def learn(self, finished: FinishedChunk) -> None:
        """A chunk is done."""
        cell = finished.chunk.cell
        seconds, runs = self.seconds.get(cell, (0.0, 0))
        self.seconds[cell] = (seconds + finished.seconds, runs + len(finished.runs))

    def size(self, cell: int, left: int) -> int:
        """Runs of the next chunk of a cell; `left` are those of all cells still to be given out."""
        known = self.seconds.get(cell) or self.seconds.get(next(iter(self.seconds), 0))
        if known is None:
            return 1
        each = max(known[0] / known[1], 1e-6)
        fair = math.ceil(left / (2 * self.parallel))
        return max(1, min(MAX_CHUNK, round(CHUNK_SECONDS / each), fair))

    def chunks(self, missing: dict[int, list[int]]) -> Iterator[Chunk]:
        """The missing seeds of each cell in stretches, cell after cell in turn; sizes are made up when a chunk is asked for."""
        left = sum(map(len, missing.values()))
        at = dict.fromkeys(missing, 0)
        while left:
            for cell, seeds in missing.items():
                start = at[cell]
                if start == len(seeds):
                    continue
                size = self.size(cell, left)
                end = start + 1
                while end < len(seeds) and end - start < size and seeds[end] == seeds[end - 1] + 1:
                    end += 1
                yield Chunk(cell, seeds[start], seeds[end - 1])
                at[cell] = end
                left -= end - start
