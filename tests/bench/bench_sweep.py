"""Measures how a sweep of small runs scales, and compares it with a bare process pool on the same runs: `make bench`, or `bench_sweep.py
--full` for 10,000 runs.

A run simulates one hour of three brokers with 20 partitions, a slow steady load, and a crash every half hour. The benchmark prints the wall
time and the processor time of the whole process tree. On a machine with other users, wall times mean little. The processor time for the
same work shows the cost of additional workers or of Spark. Any other difference in wall time is time spent waiting for a core.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import attrs

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scenarios.sweeps.execution.process_workers import ProcessWorkers
from scenarios.sweeps.execution.rounds import sweep_runs
from scenarios.sweeps.execution.workers import Workers
from scenarios.sweeps.grid.grid import Grid
from scenarios.sweeps.grid_file.read_grid import read_grid
from scenarios.sweeps.output.result_files import runs_csv
from spark_reports.spark.session import spark_session
from spark_reports.spark.small_jobs import SETTINGS
from spark_reports.sweep_workers import SparkWorkers

GRID: Final = """\
cluster:
  brokers: 3
  topics:
    orders: {partitions: 20, replication-factor: 3}
workload:
  - {topic: orders, rate: 10, every: 30s}
faults:
  crash: {every: 30m, lasts: 1m}
horizon: 1h
"""

RUNS: Final = 200
"""The number of runs without the option `--full`."""

FULL: Final = 10_000

TICKS: Final = os.sysconf("SC_CLK_TCK")
PAGE: Final = os.sysconf("SC_PAGE_SIZE")


@attrs.frozen
class Usage:
    """The resources that a process tree has used: processor seconds, and the resident bytes of its largest Python worker."""

    seconds: float
    worker_bytes: int


def tree_usage() -> Usage:
    """Return the usage of this process and all its descendants, including those that have ended."""
    parents: dict[int, int] = {}
    seconds: dict[int, float] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(fields[1])
            seconds[int(entry.name)] = sum(map(int, fields[11:15])) / TICKS
    mine = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in mine and pid not in mine}:
        mine |= more
    largest = 0
    for pid in mine - {os.getpid()}:
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            if b"pyspark.daemon" in command or b"spawn_main" in command:
                largest = max(largest, int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE)
        except OSError:
            continue
    return Usage(sum(seconds[pid] for pid in mine if pid in seconds), largest)


@attrs.frozen
class Measured:
    """The measurements of one way of executing the runs: wall seconds, processor seconds, and the largest worker's bytes after a tenth of
    the runs and at the end.
    """

    wall: float
    processor: float
    early: int
    late: int
    result: str


def measure(grid: Grid, runs: int, workers: Workers) -> Measured:
    """Execute the runs. The cost includes starting Python workers, but not starting Spark."""
    memory: dict[str, int] = {"early": 0, "late": 0}
    peak = [0]
    stop = threading.Event()

    def watch() -> None:
        while not stop.wait(0.5):
            peak[0] = max(peak[0], tree_usage().worker_bytes)

    def progress(done: int, all_runs: int, losing: int) -> None:
        if not memory["early"] and done >= all_runs / 10:
            memory["early"] = tree_usage().worker_bytes

    before, begun = tree_usage().seconds, time.perf_counter()
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    _, every = sweep_runs(grid, runs, workers, progress=progress)
    wall = time.perf_counter() - begun
    stop.set()
    watcher.join()
    after = tree_usage()
    return Measured(wall, after.seconds - before, memory["early"], max(peak[0], after.worker_bytes), runs_csv(grid, every))


def line(name: str, measured: Measured, runs: int) -> None:
    """Print the measurements of one way of executing the runs."""
    print(
        f"{name:<22} {measured.wall:>8.1f} s wall {measured.processor:>8.1f} s processor {1000 * measured.processor / runs:>7.1f} ms/run "
        f"   largest worker {measured.early >> 20} MB after a tenth, {measured.late >> 20} MB at most",
        flush=True,
    )


def main() -> None:
    """Execute the runs in every way and print the ratios."""
    wanted = next((int(argument.removeprefix("--runs=")) for argument in sys.argv if argument.startswith("--runs=")), RUNS)
    runs = FULL if "--full" in sys.argv else wanted
    only = next((argument.removeprefix("--only=") for argument in sys.argv if argument.startswith("--only=")), "")
    grid = read_grid(GRID, "bench")
    print(f"{runs:,} runs of 1 h virtual, 3 brokers, 20 partitions; load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    measured: dict[str, Measured] = {}

    def do(name: str, doing: Callable[[], Measured]) -> None:
        if only in ("", name):
            measured[name] = doing()
            line(name, measured[name], runs)

    do("pool of 1", lambda: measure(grid, runs, ProcessWorkers(1)))
    do("pool of 2", lambda: measure(grid, runs, ProcessWorkers(2)))
    if only in ("", "Spark local[2]"):
        begun, before = time.perf_counter(), tree_usage().seconds
        with spark_session("local[2]", SETTINGS, brief=True) as spark:
            workers = SparkWorkers(spark)
            print(f"{'Spark session':<22} {time.perf_counter() - begun:>8.1f} s wall {tree_usage().seconds - before:>8.1f} s processor")
            do("Spark local[2]", lambda: measure(grid, runs, workers))
            # Only the first pass includes the work that Java and the workers do once: compiling and importing.
            again = measure(grid, runs, workers)
            line("the same again", again, runs)
            measured["again"] = again
    if only:
        return
    one, two, spark_way, again = (measured[name] for name in ("pool of 1", "pool of 2", "Spark local[2]", "again"))
    assert one.result == two.result == spark_way.result == again.result, "the same runs had different results"
    print(
        f"two workers over one: {one.wall / two.wall:.2f}× wall, {two.processor / one.processor:.2f}× processor time "
        f"(on two idle cores {2 * one.processor / two.processor:.2f}×; wanted 1.8×)"
    )
    for name, way in (("Spark", spark_way), ("Spark, warm,", again)):
        print(
            f"{name} over a bare pool of two: {way.wall / two.wall - 1:+.0%} wall, {way.processor / two.processor - 1:+.0%} processor time "
            "(wanted at most +15 %)"
        )
    once, each = spark_way.processor - again.processor, again.processor / runs
    print(f"for {FULL:,} runs that makes {(once + each * FULL) / (two.processor / runs * FULL) - 1:+.0%} processor time")


if __name__ == "__main__":
    main()
