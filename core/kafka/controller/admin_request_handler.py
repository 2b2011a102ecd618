"""The controller's handling of administrative requests. A single controller executes a request immediately, whereas a quorum executes a
request only after the request has been committed.
"""

from __future__ import annotations

import contextlib

from core.kafka import events
from core.kafka.admin_requests import (
    AdminRequest,
    AlterConfig,
    AlterPartitionReassignment,
    CreatePartitions,
    CreateTopic,
    DeleteTopic,
    ElectLeaders,
    UnregisterBroker,
    UpdateFeature,
)
from core.kafka.controller.configuration_control_manager import ConfiguredController, change_setting
from core.kafka.controller.create_partitions import create_partitions
from core.kafka.controller.create_topics import create_topic
from core.kafka.controller.feature_control_manager import replay_feature_level
from core.kafka.controller.quorum_controller import QuorumController
from core.kafka.errors import KafkaError


def handle_admin_request(controller: ConfiguredController, request: AdminRequest) -> None:
    """Execute a request. If a topic request is refused, emit an event. If a reassignment is no longer possible, change nothing.

    Raises:
        ValueError: the name, value, or scope of a setting is wrong.
    """
    replication, journal = controller.replication, controller.journal
    match request:
        case AlterConfig(name, value, topic, broker):
            change_setting(controller, name, value, topic, broker)
        case CreateTopic(spec):
            create_topic(replication, spec)
        case CreatePartitions(name, count, assignment):
            try:
                create_partitions(replication, name, count, assignment)
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
            replay_feature_level(replication, feature, level)
        case UnregisterBroker(broker):
            assert isinstance(controller, QuorumController), "with ZooKeeper, brokers cannot be unregistered"
            with contextlib.suppress(KafkaError):
                controller.unregister(broker)
