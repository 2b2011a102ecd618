"""Acts of administrators: settings, topics, elections, and reassignments."""

from __future__ import annotations

from typing import Final

from core.kafka.admin_requests import (
    AlterConfig,
    AlterPartitionReassignment,
    CreatePartitions,
    CreateTopic,
    DeleteTopic,
    ElectionMode,
    ElectLeaders,
    UnregisterBroker,
    UpdateFeature,
)
from core.kafka.clients.api_versions import ApiVersions
from core.kafka.controller.feature_control_manager import UPGRADE, UPGRADE_TYPES, check_update, feature_level
from core.kafka.controller.quorum_controller import QuorumController
from core.kafka.controller.reassignment import dead_target_error
from core.kafka.errors import KafkaError
from core.kafka.ids import TopicPartition
from core.kafka.last_changes import RETENTION
from core.kafka.settings.registry import setting_named
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.kafka.transaction.transaction_log import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from core.lab import acts
from core.lab.act_handlers import find
from core.lab.cluster_nodes import ClusterNodes
from core.lab.spec import reject_too_many
from core.sim.disturbances import SETTING, SETTINGS
from core.sim.errors import ActRefused


def _set(cluster: ClusterNodes, act: acts.Set) -> find.CheckThenDo:
    try:
        setting = setting_named(act.name)
        setting.parse(act.value)
    except ValueError as wrong:
        raise ActRefused(str(wrong)) from None
    if not setting.dynamic and not act.force:
        raise ActRefused(
            f"Cannot update these configs dynamically: Set({act.name}); Kafka reads this setting only when a broker starts. Set it in the cluster's settings, or write 'force: true' to apply it immediately"
        )
    if act.topic is not None and act.broker is not None:
        raise ActRefused(f"set {act.name} for a topic or for a broker, not for both")
    if act.topic is not None:
        find.topic(cluster, act.topic)
    if act.broker is not None:
        find.broker(cluster, act.broker)
        if act.name == "min.insync.replicas" and cluster.release.elr:
            raise ActRefused(
                "Broker-level min.insync.replicas cannot be altered while ELR is enabled (KIP-966); set it for the whole cluster or a topic"
            )
    misplaced = setting.scope_error(broker=act.broker is not None, topic=act.topic is not None)
    if misplaced:
        raise ActRefused(misplaced)
    find.require_controller(cluster)
    yield
    cluster.network.disturbances.begin(SETTINGS, SETTING, cluster.journal.cause, cluster.now, cluster.now)
    if "retention" in act.name:
        cluster.network.disturbances.changed((RETENTION, act.topic or ""), cluster.journal.cause)
    cluster.submit_admin_request(AlterConfig(act.name, act.value, act.topic, act.broker))


def _create_topic(cluster: ClusterNodes, act: acts.CreateTopic) -> find.CheckThenDo:
    _reject_too_many(cluster, len(act.replicas) or act.partitions, len(act.replicas[0]) if act.replicas else act.replication_factor)
    find.require_controller(cluster)
    assignment = tuple(PartitionSpec(replicas) for replicas in act.replicas)
    spec = TopicSpec(act.topic, act.partitions, act.replication_factor, assignment, act.config)
    yield
    cluster.network.disturbances.changed(act.topic, cluster.journal.cause)
    cluster.submit_admin_request(CreateTopic(spec))


def _reject_too_many(cluster: ClusterNodes, partitions: int, factor: int) -> None:
    """Refuse more partitions or replicas than a cluster can have."""
    known = cluster.controller.registry.partitions
    try:
        reject_too_many(len(known) + partitions, partitions * factor + sum(len(partition.replicas) for partition in known.values()))
    except ValueError as wrong:
        raise ActRefused(f"this act would result in {wrong}") from None


def _create_partitions(cluster: ClusterNodes, act: acts.CreatePartitions) -> find.CheckThenDo:
    topic = cluster.controller.registry.topics.get(act.topic)
    if topic is not None:
        factor = len(cluster.controller.registry.partitions[topic.partitions[0]].replicas)
        _reject_too_many(cluster, max(act.partitions - len(topic.partitions), 0), factor)
    find.require_controller(cluster)
    yield
    cluster.network.disturbances.changed(act.topic, cluster.journal.cause)
    cluster.submit_admin_request(CreatePartitions(act.topic, act.partitions, act.replicas))


def _delete_topic(cluster: ClusterNodes, act: acts.DeleteTopic) -> find.CheckThenDo:
    find.topic(cluster, act.topic)
    if act.topic in (TRANSACTION_STATE_TOPIC, GROUP_METADATA_TOPIC):
        raise ActRefused(f"{act.topic} is an internal topic of Kafka; the laboratory does not delete internal topics")
    try:
        cluster.controller.replication.check_deletion(act.topic)
    except KafkaError as refusal:
        raise ActRefused(str(refusal)) from None
    find.require_controller(cluster)
    yield
    cluster.network.disturbances.changed(act.topic, cluster.journal.cause)
    cluster.submit_admin_request(DeleteTopic(act.topic))


