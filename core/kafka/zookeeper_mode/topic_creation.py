"""The creation of internal topics in ZooKeeper mode: the broker that is asked for a coordinator places the replicas itself, and writes the
topic to ZooKeeper (Kafka: `KafkaApis#createTopic`; since 2.8, `AutoTopicCreationManager#createTopicsInZk`)."""

from __future__ import annotations

from typing import Final

from core.kafka import errors, events
from core.kafka.broker.context import BrokerContext
from core.kafka.broker.controller_requests.auto_topic_creation_manager import creatable_topic
from core.kafka.controller.placement import UsableBroker, assign_replicas_to_brokers
from core.kafka.settings.registry import SETTINGS
from core.kafka.zookeeper_mode.client import ZooKeeperClient
from core.kafka.zookeeper_server import paths
from core.kafka.zookeeper_server.paths import ConfigChange, ReplicaAssignment, topic_config_path, topic_path
from core.kafka.zookeeper_server.protocol import OK, Create, GetData, Result, SetData
from core.sim.random_stream import RandomStream


class ZooKeeperTopicCreation:
    """The internal topics that one broker writes to ZooKeeper.

    Attributes:
        in_flight: the topics that the broker is writing (ordered set).
        refused: for each topic that could not be placed, the error code of the last refusal.
    """

    __slots__ = ("_broker", "_placement", "_zk", "in_flight", "refused")

    _broker: Final[BrokerContext]
    _zk: Final[ZooKeeperClient]
    _placement: Final[RandomStream]
    in_flight: Final[dict[str, None]]
    refused: Final[dict[str, str]]

    def __init__(self, broker: BrokerContext, zk: ZooKeeperClient, seed: int) -> None:
        self._broker = broker
        self._zk = zk
        self._placement = RandomStream(f"{seed}:placement:{broker.node.address}")
        self.in_flight = {}
        self.refused = {}

    def create_topic(self, name: str) -> None:
        """Place the replicas of an internal topic, and write the topic to ZooKeeper, unless the topic exists or is being written already.

        A broker that has not heard from the controller knows no live brokers, and does nothing. If there are too few live brokers, emit an
        event. The broker tries again at the next lookup.
        """
        if name not in self.in_flight and self._broker.metadata_cache.alive_brokers():
            self.in_flight[name] = None
            self._zk.submit((GetData(topic_path(name)),), self._topic_read, name)

    def _topic_read(self, results: tuple[Result, ...], name: str) -> None:
        """Write the topic if it does not exist (`AdminZkClient#createTopicWithAssignment`)."""
        if results[0].error == OK:
            del self.in_flight[name]
            return
        broker = self._broker
        alive = broker.metadata_cache.alive_brokers()
        spec = creatable_topic(name, broker.settings, broker.id, len(alive))
        usable = [UsableBroker(each, broker.metadata_cache.racks.get(each)) for each in sorted(alive)]
        try:
            placed = assign_replicas_to_brokers(usable, spec.partitions, spec.replication_factor, self._placement)
        except errors.KafkaError as refusal:
            if self.refused.get(name) != refusal.code:
                self.refused[name] = refusal.code
                broker.journal.emit(events.TopicRefused.kind, name, refusal.code, refusal.message)
            del self.in_flight[name]
            return
        self.refused.pop(name, None)
        changes = [
            Create(f"{paths.CONFIG_CHANGES}/config_change_", ConfigChange(setting, value, name, None), sequential=True)
            for setting, value in spec.config
            if setting in SETTINGS
        ]
        config = topic_config_path(name)
        writes = (SetData(config, spec.config), Create(config, spec.config))  # one of them succeeds (`#setOrCreateEntityConfigs`)
        self._zk.submit((*writes, *changes, Create(topic_path(name), tuple(map(ReplicaAssignment, placed)))), self._written, name)

    def reset(self) -> None:
        """Forget the writes in flight, because the process or the session has ended."""
        self.in_flight.clear()

    def _written(self, _results: tuple[Result, ...], name: str) -> None:
        """Continue without checking the result, because another broker might have created the topic first."""
        del self.in_flight[name]
