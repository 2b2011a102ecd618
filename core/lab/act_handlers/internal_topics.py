"""Internal topics that acts on transactions create."""

from __future__ import annotations

from core.kafka.topic_spec import TopicSpec
from core.kafka.transaction.transaction_log import TRANSACTION_STATE_TOPIC
from core.lab.act_handlers import find
from core.lab.cluster_nodes import ClusterNodes
from core.lab.spec import reject_too_many
from core.sim.errors import ActRefused


def transaction_state_topic(cluster: ClusterNodes) -> TopicSpec | None:
    """Return the topic `__transaction_state` to create, or None if it exists (`TransactionStateManager#transactionTopicConfigs`).

    Raises:
        ActRefused: the cluster cannot hold the topic.
    """
    replication, settings = cluster.controller.replication, cluster.settings
    if TRANSACTION_STATE_TOPIC in replication.topics:
        return None
    factor = settings.integer("transaction.state.log.replication.factor")
    partitions = settings.integer("transaction.state.log.num.partitions")
    if factor > len(cluster.brokers):
        raise ActRefused(
            f"transaction.state.log.replication.factor is {factor}, but the cluster has {len(cluster.brokers)} broker"
            f"{'s' if len(cluster.brokers) != 1 else ''}; set it to at most {len(cluster.brokers)} in the cluster's settings"
        )
    find.require_controller(cluster)
    try:
        known = replication.partitions
        replicas = sum(len(partition.replicas) for partition in known.values())
        reject_too_many(len(known) + partitions, replicas + partitions * factor)
    except ValueError as wrong:
        raise ActRefused(f"with {TRANSACTION_STATE_TOPIC}, that would be {wrong}") from None
    config = (
        ("unclean.leader.election.enable", "false"),
        ("compression.type", "uncompressed"),
        ("cleanup.policy", "compact"),
        ("min.insync.replicas", str(settings.integer("transaction.state.log.min.isr"))),
        ("segment.bytes", "104857600"),
    )
    return TopicSpec(TRANSACTION_STATE_TOPIC, partitions, factor, config=config)
