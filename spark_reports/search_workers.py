"""Plays the runs of a search on Spark. A task of Spark gets a slice of the tasks of the search: acts and times, not copies of a cluster. It plays
the way to each moment again, tries the acts, and returns the keys of the situations (128 bits each) with the moments at which they began.

The search takes the results in by the order of its tasks, and keeps the first way to each situation, which is one with the fewest faults. It
therefore finds the same with any number of executors as alone.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterator, Sequence, Set
from concurrent.futures import Future
from typing import TYPE_CHECKING, Final

from scenarios.exploration.execution.slices import play_slice
from scenarios.exploration.player import REPEATS, Run, Runs, Task
from scenarios.exploration.request import Request
from spark_reports.spark.small_jobs import JOBS, cores_of, results_of
from spark_reports.thread_pool import pool_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SLICE: Final = 24
"""The largest number of tasks in a slice. A task has several acts, and so do not depend on Spark's time to begin a job."""


class SparkPlays:
    """Plays the tasks of a search on Spark's executors."""

    def __init__(self, spark: SparkSession, request: Request) -> None:
        self._spark = spark
        self._request = pickle.dumps(request)
        self._sends_fewer = REPEATS in request.prune
        self._cores = cores_of(spark)

    def play(self, take: Callable[[], Task | None], fewer: Set[bytes], *, last: bool) -> Iterator[tuple[Task, Runs]]:
        """Play tasks (see `Plays.play`)."""
        sent = frozenset(fewer) if self._sends_fewer else frozenset[bytes]()
        under_way: deque[tuple[list[Task], Future[list[list[Run | None]]]]] = deque()
        with pool_of(JOBS) as pool:
            while True:
                while len(under_way) < JOBS and (batch := self._batch(take)):
                    under_way.append((batch, pool.submit(self._job, batch, sent, last)))
                if not under_way:
                    return
                batch, future = under_way.popleft()
                for task, runs in zip(batch, future.result(), strict=True):
                    yield task, runs.__getitem__

    def _batch(self, take: Callable[[], Task | None]) -> list[Task]:
        """Take the tasks of the next job."""
        batch: list[Task] = []
        while len(batch) < SLICE * self._cores and (task := take()) is not None:
            batch.append(task)
        return batch

    def _job(self, batch: Sequence[Task], fewer: frozenset[bytes], last: bool) -> list[list[Run | None]]:
        """Play tasks, and return the runs of each."""
        request = self._request
        count = min(self._cores, len(batch))
        slices = [pickle.dumps((batch[number::count], fewer, last)) for number in range(count)]

        def do(number: int) -> bytes:
            return play_slice(request, slices[number])

        played = [pickle.loads(result) for result in results_of(self._spark, count, do, "binary")]
        return [played[number % count][number // count] for number in range(len(batch))]
