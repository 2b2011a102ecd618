"""Requests of an administrator to the active controller (Kafka: the requests of `Admin`)."""

from __future__ import annotations

import enum
from typing import NamedTuple

from core.kafka.ids import TopicPartition
from core.kafka.topic_spec import TopicSpec


class ElectionMode(enum.StrEnum):
    """What an election may do (Kafka: `PartitionChangeBuilder.Election`)."""

    ONLINE = "ONLINE"
    """Keep the leader if it can lead, else elect the first ISR member that can."""
    UNCLEAN = "UNCLEAN"
    """As ONLINE; if that finds no leader, elect any active replica, even one that lacks committed records."""
    PREFERRED = "PREFERRED"
    """Elect the first assigned replica if it can lead, else as ONLINE. Never unclean, whatever the topic's configuration."""


class AlterConfig(NamedTuple):
    """Set a configuration of a topic, of a broker, or (both None) of the whole cluster (`IncrementalAlterConfigs`)."""

    name: str
    value: str
    topic: str | None
    broker: int | None


class CreateTopic(NamedTuple):
    """Create a topic (`CreateTopics`)."""

    topic: TopicSpec


class CreatePartitions(NamedTuple):
    """Increase the number of partitions of a topic (`CreatePartitions`).

    Attributes:
        topic: the topic.
        partitions: the new number of partitions in all.
        assignment: the replicas of each new partition; empty: the controller places them.
    """

    topic: str
    partitions: int
    assignment: tuple[tuple[int, ...], ...]


class ElectLeaders(NamedTuple):
    """Elect the leader of one partition, or (None) of all (`ElectLeaders`)."""

    mode: ElectionMode
    partition: TopicPartition | None


class AlterPartitionReassignment(NamedTuple):
    """Move a partition to other replicas; None cancels its reassignment (`AlterPartitionReassignments`)."""

    partition: TopicPartition
    replicas: tuple[int, ...] | None


class UnregisterBroker(NamedTuple):
    """Remove a broker's registration (`UnregisterBroker`)."""

    broker: int


AdminRequest = AlterConfig | CreateTopic | CreatePartitions | ElectLeaders | AlterPartitionReassignment | UnregisterBroker
