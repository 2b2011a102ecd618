"""How fast the engine is on work W, beside SimPy on the same work in the same run: `make bench`.

Each line is the middle of several pairs run in turn: build, warm up, then measure in CPU time of this process, so that what
else runs on the machine counts little. The garbage collector rests meanwhile, as it does in the playground between two frames.
All of it runs twice: with the sources, and with the engine compiled (`engines`).
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
"""Rounds before the clock starts: sessions are open, and every list has grown once."""

Run = Callable[[int], int]
"""Runs so many rounds; returns the updates made."""


def rate(made: Run, rounds: int) -> float:
    """Updates per second of CPU time."""
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
    """Print one line: both rates and the middle ratio of the pairs; returns the engine's rate."""
    pairs = [(rate(ours(), rounds), rate(baseline(), rounds)) for _ in range(PAIRS)]
    ratio = statistics.median(a / b for a, b in pairs)
    mine, other = (statistics.median(each) for each in zip(*pairs, strict=True))
    print(f"{name:<58} {mine:>12,.0f}/s {other:>12,.0f}/s {ratio:>7.2f}×  (wanted {wanted}×)", flush=True)
    return mine


def ring() -> Sink:
    """What keeps the events of a live session."""
    return deque[tuple[Any, ...]](maxlen=max(RING_SIZES.values())).append


def engine(partitions: int, sink: Sink | None, *, active: float = 1.0) -> Run:
    """The engine on W."""
    cluster = workload.build(partitions, sink)
    return lambda rounds: workload.drive(cluster, rounds, active=active)


def against_simpy() -> None:
    """The engine beside the two baselines."""
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
    """The cost of a round in which few partitions have news, beside that of one that looks at all of them."""
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
    """Both clusters stand at the same point."""
    if one.view() != other.view():
        sys.exit("skipping what has not changed led to another end")


def to_a_file(partitions: int = 1_000, rounds: int = 20) -> None:
    """JSON lines to a file beside events that nobody keeps; the file's last line is written within the time."""

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
