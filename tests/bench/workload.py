"""Workload W: three brokers, replication factor 3, P partitions, and followers that fetch every 10 virtual milliseconds.

The unit is one update of a (partition, follower) pair by the whole engine: the leader appends a record, a fetch of the follower carries the
record, and the next fetch informs the leader, which may advance the high watermark. The SimPy baselines count the same updates and do
nothing else: their processes sleep, and they advance an integer LEO and an integer high watermark.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, Final

import simpy

from core.kafka.broker.requests.leader_append import append_records_to_leader
from core.kafka.messages import ProduceRequest
from core.kafka.topic_spec import TopicSpec
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec, NetworkSpec
from core.sim.journal import Sink

ROUND: Final = 10_000
"""The time from a fetch by a follower to its next fetch, in µs."""

BROKERS: Final = (1, 2, 3)


def build(partitions: int, sink: Sink | None = None) -> Cluster:
    """Build the cluster of W. A message takes half a round on a link, so that a fetch and its response take one round."""
    spec = ClusterSpec(
        brokers=tuple(BrokerSpec(broker) for broker in BROKERS),
        topics=(TopicSpec("w", partitions, 3),),
        network=NetworkSpec(latency=ROUND // 2),
    )
    return Cluster(spec, sink=sink)


def drive(cluster: Cluster, rounds: int, *, active: float = 1.0, skipping: bool = True) -> int:
    """Append one record to every active partition in each round, and let the engine replicate it. Return the number of updates.

    If only a share of the partitions is active, different partitions are active in each round. If `skipping` is False, every fetch names
    all partitions.
    """
    registry = cluster.controller.registry
    writes = []
    for tp, registration in registry.partitions.items():
        partition = cluster.brokers[registration.leader].partitions[tp]
        writes.append((partition, ProduceRequest(0, "bench", tp, 1, 100, 0, 0, 0, 1)))
    count = max(1, round(len(writes) * active))
    writes += writes[:count]
    at = cluster.now
    start = 0
    for _ in range(rounds):
        for partition, request in writes[start : start + count]:
            append_records_to_leader(partition, "bench", request)
        start = (start + count) % max(1, len(writes) - count)
        if not skipping:
            name_all(cluster)
        at += ROUND
        cluster.run_until(at)
    return rounds * count * (len(BROKERS) - 1)


def name_all(cluster: Cluster) -> None:
    """Make the next fetches name every partition, and make their responses contain all partitions, as before fetch sessions (KIP-227)."""
    for broker in cluster.brokers.values():
        for fetcher in broker.fetcher_manager.fetchers.values():
            for tp in fetcher.states:
                if tp not in fetcher.unsent:
                    fetcher.unsent[tp] = None
                    fetcher.prepared = False
        for session in broker.fetch_manager.sessions.values():
            for entry in session.partitions.values():
                entry.sent_high_watermark = -1


def simpy_by_fetcher(partitions: int) -> Callable[[int], int]:
    """Baseline (a): a process for each fetcher. The leader and the followers communicate through stores. Return a function that runs a
    number of further rounds.
    """
    environment = simpy.Environment()
    leos = {(broker, p): 0 for broker in BROKERS for p in range(partitions)}
    watermarks = dict.fromkeys(range(partitions), 0)
    updates = [0]
    led = {broker: [p for p in range(partitions) if BROKERS[p % 3] == broker] for broker in BROKERS}

    def fetcher(follower: int, leader: int, requests: Any, answers: Any) -> Generator[Any, Any, None]:
        while True:
            yield requests.put(follower)
            answer = yield answers.get()
            for p, leo in answer:
                leos[follower, p] = leo
                updates[0] += 1
            yield environment.timeout(ROUND)

    def serving(leader: int, requests: Any, answers: dict[int, Any]) -> Generator[Any, Any, None]:
        while True:
            follower = yield requests.get()
            answer = []
            for p in led[leader]:
                least = min(leos[broker, p] for broker in BROKERS)
                watermarks[p] = max(watermarks[p], least)
                answer.append((p, leos[leader, p]))
            yield answers[follower].put(answer)

    def producing() -> Generator[Any, Any, None]:
        while True:
            for p in range(partitions):
                leos[BROKERS[p % 3], p] += 1
            yield environment.timeout(ROUND)

    for leader in BROKERS:
        requests = simpy.Store(environment)
        answers = {follower: simpy.Store(environment) for follower in BROKERS if follower != leader}
        environment.process(serving(leader, requests, answers))
        for follower, store in answers.items():
            environment.process(fetcher(follower, leader, requests, store))
    environment.process(producing())
    return _runs(environment, updates)


def simpy_by_replica(partitions: int) -> Callable[[int], int]:
    """Baseline (b): a process for each (partition, follower) pair. Return a function that runs a number of further rounds."""
    environment = simpy.Environment()
    leader_leo = [0] * partitions
    follower_leo = [[0, 0] for _ in range(partitions)]
    watermark = [0] * partitions
    updates = [0]

    def replica(p: int, follower: int) -> Generator[Any, Any, None]:
        while True:
            yield environment.timeout(ROUND)
            follower_leo[p][follower] = leader_leo[p]
            watermark[p] = max(watermark[p], min(leader_leo[p], *follower_leo[p]))
            updates[0] += 1

    def producing() -> Generator[Any, Any, None]:
        while True:
            for p in range(partitions):
                leader_leo[p] += 1
            yield environment.timeout(ROUND)

    environment.process(producing())
    for p in range(partitions):
        for follower in (0, 1):
            environment.process(replica(p, follower))
    return _runs(environment, updates)


def _runs(environment: simpy.Environment, updates: list[int]) -> Callable[[int], int]:
    def run(rounds: int) -> int:
        before = updates[0]
        environment.run(until=environment.now + rounds * ROUND)
        return updates[0] - before

    return run