def _elect(cluster: ClusterNodes, act: acts.Elect) -> find.CheckThenDo:
    if act.election not in ("preferred", "unclean"):
        raise ActRefused(f"election must be preferred or unclean, not {act.election}")
    if act.partition is not None and act.partition not in cluster.controller.registry.partitions:
        raise ActRefused(f"there is no partition {act.partition}")
    find.require_controller(cluster)
    mode = ElectionMode.PREFERRED if act.election == "preferred" else ElectionMode.UNCLEAN
    yield
    cluster.submit_admin_request(ElectLeaders(mode, act.partition))


def _unregister(cluster: ClusterNodes, act: acts.Unregister) -> find.CheckThenDo:
    find.broker(cluster, act.broker)
    controller = cluster.controller
    if not isinstance(controller, QuorumController):
        raise ActRefused(
            "The target cluster does not support the broker unregistration API. With ZooKeeper, a broker's registration ends with its session"
        )
    find.require_controller(cluster)
    try:
        controller.check_registered(act.broker)
    except KafkaError as refusal:
        raise ActRefused(str(refusal)) from None
    yield
    cluster.submit_admin_request(UnregisterBroker(act.broker))


def _update_feature(cluster: ClusterNodes, act: acts.UpdateFeature) -> find.CheckThenDo:
    """Change a feature level. After any feature level has been changed, clients ask for the levels each time they open a connection."""
    if act.upgrade_type and act.upgrade_type not in UPGRADE_TYPES:
        raise ActRefused(f"there is no upgrade type {act.upgrade_type}; use {', '.join(UPGRADE_TYPES)}")
    if cluster.zookeeper:
        raise ActRefused(f"release {cluster.release.name} has no feature levels; use release 3.3 or later")
    find.require_controller(cluster)
    metadata, release = cluster.metadata, cluster.release
    try:
        downgrades = act.level < feature_level(metadata, release, act.feature)
        check_update(metadata, release, act.feature, act.level, act.upgrade_type or (UPGRADE_TYPES[1] if downgrades else UPGRADE))
    except ValueError as wrong:
        raise ActRefused(str(wrong)) from None
    yield
    for client in cluster.clients.values():
        if client.api_versions is None:
            client.api_versions = ApiVersions(cluster.release.transaction_version)
    cluster.submit_admin_request(UpdateFeature(act.feature, act.level))


def _reassign(cluster: ClusterNodes, act: acts.Reassign) -> find.CheckThenDo:
    find.require_controller(cluster)
    live = {broker for broker, registration in cluster.controller.cluster_control.brokers.items() if not registration.fenced}
    if act.admin_api and not cluster.release.alters_reassignments:
        raise ActRefused("the Admin API can reassign partitions only since 2.4 (KIP-455); omit admin-api")
    refusal = "" if act.admin_api else dead_target_error(cluster.release, act.partition, act.replicas, live)
    if refusal:
        raise ActRefused(refusal)
    moving = any(partition.adding or partition.removing for partition in cluster.controller.registry.partitions.values())
    if moving and not cluster.release.alters_reassignments:
        raise ActRefused("There is an existing assignment running.")
    _check_reassignment(cluster, act.partition, act.replicas)
    yield
    cluster.account.of(act.partition).moved_by = cluster.journal.cause
    cluster.submit_admin_request(AlterPartitionReassignment(act.partition, act.replicas))


def _cancel_reassignment(cluster: ClusterNodes, act: acts.CancelReassignment) -> find.CheckThenDo:
    if not cluster.release.alters_reassignments:
        raise ActRefused("releases before 2.4 cannot cancel a running reassignment (KIP-455)")
    _check_reassignment(cluster, act.partition, None)
    yield
    cluster.submit_admin_request(AlterPartitionReassignment(act.partition, None))


def _check_reassignment(cluster: ClusterNodes, tp: TopicPartition, replicas: tuple[int, ...] | None) -> None:
    find.require_controller(cluster)
    try:
        cluster.controller.replication.check_reassignment(tp, replicas)
    except KafkaError as refusal:
        raise ActRefused(str(refusal)) from None


HANDLERS: Final[find.Handlers] = {
    acts.Set: _set,
    acts.CreateTopic: _create_topic,
    acts.CreatePartitions: _create_partitions,
    acts.DeleteTopic: _delete_topic,
    acts.Elect: _elect,
    acts.Reassign: _reassign,
    acts.CancelReassignment: _cancel_reassignment,
    acts.Unregister: _unregister,
    acts.UpdateFeature: _update_feature,
}
