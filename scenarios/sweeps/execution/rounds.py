"""Executes the runs of a sweep in rounds. This module decides which runs are missing, how large chunks are, and when a cell needs no more
runs.

Without a target width, there is one round with all seeds. With a target width, a round ends when each remaining cell has a certain number
of runs, and this number doubles from round to round. A cell whose confidence interval is narrow enough at the end of a round gets no more
runs. The number of runs that a cell gets therefore depends only on seeds, never on the speed of workers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Final

from scenarios.sweeps.errors import SweepError, SweepLimitReached
from scenarios.sweeps.execution.checkpoint import Checkpoint
from scenarios.sweeps.execution.workers import Workers
from scenarios.sweeps.grid.grid import C, Grid, Run
from scenarios.sweeps.simulation.runs import Chunk, FinishedChunk, RunFailed, RunStopped
from scenarios.sweeps.statistics.cell_results import CellResult, SweepResult, cell_result
from scenarios.sweeps.statistics.differences import differences_of
from scenarios.sweeps.statistics.estimates import proportion

FIRST_ROUND: Final = 100
"""The number of runs that a cell gets before its confidence interval is checked for the first time."""

CHUNK_SECONDS: Final = 4.0
"""The intended processor time of a chunk, in seconds, which is much longer than the time that starting a chunk takes."""

MAX_CHUNK: Final = 1_000
"""The maximum number of runs in a chunk."""

Progress = Callable[[int, int, int], None]
"""A function that receives the number of finished runs, the maximum number of runs, and the number of runs that lost acknowledged records.
"""


def rounds(runs: int, width: float | None) -> list[int]:
    """Return the numbers of runs after which the cells' confidence intervals are checked; the last number is `runs`."""
    if width is None:
        return [runs]
    found = []
    upto = FIRST_ROUND
    while upto < runs:
        found.append(upto)
        upto *= 2
    return [*found, runs]


def sweep_runs(
    grid: Grid[C],
    runs: int,
    workers: Workers,
    checkpoint: Checkpoint | None = None,
    width: float | None = None,
    progress: Progress = lambda *_: None,
) -> tuple[SweepResult[C], list[Run]]:
    """Execute the missing runs of a grid. Return the result, and all of its runs, ordered by cell and seed.

    Args:
        runs: the number of runs for each cell; the runs use the seeds 1 to `runs`.
        checkpoint: the store of finished chunks; None to store no chunks.
        width: the target width; if the confidence interval of a cell's loss probability is at most this wide, the cell gets no more runs.

    Raises:
        SweepError: a run failed, or the workers or the store failed.
    """
    known = {} if checkpoint is None else {(run.cell, run.seed): run for run in checkpoint.kept()}
    settled: dict[int, int] = {}
    for upto in rounds(runs, width):
        open_cells = [cell.number for cell in grid.cells if cell.number not in settled]
        sizes = _ChunkSizes(workers.parallel)
        missing = {cell: [seed for seed in range(1, upto + 1) if (cell, seed) not in known] for cell in open_cells}
        left = sum(map(len, missing.values()))
        expected = sum(settled.values()) + upto * len(open_cells)

        def report_progress(left: int, expected: int = expected) -> None:
            progress(expected - left, expected, sum(run.lost_acknowledged > 0 for run in known.values()))

        report_progress(left)
        try:
            for finished in workers.run(grid, sizes.chunks(missing)) if left else ():
                if checkpoint is not None:
                    checkpoint.add(finished)
                for run in finished.runs:
                    known[run.cell, run.seed] = run
                sizes.learn(finished)
                left -= len(finished.runs)
                report_progress(left)
        except RunStopped as stopped:
            raise SweepLimitReached(str(stopped)) from None
        except RunFailed as failure:
            raise SweepError(f"the sweep stopped: {failure}") from failure
        for number in open_cells:
            losing = sum(known[number, seed].lost_acknowledged > 0 for seed in range(1, upto + 1))
            if upto == runs or (width is not None and proportion(losing, upto).width <= width):
                settled[number] = upto
    rows: list[CellResult[C]] = []
    every: dict[int, list[Run]] = {}
    for cell in grid.cells:
        own = [known[cell.number, seed] for seed in range(1, settled[cell.number] + 1)]
        rows.append(cell_result(grid, cell, own, settled=len(own) < runs))
        every[cell.number] = own
    return SweepResult(grid, tuple(rows), differences_of(grid, every)), [run for own in every.values() for run in own]


class _ChunkSizes:
    """The sizes of chunks, which depend on the time that earlier runs took."""

    def __init__(self, parallel: int) -> None:
        self.parallel = parallel
        self.seconds: dict[int, tuple[float, int]] = {}

    def learn(self, finished: FinishedChunk) -> None:
        """Adjust the sizes of later chunks to the time that a finished chunk took."""
        cell = finished.chunk.cell
        seconds, runs = self.seconds.get(cell, (0.0, 0))
        self.seconds[cell] = (seconds + finished.seconds, runs + len(finished.runs))

    def size(self, cell: int, left: int) -> int:
        """Return the number of runs in a cell's next chunk.

        `left` is the number of runs of all cells that are not yet assigned to a chunk.
        """
        known = self.seconds.get(cell) or self.seconds.get(next(iter(self.seconds), 0))
        if known is None:
            return 1
        each = max(known[0] / known[1], 1e-6)
        fair = math.ceil(left / (2 * self.parallel))
        return max(1, min(MAX_CHUNK, round(CHUNK_SECONDS / each), fair))

    def chunks(self, missing: dict[int, list[int]]) -> Iterator[Chunk]:
        """Yield the missing seeds of all cells in chunks, with the cells taking turns.

        The size of a chunk is determined when the chunk is requested.
        """
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
