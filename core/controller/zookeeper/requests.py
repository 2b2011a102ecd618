"""What a ZooKeeper-era controller and the brokers say to each other. All of the controller's requests carry its epoch."""

from __future__ import annotations

from typing import NamedTuple

from core.controller.registration import PartitionRegistration
from core.ids import TopicPartition


class LeaderAndIsrRequest(NamedTuple):
    """Partitions that the receiver is to lead or to follow: (partition, state, cause); `live` names the leaders that run."""

    controller: int
    controller_epoch: int
    items: tuple[tuple[TopicPartition, PartitionRegistration, int], ...]
    live: tuple[int, ...]


class StopReplicaRequest(NamedTuple):
    """Replicas to fetch no more: (partition, whether to delete the log, leader epoch)."""

    controller: int
    controller_epoch: int
    items: tuple[tuple[TopicPartition, bool, int], ...]


class UpdateMetadataRequest(NamedTuple):
    """What brokers tell clients: (partition, leader, leader epoch); and who lives."""

    controller: int
    controller_epoch: int
    items: tuple[tuple[TopicPartition, int, int], ...]
    live: tuple[int, ...]


class ControlledShutdownRequest(NamedTuple):
    """A broker wants to shut down and asks for its leaderships to be moved."""

    broker: int


class ControlledShutdownResponse(NamedTuple):
    """How many partitions it still leads; an error if the receiver is not the controller."""

    error: str
    remaining: int
