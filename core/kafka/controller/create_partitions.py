"""CreatePartitions requests, which add partitions to a topic (Kafka: `ReplicationControlManager#createPartitions`; with ZooKeeper,
`AdminUtils#addPartitions`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.kafka import errors, events
from core.kafka.ids import TopicPartition
from core.kafka.partition_registration import PartitionRegistration
from core.kafka.topic_spec import PartitionSpec, TopicSpec

if TYPE_CHECKING:
    from core.kafka.controller.topic_registry import TopicRegistry


def create_partitions(
    replication: TopicRegistry, name: str, count: int, assignment: tuple[tuple[int, ...], ...]
) -> tuple[TopicPartition, ...]:
    """Add partitions to a topic until it has `count` partitions. `assignment` contains the replicas of the new partitions; if it is empty,
    the controller places the replicas.

    Returns:
        The new partitions.

    Raises:
        KafkaError: Kafka refuses the request. In this case, nothing changes.
    """
    topic = replication.topics.get(name)
    if topic is None:
        raise errors.KafkaError(errors.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition.")
    existing = len(topic.partitions)
    if count == existing:
        raise errors.KafkaError(errors.INVALID_PARTITIONS, f"Topic already has {existing} partition(s).")
    if count < existing:
        raise errors.KafkaError(
            errors.INVALID_PARTITIONS, f"The topic {name} currently has {existing} partition(s); {count} would not be an increase."
        )
    factor = len(replication.partitions[topic.partitions[0]].replicas)
    if assignment:
        registrations = _assigned(replication, name, existing, count, factor, assignment)
    else:
        registrations = replication.place_additional_partitions(name, count - existing, factor)
    journal = replication.journal
    before = journal.cause
    journal.cause = journal.emit(events.PartitionsCreated.kind, name, count - existing, count)
    added = []
    for number, registration in enumerate(registrations, existing):
        tp = TopicPartition(name, number)
        topic.partitions.append(tp)
        replication.partition_created(tp, registration)
        added.append(tp)
    replication.partitions_created(name)
    journal.cause = before
    return tuple(added)


def _assigned(
    replication: TopicRegistry, name: str, existing: int, count: int, factor: int, assignment: tuple[tuple[int, ...], ...]
) -> list[PartitionRegistration]:
    if len(assignment) != count - existing:
        raise errors.KafkaError(
            errors.INVALID_REPLICA_ASSIGNMENT,
            f"Attempted to add {count - existing} additional partition(s), but only {len(assignment)} assignment(s) were specified.",
        )
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
    spec = TopicSpec(name, assignment=(PartitionSpec(()),) * existing + tuple(PartitionSpec(replicas) for replicas in assignment))
    return [replication.manual_assignment(spec, number) for number in range(existing, count)]
