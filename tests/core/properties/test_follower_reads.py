"""Consumers that read from followers under random faults (KIP-392): they read exactly the committed records, in order, whatever happens to
the replicas.
"""

from __future__ import annotations

import attrs
import pytest

from core.kafka import events
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec
from core.sim.units import SECOND
from scenarios.releases import release_named
from tests.core.properties.test_fetch_elision import lives, spec_of
from tests.core.properties.timelines import attempt


def play(seed: int, release: str, *, elide: bool) -> list[tuple]:
    """Play a swarm's timeline with a consumer in every broker's rack."""
    timeline = lives(seed)
    spec = spec_of(timeline, timeline.control_plane)
    racked = tuple(BrokerSpec(broker.id, f"rack{broker.id}") for broker in spec.brokers)
    spec = attrs.evolve(
        spec, brokers=racked, settings=(*spec.settings, ("replica.selector.class", "RackAwareReplicaSelector")),
        topics=tuple(attrs.evolve(topic, replication_factor=3) for topic in spec.topics),
    )  # fmt: skip
    taken: list[tuple] = []
    cluster = Cluster(spec, release_named(release), seed, taken.append, elide=elide)
    cluster.do(acts.Load("t0", 20, every=SECOND // 4, producer="load0"))
    for broker in spec.brokers:
        cluster.do(acts.Consume("t0", rack=broker.rack, consumer=f"reader{broker.id}"))
    for wait, act in timeline.steps:
        cluster.run_until(cluster.now + wait)
        attempt(cluster, act)
    cluster.run_until(cluster.now + 40 * SECOND)
    return taken


@pytest.mark.parametrize(("seed", "release"), [(1, "2.4"), (2, "4.1")])
def test_what_a_follower_hands_out_is_committed_and_in_order(seed: int, release: str) -> None:
    committed: dict[tuple, int] = {}
    positions: dict[tuple, int] = {}
    leaders: dict[tuple, int] = {}
    from_followers = 0
    taken = play(seed, release, elide=True)
    for event in map(events.decode, taken):
        if isinstance(event, events.PartitionChanged):
            leaders[event.topic, event.partition] = event.leader
        elif isinstance(event, events.HighWatermarkAdvanced):
            tp = event.topic, event.partition
            committed[tp] = max(committed.get(tp, 0), event.new_offset)
        elif isinstance(event, (events.ConsumerReset, events.ConsumerTruncated)):
            positions[event.consumer, event.topic, event.partition] = event.to_offset
        elif isinstance(event, events.Consumed):
            reader, tp = (event.consumer, event.topic, event.partition), (event.topic, event.partition)
            assert event.from_offset == positions.get(reader, 0)
            assert event.to_offset <= event.high_watermark <= committed[tp]
            positions[reader] = event.to_offset
            from_followers += event.broker != leaders[tp]
    assert from_followers > 100
    assert taken == play(seed, release, elide=False), "elided fetches leave no trace here either"
