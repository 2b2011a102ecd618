"""The controller's handling of administrative requests. A single controller executes a request immediately, whereas a quorum executes a
request only after the request has been committed.
"""

from __future__ import annotations

import contextlib
from typing import Protocol

from core.kafka import events
from core.kafka.admin_requests import (
    AdminRequest,
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
from core.kafka.controller.configuration_control_manager import ConfiguredController, change_setting
from core.kafka.controller.create_topics import TopicCreator, try_creation
from core.kafka.controller.feature_control_manager import replay_feature_level
from core.kafka.controller.quorum_controller import QuorumController
from core.kafka.errors import NONE, KafkaError
from core.kafka.ids import TopicPartition


class AdministeredTopics(TopicCreator, Protocol):
    """The part of a control plane that executes requests for topics and partitions, or writes them down for its controller."""

    def create_partitions(self, name: str, count: int, assignment: tuple[tuple[int, ...], ...], /) -> None:
        """Add partitions to a topic until it has `count` partitions. `assignment` contains the replicas of the new partitions; if it is
        empty, they are placed.

        Raises:
            KafkaError: Kafka refuses the request. In this case, nothing changes.
        """

    def check_deletion(self, name: str, /) -> None:
        """Check a request to delete a topic.

        Raises:
            KafkaError: Kafka refuses the request.
        """

    def delete_topic(self, name: str, /) -> None:
        """Delete a topic, or request its deletion."""

    def elect_leaders(self, tp: TopicPartition | None, election: ElectionMode, /) -> list[tuple[TopicPartition, str]]:
        """Elect leaders or request their election, either for one partition or, if `tp` is None, for all partitions.

        Return the affected partitions, each with an error code.
        """

    def check_reassignment(self, tp: TopicPartition, replicas: tuple[int, ...] | None, /) -> None:
        """Check a request to move a partition to other replicas or, if `replicas` is None, to cancel the partition's reassignment.

        Raises:
            KafkaError: Kafka refuses the request.
        """

    def reassign(self, tp: TopicPartition, replicas: tuple[int, ...], /) -> bool:
        """Move a partition to other replicas, or request the move. Return False if nothing changes."""

    def cancel_reassignment(self, tp: TopicPartition, /) -> bool:
        """Cancel a running reassignment, or request the cancellation. Return False if nothing changes."""


class AdministeredController(ConfiguredController, Protocol):
    """The part of a controller's interface (KRaft or ZooKeeper) that administrators use."""

    @property
    def replication(self) -> AdministeredTopics:
        """The part that executes requests for topics and partitions."""


def handle_admin_request(controller: AdministeredController, request: AdminRequest) -> None:
    """Execute a request. If a topic request is refused, emit an event. If a reassignment is no longer possible, change nothing.

    Raises:
        ValueError: the name, value, or scope of a setting is wrong.
    """
    replication, journal = controller.replication, controller.journal
    match request:
        case AlterConfig(name, value, topic, broker):
            change_setting(controller, name, value, topic, broker)
        case CreateTopic(spec):
            code, message = try_creation(replication, spec)
            if code != NONE:
                journal.emit(events.TopicRefused.kind, spec.name, code, message)
        case CreatePartitions(name, count, assignment):
            try:
                replication.create_partitions(name, count, assignment)
            except KafkaError as refusal:
                journal.emit(events.TopicRefused.kind, name, refusal.code, refusal.message)
        case DeleteTopic(name):
            with contextlib.suppress(KafkaError):
                replication.check_deletion(name)
                replication.delete_topic(name)
        case ElectLeaders(mode, partition):
            replication.elect_leaders(partition, mode)
        case AlterPartitionReassignment(partition, replicas):
            try:
                replication.check_reassignment(partition, replicas)
            except KafkaError:
                return
            if replicas is None:
                replication.cancel_reassignment(partition)
            else:
                replication.reassign(partition, replicas)
        case UpdateFeature(feature, level):
            assert isinstance(controller, QuorumController), "with ZooKeeper, there are no feature levels"
            replay_feature_level(controller.metadata, controller.settings.release, journal, feature, level)
        case UnregisterBroker(broker):
            assert isinstance(controller, QuorumController), "with ZooKeeper, brokers cannot be unregistered"
            with contextlib.suppress(KafkaError):
                controller.unregister(broker)
