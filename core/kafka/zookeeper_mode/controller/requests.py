"""The messages between a ZooKeeper-mode controller and the brokers. Each request from the controller carries the controller epoch."""

from __future__ import annotations

from typing import Final, NamedTuple

from core.kafka.ids import TopicPartition
from core.kafka.partition_registration import PartitionRegistration

LEADER_DURING_DELETE: Final = -2
"""The leader ID that marks a partition whose topic is being deleted (`LeaderAndIsr.LeaderDuringDelete`)."""


class LeaderAndIsrRequest(NamedTuple):
    """A request that contains the states of partitions that the receiver leads or follows.

    Attributes:
        controller: the broker ID of the controller.
        controller_epoch: the controller epoch.
        items: (partition, state, cause) for each partition.
        live: the live brokers.
        correlation: the correlation ID.
    """

    controller: int
    controller_epoch: int
    items: tuple[tuple[TopicPartition, PartitionRegistration, int], ...]
    live: tuple[int, ...]
    correlation: int = 0


class LeaderAndIsrResponse(NamedTuple):
    """The response to LeaderAndIsr.

    Attributes:
        controller_epoch: the controller epoch in the request.
        error: the error for the whole request.
        items: (partition, error) for each partition. The error is KAFKA_STORAGE_ERROR if the replica's log directory is offline, or
            STALE_CONTROLLER_EPOCH if the leader epoch is not newer.
        correlation: the correlation ID.
    """

    controller_epoch: int
    error: str
    items: tuple[tuple[TopicPartition, str], ...]
    correlation: int = 0


class StopReplicaRequest(NamedTuple):
    """A request to stop replicas. Each item is (partition, whether to delete the log, leader epoch)."""

    controller: int
    controller_epoch: int
    items: tuple[tuple[TopicPartition, bool, int], ...]
    correlation: int = 0


class UpdateMetadataRequest(NamedTuple):
    """The metadata for clients: each partition with its state, and the live brokers.

    The leader is `LEADER_DURING_DELETE` if the topic is being deleted.
    """

    controller: int
    controller_epoch: int
    items: tuple[tuple[TopicPartition, PartitionRegistration], ...]
    live: tuple[int, ...]
    correlation: int = 0


class ControlResponse(NamedTuple):
    """The response to StopReplica or UpdateMetadata.

    Attributes:
        correlation: the correlation ID.
        controller_epoch: the controller epoch in a StopReplica request; 0 for UpdateMetadata.
        deleted: the partitions whose replicas the broker has deleted.
    """

    correlation: int
    controller_epoch: int = 0
    deleted: tuple[TopicPartition, ...] = ()


class ControlledShutdownRequest(NamedTuple):
    """A broker's request to shut down and to have its leaderships moved to other brokers."""

    broker: int


class ControlledShutdownResponse(NamedTuple):
    """The response to a controlled shutdown request: the number of partitions that the broker still leads, or an error if the receiver is
    not the controller."""

    error: str
    remaining: int
