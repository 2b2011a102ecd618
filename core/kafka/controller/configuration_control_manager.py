"""The settings that a control plane keeps, and changes to them (Kafka: `ConfigurationControlManager`)."""

from __future__ import annotations

from typing import Final, Protocol

from core.kafka import events
from core.kafka.admin_requests import ElectionMode
from core.kafka.controller.topic_registry import TopicRegistry
from core.kafka.health import effective_min_isr
from core.kafka.ids import broker_address
from core.kafka.settings.settings import Settings, render_value
from core.sim.journal import Journal


class ConfigurationControlManager:
    """The settings that a controller applies to topics.

    Attributes:
        settings: the settings that the controller uses.
        controller_node: the broker whose process runs the active controller; None if the controller has its own process. If a topic does
            not override a setting, the configuration of this node applies, which can differ from the cluster-wide configuration.
    """

    __slots__ = ("controller_node", "settings")

    settings: Final[Settings]

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.controller_node: int | None = None

    def min_isr(self, topic: str, replication_factor: int) -> int:
        """Return the effective `min.insync.replicas` of a topic. Since 3.7, it is at most the replication factor of the topic's first
        partition (`ReplicationControlManager#getTopicEffectiveMinIsr`)."""
        configured = self.settings.integer("min.insync.replicas", topic=topic, broker=self.controller_node)
        return effective_min_isr(configured, replication_factor, capped=self.settings.release.capped_min_isr)

    def election_mode(self, topic: str) -> ElectionMode:
        """Return UNCLEAN if unclean leader election is enabled for the topic; otherwise, ONLINE.

        In releases whose controllers ignore `unclean.leader.election.enable`, the mode is always ONLINE
        (`#uncleanLeaderElectionEnabledForTopic`, KAFKA-12670).
        """
        unclean = self.settings.release.applies_unclean_setting and self.settings.flag(
            "unclean.leader.election.enable", topic=topic, broker=self.controller_node
        )
        return ElectionMode.UNCLEAN if unclean else ElectionMode.ONLINE

    @property
    def deletes_topics(self) -> bool:
        """Whether topics can be deleted (`delete.topic.enable`)."""
        return self.settings.flag("delete.topic.enable", broker=self.controller_node)


class ConfiguredController(Protocol):
    """The part of a controller's interface (KRaft or ZooKeeper) that is needed to change a setting."""

    @property
    def journal(self) -> Journal:
        """The journal that the controller writes to."""

    @property
    def registry(self) -> TopicRegistry:
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
    registry, journal = controller.registry, controller.journal
    old, new = controller.settings.set(name, value, broker=broker, topic=topic)
    subject = topic if topic is not None else "" if broker is None else broker_address(broker)
    journal.cause = journal.emit(events.SettingChanged.kind, name, subject, render_value(old), render_value(new))
    if topic is not None:
        registry.topics[topic].config[name] = render_value(new)
    controller.config_changed(name, render_value(new), topic, broker)
    if name == "unclean.leader.election.enable":
        registry.account.electable_brokers_changed()
