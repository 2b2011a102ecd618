"""Order: what a partition holds in another order than it was sent, and what a group processes out of order."""

from __future__ import annotations

from typing import Any

import pytest

from core.kafka import events
from core.kafka.ids import TopicPartition
from core.kafka.release import Release
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND
from scenarios.language.script import read_script
from scenarios.running.runner import run_scenario

TP = TopicPartition("orders", 0)


def heard_of(cluster_settings: tuple[tuple[str, Any], ...] = (), release: str = "4.3") -> tuple[Cluster, list[Any]]:
    heard: list[Any] = []
    settings = (("offsets.topic.num.partitions", 1), ("offsets.topic.replication.factor", 1), *cluster_settings)
    return Cluster(ClusterSpec((BrokerSpec(1),), (TopicSpec("orders", 1, 1),), settings), Release.named(release), sink=heard.append), heard


def told(heard: list[Any], kind: type[events.Event]) -> list[Any]:
    return [events.decode(each) for each in heard if each[3] == kind.kind]


@pytest.mark.parametrize("idempotence", [False, True])
def test_a_retry_overtakes_unless_the_producer_is_idempotent(idempotence: bool) -> None:
    """With several requests in flight, a batch that is refused once and retried follows the next batch. An idempotent producer keeps the
    order."""
    cluster, heard = heard_of((("min.insync.replicas", 1),), "2.4")
    cluster.do(acts.Produce("orders", 1, producer="app", acks="all", idempotence=idempotence))
    cluster.run_until(SECOND)
    cluster.do(acts.Set("min.insync.replicas", 2, topic="orders"))
    cluster.run_until(2 * SECOND - 1_500)  # the broker learns of the setting between the arrivals of the two batches
    cluster.do(acts.Set("min.insync.replicas", 1, topic="orders"))
    cluster.run_until(2 * SECOND)
    cluster.do(acts.Produce("orders", 5, producer="app", acks="all", idempotence=idempotence))
    cluster.run_until(2 * SECOND + 900)
    cluster.do(acts.Produce("orders", 3, producer="app", acks="all", idempotence=idempotence))
    cluster.run_until(10 * SECOND)
    late = [(each.producer, each.from_offset, each.to_offset) for each in told(heard, events.RecordsOutOfOrder)]
    assert late == ([] if idempotence else [("app", 4, 9)])
    assert cluster.account.out_of_order == cluster.view().out_of_order == (0 if idempotence else 5)
    assert cluster.account.duplicated == 0


def test_a_zombie_processes_records_after_the_new_owner_has_processed_later_ones() -> None:
    """A member stalls longer than its session lasts. The other member processes all that follows its committed offset, and some of it again
    when the zombie wakes up: records that nobody has processed before count as out of order, and the others as repeats."""
    cluster, heard = heard_of()
    part = cluster.account.consumption.of("g", TP)
    processed = cluster.account.records_processed
    processed("g", "a", TP, 0, 10, 0)
    processed("g", "b", TP, 15, 20, 0)
    processed("g", "a", TP, 10, 18, 0)
    processed("g", "b", TP, 20, 25, 0)
    assert part.out_of_order == 5
    assert [(each.client, each.from_offset, each.to_offset) for each in told(heard, events.ProcessedOutOfOrder)] == [("a", 10, 15)]
    assert [(each.from_offset, each.to_offset) for each in told(heard, events.ProcessedAgain)] == [(15, 18)]
    processed("g", "b", TP, 18, 22, 2)
    assert part.out_of_order == 5, "records of a new epoch come later, although their offsets are lower"
    processed("g", "a", TP, 25, 26, 1)
    assert part.out_of_order == 6
    assert cluster.account.consumption_counts("g")[TP].out_of_order == 6


def test_scripts_read_the_order() -> None:
    script = """
cluster: {brokers: 1, topics: {orders: {partitions: 1, replication-factor: 1}}, settings: {offsets.topic.num.partitions: 1, offsets.topic.replication.factor: 1}}
timeline:
  - join-group: {topics: [orders], consumer: c, group: g, reset: earliest}
  - produce: {topic: orders, records: 5}
  - wait: 20s
expect: [out-of-order == 0, out-of-order(orders-0) == 0, processed-out-of-order(g) == 0, "processed-out-of-order(g, orders-0) == 0"]
"""
    assert run_scenario(read_script(script, "order.yaml"), Release.named("4.3")).held
