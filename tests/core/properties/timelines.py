"""Random timelines: a small cluster under load, and the events that happen to it. Timelines are plain data, so that a failing one can be
shown, shrunk, and replayed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import attrs
from hypothesis import strategies as st

from core.kafka.broker.broker_state import BrokerState
from core.kafka.ids import CONTROLLER, NO_LEADER, ZOOKEEPER, TopicPartition, broker_address
from core.kafka.release import CURRENT, Release
from core.kafka.topic_spec import TopicSpec
from core.kafka.zookeeper_mode.control_plane import ZooKeeperControlPlane
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec, ControlPlane, NetworkSpec
from core.sim.errors import ActRefused
from core.sim.units import SECOND, US_PER_MS

DEFAULT_LATENCY: Final = 500
"""The one-way latency of a healthy link, in µs."""

HEALED_WITHIN: Final = 130 * SECOND
"""The virtual time after which a healed cluster must be whole: delivery.timeout.ms, and a broker's start with recovery."""

Step = tuple[int, acts.Act]
"""A waiting time in µs, and the act that follows."""


CLIENTS = (("request.timeout.ms", "30000"), ("retries", "2147483647"))
"""Settings with which clients of every release recover quickly from all faults. By default, old consumers wait for 305 s, and old producers
try only once.
"""


@attrs.frozen
class Timeline:
    """A cluster of `brokers` with one topic per entry of `partitions`, loads on each, and steps. Old releases have ZooKeeper unless KRaft
    is requested.
    """

    brokers: int
    partitions: tuple[int, ...]
    seed: int
    latency: int
    steps: tuple[Step, ...]
    control_plane: ControlPlane = ControlPlane.BY_RELEASE

    def spec(self, *, min_isr: int = 2) -> ClusterSpec:
        """Return the cluster: replication factor 3, no unclean election, and brokers whose start is slow enough for other things to happen
        meanwhile.
        """
        return ClusterSpec(
            brokers=tuple(BrokerSpec(broker) for broker in range(1, self.brokers + 1)),
            topics=tuple(TopicSpec(f"t{number}", count, 3) for number, count in enumerate(self.partitions)),
            settings=(("min.insync.replicas", min_isr), ("unclean.leader.election.enable", False)),
            network=NetworkSpec(latency=self.latency),
            control_plane=self.control_plane,
            clients=CLIENTS,
        )

    def opening(self) -> tuple[acts.Act, ...]:
        """Return the opening acts: loads with acks=all and consumers on every topic, and a load on the first topic that is idempotent since
        0.11.
        """
        opening: list[acts.Act] = []
        for number in range(len(self.partitions)):
            opening.append(acts.Load(f"t{number}", 50, every=200 * US_PER_MS, producer=f"load{number}", acks="all", idempotence=False))
            if not number:
                opening.append(acts.Load("t0", 20, every=500 * US_PER_MS, producer="sure0", acks="all", idempotence=True))
            opening.append(acts.Consume(f"t{number}", reset="earliest", consumer=f"reader{number}"))
        return tuple(opening)


def _waits() -> st.SearchStrategy[int]:
    """Return waits of 0 to 40 s: often none, a round trip, or a moment, and seldom long."""
    return st.one_of(
        st.sampled_from((0, 300, 1_000, 20 * US_PER_MS)),
        st.integers(0, 2_000).map(lambda ms: ms * US_PER_MS),
        st.integers(0, 12_000).map(lambda ms: ms * US_PER_MS),
        st.integers(0, 40).map(lambda s: s * SECOND),
    )


def _acts(brokers: int, topics: int, min_isrs: tuple[int, ...]) -> st.SearchStrategy[acts.Act]:
    broker = st.integers(1, brokers)
    address = broker.map(broker_address)
    client = st.sampled_from([f"{kind}{number}" for number in range(topics) for kind in ("load", "reader")])
    topic = st.integers(0, topics - 1)
    pair = st.one_of(
        st.tuples(address, address).filter(lambda pair: pair[0] != pair[1]),
        st.tuples(address, st.just(CONTROLLER)),
        st.tuples(st.just(CONTROLLER), address),
        st.tuples(address, st.just(ZOOKEEPER)),
        st.tuples(st.just(ZOOKEEPER), address),
        st.tuples(client, address),
    )
    return st.one_of(
        st.builds(acts.Kill, broker),
        st.builds(acts.Start, broker),
        st.builds(acts.Shutdown, broker),
        st.builds(acts.Pause, broker),
        st.builds(acts.Resume, broker),
        st.builds(acts.Cut, pair, st.booleans()),
        st.builds(acts.Isolate, address),
        st.one_of(st.just(acts.Heal()), st.builds(acts.Heal, pair)),
        st.builds(
            acts.Link,
            pair,
            latency=st.sampled_from((100, DEFAULT_LATENCY, 20_000, 300_000, 2_000_000)),
            jitter=st.sampled_from((0, 1_000, 100_000, 1_500_000)),
            loss_ppm=st.sampled_from((0, 20_000, 300_000)),
        ),
        st.builds(acts.Hold, pair),
        st.builds(acts.Release, pair),
        st.builds(acts.Elect),
        st.builds(
            lambda number, records: acts.Produce(f"t{number}", records, producer=f"burst{number}", acks="all", idempotence=False),
            topic,
            st.sampled_from((1, 30, 4_000)),
        ),
        st.builds(
            lambda number, replicas: acts.Reassign(TopicPartition(f"t{number}", 0), tuple(replicas)),
            topic,
            st.lists(broker, min_size=min(3, max(min_isrs)), max_size=3, unique=True),
        ),
        topic.map(lambda number: acts.CancelReassignment(TopicPartition(f"t{number}", 0))),
        st.sampled_from(min_isrs).map(lambda value: acts.Set("min.insync.replicas", str(value))),
        st.sampled_from((1_000, 5_000, 30_000)).map(lambda value: acts.Set("replica.lag.time.max.ms", str(value), force=True)),
    )


