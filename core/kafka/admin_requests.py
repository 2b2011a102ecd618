"""The requests that an administrator sends to the active controller (Kafka: `Admin`)."""

from __future__ import annotations

import enum
from typing import NamedTuple

from core.kafka.ids import TopicPartition
from core.kafka.topic_spec import TopicSpec


class ElectionMode(enum.StrEnum):
    """The kind of election, which determines the replicas that can be elected (Kafka: `PartitionChangeBuilder.Election`)."""

    ONLINE = "ONLINE"
    """Keep the current leader if it can still lead; otherwise, elect the first ISR member that can lead."""
    UNCLEAN = "UNCLEAN"
    """Elect a leader as for ONLINE, but if no ISR member can lead, elect any active replica, even one that lacks committed records."""
    PREFERRED = "PREFERRED"
    """Elect the first assigned replica if it can lead; otherwise, elect a leader as for ONLINE.

    A preferred election is never unclean, regardless of the topic's configuration.
    """


class AlterConfig(NamedTuple):
    """A request to change a setting of a topic, of a broker, or, if `topic` and `broker` are None, of the whole cluster
    (`IncrementalAlterConfigs`).
    """

    name: str
    value: str
    topic: str | None
    broker: int | None


class CreateTopic(NamedTuple):
    """A request to create a topic (`CreateTopics`)."""

    topic: TopicSpec


class CreatePartitions(NamedTuple):
    """A request to increase the number of partitions of a topic (`CreatePartitions`).

    Attributes:
        topic: the topic to which partitions are added.
        partitions: the new total number of partitions.
        assignment: the replicas of each new partition. If the assignment is empty, the controller places the replicas of the new
            partitions.
    """

    topic: str
    partitions: int
    assignment: tuple[tuple[int, ...], ...]


class DeleteTopic(NamedTuple):
    """A request to delete a topic (`DeleteTopics`)."""

    topic: str


class ElectLeaders(NamedTuple):
    """A request to elect the leader of one partition, or of all partitions if `partition` is None (`ElectLeaders`)."""

    mode: ElectionMode
    partition: TopicPartition | None


class AlterPartitionReassignment(NamedTuple):
    """A request to move a partition to other replicas or, if `replicas` is None, to cancel the partition's reassignment
    (`AlterPartitionReassignments`).
    """

    partition: TopicPartition
    replicas: tuple[int, ...] | None


class UpdateFeature(NamedTuple):
    """A request to change the finalized level of a feature (`UpdateFeatures`)."""

    feature: str
    level: int


class UnregisterBroker(NamedTuple):
    """A request to remove a broker's registration (`UnregisterBroker`)."""

    broker: int


AdminRequest = (
    AlterConfig
    | CreateTopic
    | CreatePartitions
    | DeleteTopic
    | ElectLeaders
    | AlterPartitionReassignment
    | UnregisterBroker
    | UpdateFeature
)
