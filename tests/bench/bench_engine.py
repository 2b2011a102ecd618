"""How fast the engine is on work W, beside SimPy on the same work in the same run: `make bench`.

Prints updates per second and the ratio to the baseline, the middle of several pairs run in turn, for several sizes.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections import deque
from collections.abc import Callable

import workload

PAIRS = 3


def rate(run: Callable[[], int]) -> float:
    """Updates per second of one run."""
    gc.collect()
    start = time.perf_counter()
    updates = run()
    return updates / (time.perf_counter() - start)


def compare(name: str, ours: Callable[[], int], baseline: Callable[[], int], wanted: float) -> None:
    """Print one line: both rates and the middle ratio of the pairs."""
    pairs = [(rate(ours), rate(baseline)) for _ in range(PAIRS)]
    ratios = sorted(a / b for a, b in pairs)
    print(
        f"{name:<44} {statistics.median(a for a, _ in pairs):>12,.0f}/s {statistics.median(b for _, b in pairs):>12,.0f}/s "
        f"{statistics.median(ratios):>6.2f}×  (wanted {wanted}×)"
    )


def ours(partitions: int, rounds: int, *, events: bool, active: float = 1.0) -> Callable[[], int]:
    """The engine on W; the ring of events is what a live session keeps."""

    def run() -> int:
        ring: deque[tuple] = deque(maxlen=100_000)
        cluster = workload.build(partitions, ring.append if events else None)
        return workload.drive(cluster, rounds, active=active)

    return run


def main() -> None:
    """Run all comparisons."""
    print(f"{'work W':<44} {'engine':>14} {'SimPy':>14} {'ratio':>7}")
    compare("P=10, all active, events on; (a) per fetcher", ours(10, 2_000, events=True), lambda: workload.simpy_by_fetcher(10, 2_000), 2)
    compare("P=1,000, events on; (b) per replica", ours(1_000, 60, events=True), lambda: workload.simpy_by_replica(1_000, 60), 2)
    compare("P=1,000, events off; (b) per replica", ours(1_000, 60, events=False), lambda: workload.simpy_by_replica(1_000, 60), 3)


if __name__ == "__main__":
    main()
