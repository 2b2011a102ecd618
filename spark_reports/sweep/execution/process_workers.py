"""Executes chunks in processes on this machine, without Spark.

If a worker is killed, a new pool repeats its chunks.
"""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import resource_tracker
from typing import Final

from spark_reports.errors import ReportError
from spark_reports.sweep.grid.grid import Grid
from spark_reports.sweep.simulation.simulate_run import Chunk, FinishedChunk, RunFailed, simulate_chunk

ATTEMPTS: Final = 4
"""How often in a row a pool may break before the sweep gives up."""

_grid: Grid | None = None


def _begin(grid: Grid) -> None:
    """A process of the pool starts; it ends with the one that started it, also when that is killed."""
    global _grid
    _grid = grid
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


@contextlib.contextmanager
def _terminal_signals_blocked() -> Iterator[None]:
    """Processes started in the block never hear Ctrl-C or that the terminal was closed, from their first instruction on.

    Both are for the one who started the sweep and ends them; here, what comes meanwhile is heard at the block's end.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
    try:
        # It ignores Ctrl-C by itself, and its start would unblock it.
        resource_tracker.ensure_running()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _do(chunk: Chunk) -> FinishedChunk:
    assert _grid is not None
    return simulate_chunk(_grid, chunk)


class ProcessWorkers:
    """A pool of processes."""

    def __init__(self, parallel: int) -> None:
        self.parallel = parallel
        self.pids: list[int] = []

    def run(self, grid: Grid, chunks: Iterator[Chunk]) -> Iterator[FinishedChunk]:
        """As `Workers.run`."""
        undone: list[Chunk] = []
        for _ in range(ATTEMPTS):
            source = itertools.chain(undone, chunks)
            undone = []
            try:
                yield from self._run(grid, source, undone)
                return
            except BrokenProcessPool:
                continue
            except RunFailed as failure:
                raise ReportError(f"the sweep stops: {failure}") from failure
        raise ReportError(f"worker processes keep dying ({ATTEMPTS} times); is there enough memory? try fewer with --processes")

    def _run(self, grid: Grid, chunks: Iterator[Chunk], undone: list[Chunk]) -> Iterator[FinishedChunk]:
        """Results from one pool; `undone` is what it owes when it breaks."""
        under_way: dict[Future[FinishedChunk], Chunk] = {}
        # Its locks start a process, which keeps count of them.
        with _terminal_signals_blocked():
            pool = ProcessPoolExecutor(self.parallel, multiprocessing.get_context("spawn"), _begin, (grid,))
        try:
            while True:
                for chunk in itertools.islice(chunks, self.parallel + 1 - len(under_way)):
                    undone.append(chunk)
                    # Submitting starts a process where there are not enough.
                    with _terminal_signals_blocked():
                        under_way[pool.submit(_do, chunk)] = chunk
                self.pids = list(pool._processes or ())
                if not under_way:
                    return
                done, _ = wait(under_way, return_when=FIRST_COMPLETED)
                for future in done:
                    finished = future.result()
                    undone.remove(under_way.pop(future))
                    yield finished
        finally:
            for process in list((pool._processes or {}).values()):
                process.terminate()
            pool.shutdown(wait=True, cancel_futures=True)
