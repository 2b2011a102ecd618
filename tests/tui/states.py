"""Small frozen states for widget tests."""

from __future__ import annotations

import attrs

from core.kafka.health import PartitionStatus
from core.kafka.ids import TopicPartition
from core.kafka.topic_spec import TopicSpec
from core.lab.spec import BrokerSpec, ClusterSpec
from core.lab.views.cluster_view import ClusterView
from core.lab.views.partition_view import PartitionView, ReplicaView, TopicView
from tests.tui.fake_cluster import FakeCluster

SPEC = ClusterSpec(
    brokers=tuple(BrokerSpec(i) for i in (1, 2, 3)),
    topics=(TopicSpec("orders", partitions=2), TopicSpec("payments", partitions=1)),
)


def cluster(spec: ClusterSpec = SPEC) -> FakeCluster:
    return FakeCluster(spec)


def replica(broker: int, leo: int, hw: int, **changes: object) -> ReplicaView:
    view = ReplicaView(
        broker=broker, role="follower", leo=leo, hw=hw, log_start=0, in_isr=True, alive=True, fetch_state="fetching", caught_up_us=0,
        epochs=((0, 0),), believes_leader=1, believes_epoch=0,
    )  # fmt: skip
    return attrs.evolve(view, **changes)


def partition(*replica_views: ReplicaView, **changes: object) -> PartitionView:
    """Return a partition that is led by broker 1. The replicas determine its ISR."""
    view = PartitionView(
        tp=TopicPartition("orders", 0), leader=1, leader_epoch=3, partition_epoch=7, replicas=tuple(c.broker for c in replica_views),
        isr=tuple(c.broker for c in replica_views if c.in_isr), elr=(), last_known_elr=(), adding=(), removing=(), recovering=False, min_isr=2,
        status=PartitionStatus.HEALTHY, replica_views=replica_views, slowest_replicas=(), accepted=0, acked=0, committed=0, lost=0, duplicated=0, diverged=0,
    )  # fmt: skip
    return attrs.evolve(view, **changes)


def view_of(*partitions: PartitionView) -> ClusterView:
    """Return a view of three healthy brokers with the given partitions, whose topics have the min.insync.replicas of their partitions."""
    least = {p.tp.topic: p.min_isr for p in partitions}
    topics = tuple(TopicView(name, "", 1, 3, (("min.insync.replicas", str(min_isr)),)) for name, min_isr in least.items())
    return attrs.evolve(cluster().view(), partitions=partitions, topics=topics)
