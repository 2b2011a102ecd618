"""Executes chunks in processes on this machine, without Spark.

If a worker is killed, a new pool repeats the worker's chunks.
"""

from __future__ import annotations

import itertools
import multiprocessing
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Final

from scenarios.io.child_processes import end_with_parent, terminal_signals_blocked
from scenarios.sweeps.errors import SweepError
from scenarios.sweeps.grid.grid import Grid
from scenarios.sweeps.simulation.runs import Chunk, FinishedChunk, simulate_chunk

ATTEMPTS: Final = 4
"""The number of consecutive process pools that must break before the sweep fails."""

_grid: Grid | None = None


def _begin(grid: Grid) -> None:
    """Initialize a process of the pool. The process exits when its parent exits, even if the parent is killed."""
    global _grid
    _grid = grid
    end_with_parent()


def _do(chunk: Chunk) -> FinishedChunk:
    assert _grid is not None
    return simulate_chunk(_grid, chunk)


class ProcessWorkers:
    """Workers that are processes on this machine."""

    def __init__(self, parallel: int) -> None:
        self.parallel = parallel
        self.pids: list[int] = []

    def run(self, grid: Grid, chunks: Iterator[Chunk]) -> Iterator[FinishedChunk]:
        """Execute chunks (see `Workers.run`)."""
        undone: list[Chunk] = []
        for _ in range(ATTEMPTS):
            source = itertools.chain(undone, chunks)
            undone = []
            try:
                yield from self._run(grid, source, undone)
                return
            except BrokenProcessPool:
                continue
        raise SweepError(f"worker processes died {ATTEMPTS} times in a row; if memory is short, give a smaller number with --processes")

    def _run(self, grid: Grid, chunks: Iterator[Chunk], undone: list[Chunk]) -> Iterator[FinishedChunk]:
        """Yield the results of one pool. `undone` collects the chunks that a broken pool has not finished."""
        under_way: dict[Future[FinishedChunk], Chunk] = {}
        # Creating the pool starts a process that tracks its locks.
        with terminal_signals_blocked():
            pool = ProcessPoolExecutor(self.parallel, multiprocessing.get_context("spawn"), _begin, (grid,))
        try:
            while True:
                for chunk in itertools.islice(chunks, self.parallel + 1 - len(under_way)):
                    undone.append(chunk)
                    # Submitting starts another process if there are too few.
                    with terminal_signals_blocked():
                        under_way[pool.submit(_do, chunk)] = chunk
                self.pids = list(pool._processes or ())
                if not under_way:
                    return
                done, _ = wait(under_way, return_when=FIRST_COMPLETED)
                for future in [each for each in under_way if each in done]:  # in order, so that the first of several failures is reported
                    finished = future.result()
                    undone.remove(under_way.pop(future))
                    yield finished
        finally:
            for process in list((pool._processes or {}).values()):
                process.terminate()
            pool.shutdown(wait=True, cancel_futures=True)
