"""The effects of client settings under Kafka's names, and settings that the laboratory does not model."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from core.kafka import events
from core.kafka.clients.client_config import client_config
from core.kafka.clients.client_settings import CLIENT_NOT_MODELED, CLIENT_SETTINGS, CONSUMER, PRODUCER, client_setting_named
from core.kafka.clients.consumer.consumer import Consumer
from core.kafka.release import CURRENT, RELEASES
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.act_settings import with_settings
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.errors import ActRefused
from core.sim.units import SECOND, US_PER_MS


def cluster(told: list[tuple[Any, ...]], clients: tuple[tuple[str, str], ...] = (), release: str = "4.3") -> Cluster:
    topics = (TopicSpec("t", assignment=(PartitionSpec((1, 2, 3)),), config=(("min.insync.replicas", "2"),)), TopicSpec("many", 4, 3))
    return Cluster(
        ClusterSpec(tuple(BrokerSpec(broker) for broker in (1, 2, 3)), topics, clients=clients), RELEASES[release], sink=told.append
    )


REAL = [
    "acks",
    "bootstrap.servers",
    "buffer.memory",
    "compression.type",
    "retries",
    "ssl.key.password",
    "batch.size",
    "client.dns.lookup",
    "client.id",
    "connections.max.idle.ms",
    "delivery.timeout.ms",
    "linger.ms",
    "max.block.ms",
    "max.request.size",
    "partitioner.class",
    "receive.buffer.bytes",
    "request.timeout.ms",
    "enable.idempotence",
    "interceptor.classes",
    "max.in.flight.requests.per.connection",
    "metadata.max.age.ms",
    "reconnect.backoff.max.ms",
    "reconnect.backoff.ms",
    "retry.backoff.ms",
    "retry.backoff.max.ms",
    "transaction.timeout.ms",
    "transactional.id",
    "fetch.min.bytes",
    "group.id",
    "heartbeat.interval.ms",
    "max.partition.fetch.bytes",
    "session.timeout.ms",
    "auto.offset.reset",
    "enable.auto.commit",
    "fetch.max.bytes",
    "group.instance.id",
    "isolation.level",
    "max.poll.interval.ms",
    "max.poll.records",
    "partition.assignment.strategy",
    "client.rack",
    "fetch.max.wait.ms",
    "auto.commit.interval.ms",
    "group.protocol",
]
"""Real settings of clients, most of which are in many people's configurations."""


@pytest.mark.parametrize("name", REAL)
def test_no_real_setting_is_unknown(name: str) -> None:
    assert (name in CLIENT_SETTINGS) != (name in CLIENT_NOT_MODELED)
    if name in CLIENT_SETTINGS:
        assert client_setting_named(name).name == name
    else:
        with pytest.raises(ValueError, match=f"^Kafka has the setting {name}, but isrlab does not model it$"):
            client_setting_named(name)


def test_a_setting_of_another_kind_of_client() -> None:
    with pytest.raises(ValueError, match=r"^isolation\.level is a setting of consumers, not of producers$"):
        client_setting_named("isolation.level", PRODUCER)
    with pytest.raises(ValueError, match=r"^unknown client setting 'isolation\.levl'; did you mean 'isolation\.level'\?$"):
        client_setting_named("isolation.levl")
    with pytest.raises(ValueError, match=r"KIP-939"):
        client_setting_named("transaction.two.phase.commit.enable")


@pytest.mark.parametrize(
    ("given", "release", "retry", "longest"),
    [
        ({}, "4.3", 100, 1_000),
        ({}, "3.6", 100, 100),
        ({"retry.backoff.ms": "400"}, "3.6", 400, 400),
        ({"retry.backoff.ms": "400", "retry.backoff.max.ms": "5000"}, "4.3", 400, 5_000),
        ({"retry.backoff.ms": "5000"}, "4.3", 1_000, 1_000),
    ],
)
def test_backoffs_by_release(given: dict[str, str], release: str, retry: int, longest: int) -> None:
    """KIP-580 (since 3.7). If retry.backoff.ms is longer than retry.backoff.max.ms, then the latter is the constant backoff."""
    config = client_config(PRODUCER, given.items(), RELEASES[release])
    assert (config.retry_backoff, config.retry_backoff_max) == (retry * US_PER_MS, longest * US_PER_MS)


@pytest.mark.parametrize(("release", "longest"), [("0.10.2", 50), ("0.11", 1_000)])
def test_reconnects_back_off_longer_since_0_11(release: str, longest: int) -> None:
    """KIP-144."""
    config = client_config(CONSUMER, (), RELEASES[release])
    assert (config.reconnect_backoff, config.reconnect_backoff_max) == (50 * US_PER_MS, longest * US_PER_MS)


