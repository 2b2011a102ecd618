"""How size is borne: a hundred brokers with up to a hundred thousand partitions, and what keyframes cost: `make bench`.

All of it runs twice: with the sources, and with the engine compiled (`engines`). Times are CPU seconds of this process, so that
other load shows less. "Active" is a batch a second for each active partition.
"""

from __future__ import annotations

import gc
import random
import resource
import statistics
import time
from collections import deque

import workload
from engines import with_each_engine

from core import acts
from core.broker.appends import append_records_to_leader
from core.ids import TopicPartition
from core.messages import ProduceRequest
from core.sim.cluster import Cluster
from core.spec import BrokerSpec, ClusterSpec, TopicSpec
from core.units import SECOND

BROKERS = 100
SIZES = (1_000, 10_000, 100_000)
START = 35 * SECOND
"""Until then a cluster looks at what its start has left: every partition's followers once, every fetcher's first request."""


def spec_of(brokers: int, partitions: int) -> ClusterSpec:
    """A cluster with one topic, replication factor 3, and Kafka's defaults."""
    return ClusterSpec(tuple(BrokerSpec(broker) for broker in range(brokers)), (TopicSpec("w", partitions, 3),))


def megabytes() -> int:
    """The most memory this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def line(name: str, value: str, wanted: str = "") -> None:
    """Print one figure, and what is wanted of it."""
    print(f"{name:<62} {value:>26}" + (f"  (wanted {wanted})" if wanted else ""), flush=True)


class Writer:
    """Appends a record once a second to a drawn share of a cluster's partitions."""

    def __init__(self, cluster: Cluster, share: float) -> None:
        self.cluster = cluster
        draw = random.Random("active")
        partitions = cluster.controller.replication.partitions
        chosen = draw.sample(list(partitions), round(len(partitions) * share))
        self.plan: list[tuple[int, TopicPartition]] = sorted((draw.randrange(SECOND), tp) for tp in chosen)

    def second(self) -> None:
        """One virtual second."""
        cluster, start = self.cluster, self.cluster.now
        partitions = cluster.controller.replication.partitions
        for after, tp in self.plan:
            cluster.run_until(start + after)
            request = ProduceRequest(0, "bench", tp, 1, 100, 0, 0, 0, 1)
            append_records_to_leader(cluster.brokers[partitions[tp].leader].partitions[tp], "bench", request)
        cluster.run_until(start + SECOND)

    def pace(self, seconds: int) -> float:
        """Virtual seconds per second of CPU; the middle of as many."""
        self.second()
        paces = []
        for _ in range(seconds):
            started = time.process_time()
            self.second()
            paces.append(1 / (time.process_time() - started))
        return statistics.median(paces)


def sizes() -> None:
    """Building, memory, idle and active clusters."""
    for partitions in SIZES:
        gc.collect()
        started = time.process_time()
        cluster = Cluster(spec_of(BROKERS, partitions))
        built = time.process_time() - started
        cluster.run_until(START)
        started = time.process_time()
        cluster.run_until(START + 60 * SECOND)
        idle = 60 / (time.process_time() - started)
        name = f"{BROKERS} brokers, {partitions:,} partitions, RF 3"
        line(f"{name}: idle", f"{idle:,.0f} virtual s/s", "the same for all sizes")
        if partitions == SIZES[-1]:
            line(f"{name}: built in", f"{built:.1f} s", "< 20 s")
            gc.collect()
            gc.freeze()  # whoever runs one this large does: what is long-lived need not be looked through again and again
            line(f"{name}: 0.1 % active", f"{Writer(cluster, 0.001).pace(9):.0f} virtual s/s", "≥ 50")
            line(f"{name}: 1 % active", f"{Writer(cluster, 0.01).pace(9):.1f} virtual s/s", "≥ 10")
            line(f"{name}: memory", f"{megabytes()} MB", "< 700 MB")
            gc.unfreeze()
        del cluster


def one_append() -> None:
    """Appending many records is one run, as appending few is."""
    cluster = workload.build(1)
    partition = next(p for broker in cluster.brokers.values() for p in broker.partitions.values() if p.is_leader)
    costs: dict[int, list[float]] = {10: [], 10_000_000: []}
    for _ in range(40):
        for records, times in costs.items():
            request = ProduceRequest(0, "bench", partition.tp, records, 100 * records, 0, 0, 0, 1)
            started = time.perf_counter()
            append_records_to_leader(partition, "bench", request)
            times.append(time.perf_counter() - started)
            cluster.run_until(cluster.now + SECOND // 10)
    few, many = (statistics.median(times) for times in costs.values())
    line("one append of 10⁷ records beside one of 10", f"{many / few:.2f}×", "1×")


def keyframes() -> None:
    """Keyframes of three brokers under load: taking, going back to one, and repeating what followed."""
    for partitions in (10, 1_000):
        cluster = Cluster(spec_of(3, partitions), sink=deque(maxlen=100_000).append)
        cluster.do(acts.Load("w", 1_000, producer="bench"))
        cluster.run_until(3 * SECOND)
        keyframe = cluster.snapshot()
        taking, restoring, seeking = [], [], []
        gc.collect()
        gc.freeze()
        for _ in range(9):
            started = time.process_time()
            keyframe = cluster.snapshot()
            taken = time.process_time()
            Cluster.restore(keyframe)
            taking.append(taken - started)
            restoring.append(time.process_time() - taken)
        take = statistics.median(taking)
        draw = random.Random(partitions)
        for _ in range(20):
            started = time.process_time()
            copy = Cluster.restore(keyframe)
            target = keyframe.seq + draw.randrange(256)
            while copy.journal.seq < target:
                copy.step()
            seeking.append(time.process_time() - started)
        gc.unfreeze()
        line(f"keyframe at P={partitions:,}: {len(keyframe):,} objects", f"{take * 1e6 / partitions / 3:.1f} µs a replica", "≤ 1 µs")
        line(f"keyframe at P={partitions:,}: restored in", f"{statistics.median(restoring) * 1e3:.1f} ms")
        p95 = sorted(seeking)[18] * 1e3
        line(f"seek at P={partitions:,}, a keyframe every 256 events, p95", f"{p95:.1f} ms", "≤ 1 ms" if partitions == 10 else "≤ 20 ms")


def main() -> None:
    """Run all."""
    keyframes()
    one_append()
    sizes()


if __name__ == "__main__":
    with_each_engine(main)
