"""What a worker is, and the simplest one: this process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from spark_reports.errors import ReportError
from spark_reports.sweep.grid.grid import Grid
from spark_reports.sweep.simulation.simulate_run import Chunk, FinishedChunk, RunFailed, simulate_chunk


class Workers(Protocol):
    """Does chunks somewhere, many at a time."""

    @property
    def parallel(self) -> int:
        """Chunks that are done at the same time."""

    def run(self, grid: Grid, chunks: Iterator[Chunk]) -> Iterator[FinishedChunk]:
        """Every chunk's result, as they finish; chunks are taken as there is room for them.

        Raises:
            ReportError: a run broke, or there is nobody left to do it.
        """


class ThisProcess:
    """This very process, one chunk after another."""

    parallel = 1

    def run(self, grid: Grid, chunks: Iterator[Chunk]) -> Iterator[FinishedChunk]:
        """As `Workers.run`."""
        for chunk in chunks:
            try:
                yield simulate_chunk(grid, chunk)
            except RunFailed as failure:
                raise ReportError(f"the sweep stops: {failure}") from failure