@st.composite
def timelines(draw: Callable, *, steps: int = 30, min_isrs: tuple[int, ...] = (2, 3)) -> Timeline:
    """Return any timeline with at most the given number of steps, in which min.insync.replicas changes among the given values."""
    brokers = draw(st.integers(3, 5))
    partitions = tuple(draw(st.lists(st.integers(1, 2), min_size=1, max_size=2)))
    step = st.tuples(_waits(), _acts(brokers, len(partitions), min_isrs))
    return Timeline(
        brokers, partitions, draw(st.integers(0, 1_000)), draw(st.sampled_from((DEFAULT_LATENCY, 15_000))),
        tuple(draw(st.lists(step, min_size=draw(st.sampled_from((1, steps // 2, steps))), max_size=steps))),
    )  # fmt: skip


def play(timeline: Timeline, release: Release, sink: Callable[[tuple], None] | None, run: Callable[[Cluster, int], None]) -> Cluster:
    """Play a timeline from its start to its last step; `run` runs the cluster to a time. Impossible acts are left out."""
    cluster = Cluster(timeline.spec(), release, timeline.seed, sink)
    for act in timeline.opening():
        cluster.do(act)
    run(cluster, cluster.now + SECOND)
    for wait, act in timeline.steps:
        run(cluster, cluster.now + wait)
        attempt(cluster, act)
    return cluster


def attempt(cluster: Cluster, act: acts.Act) -> bool:
    """Execute an act if it is possible."""
    try:
        cluster.do(act)
    except ActRefused:
        return False
    return True


def heal(cluster: Cluster, run: Callable[[Cluster, int], None]) -> None:
    """Repair everything, stop the loads, and give the cluster enough time to recover."""
    end = cluster.now + HEALED_WITHIN
    for src, dst in [direction for direction, link in cluster.network.links.items() if link.held]:
        cluster.do(acts.Release((src, dst)))
    for src, dst in list(cluster.network.links):
        cluster.do(acts.Link((src, dst), latency=DEFAULT_LATENCY, jitter=0, loss_ppm=0))
        attempt(cluster, acts.Link((src, dst), duplicate_ppm=0, reorder_ppm=0))
    attempt(cluster, acts.Heal())
    for node in (*cluster.brokers.values(), *cluster.clients.values(), CONTROLLER):
        attempt(cluster, acts.SetClock(node if isinstance(node, str) else node.address))
    for broker in cluster.brokers:
        attempt(cluster, acts.Resume(broker))
    for producer in [name for name in cluster.clients if name.startswith(("load", "sure"))]:
        cluster.do(acts.StopLoad(producer))
    while cluster.now < end:
        for broker in cluster.brokers.values():
            if broker.context.state is BrokerState.STOPPED:
                cluster.do(acts.Start(broker.id))
        for tp, registration in cluster.controller.registry.partitions.items():
            # A ZooKeeper controller whose move drops the leader leaves the partition so until somebody asks (tests/recordings/moves-2.8.2.txt).
            stuck = isinstance(cluster.controller, ZooKeeperControlPlane) and registration.adding and registration.leader == NO_LEADER
            if stuck and any(map(cluster.controller.cluster_control.is_active, registration.isr)):
                attempt(cluster, acts.Elect("unclean", tp))
        run(cluster, min(end, cluster.now + 5 * SECOND))


def events_of(timeline: Timeline, release: Release = CURRENT) -> list[tuple]:
    """Return all events of a timeline."""
    events: list[tuple] = []
    play(timeline, release, events.append, Cluster.run_until)
    return events
