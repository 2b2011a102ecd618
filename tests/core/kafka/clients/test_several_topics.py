"""Producers that write to several topics, and steady loads in transactions."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from core.kafka.ids import TopicPartition
from core.kafka.release import Release
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.kafka.transaction.transaction_log import TRANSACTION_STATE_TOPIC
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.errors import ActRefused
from core.sim.units import SECOND

A, B = TopicPartition("a", 0), TopicPartition("b", 1)
"""A partition that broker 1 leads, and one that broker 3 leads."""


def cluster_of(release: str, sink: list[Any] | None = None) -> Cluster:
    topics = (
        TopicSpec("a", assignment=(PartitionSpec((1, 2, 3)),)),
        TopicSpec("b", assignment=(PartitionSpec((2, 3, 1)), PartitionSpec((3, 1, 2)))),
        TopicSpec(TRANSACTION_STATE_TOPIC, assignment=(PartitionSpec((2, 1, 3)),)),
    )
    spec = ClusterSpec(tuple(BrokerSpec(broker) for broker in (1, 2, 3)), topics, settings=(("transaction.state.log.num.partitions", 1),))
    return Cluster(spec, Release.named(release), sink=(sink if sink is not None else []).append)


def ends(cluster: Cluster) -> dict[TopicPartition, tuple[int, int]]:
    """Return the high watermark and the last stable offset of each data partition."""
    found = {}
    for tp in (A, B):
        log = cluster.brokers[cluster.partition_view(tp).leader].disk.logs[tp]
        found[tp] = (log.high_watermark, log.last_stable_offset())
    return found


@pytest.mark.parametrize("release", ["2.7", "4.3"])
def test_a_transaction_over_two_topics_ends_in_both(release: str) -> None:
    cluster = cluster_of(release)
    for topic in ("a", "b"):
        cluster.do(acts.Consume(topic, f"reader-{topic}", isolation="read_committed"))
    cluster.do(acts.InitTransactions("a", "app", "p"))
    cluster.run_until(2 * SECOND)
    for number, end in enumerate((acts.CommitTransaction("p"), acts.AbortTransaction("p")), 1):
        cluster.do(acts.BeginTransaction("p"))
        cluster.do(acts.Produce("a", 5, 0, producer="p"))
        cluster.do(acts.Produce("b", 7, 1, producer="p"))
        cluster.run_until((1 + 2 * number) * SECOND)
        assert all(lso < hw for hw, lso in ends(cluster).values())
        cluster.do(end)
        cluster.run_until((2 + 2 * number) * SECOND)
    assert ends(cluster) == {A: (12, 12), B: (16, 16)}
    readers = [cluster.clients.consumer(f"reader-{topic}") for topic in ("a", "b")]
    assert [reader.read for reader in readers if reader is not None] == [5, 7]


def test_an_idempotent_producer_numbers_the_records_of_each_topic_and_finds_new_leaders() -> None:
    events: list[Any] = []
    cluster = cluster_of("4.3", events)
    cluster.do(acts.Produce("a", 5, 0, producer="p", idempotence=True))
    cluster.do(acts.Produce("b", 7, 1, producer="p"))
    cluster.run_until(2 * SECOND)
    cluster.do(acts.Kill(3))
    cluster.do(acts.Produce("b", 2, 1, producer="p"))
    cluster.do(acts.Produce("a", 2, producer="p"))
    cluster.run_until(40 * SECOND)
    assert ends(cluster) == {A: (7, 7), B: (9, 9)}
    producer = cluster.clients.producer("p")
    assert producer is not None
    assert (producer.metrics.acked, producer.metrics.failed) == (16, 0)
    assert not [event for event in events if event[3] == "duplicate-dropped"]


def test_batches_of_several_topics_linger_in_one_memory() -> None:
    """A batch lingers for each partition. Each topic has a sticky partition, and all batches share buffer.memory."""
    events: list[Any] = []
    cluster = cluster_of("4.3", events)
    config = (("linger.ms", "200"), ("buffer.memory", "40000"))
    cluster.do(acts.InitTransactions("a", "app", "p", config))
    cluster.run_until(SECOND)
    cluster.do(acts.BeginTransaction("p"))
    for topic, records in (("b", 3), ("a", 2), ("b", 4)):
        cluster.do(acts.Produce(topic, records, producer="p", bytes=100))
        cluster.run_until(cluster.now + 50_000)
    assert not [event for event in events if event[3] == "batch-completed"], "the batches linger"
    cluster.do(acts.Produce("b", 300, 1, producer="p", bytes=100))  # 300 records need more memory than is left
    cluster.run_until(3 * SECOND)
    blocked = [event for event in events if event[3] == "producer-blocked"]
    completed = [event for event in events if event[3] == "batch-completed"]
    assert {event[5] for event in blocked} == {"b"}
    by_topic = Counter[str]()
    for event in completed:
        by_topic[event[5]] += event[7]
    assert by_topic == {"a": 2, "b": 307}
    cluster.do(acts.CommitTransaction("p"))
    cluster.run_until(5 * SECOND)
    producer = cluster.clients.producer("p")
    assert producer is not None
    assert producer.accumulator.batching is not None
    assert (producer.metrics.acked, producer.accumulator.batching.available) == (309, 40_000)
    assert [lso for _, lso in ends(cluster).values()] == [hw for hw, _ in ends(cluster).values()]


def test_a_load_writes_one_topic_only() -> None:
    cluster = cluster_of("4.3")
    cluster.do(acts.Produce("a", 5, producer="p"))
    with pytest.raises(ActRefused, match="producer p already uses topic a"):
        cluster.do(acts.Load("b", 5, producer="p"))


@pytest.mark.parametrize("release", ["2.7", "4.3"])
def test_a_load_in_transactions_survives_the_loss_of_its_coordinator(release: str) -> None:
    events: list[Any] = []
    cluster = cluster_of(release, events)
    cluster.do(acts.Consume("b", "reader", isolation="read_committed"))
    cluster.do(acts.Load("b", 100, producer="p", transactional_id="app", commit_records=20))
    cluster.run_until(4 * SECOND)
    cluster.do(acts.Kill(2))
    cluster.run_until(40 * SECOND)
    cluster.do(acts.StopLoad("p"))
    cluster.run_until(50 * SECOND)
    ended = [event[-1] for event in events if event[3] == "transaction-ended"]
    assert ended.count("COMMIT") > 20
    producer, reader = cluster.clients.producer("p"), cluster.clients.consumer("reader")
    assert producer is not None
    assert reader is not None
    assert reader.read + 20 >= producer.metrics.acked >= reader.read > 500
    assert all(hw == lso for hw, lso in (ends(cluster)[B],))


def test_what_a_load_in_transactions_refuses() -> None:
    for release, load, words in (
        (
            "4.3",
            acts.Load("a", 5, commit_records=5),
            "'commit-records' and 'commit-every' need a load with transactions; add 'transactional-id'",
        ),
        ("4.3", acts.Load("a", 5, acks="1", transactional_id="app"), "Cannot set a transactional.id without also enabling idempotence"),
        ("0.10.2", acts.Load("a", 5, transactional_id="app"), "release 0.10.2 has no transactions"),
    ):
        with pytest.raises(ActRefused, match=words):
            cluster_of(release).do(load)
