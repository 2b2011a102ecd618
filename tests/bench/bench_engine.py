"""Measures the speed of the engine on workload W, and compares it with SimPy on the same workload in the same run: `make bench`.

Each figure is the median of several pairs of runs. A run builds a cluster, warms up, and is then measured in CPU time of this process, so
that other programs on the machine have little effect. As in the playground between two frames, the garbage collector is disabled during the
measurement. All measurements run twice: with the sources, and with the compiled engine (`engines`).
"""

from __future__ import annotations

import gc
import statistics
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import workload
from engines import with_each_engine

from core.lab.cluster import Cluster
from core.lab.history.event_buffer import RING_SIZES
from core.sim.journal import Sink
from scenarios.logs.log_header import make_header
from scenarios.logs.log_writer import LogWriter

PAIRS: Final = 5
WARM: Final = 10
"""The number of rounds before the measurement starts. After these rounds, sessions are open, and every list has grown once."""

Run = Callable[[int], int]
"""A function that runs a number of rounds and returns the number of updates."""


def rate(made: Run, rounds: int) -> float:
    """Return the number of updates per second of CPU time."""
    made(WARM)
    gc.collect()
    gc.freeze()
    gc.disable()
    start = time.process_time()
    updates = made(rounds)
    spent = time.process_time() - start
    gc.enable()
    gc.unfreeze()
    return updates / spent


def compare(name: str, ours: Callable[[], Run], baseline: Callable[[], Run], rounds: int, wanted: float) -> float:
    """Print one line with both rates and the median ratio of the pairs, and return the engine's rate."""
    pairs = [(rate(ours(), rounds), rate(baseline(), rounds)) for _ in range(PAIRS)]
    ratio = statistics.median(a / b for a, b in pairs)
    mine, other = (statistics.median(each) for each in zip(*pairs, strict=True))
    print(f"{name:<58} {mine:>12,.0f}/s {other:>12,.0f}/s {ratio:>7.2f}×  (wanted {wanted}×)", flush=True)
    return mine


def ring() -> Sink:
    """Return a ring buffer such as the one that keeps the events of a live session."""
    return deque[tuple[Any, ...]](maxlen=max(RING_SIZES.values())).append


def engine(partitions: int, sink: Sink | None, *, active: float = 1.0) -> Run:
    """Return a function that runs the engine on W."""
    cluster = workload.build(partitions, sink)
    return lambda rounds: workload.drive(cluster, rounds, active=active)


def against_simpy() -> None:
    """Compare the engine with the two baselines."""
    print(f"{'work W: 3 brokers, RF 3, a fetch every 10 virtual ms':<58} {'engine':>14} {'SimPy':>14} {'ratio':>8}")
    compare(
        "P=10, all active, events on; (a) a process per fetcher", lambda: engine(10, ring()), lambda: workload.simpy_by_fetcher(10), 500, 2
    )
    on = compare(
        "P=1,000, events on; (b) a process per replica", lambda: engine(1_000, ring()), lambda: workload.simpy_by_replica(1_000), 20, 2
    )
    off = compare(
        "P=1,000, events off; (b) a process per replica", lambda: engine(1_000, None), lambda: workload.simpy_by_replica(1_000), 20, 3
    )
    for name, updates in (("on", on), ("off", off)):
        print(f"{f'P=1,000, events {name}: virtual seconds per second':<58} {updates / 2_000 * workload.ROUND / 1e6:>14.1f}  (wanted 5)")


def only_what_changed(partitions: int = 1_000, active: float = 0.05, rounds: int = 40) -> None:
    """Compare the cost of a round in which few partitions have news with the cost of a round that looks at all partitions."""
    ratios = []
    for _ in range(PAIRS):
        quick, whole = workload.build(partitions), workload.build(partitions)
        skipping = rate(lambda n, cluster=quick: workload.drive(cluster, n, active=active), rounds)  # type: ignore[misc]
        looking = rate(lambda n, cluster=whole: workload.drive(cluster, n, active=active, skipping=False), rounds)  # type: ignore[misc]
        ratios.append(skipping / looking)
        assert_same_end(quick, whole)
    print(
        f"{f'P={partitions:,}, {active:.0%} active: the same, and the same end, when nothing is skipped':<88} {statistics.median(ratios):>7.2f}×  (wanted 8×)"
    )


def assert_same_end(one: Cluster, other: Cluster) -> None:
    """Assert that both clusters have reached the same state."""
    if one.view() != other.view():
        sys.exit("skipping what has not changed led to another end")


def to_a_file(partitions: int = 1_000, rounds: int = 20) -> None:
    """Compare writing events as JSON lines to a file with discarding the events. The last line of the file must be written within the
    measured time.
    """

    def logged(folder: str) -> Run:
        path = Path(folder, "session.jsonl")
        cluster = workload.build(partitions)
        writer = LogWriter(path, make_header(cluster.spec, cluster.release, cluster.seed, None))
        cluster.journal.sink = writer

        def run(count: int) -> int:
            updates = workload.drive(cluster, count)
            writer.flush()
            return updates

        return run

    ratios = []
    for _ in range(PAIRS):
        with tempfile.TemporaryDirectory() as folder:
            ratios.append(rate(logged(folder), rounds) / rate(engine(partitions, ring()), rounds))
    print(
        f"{f'P={partitions:,}, JSON lines to a file: share of the throughput with events on':<88} {statistics.median(ratios):>7.2f}×  (wanted 0.5×)"
    )


def main() -> None:
    """Run all comparisons."""
    against_simpy()
    only_what_changed()
    to_a_file()


if __name__ == "__main__":
    with_each_engine(main)
