"""The interface of workers, and the simplest implementation, which uses only this process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from scenarios.sweeps.grid.grid import Grid
from scenarios.sweeps.simulation.runs import Chunk, FinishedChunk, simulate_chunk


class Workers(Protocol):
    """Workers that execute chunks, usually several at the same time."""

    @property
    def parallel(self) -> int:
        """The number of chunks that run at the same time."""

    def run(self, grid: Grid, chunks: Iterator[Chunk]) -> Iterator[FinishedChunk]:
        """Yield the result of each chunk when it finishes. A chunk is requested only when a worker is free.

        Raises:
            RunFailed: a run failed.
            RunStopped: a run reached a limit.
            SweepError: there are no workers left.
        """


class ThisProcess:
    """A single worker: this process, which executes one chunk after another."""

    parallel = 1

    def run(self, grid: Grid, chunks: Iterator[Chunk]) -> Iterator[FinishedChunk]:
        """Execute chunks (see `Workers.run`)."""
        for chunk in chunks:
            yield simulate_chunk(grid, chunk)
