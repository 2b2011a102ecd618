"""Checks of acts that start clients for which brokers create internal topics."""

from __future__ import annotations

from core.kafka.broker.controller_requests.auto_topic_creation_manager import REPLICATION_FACTORS, creatable_topic
from core.kafka.transaction.transaction_log import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from core.lab.cluster_nodes import ClusterNodes
from core.lab.spec import reject_too_many
from core.sim.errors import ActRefused


def check_transaction_state_topic(cluster: ClusterNodes) -> None:
    """Check that `__transaction_state` exists or can be created.

    Raises:
        ActRefused: the cluster has too few brokers or too many partitions for the topic.
    """
    _check_internal_topic(cluster, TRANSACTION_STATE_TOPIC)


def check_offsets_topic(cluster: ClusterNodes) -> None:
    """Check that `__consumer_offsets` exists or can be created.

    Raises:
        ActRefused: the cluster has too few brokers or too many partitions for the topic.
    """
    _check_internal_topic(cluster, GROUP_METADATA_TOPIC)


def _check_internal_topic(cluster: ClusterNodes, name: str) -> None:
    registry, brokers = cluster.controller.registry, len(cluster.brokers)
    if name in registry.topics:
        return
    spec = creatable_topic(name, cluster.settings, None, brokers)
    factor = spec.replication_factor
    if factor > brokers:
        raise ActRefused(
            f"{REPLICATION_FACTORS[name]} is {factor}, but the cluster has {brokers} broker"
            f"{'s' if brokers != 1 else ''}; set it to at most {brokers} in the cluster's settings"
        )
    try:
        known = registry.partitions
        replicas = sum(len(partition.replicas) for partition in known.values())
        reject_too_many(len(known) + spec.partitions, replicas + spec.partitions * factor)
    except ValueError as wrong:
        raise ActRefused(f"with {name}, there would be {wrong}") from None
