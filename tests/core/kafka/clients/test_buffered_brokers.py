"""A consumer that has records from a broker that wait for poll() does not fetch from this broker (KAFKA-17182, 4.0)."""

from __future__ import annotations

from typing import Any

import pytest

from core.kafka import events
from core.kafka.ids import TopicPartition
from core.kafka.release import Release
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND, US_PER_MS

BACKLOG = 100
"""The number of records in the first partition. The consumer needs 10 s for them."""


def when_read(release: str, *, topic: str = "orders", paused: bool = False) -> float:
    """Return when a slow consumer fetches a record that is added to an empty partition, in seconds after the record.

    The consumer polls ten records at a time from the backlog of `orders-0`. Broker 1 leads both partitions.
    """
    heard: list[Any] = []
    partitions = (PartitionSpec((1, 2)), PartitionSpec((1, 2)))
    spec = ClusterSpec(
        tuple(BrokerSpec(broker) for broker in (1, 2, 3)),
        (TopicSpec("orders", assignment=partitions), TopicSpec("extra", assignment=partitions[:1])),
        settings=(("offsets.topic.num.partitions", 1), ("group.initial.rebalance.delay.ms", 0)),
    )
    cluster = Cluster(spec, Release.named(release), sink=heard.append)
    cluster.do(acts.Produce("orders", BACKLOG, partition=0))
    cluster.run_until(SECOND)
    config = (("max.poll.records", "10"),)
    cluster.do(acts.JoinGroup(("orders", "extra"), "m", "g", reset="earliest", record_time=100 * US_PER_MS, config=config))
    while not any(each[3] == events.RecordsProcessed.kind for each in heard):
        cluster.run_until(cluster.now + 100 * US_PER_MS)
    if paused:
        cluster.do(acts.PausePartitions("m", "orders", 0))
    added, number = cluster.now, 1 if topic == "orders" else 0
    cluster.do(acts.Produce(topic, 1, partition=number))
    cluster.run_until(added + 15 * SECOND)
    fetched = [each for each in heard if each[3] == events.Consumed.kind and each[1] >= added]
    tp = TopicPartition(topic, number)
    return next((each[1] - added) / SECOND for each in fetched if (events.decode(each).topic, events.decode(each).partition) == tp)  # type: ignore[attr-defined]


@pytest.mark.parametrize(("release", "topic"), [("4.0", "orders"), ("4.0", "extra")])
def test_other_partitions_of_the_broker_wait(release: str, topic: str) -> None:
    assert 7 <= when_read(release, topic=topic) <= 10


def test_before_4_0_other_partitions_do_not_wait() -> None:
    assert when_read("3.9") <= 1.1


def test_records_of_a_paused_partition_do_not_keep_other_partitions_waiting() -> None:
    assert when_read("4.0", paused=True) <= 1.1
