"""Changes to settings on the controller (Kafka: `ConfigurationControlManager`)."""

from __future__ import annotations

from typing import Protocol

from core.kafka import events
from core.kafka.controller.topic_registry import TopicRegistry
from core.kafka.ids import broker_address
from core.kafka.settings.settings import Settings, render_value
from core.sim.journal import Journal


class ConfiguredController(Protocol):
    """The part of a controller's interface (KRaft or ZooKeeper) that is needed to change a setting."""

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
        """Propagate a changed setting to the brokers."""


def change_setting(controller: ConfiguredController, name: str, value: object, topic: str | None, broker: int | None) -> None:
    """Set a value for a topic, a broker, or the whole cluster, and propagate it (`ConfigurationControlManager#incrementalAlterConfigs`).

    Raises:
        ValueError: the name, value, or scope of the setting is wrong.
    """
    replication, journal = controller.replication, controller.journal
    old, new = controller.settings.set(name, value, broker=broker, topic=topic)
    subject = topic if topic is not None else "" if broker is None else broker_address(broker)
    journal.cause = journal.emit(events.SettingChanged.kind, name, subject, render_value(old), render_value(new))
    if topic is not None:
        replication.topics[topic].config[name] = render_value(new)
    controller.config_changed(name, render_value(new), topic, broker)
    if name == "unclean.leader.election.enable":
        replication.account.electable_brokers_changed()
