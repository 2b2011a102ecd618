"""Measures clusters of a hundred brokers with up to a hundred thousand partitions, and the cost of keyframes: `make bench`.

All measurements run twice: with the sources, and with the compiled engine (`engines`). Times are CPU seconds of this process, so that other
load has less effect. An active partition gets one batch per second.
"""

from __future__ import annotations

import gc
import random
import resource
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager

import workload
from engines import with_each_engine

from core.kafka.broker.requests.leader_append import append_records_to_leader
from core.kafka.ids import TopicPartition
from core.kafka.messages import ProduceRequest
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.history.destination import Destination, RetainedEvents
from core.lab.history.keyframe_cache import STEPS_BETWEEN_KEYFRAMES
from core.lab.history.playable import PlayableCluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.state.snapshot import Snapshots
from core.sim.units import SECOND
from tui.session.session import Session

BROKERS = 100
SIZES = (1_000, 10_000, 100_000)
BACK = {10: 5, 1_000: 100, 10_000: 1_000}
"""The maximum 95th percentile of the time that going back takes, in milliseconds, by the number of partitions. A person notices a step back
that takes more than about 100 ms.
"""

TURNS = {10: 120, 1_000: 480}
"""The length of a run whose keyframes are measured, in units of 256 steps, by the number of partitions."""

PAIRS = 5
"""The number of pairs of runs with and without keyframes."""

START = 35 * SECOND
"""The time until which a cluster is still busy with its start: every partition checks its followers once, and every fetcher sends its first
request.
"""


def spec_of(brokers: int, partitions: int) -> ClusterSpec:
    """Return a cluster with one topic, replication factor 3, and Kafka's default settings."""
    return ClusterSpec(tuple(BrokerSpec(broker) for broker in range(brokers)), (TopicSpec("w", partitions, 3),))


def megabytes() -> int:
    """Return the maximum memory that this process has used so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def line(name: str, value: str, wanted: str = "") -> None:
    """Print one figure and its target."""
    print(f"{name:<62} {value:>26}" + (f"  (wanted {wanted})" if wanted else ""), flush=True)


class Writer:
    """A writer that appends one record per second to a random share of a cluster's partitions."""

    def __init__(self, cluster: Cluster, share: float) -> None:
        self.cluster = cluster
        draw = random.Random("active")
        partitions = cluster.controller.registry.partitions
        chosen = draw.sample(list(partitions), round(len(partitions) * share))
        self.plan: list[tuple[int, TopicPartition]] = sorted((draw.randrange(SECOND), tp) for tp in chosen)

    def second(self) -> None:
        """Run one virtual second."""
        cluster, start = self.cluster, self.cluster.now
        partitions = cluster.controller.registry.partitions
        for after, tp in self.plan:
            cluster.run_until(start + after)
            request = ProduceRequest(0, "bench", tp, 1, 100, 0, 0, 0, 1)
            append_records_to_leader(cluster.brokers[partitions[tp].leader].partitions[tp], "bench", request)
        cluster.run_until(start + SECOND)

    def pace(self, seconds: int) -> float:
        """Return the median number of virtual seconds per second of CPU time."""
        self.second()
        paces = []
        for _ in range(seconds):
            started = time.process_time()
            self.second()
            paces.append(1 / (time.process_time() - started))
        return statistics.median(paces)


def sizes() -> None:
    """Measure building clusters, their memory, and idle and active clusters."""
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
            # Anyone who runs such a large cluster does this, so that the collector does not traverse long-lived objects repeatedly.
            gc.freeze()
            line(f"{name}: 0.1 % active", f"{Writer(cluster, 0.001).pace(9):.0f} virtual s/s", "≥ 50")
            line(f"{name}: 1 % active", f"{Writer(cluster, 0.01).pace(9):.1f} virtual s/s", "≥ 10")
            line(f"{name}: memory", f"{megabytes()} MB", "< 700 MB")
            gc.unfreeze()
        del cluster


def one_append() -> None:
    """Check that one append of many records takes about as long as one append of few records."""
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
    line("one append of 10⁷ records compared with one of 10", f"{many / few:.2f}×", "1×")


def keyframes() -> None:
    """Measure keyframes of three brokers under load, which are taken as often as in the playground: the cost of each keyframe, the total
    cost, and the cost of going back.
    """
    for partitions in BACK:
        if partitions < 10_000:
            each_keyframe(partitions)
            with_and_without(partitions)
        going_back(partitions)


def under_load(partitions: int) -> Session:
    """Return a session after ten seconds with a batch every 50 ms."""
    session = Session(lambda sink: PlayableCluster(Cluster(spec_of(3, partitions), sink=sink)))
    session.history.do(acts.Load("w", 1_000, producer="bench"))
    session.history.replay_run.advance_to(10 * SECOND)
    return session


