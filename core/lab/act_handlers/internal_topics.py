"""Internal topics that acts on transactions and groups create."""

from __future__ import annotations

from core.kafka.topic_spec import TopicSpec
from core.kafka.transaction.transaction_log import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from core.lab.act_handlers import find
from core.lab.cluster_nodes import ClusterNodes
from core.lab.spec import reject_too_many
from core.sim.errors import ActRefused


def transaction_state_topic(cluster: ClusterNodes) -> TopicSpec | None:
    """Return the topic `__transaction_state` to create, or None if it exists (`TransactionStateManager#transactionTopicConfigs`).

    Raises:
        ActRefused: the cluster has too few brokers or too many partitions for the topic.
    """
    config = (
        ("unclean.leader.election.enable", "false"),
        ("compression.type", "uncompressed"),
        ("cleanup.policy", "compact"),
        ("min.insync.replicas", str(cluster.settings.integer("transaction.state.log.min.isr"))),
        ("segment.bytes", "104857600"),
    )
    return _internal_topic(cluster, TRANSACTION_STATE_TOPIC, "transaction.state.log", config)


def offsets_topic(cluster: ClusterNodes) -> TopicSpec | None:
    """Return the topic `__consumer_offsets` to create, or None if it exists (`GroupCoordinator#groupMetadataTopicConfigs`).

    Raises:
        ActRefused: the cluster has too few brokers or too many partitions for the topic.
    """
    config = (("compression.type", "producer"), ("cleanup.policy", "compact"), ("segment.bytes", "104857600"))
    return _internal_topic(cluster, GROUP_METADATA_TOPIC, "offsets.topic", config)


def _internal_topic(cluster: ClusterNodes, name: str, prefix: str, config: tuple[tuple[str, str], ...]) -> TopicSpec | None:
    """Return an internal topic to create, or None if it exists. The settings that determine the topic's size have names that begin with
    `prefix`.
    """
    replication, settings = cluster.controller.replication, cluster.settings
    if name in replication.topics:
        return None
    factor, partitions = settings.integer(f"{prefix}.replication.factor"), settings.integer(f"{prefix}.num.partitions")
    if cluster.release.shrinks_offsets_topic:
        alive = sum(replication.is_active(broker) for broker in replication.brokers)
        factor = min(factor, alive) or factor
    if factor > len(cluster.brokers):
        raise ActRefused(
            f"{prefix}.replication.factor is {factor}, but the cluster has {len(cluster.brokers)} broker"
            f"{'s' if len(cluster.brokers) != 1 else ''}; set it to at most {len(cluster.brokers)} in the cluster's settings"
        )
    find.require_controller(cluster)
    try:
        known = replication.partitions
        replicas = sum(len(partition.replicas) for partition in known.values())
        reject_too_many(len(known) + partitions, replicas + partitions * factor)
    except ValueError as wrong:
        raise ActRefused(f"with {name}, there would be {wrong}") from None
    return TopicSpec(name, partitions, factor, config=config)
