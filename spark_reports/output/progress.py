"""Shows the progress of a report on stderr, as a line for each step and, on a terminal, a transient line with Spark's running stages."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Final

from scenarios.io.escaping import escape_line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SECONDS: Final = 0.4
_CLEAR: Final = "\r\x1b[K"


class Progress:
    """The progress of a report, which is not shown if `quiet` is set."""

    def __init__(self, out: IO[str], *, quiet: bool) -> None:
        self._out = out
        self._quiet = quiet
        self._live = not quiet and out.isatty()
        self._lock = threading.Lock()
        self._shown = False

    def __call__(self, message: str) -> None:
        """Write a line of progress output."""
        if not self._quiet:
            with self._lock:
                self._wipe()
                self._out.write(escape_line(message) + "\n")
                self._out.flush()

    @contextlib.contextmanager
    def watching(self, spark: SparkSession) -> Iterator[None]:
        """While the block runs, show the stages that Spark is working on, but only on a terminal."""
        if not self._live or not hasattr(spark, "_jsparkSession"):
            yield
            return
        done = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(spark, done), name="progress", daemon=True)
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join()
            with self._lock:
                self._wipe()

    def _watch(self, spark: SparkSession, done: threading.Event) -> None:
        tracker = spark.sparkContext.statusTracker()
        while not done.wait(_SECONDS):
            # The stage can be finished before it is read, and Spark can be stopping.
            with contextlib.suppress(Exception):
                stages = [stage for number in tracker.getActiveStageIds() if (stage := tracker.getStageInfo(number)) is not None]
                told = ", ".join(f"stage {stage.stageId}: {stage.numCompletedTasks} of {stage.numTasks} tasks" for stage in stages[:3])
                with self._lock:
                    self._wipe()
                    if told:
                        self._out.write(f"  {told} …"[:78])
                        self._out.flush()
                        self._shown = True

    def _wipe(self) -> None:
        if self._shown:
            self._out.write(_CLEAR)
            self._out.flush()
            self._shown = False
