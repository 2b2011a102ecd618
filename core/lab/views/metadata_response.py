"""What `kafka-topics --describe` gets from a broker, where it can differ from what the controller or ZooKeeper holds."""

from __future__ import annotations

from core.kafka.broker.broker_state import BrokerState
from core.kafka.ids import TopicPartition
from core.kafka.partition_registration import PartitionRegistration
from core.kafka.zookeeper_mode.zk_metadata_cache import ZkMetadataCache
from core.lab.cluster_nodes import ClusterNodes


def states_in_metadata_cache(cluster: ClusterNodes) -> dict[TopicPartition, PartitionRegistration] | None:
    """Return the states of all partitions according to the first broker that is up; None if the release's tool does not ask brokers, if no
    broker is up, or if the cluster has no ZooKeeper.

    In a cluster with ZooKeeper, the ISRs in a broker's metadata cache can be some seconds old (`ZkMetadataCache.partition_state`).
    """
    if not cluster.release.describe_asks_brokers:
        return None
    for broker in cluster.brokers.values():
        cache = broker.context.metadata_cache
        if broker.context.state is BrokerState.RUNNING and isinstance(cache, ZkMetadataCache):
            found = ((tp, cache.partition_state(tp)) for tp in cluster.controller.registry.partitions)
            return {tp: state for tp, state in found if state is not None}
    return None
