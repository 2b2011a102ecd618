"""The checks of requests to create or delete topics and to add partitions, which are the same in every control plane, and partitions whose
replicas are assigned manually (Kafka: `ReplicationControlManager#createTopic`, `#createPartitions`; with ZooKeeper, `AdminZkClient`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

import attrs

from core.kafka import errors
from core.kafka.controller.cluster_control_manager import ClusterControlManager
from core.kafka.controller.topic_registry import TopicRegistry
from core.kafka.ids import NO_LEADER
from core.kafka.partition_registration import PartitionRegistration
from core.kafka.settings.registry import SETTINGS
from core.kafka.topic_spec import PartitionSpec, TopicSpec

INVALID_CONFIG: Final = "INVALID_CONFIG"
"""The error code of a request with a wrong setting."""

NewPartition = Callable[[tuple[int, ...]], PartitionRegistration]
"""A function that returns the registration of a new partition with the given replicas."""


class TopicCreator(Protocol):
    """The part of a control plane that creates topics."""

    def create_topic(self, spec: TopicSpec) -> None:
        """Create a topic.

        Raises:
            KafkaError: Kafka refuses the topic.
            ValueError: a setting of the topic is wrong.
        """


def try_creation(creator: TopicCreator, spec: TopicSpec) -> tuple[str, str]:
    """Create a topic. Return the error code and, if the topic is refused, the reason."""
    try:
        creator.create_topic(spec)
    except errors.KafkaError as refusal:
        return refusal.code, refusal.message
    except ValueError as wrong:
        return INVALID_CONFIG, str(wrong)
    return errors.NONE, ""


def check_creation(registry: TopicRegistry, spec: TopicSpec) -> None:
    """Check a request to create a topic.

    Raises:
        KafkaError: the topic already exists.
        ValueError: a setting of the topic is wrong.
    """
    if spec.name in registry.topics:
        raise errors.KafkaError(errors.TOPIC_ALREADY_EXISTS, f"Topic '{spec.name}' already exists.")
    for name, value in spec.config:
        if name in SETTINGS:
            SETTINGS[name].parse(value)


def check_deletion(registry: TopicRegistry, name: str, *, enabled: bool) -> None:
    """Check a request to delete a topic. `enabled` is `delete.topic.enable`.

    Raises:
        KafkaError: Kafka refuses the request.
    """
    if name not in registry.topics:
        raise errors.KafkaError(errors.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition.")
    if not enabled:
        raise errors.KafkaError(errors.TOPIC_DELETION_DISABLED, "Topic deletion is disabled.")


def check_new_partitions(registry: TopicRegistry, name: str, count: int, assignment: tuple[tuple[int, ...], ...]) -> int:
    """Check a request to add partitions to a topic until it has `count` partitions. Return the number of partitions to add.

    Raises:
        KafkaError: Kafka refuses the request.
    """
    topic = registry.topics.get(name)
    if topic is None:
        raise errors.KafkaError(errors.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition.")
    existing = len(topic.partitions)
    if count == existing:
        raise errors.KafkaError(errors.INVALID_PARTITIONS, f"Topic already has {existing} partition(s).")
    if count < existing:
        raise errors.KafkaError(
            errors.INVALID_PARTITIONS, f"The topic {name} currently has {existing} partition(s); {count} would not be an increase."
        )
    added = count - existing
    if assignment and len(assignment) != added:
        raise errors.KafkaError(
            errors.INVALID_REPLICA_ASSIGNMENT,
            f"Attempted to add {added} additional partition(s), but only {len(assignment)} assignment(s) were specified.",
        )
    factor = len(registry.partitions[topic.partitions[0]].replicas)
    for replicas in assignment:
        if len(set(replicas)) != len(replicas):
            raise errors.KafkaError(
                errors.INVALID_REPLICA_ASSIGNMENT, "The manual partition assignment includes the broker "
                f"{next(broker for broker in replicas if replicas.count(broker) > 1)} more than once.",
            )  # fmt: skip
        if len(replicas) != factor:
            raise errors.KafkaError(
                errors.INVALID_REPLICA_ASSIGNMENT,
                f"The manual partition assignment includes a partition with {len(replicas)} replica(s), but this is not consistent with "
                f"previous partitions, which have {factor} replica(s).",
            )
    return added


def manual_assignment(
    cluster: ClusterControlManager, assignment: Sequence[PartitionSpec], new_partition: NewPartition, first: int = 0
) -> list[PartitionRegistration]:
    """Return the registrations of partitions whose replicas are assigned manually. `first` is the number of the first partition.

    Raises:
        KafkaError: INVALID_REPLICA_ASSIGNMENT, if a broker is not registered or no broker in the assignment is active.
    """
    return [_assigned(cluster, given, number, new_partition) for number, given in enumerate(assignment, first)]


def _assigned(cluster: ClusterControlManager, given: PartitionSpec, number: int, new_partition: NewPartition) -> PartitionRegistration:
    for broker in given.replicas:
        if broker not in cluster.brokers:
            raise errors.KafkaError(
                errors.INVALID_REPLICA_ASSIGNMENT,
                f"The manual partition assignment includes broker {broker}, but no such broker is registered.",
            )
    if given.isr is None and given.leader is None:
        if not any(cluster.is_active(broker) for broker in given.replicas):
            raise errors.KafkaError(
                errors.INVALID_REPLICA_ASSIGNMENT,
                f"All brokers specified in the manual partition assignment for partition {number} are fenced or in controlled shutdown.",
            )
        fresh = new_partition(given.replicas)
        return attrs.evolve(fresh, leader_epoch=given.leader_epoch) if given.leader_epoch else fresh
    isr = given.isr if given.isr is not None else tuple(b for b in given.replicas if cluster.is_active(b))
    leader = given.leader if given.leader is not None else next((b for b in isr if cluster.is_active(b)), NO_LEADER)
    return PartitionRegistration(given.replicas, isr, leader, given.leader_epoch, 0, elr=given.elr, last_known_elr=given.last_known_elr)


def led_partition(cluster: ClusterControlManager, replicas: tuple[int, ...]) -> PartitionRegistration:
    """Return a new partition. Its ISR consists of its active replicas, and the first of these replicas is the leader
    (`#buildPartitionRegistration`)."""
    isr = tuple(broker for broker in replicas if cluster.is_active(broker))
    return PartitionRegistration(replicas, isr, isr[0], 0, 0)
