"""What a ZooKeeper-era controller and the brokers say to each other. All of the controller's requests carry its epoch."""

from __future__ import annotations

from typing import NamedTuple

from core.kafka.ids import TopicPartition
from core.kafka.partition_registration import PartitionRegistration


class LeaderAndIsrRequest(NamedTuple):
    """Partitions that the receiver is to lead or to follow: (partition, state, cause); `live` names the leaders that run."""

    controller: int
    controller_epoch: int
    items: tuple[tuple[TopicPartition, PartitionRegistration, int], ...]
    live: tuple[int, ...]
    correlation: int = 0


class LeaderAndIsrResponse(NamedTuple):
    """(partition, error) for each of a request: KAFKA_STORAGE_ERROR where the replica's log directory is offline, STALE_CONTROLLER_EPOCH where the
    leader epoch is not newer; `error` refuses them all. `controller_epoch` is the request's."""

    controller_epoch: int
    error: str
    items: tuple[tuple[TopicPartition, str], ...]
    correlation: int = 0


class StopReplicaRequest(NamedTuple):
    """Replicas to fetch no more: (partition, whether to delete the log, leader epoch)."""

    controller: int
    controller_epoch: int
    items: tuple[tuple[TopicPartition, bool, int], ...]
    correlation: int = 0


class UpdateMetadataRequest(NamedTuple):
    """What brokers tell clients: (partition, leader, leader epoch); and who lives."""

    controller: int
    controller_epoch: int
    items: tuple[tuple[TopicPartition, int, int], ...]
    live: tuple[int, ...]
    correlation: int = 0


class ControlResponse(NamedTuple):
    """A broker has taken StopReplica or UpdateMetadata, or refused it: nothing in the answer matters but that it is there."""

    correlation: int


class ControlledShutdownRequest(NamedTuple):
    """A broker wants to shut down and asks for its leaderships to be moved."""

    broker: int


class ControlledShutdownResponse(NamedTuple):
    """How many partitions it still leads; an error if the receiver is not the controller."""

    error: str
    remaining: int
