"""Which brokers a client asks for metadata: those of its last metadata, and since 4.0 the bootstrap servers if those are gone (KIP-899)."""

from __future__ import annotations

from typing import Any

import pytest

from core.kafka import events
from core.kafka.clients.client_config import client_config
from core.kafka.clients.client_settings import CONSUMER, PRODUCER
from core.kafka.release import RELEASES
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.errors import ActRefused
from core.sim.units import SECOND, US_PER_MS


def cluster(release: str, told: list[tuple[Any, ...]], clients: dict[str, str]) -> Cluster:
    topic = TopicSpec("t", assignment=(PartitionSpec((1, 2, 3)),), config=(("min.insync.replicas", "1"),))
    given = {"metadata.max.age.ms": "30000", **clients}
    spec = ClusterSpec(tuple(BrokerSpec(broker) for broker in (1, 2, 3)), (topic,), clients=tuple(given.items()))
    return Cluster(spec, RELEASES[release], sink=told.append)


def replaced(release: str, **clients: str) -> tuple[int, list[tuple[Any, ...]]]:
    """Let a producer's last metadata name only broker 1, and replace broker 1 by brokers 2 and 3. Return the number of records that are
    acknowledged after that, and the events."""
    told: list[tuple[Any, ...]] = []
    made = cluster(release, told, {name.replace("_", "."): value for name, value in clients.items()})
    made.do(acts.Load("t", 10, acks="all", producer="app"))
    made.run_until(5 * SECOND)
    made.do(acts.Kill(2))
    made.do(acts.Kill(3))
    made.run_until(41_000 * US_PER_MS)
    producer = made.clients.producer("app")
    assert producer is not None
    assert producer.nodes == ("b1",)
    made.do(acts.Start(2))
    made.do(acts.Start(3))
    made.run_until(49 * SECOND)
    made.do(acts.Kill(1))
    before = producer.metrics.acked
    made.run_until(100 * SECOND)
    return producer.metrics.acked - before, told


@pytest.mark.parametrize(
    ("release", "clients", "recovers"),
    [
        ("2.8", {}, False),
        ("3.9", {}, False),
        ("3.9", {"metadata_recovery_strategy": "rebootstrap"}, True),
        ("4.0", {}, True),
        ("4.3", {"metadata_recovery_strategy": "none"}, False),
    ],
)
def test_a_client_whose_brokers_are_gone(release: str, clients: dict[str, str], recovers: bool) -> None:
    acked, told = replaced(release, **clients)
    assert (acked > 400) == recovers
    assert acked > 400 or acked < 5
    rebootstrapped = [event[4:] for event in told if event[3] == events.ClientRebootstrapped.kind]
    assert rebootstrapped == ([("app", "b1", "no broker that it knows is available")] if recovers else [])


def test_defaults_by_release() -> None:
    for kind in (PRODUCER, CONSUMER):
        found = [client_config(kind, (), RELEASES[release]) for release in ("3.7", "3.9", "4.0")]
        assert [each.rebootstraps for each in found] == [False, False, True]
        assert [each.rebootstrap_trigger for each in found] == [-1, -1, 300 * SECOND]


def test_bootstrap_servers() -> None:
    told: list[tuple[Any, ...]] = []
    made = cluster("4.3", told, {})
    made.do(acts.Consume("t", config=(("bootstrap.servers", "b3:9092"),)))
    consumer = made.clients.consumer("consumer")
    assert consumer is not None
    assert consumer.known_nodes() == ("b3",)
    made.run_until(SECOND)
    assert consumer.known_nodes() == ("b1", "b2", "b3")
    with pytest.raises(ActRefused, match="there is no broker 7"):
        made.do(acts.Consume("t", consumer="c", config=(("bootstrap.servers", "b7"),)))
    with pytest.raises(ActRefused, match="takes addresses of brokers"):
        made.do(acts.Consume("t", consumer="c", config=(("bootstrap.servers", "localhost:9092"),)))


def test_a_client_that_gets_no_metadata_for_a_while_rebootstraps() -> None:
    """KIP-1102: the known broker accepts connections, but does not answer."""
    told: list[tuple[Any, ...]] = []
    made = cluster("4.3", told, {"metadata.recovery.rebootstrap.trigger.ms": "20000", "request.timeout.ms": "3000"})
    made.do(acts.Load("t", 10, producer="app"))
    made.run_until(5 * SECOND)
    made.do(acts.Kill(2))
    made.do(acts.Kill(3))
    made.run_until(41 * SECOND)
    made.do(acts.Start(2))
    made.do(acts.Start(3))
    made.run_until(49 * SECOND)
    made.do(acts.Cut(("app", "b1")))
    made.run_until(120 * SECOND)
    assert any(event[3] == events.ClientRebootstrapped.kind for event in told)
