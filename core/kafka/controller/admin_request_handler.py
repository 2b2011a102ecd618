"""Execution of administrative requests on the controller: immediately on a single controller, on commit in a quorum."""

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
    ElectLeaders,
    UnregisterBroker,
)
from core.kafka.controller.create_partitions import create_partitions
from core.kafka.controller.quorum_controller import QuorumController
from core.kafka.controller.topic_registry import TopicRegistry
from core.kafka.errors import KafkaError
from core.kafka.ids import broker_address
from core.kafka.settings import Settings, render_value
from core.sim.journal import Journal


class AdministeredController(Protocol):
    """The part of a controller (KRaft or ZooKeeper) that administrative requests use."""

    @property
    def journal(self) -> Journal:
        """The journal that the controller writes to."""

    @property
    def replication(self) -> TopicRegistry:
        """The controller's topics and partitions."""

    @property
    def settings(self) -> Settings:
        """The controller's settings."""

    def config_changed(self, name: str, value: str, topic: str | None, broker: int | None) -> None:
        """Propagate a changed configuration to the brokers."""


def handle_admin_request(controller: AdministeredController, request: AdminRequest) -> None:
    """Execute a request. A refused topic request emits an event. A reassignment that is no longer possible changes nothing.

    Raises:
        ValueError: the name, value, or scope of a setting is wrong.
    """
    replication, journal = controller.replication, controller.journal
    match request:
        case AlterConfig(name, value, topic, broker):
            old, new = controller.settings.set(name, value, broker=broker, topic=topic)
            subject = topic if topic is not None else "" if broker is None else broker_address(broker)
            journal.cause = journal.emit(events.SettingChanged.kind, name, subject, render_value(old), render_value(new))
            if topic is not None:
                replication.topics[topic].config[name] = render_value(new)
            controller.config_changed(name, render_value(new), topic, broker)
            if name == "unclean.leader.election.enable":
                replication.account.electable_brokers_changed()
        case CreateTopic(spec):
            try:
                replication.create_topic(spec)
            except KafkaError as refusal:
                journal.emit(events.TopicRefused.kind, spec.name, refusal.code, refusal.message)
            except ValueError as wrong:
                journal.emit(events.TopicRefused.kind, spec.name, "INVALID_CONFIG", str(wrong))
        case CreatePartitions(name, count, assignment):
            try:
                create_partitions(replication, name, count, assignment)
            except KafkaError as refusal:
                journal.emit(events.TopicRefused.kind, name, refusal.code, refusal.message)
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
        case UnregisterBroker(broker):
            assert isinstance(controller, QuorumController), "with ZooKeeper nobody can ask for it"
            with contextlib.suppress(KafkaError):
                controller.unregister(broker)
