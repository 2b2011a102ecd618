"""What an administrator asks of the active controller (Kafka: the requests of `Admin`)."""

from __future__ import annotations

import enum
from typing import NamedTuple

from core.kafka.ids import TopicPartition
from core.kafka.topic_spec import TopicSpec


class ElectionMode(enum.StrEnum):
    """What an election may do (Kafka: `PartitionChangeBuilder.Election`)."""

    ONLINE = "ONLINE"
    """Keep the leader if it may lead, else the first ISR member that may."""
    UNCLEAN = "UNCLEAN"
    """As ONLINE, and at last any replica that is up, at the price of what it lacks."""
    PREFERRED = "PREFERRED"
    """The first assigned replica if it may lead, else as ONLINE. Never unclean, whatever the topic says."""


class AlterConfig(NamedTuple):
    """Set a configuration of a topic, of a broker, or (neither) of the cluster (`IncrementalAlterConfigs`)."""

    name: str
    value: str
    topic: str | None
    broker: int | None


class CreateTopic(NamedTuple):
    """Create a topic (`CreateTopics`)."""

    topic: TopicSpec


class CreatePartitions(NamedTuple):
    """Give a topic so many `partitions` in all; `assignment`: the replicas of the new ones, or none to have them placed."""

    topic: str
    partitions: int
    assignment: tuple[tuple[int, ...], ...]


class ElectLeaders(NamedTuple):
    """Elect leaders, of one partition or (None) of all."""

    mode: ElectionMode
    partition: TopicPartition | None


class AlterPartitionReassignment(NamedTuple):
    """Move a partition to other replicas; None: give its reassignment up (`AlterPartitionReassignments`)."""

    partition: TopicPartition
    replicas: tuple[int, ...] | None


class UnregisterBroker(NamedTuple):
    """Take a broker out of the cluster's metadata."""

    broker: int


AdminRequest = AlterConfig | CreateTopic | CreatePartitions | ElectLeaders | AlterPartitionReassignment | UnregisterBroker
