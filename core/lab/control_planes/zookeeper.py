"""The control plane before KRaft: ZooKeeper, and a controller in one of the brokers."""

from __future__ import annotations

from core.kafka.settings.registry import SETTINGS
from core.kafka.zookeeper_mode.broker import ZooKeeperBroker
from core.kafka.zookeeper_mode.control_plane import ZooKeeperControlPlane
from core.kafka.zookeeper_mode.zk_metadata_cache import ZkMetadataCache
from core.lab.cluster_nodes import ClusterNodes
from core.lab.control_planes.setup import broker_setup
from core.lab.initial_logs import place_logs


def make_controller(cluster: ClusterNodes) -> ZooKeeperControlPlane:
    """Create ZooKeeper, and the view of ZooKeeper's contents. The controller itself is in one of the brokers."""
    return ZooKeeperControlPlane(
        cluster.settings,
        cluster.network,
        cluster.journal,
        cluster.account,
        cluster.spec.racks(),
        seed=cluster.seed,
        by_hand=cluster.by_hand,
    )


def build(cluster: ClusterNodes) -> None:
    """Create the nodes of the cluster (see `ControlPlaneBuilder.build`)."""
    spec, control, racks = cluster.spec, cluster.controller, cluster.spec.racks()
    assert isinstance(control, ZooKeeperControlPlane)
    cluster.nodes[control.zookeeper.address] = control.zookeeper
    for each in spec.brokers:
        node = ZooKeeperBroker(broker_setup(cluster, each, ZkMetadataCache(racks)))
        node.log_directories.copy_speed = spec.disk_speed
        cluster.brokers[each.id] = cluster.nodes[node.address] = control.nodes[each.id] = node
        cluster.network.alive[node.address] = each.up
        control.boot_broker(each.id, up=each.up)
    for topic in spec.topics:
        control.replication.boot_topic(topic)
        for name, value in topic.config:
            if name in SETTINGS:
                for broker in cluster.brokers.values():
                    broker.context.settings.set(name, value, topic=topic.name)
    for broker in cluster.brokers.values():
        broker.refresh_settings()
    place_logs(cluster)
    control.boot(spec.controller)
