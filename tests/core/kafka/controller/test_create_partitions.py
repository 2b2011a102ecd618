"""More partitions for a topic, by Kafka's own vector (ReplicationControlManagerTest.testCreatePartitions: RCM-17), and with ZooKeeper."""

from __future__ import annotations

import pytest

from core.kafka.errors import KafkaError
from core.kafka.ids import TopicPartition
from core.kafka.release import Release
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND


def cluster_of(release: str = "4.1") -> Cluster:
    topics = (
        TopicSpec("foo", 3, 2), TopicSpec("bar", 4, 2), TopicSpec("quux", 2, 2), TopicSpec("foo2", 2, 2),
    )  # fmt: skip
    cluster = Cluster(ClusterSpec(tuple(BrokerSpec(broker) for broker in (0, 1, 2)), topics), Release.named(release))
    cluster.run_until(SECOND)
    return cluster


@pytest.mark.parametrize("release", ["2.4", "4.1"])
def test_rcm_17_what_is_refused_and_what_is_done(release: str) -> None:
    cluster = cluster_of(release)
    replication = cluster.controller.replication
    replication.create_partitions("foo", 5, ())
    assert cluster.controller.registry.topics["foo"].partitions[3:] == [TopicPartition("foo", 3), TopicPartition("foo", 4)]
    refused = {
        ("bar", 3, ()): "INVALID_PARTITIONS: The topic bar currently has 4 partition(s); 3 would not be an increase.",
        ("quux", 2, ()): "INVALID_PARTITIONS: Topic already has 2 partition(s).",
        ("unknown", 2, ()): "UNKNOWN_TOPIC_OR_PARTITION: This server does not host this topic-partition.",
        (
            "foo2",
            3,
            ((0, 1, 2),),
        ): "INVALID_REPLICA_ASSIGNMENT: The manual partition assignment includes a partition with 3 replica(s), but "
        "this is not consistent with previous partitions, which have 2 replica(s).",
        (
            "foo2",
            4,
            ((0, 1),),
        ): "INVALID_REPLICA_ASSIGNMENT: Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified.",
        (
            "foo2",
            3,
            ((0, 9),),
        ): "INVALID_REPLICA_ASSIGNMENT: The manual partition assignment includes broker 9, but no such broker is registered.",
        ("foo2", 3, ((1, 1),)): "INVALID_REPLICA_ASSIGNMENT: The manual partition assignment includes the broker 1 more than once.",
    }
    for (topic, count, assignment), message in refused.items():
        with pytest.raises(KafkaError) as error:
            replication.create_partitions(topic, count, assignment)
        assert str(error.value) == message
    assert len(cluster.controller.registry.topics["foo2"].partitions) == 2, "nothing was created"
    replication.create_partitions("foo2", 3, ((2, 0),))
    cluster.controller.publish()
    cluster.run_until(2 * SECOND)
    view = cluster.partition_view(TopicPartition("foo2", 2))
    assert (view.replicas, view.leader, view.isr, view.leader_epoch) == ((2, 0), 2, (2, 0), 0)
    for number in (3, 4):
        added = cluster.partition_view(TopicPartition("foo", number))
        assert added.leader == added.replicas[0]
        assert len(set(added.isr)) == 2
        assert added.replica_on(added.leader).role == "leader"


def test_all_brokers_fenced_or_leaving_means_no_place() -> None:
    """RCM-21: if no broker can lead, the new partitions are refused."""
    cluster = cluster_of()
    for broker in (0, 1, 2):
        cluster.do(acts.Kill(broker))
    cluster.run_until(20 * SECOND)
    with pytest.raises(KafkaError, match="INVALID_REPLICATION_FACTOR"):
        cluster.controller.replication.create_partitions("foo", 5, ())


def test_with_zookeeper_placement_goes_on_behind_the_first_partitions_leader() -> None:
    """`AdminUtils#addPartitions`: the start index is that of the first partition's leader, so leaders continue in turn without a random
    draw.
    """
    spec = ClusterSpec(
        tuple(BrokerSpec(broker) for broker in range(5)), (TopicSpec("t", assignment=(PartitionSpec((1, 2)), PartitionSpec((2, 3)))),)
    )
    cluster = Cluster(spec, Release.named("2.4"))
    cluster.do(acts.CreatePartitions("t", 5))
    cluster.run_until(SECOND)
    assert [cluster.partition_view(TopicPartition("t", number)).replicas[0] for number in range(5)] == [1, 2, 3, 4, 0]


def test_a_new_zookeeper_controller_still_watches_old_topics() -> None:
    spec = ClusterSpec(tuple(BrokerSpec(broker) for broker in (0, 1, 2)), (TopicSpec("t", assignment=(PartitionSpec((1, 2)),)),))
    cluster = Cluster(spec, Release.named("2.4"))
    cluster.do(acts.Kill(0))
    cluster.run_until(10 * SECOND)
    cluster.do(acts.CreatePartitions("t", 2, ((2, 1),)))
    cluster.run_until(11 * SECOND)
    assert cluster.partition_view(TopicPartition("t", 1)).leader == 2
    cluster.do(acts.CreatePartitions("t", 3, ((1, 2),)))
    cluster.run_until(12 * SECOND)
    assert cluster.partition_view(TopicPartition("t", 2)).leader == 1
