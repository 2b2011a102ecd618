"""The creation of `__consumer_offsets` while too few brokers are alive: each lookup of the coordinator tries again."""

from __future__ import annotations

from typing import Any

import pytest

from core.kafka import events
from core.kafka.release import Release
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND

BACK: float = 20.0
"""The time when the third broker starts again, in seconds after the member's start."""


def member_without_the_third_broker(release: str) -> list[tuple[float, Any]]:
    """Let a consumer join a group while only two of three brokers are alive. Return the events, with seconds after the consumer's start."""
    heard: list[Any] = []
    spec = ClusterSpec(
        tuple(BrokerSpec(broker) for broker in (1, 2, 3)), (TopicSpec("orders", 2, 1),), settings=(("offsets.topic.num.partitions", 1),)
    )
    cluster = Cluster(spec, Release.named(release), sink=heard.append)
    cluster.do(acts.Kill(3))
    cluster.run_until(20 * SECOND)
    began = cluster.now
    cluster.do(acts.JoinGroup(("orders",), "m", "g"))
    cluster.run_until(began + int(BACK * SECOND))
    cluster.do(acts.Start(3))
    cluster.run_until(began + int((BACK + 15) * SECOND))
    return [((each[1] - began) / SECOND, events.decode(each)) for each in heard if each[1] >= began]


def of(heard: list[tuple[float, Any]], kind: type[events.Event]) -> list[tuple[float, Any]]:
    return [each for each in heard if type(each[1]) is kind]


@pytest.mark.parametrize("release", ["0.11", "2.8"])
def test_a_lookup_creates_the_topic_as_soon_as_enough_brokers_are_alive(release: str) -> None:
    heard = member_without_the_third_broker(release)
    ((_, refused),) = of(heard, events.TopicRefused)
    assert (refused.topic, refused.error) == ("__consumer_offsets", "INVALID_REPLICATION_FACTOR")
    ((joined, _),) = of(heard, events.BrokerJoined)
    ((created, topic),) = of(heard, events.TopicCreated)
    assert joined <= created <= joined + 0.2, "the next lookup follows after retry.backoff.ms"
    assert topic.replication_factor == 3
    ((assigned, _),) = of(heard, events.PartitionsAssigned)
    assert created < assigned < created + 4


def test_before_0_11_the_topic_gets_fewer_replicas() -> None:
    heard = member_without_the_third_broker("0.10.2")
    ((created, topic),) = of(heard, events.TopicCreated)
    assert created < 0.01
    assert topic.replication_factor == 2
    assert len(of(heard, events.PartitionsAssigned)) == 1
    assert not of(heard, events.TopicRefused)


def test_with_kraft_a_replica_can_be_on_a_registered_broker_that_is_fenced() -> None:
    ((created, topic),) = of(member_without_the_third_broker("4.1"), events.TopicCreated)
    assert created < 1
    assert topic.replication_factor == 3


@pytest.mark.parametrize(("release", "peer"), [("0.11", "zookeeper"), ("2.8", "zookeeper"), ("4.1", "controller")])
def test_a_broker_asks_for_the_topic_by_message(release: str, peer: str) -> None:
    """While all brokers are cut off, the topic does not exist. The request needs the network."""
    heard: list[Any] = []
    spec = ClusterSpec(tuple(BrokerSpec(broker) for broker in (1, 2, 3)), (TopicSpec("orders", 2, 3),))
    cluster = Cluster(spec, Release.named(release), sink=heard.append)
    cluster.run_until(SECOND)
    for broker in cluster.brokers.values():
        cluster.do(acts.Cut((broker.address, peer)))
    cluster.do(acts.JoinGroup(("orders",), "m", "g"))
    cluster.run_until(3 * SECOND)
    assert "__consumer_offsets" not in cluster.controller.registry.topics
    for broker in cluster.brokers.values():
        cluster.do(acts.Heal((broker.address, peer)))
    healed = cluster.now
    cluster.run_until(8 * SECOND)
    (created,) = [each[1] for each in heard if each[3] is events.TopicCreated.kind and each[1] >= SECOND]
    assert healed + cluster.spec.network.latency <= created
    assert any(each[3] is events.PartitionsAssigned.kind for each in heard)