@pytest.mark.parametrize(
    ("given", "waits"),
    [((), [100, 200, 400, 800, 1_000]), ((("retry.backoff.ms", "300"), ("retry.backoff.max.ms", "600")), [300, 600, 600, 600])],
)
def test_a_batch_waits_between_its_attempts(given: tuple[tuple[str, str], ...], waits: list[int]) -> None:
    """One of three replicas is left, and min.insync.replicas is 2, so each attempt is refused."""
    told: list[tuple[Any, ...]] = []
    made = cluster(told)
    made.do(acts.Kill(2))
    made.do(acts.Kill(3))
    made.run_until(40 * SECOND)
    made.do(acts.Produce("t", 1, producer="app", config=given))
    made.run_until(46 * SECOND)
    failed = [event[1] for event in told if event[3] == events.ProduceFailed.kind]
    assert [(after - before) // US_PER_MS for before, after in pairwise(failed)][: len(waits)] == [wait + 1 for wait in waits]


def read_at(made: Cluster, told: list[tuple[Any, ...]]) -> list[tuple[int, int]]:
    return [(event[1] // US_PER_MS, event[9] - event[8]) for event in told if event[3] == events.Consumed.kind]


def test_fetch_min_bytes_and_fetch_max_wait() -> None:
    told: list[tuple[Any, ...]] = []
    made = cluster(told)
    made.do(acts.Consume("t", config=(("fetch.min.bytes", "2000"), ("fetch.max.wait.ms", "3000"))))
    made.run_until(SECOND)
    made.do(acts.Load("t", 10, every=100_000))  # 100 bytes each
    made.run_until(20 * SECOND)
    sizes = [size for _, size in read_at(made, told)]
    assert len(sizes) > 3
    assert set(sizes[1:]) == {20}


def test_fetch_max_wait_ends_the_wait() -> None:
    told: list[tuple[Any, ...]] = []
    made = cluster(told)
    made.do(acts.Consume("t", config=(("fetch.min.bytes", "1000000"), ("fetch.max.wait.ms", "2000"))))
    made.run_until(SECOND)
    made.do(acts.Load("t", 10, every=100_000))
    made.run_until(20 * SECOND)
    times = [time for time, _ in read_at(made, told)]
    assert all(1_990 < after - before < 2_110 for before, after in pairwise(times))


def test_max_partition_fetch_bytes() -> None:
    told: list[tuple[Any, ...]] = []
    made = cluster(told)
    made.do(acts.Produce("t", 100))
    made.run_until(SECOND)
    made.do(acts.Consume("t", config=(("max.partition.fetch.bytes", "1000"),)))
    made.run_until(2 * SECOND)
    assert [size for _, size in read_at(made, told)] == [10] * 10


def test_isolation_level_of_one_consumer_and_of_all() -> None:
    made = cluster([], clients=(("isolation.level", "read_committed"),))
    made.do(acts.Consume("t", consumer="all"))
    made.do(acts.Consume("t", consumer="own", config=(("isolation.level", "read_uncommitted"),)))
    made.do(acts.Consume("t", consumer="field", isolation="read_uncommitted"))
    consumers = [made.clients.consumer(name) for name in ("all", "own", "field")]
    assert [isinstance(each, Consumer) and each.read_committed for each in consumers] == [True, False, False]
    with pytest.raises(ActRefused, match=r"'isolation' and 'isolation\.level' in 'config' contradict each other"):
        made.do(acts.Consume("t", isolation="read_committed", config=(("isolation.level", "read_uncommitted"),)))


@pytest.mark.parametrize(
    ("config", "field", "value"),
    [
        ({"group.id": "mine"}, "group", "mine"),
        ({}, "group", "group"),
        ({"auto.offset.reset": "latest"}, "reset", "latest"),
        ({}, "reset", "earliest"),
        ({"enable.auto.commit": "false"}, "commit", "none"),
        ({"enable.auto.commit": "true"}, "commit", "auto"),
        ({"group.instance.id": "host-1"}, "instance_id", "host-1"),
        ({"group.protocol": "consumer"}, "protocol", "consumer"),
        ({"client.rack": "a"}, "rack", "a"),
        ({"partition.assignment.strategy": "range, org.apache.kafka.clients.consumer.StickyAssignor"}, "assignors", ("range", "sticky")),
    ],
)
def test_settings_that_are_fields_of_join_group(config: dict[str, str], field: str, value: object) -> None:
    act = acts.JoinGroup(("t",), config=tuple(config.items()))
    assert getattr(with_settings(act, (), CURRENT), field) == value
    common = with_settings(acts.JoinGroup(("t",)), tuple(config.items()), CURRENT)
    assert getattr(common, field) == value


def test_a_release_ignores_settings_that_it_does_not_have() -> None:
    act = acts.JoinGroup(("t",), config=(("group.protocol", "consumer"),))
    assert getattr(with_settings(act, (), RELEASES["3.9"]), "protocol", "") == "classic"


def test_transactional_id_of_a_load() -> None:
    told: list[tuple[Any, ...]] = []
    made = cluster(told)
    made.do(acts.Load("t", 10, producer="app", config=(("transactional.id", "pay"),)))
    made.run_until(5 * SECOND)
    producer = made.clients.producer("app")
    assert producer is not None
    assert producer.transactions is not None
    assert producer.transactions.transactional_id == "pay"
    with pytest.raises(ActRefused, match="start a producer with a transactional"):
        made.do(acts.Produce("t", 1, producer="other", config=(("transactional.id", "pay"),)))


def test_a_producer_that_ignores_keys_spreads_them() -> None:
    """KIP-794."""
    told: list[tuple[Any, ...]] = []
    made = cluster(told)
    made.do(acts.Produce("many", 40, keys="1", producer="keyed"))
    made.do(acts.Produce("many", 40, keys="1", producer="ignoring", config=(("partitioner.ignore.keys", "true"),)))
    made.run_until(2 * SECOND)
    appended = [(event[11], event[9] - event[8]) for event in told if event[3] == events.Appended.kind and event[5] == "many"]
    assert sorted(appended) == [("ignoring", 10)] * 4 + [("keyed", 40)]
