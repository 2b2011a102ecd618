"""Runs chunks in processes of this machine, without Spark: what the sweep's results are held against, and quick to start.

A worker that is killed takes nothing with it: its chunks are done again by a fresh pool.
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
from typing import Final, Protocol

from spark_reports.errors import ReportError
from spark_reports.sweep.grid import Grid
from spark_reports.sweep.runs import Chunk, Finished, RunFailed, run_chunk

ATTEMPTS: Final = 4
"""How often in a row a pool may break before the sweep gives up."""


class Workers(Protocol):
    """Does chunks somewhere, many at a time."""

    @property
    def parallel(self) -> int:
        """Chunks that are done at the same time."""

    def run(self, grid: Grid, chunks: Iterator[Chunk]) -> Iterator[Finished]:
        """Every chunk's result, as they finish; chunks are taken as there is room for them.

        Raises:
            ReportError: a run broke, or there is nobody left to do it.
        """


class Here:
    """This very process, one chunk after another."""

    parallel = 1

    def run(self, grid: Grid, chunks: Iterator[Chunk]) -> Iterator[Finished]:
        """As `Workers.run`."""
        for chunk in chunks:
            try:
                yield run_chunk(grid, chunk)
            except RunFailed as failure:
                raise ReportError(f"the sweep stops: {failure}") from failure


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
def _deaf_to_the_terminal() -> Iterator[None]:
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


def _do(chunk: Chunk) -> Finished:
    assert _grid is not None
    return run_chunk(_grid, chunk)


class Processes:
    """A pool of processes."""

    def __init__(self, parallel: int) -> None:
        self.parallel = parallel
        self.pids: list[int] = []

    def run(self, grid: Grid, chunks: Iterator[Chunk]) -> Iterator[Finished]:
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

    def _run(self, grid: Grid, chunks: Iterator[Chunk], undone: list[Chunk]) -> Iterator[Finished]:
        """Results from one pool; `undone` is what it owes when it breaks."""
        under_way: dict[Future[Finished], Chunk] = {}
        # Its locks start a process, which keeps count of them.
        with _deaf_to_the_terminal():
            pool = ProcessPoolExecutor(self.parallel, multiprocessing.get_context("spawn"), _begin, (grid,))
        try:
            while True:
                for chunk in itertools.islice(chunks, self.parallel + 1 - len(under_way)):
                    undone.append(chunk)
                    # Submitting starts a process where there are not enough.
                    with _deaf_to_the_terminal():
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
