"""Executes chunks of the runs of a sweep on Spark. Each chunk is a row of a small job (`spark_reports.spark.small_jobs`). The result of each run
is a string of several hundred bytes.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import TYPE_CHECKING, Any, Final

import attrs

from scenarios.sweeps.grid.grid import Grid
from scenarios.sweeps.simulation.runs import Chunk, FinishedChunk, RunFailed, RunStopped, from_text, simulate_chunk, to_text
from spark_reports.spark.small_jobs import JOBS, cores_of, results_of
from spark_reports.thread_pool import pool_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FAILED: Final = re.compile(r"RunFailed: (cell \d+, seed \d+: .*)")
_STOPPED: Final = re.compile(r"RunStopped: (cell \d+, seed \d+: .*)")


class SparkWorkers:
    """Workers that run on Spark's executors."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self.parallel = cores_of(spark)

    def run(self, grid: Grid[Any], chunks: Iterator[Chunk]) -> Iterator[FinishedChunk]:
        """Execute chunks (see `Workers.run`)."""
        from pyspark.errors import PySparkException

        with pool_of(JOBS) as pool:
            under_way: set[Future[list[FinishedChunk]]] = set()
            try:
                while True:
                    while len(under_way) < JOBS and (batch := tuple(itertools.islice(chunks, self.parallel))):
                        under_way.add(pool.submit(self._job, grid, batch))
                    if not under_way:
                        return
                    done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                    for future in done:
                        yield from future.result()
            except PySparkException as failure:
                if match := _STOPPED.search(str(failure)):
                    raise RunStopped(match[1]) from failure
                if match := _FAILED.search(str(failure)):
                    raise RunFailed(match[1]) from failure
                raise

    def _job(self, grid: Grid[Any], batch: Sequence[Chunk]) -> list[FinishedChunk]:
        # Executors get only the cells of this job.
        about = {chunk.cell for chunk in batch}
        small = _only(grid, about)

        def do(number: int) -> str:
            return to_text(simulate_chunk(small, batch[number]))

        return [from_text(grid, text) for text in results_of(self._spark, len(batch), do, "string")]


def _only(grid: Grid[Any], cells: set[int]) -> Grid[Any]:
    """Return a copy of a grid without its text and with only the needed cells, which keep their numbers."""
    return attrs.evolve(grid, text="", cells=tuple(cell if cell.number in cells else grid.cells[0] for cell in grid.cells))