@contextmanager
def collector_rests() -> Iterator[None]:
    """Disable the garbage collector within the block, as the playground does between two frames."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


def each_keyframe(partitions: int) -> None:
    """Measure a whole keyframe, a keyframe of the changes since the last one, and how long it takes to restore a keyframe in place and as a
    copy."""
    cluster = under_load(partitions).history.cluster
    assert isinstance(cluster, Cluster)
    costs: dict[str, list[float]] = {"whole": [], "moved": [], "restored": [], "gone back to": []}
    with collector_rests():
        for number in range(60):
            for _ in range(STEPS_BETWEEN_KEYFRAMES):
                cluster.step()
            if number % 20 == 0:
                cluster.snapshots = Snapshots()
            which = "moved" if cluster.snapshots.shares else "whole"
            started = time.process_time()
            snapshot = cluster.snapshot()
            costs[which].append(time.process_time() - started)
            if number % 4 == 0:
                started = time.process_time()
                Cluster.restore(snapshot)
                costs["restored"].append(time.process_time() - started)
                for _ in range(STEPS_BETWEEN_KEYFRAMES):
                    cluster.step()
                started = time.process_time()
                cluster.restore_in_place(snapshot)
                costs["gone back to"].append(time.process_time() - started)
    middle = {which: statistics.median(times) for which, times in costs.items()}
    name = f"keyframe at P={partitions:,}"
    line(f"{name}, of what moved in {STEPS_BETWEEN_KEYFRAMES} steps", f"{middle['moved'] * 1e6 / partitions / 3:.2f} µs a replica")
    line(f"{name}, of everything ({len(snapshot):,} objects)", f"{middle['whole'] * 1e6 / partitions / 3:.1f} µs a replica")
    line(f"{name}: a cluster gone back to it in", f"{middle['gone back to'] * 1e3:.2f} ms")
    line(f"{name}: a new cluster restored in", f"{middle['restored'] * 1e3:.1f} ms")


def with_and_without(partitions: int) -> None:
    """Compare runs with and without keyframes. Each run is long enough for several keyframes, and the run that comes first alternates."""
    turns = TURNS[partitions]
    shares, counts = [], []
    for pair in range(PAIRS):
        kept, plain = under_load(partitions), under_load(partitions)
        for session in (kept, plain):
            session.history.replay_run.playable.snapshot()  # the first one reads everything
        with collector_rests():  # one after the other: what is due goes by the time of the process
            seconds = {
                session: time_of_turns(session, turns, keeps=session is kept) for session in ((kept, plain), (plain, kept))[pair % 2]
            }
        shares.append(1 - seconds[plain] / seconds[kept])
        counts.append(len(kept.history.keyframe_cache.keyframes))
    name = f"P={partitions:,}: {statistics.median(counts)} keyframes in {turns * 8 * STEPS_BETWEEN_KEYFRAMES:,} steps"
    line(f"{name} take", f"{statistics.median(shares):.1%} ({min(shares):.1%} to {max(shares):.1%}) of the time", "≤ 6 %")


def time_of_turns(session: Session, turns: int, *, keeps: bool) -> float:
    """Return the CPU time of a session's next steps, with or without keyframes."""
    replay_run, offer = session.history.replay_run, session.history.keyframe_cache.maybe_add
    started = time.process_time()
    for _ in range(turns * 8):
        for _ in range(STEPS_BETWEEN_KEYFRAMES):
            replay_run.step()
        if keeps:
            offer(replay_run)
    return time.process_time() - started


def going_back(partitions: int, steps: int = 20_000) -> None:
    """Measure how long it takes to go back to random events of a session: for the cluster alone, and for the session with its events."""
    session = under_load(partitions)
    replay_run, keyframe_cache = session.history.replay_run, session.history.keyframe_cache
    keyframe_cache.maybe_add(replay_run, seen=False)  # of the largest nobody keeps one before somebody goes back
    with collector_rests():
        for _ in range(steps // STEPS_BETWEEN_KEYFRAMES):
            for _ in range(STEPS_BETWEEN_KEYFRAMES):
                replay_run.step()
            keyframe_cache.maybe_add(replay_run)
        draw = random.Random(partitions)
        first, last = keyframe_cache.keyframes[0].position.seq, replay_run.event_tap.seq
        session.history.record_branch_end()
        clusters, sessions = [], []
        for _ in range(60):
            destination = Destination("the bench", seq=draw.randrange(first + 1, last))
            started = time.process_time()
            session.history.go_to(destination)
            while session.history.task_target is not None:
                session.playback.frame(0.0)
            sessions.append(time.process_time() - started)
            known = RetainedEvents(session.history.event_buffer, replay_run.acts, (steps * 2, 0, 10**15))
            nearest = destination.nearest(keyframe_cache, replay_run.acts, known)
            if nearest is None:
                continue
            keyframe = nearest.playable.cluster_snapshot
            started = time.process_time()
            keyframe.root.restore_in_place(keyframe)
            while keyframe.root.journal.seq < destination.seq:
                keyframe.root.step()
            clusters.append(time.process_time() - started)
    for name, times in (("cluster", clusters), ("session", sessions)):
        value = f"{statistics.median(times) * 1e3:.1f}, p95 {sorted(times)[len(times) * 95 // 100] * 1e3:.1f} ms"
        line(
            f"P={partitions:,}, {len(keyframe_cache.keyframes)} keyframes: the {name} goes back in",
            value,
            f"p95 ≤ {BACK[partitions]} ms",
        )


def main() -> None:
    """Run all measurements. The measurement of the maximum memory runs first, because the maximum never decreases."""
    sizes()
    one_append()
    keyframes()


if __name__ == "__main__":
    with_each_engine(main)
