"""Deletions of topics with KRaft, with a quorum of controllers, and with ZooKeeper."""

from __future__ import annotations

from typing import Any

import pytest

from core.kafka.ids import TopicPartition
from core.kafka.release import Release
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.kafka.transaction.transaction_log import TRANSACTION_STATE_TOPIC
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.lab.views.incremental_view import IncrementalView
from core.sim.errors import ActRefused
from core.sim.units import SECOND
from tests.core.properties.whole import same

T0 = TopicPartition("t", 0)
"""The partition of the topic that is deleted. Its leader is broker 1."""


def spec(*, controllers: int = 0, settings: tuple[tuple[str, Any], ...] = ()) -> ClusterSpec:
    topics = (
        TopicSpec("t", assignment=(PartitionSpec((1, 2, 3)),), config=(("min.insync.replicas", "2"),)),
        TopicSpec("keep", assignment=(PartitionSpec((2, 3, 1)),)),
        TopicSpec(TRANSACTION_STATE_TOPIC, assignment=(PartitionSpec((1, 2, 3)),)),
    )
    brokers = tuple(BrokerSpec(broker) for broker in (1, 2, 3))
    names = tuple(f"c{number}" for number in range(1, controllers + 1))
    return ClusterSpec(brokers, topics, settings=settings, controllers=names)


def started(release: str, sink: list[Any] | None = None, **options: Any) -> Cluster:
    cluster = Cluster(spec(**options), Release.named(release), sink=(sink if sink is not None else []).append)
    cluster.do(acts.Produce("t", 10))
    cluster.run_until(3 * SECOND)
    return cluster


def hosts(cluster: Cluster) -> list[int]:
    return [number for number, broker in cluster.brokers.items() if T0 in broker.disk.logs or T0 in broker.partitions]


@pytest.mark.parametrize("release", ["2.4", "4.3"])
def test_a_topic_is_deleted_with_its_replicas_its_settings_and_its_account(release: str) -> None:
    events: list[Any] = []
    cluster = started(release, events)
    view = IncrementalView(cluster)
    assert {each.tp for each in view.view().partitions} >= {T0}
    known = len(events)
    cluster.do(acts.DeleteTopic("t"))
    cluster.run_until(4 * SECOND)
    for event in events[known:]:
        view.on_event(event)
    assert hosts(cluster) == []
    assert "t" not in cluster.controller.registry.topics
    assert T0 not in {each.tp for each in view.view().partitions}
    assert cluster.view().partitions == view.view().partitions
    assert (cluster.account.acked, cluster.account.lost) == (10, 0)
    cluster.do(acts.CreateTopic("t", 1, replicas=((3, 1),)))
    cluster.run_until(5 * SECOND)
    cluster.do(acts.Produce("t", 4, producer="new"))
    cluster.run_until(6 * SECOND)
    assert cluster.partition_view(T0).committed == 4
    assert cluster.settings.integer("min.insync.replicas", topic="t") == 1
    assert cluster.brokers[3].context.settings.integer("min.insync.replicas", topic="t") == 1
    assert (cluster.account.acked, cluster.account.lost) == (14, 0)


def test_what_is_refused() -> None:
    cluster = started("4.3")
    for topic, words in (
        ("nope", "there is no topic nope; the topics are t, keep, __transaction_state"),
        (TRANSACTION_STATE_TOPIC, "__transaction_state is an internal topic of Kafka; the laboratory does not delete internal topics"),
    ):
        with pytest.raises(ActRefused, match=words):
            cluster.do(acts.DeleteTopic(topic))
    for disabled in (started("0.11"), started("4.3", settings=(("delete.topic.enable", False),))):
        with pytest.raises(ActRefused, match=r"TOPIC_DELETION_DISABLED: Topic deletion is disabled\."):
            disabled.do(acts.DeleteTopic("t"))


@pytest.mark.parametrize("controllers", [0, 3])
def test_a_broker_that_was_down_deletes_the_old_replica_and_keeps_the_new_one(controllers: int) -> None:
    """With KRaft, the topic disappears immediately, and a new one can be created before the broker is back."""
    cluster = started("4.3", controllers=controllers)
    cluster.do(acts.Kill(3))
    cluster.run_until(15 * SECOND)
    cluster.do(acts.DeleteTopic("t"))
    cluster.run_until(16 * SECOND)
    assert hosts(cluster) == [3]
    cluster.do(acts.CreateTopic("t", 1, replicas=((1, 2),)))
    cluster.run_until(17 * SECOND)
    cluster.do(acts.Start(3))
    cluster.run_until(25 * SECOND)
    assert hosts(cluster) == [1, 2]
    cluster.do(acts.Produce("t", 7, producer="new"))
    cluster.run_until(26 * SECOND)
    cluster.do(acts.Kill(2))
    cluster.run_until(27 * SECOND)
    cluster.do(acts.Start(2))
    cluster.run_until(40 * SECOND)
    assert cluster.brokers[2].disk.logs[T0].leo == 7, "a restart does not repeat the deletion"
    assert cluster.account.lost == 0


def test_with_zookeeper_the_topic_exists_until_the_last_replica_is_deleted() -> None:
    events: list[Any] = []
    cluster = started("2.4", events)
    cluster.do(acts.Kill(3))
    cluster.run_until(15 * SECOND)
    cluster.do(acts.DeleteTopic("t"))
    cluster.run_until(20 * SECOND)
    assert hosts(cluster) == [3]
    assert "t" in cluster.controller.registry.topics
    assert [event[4:] for event in events if event[3] == "topic-deletion-delayed"] == [(1, "t", (3,))]
    cluster.do(acts.Kill(1))  # the controller: its successor continues the deletion
    cluster.run_until(30 * SECOND)
    assert [event[4:] for event in events if event[3] == "topic-deletion-delayed"] == [(1, "t", (3,)), (2, "t", (1, 3))]
    cluster.do(acts.Start(3))
    cluster.do(acts.Start(1))
    cluster.run_until(60 * SECOND)
    assert hosts(cluster) == []
    assert "t" not in cluster.controller.registry.topics
    assert not [event for event in events if event[3] in ("records-lost", "records-exposed")]


def test_a_running_reassignment_delays_the_deletion_with_zookeeper() -> None:
    cluster = Cluster(ClusterSpec(tuple(BrokerSpec(broker) for broker in (1, 2, 3)), (TopicSpec("t", 1, 2),)), Release.named("2.8"))
    cluster.run_until(SECOND)
    old = cluster.partition_view(T0).replicas
    (new,) = {1, 2, 3} - {*old}
    cluster.do(acts.Kill(new))
    cluster.run_until(2 * SECOND)
    cluster.do(acts.Reassign(T0, (old[0], new)))
    cluster.run_until(3 * SECOND)
    with pytest.raises(ActRefused, match="t-0 is being reassigned"):
        cluster.do(acts.DeleteTopic("t"))


@pytest.mark.parametrize("release", ["2.4", "4.3"])
def test_going_back_before_the_deletion_is_exact(release: str) -> None:
    cluster = started(release)
    before, copy = cluster.snapshot(), started(release)
    cluster.do(acts.DeleteTopic("t"))
    cluster.run_until(4 * SECOND)
    after = cluster.snapshot()
    assert T0 not in cluster.controller.registry.partitions
    cluster.restore_in_place(before, lambda _: None)
    same(cluster, copy)
    same(cluster, Cluster.restore(before))
    cluster.restore_in_place(after, lambda _: None)
    same(cluster, Cluster.restore(after))
    assert hosts(cluster) == []
