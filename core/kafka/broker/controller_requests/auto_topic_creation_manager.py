"""The creation of internal topics when a client first needs them (Kafka: `AutoTopicCreationManager`).

A broker that is asked for a coordinator, and does not know the coordinator's topic, asks the controller to create this topic. It does not
wait for the response: the client repeats its request until the topic has leaders.
"""

from __future__ import annotations

from typing import Final, Protocol

from core.kafka.broker.context import BrokerContext
from core.kafka.broker.controller_requests.controller_channel import ControllerChannel
from core.kafka.messages import CreateTopicsRequest, CreateTopicsResponse
from core.kafka.settings.settings import Settings
from core.kafka.topic_spec import TopicSpec
from core.kafka.transaction.transaction_log import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC

REPLICATION_FACTORS: Final = {
    GROUP_METADATA_TOPIC: "offsets.topic.replication.factor",
    TRANSACTION_STATE_TOPIC: "transaction.state.log.replication.factor",
}
"""For each internal topic, the setting that determines its replication factor."""


def creatable_topic(name: str, settings: Settings, broker: int | None, alive: int) -> TopicSpec:
    """Return an internal topic as a broker requests it (`#creatableTopic`).

    Args:
        name: the name of the internal topic.
        settings: the settings that determine the topic.
        broker: the broker whose settings apply; None for the settings of the cluster.
        alive: the number of brokers that are alive. Before 0.11, `__consumer_offsets` gets fewer replicas if there are too few.
    """
    factor = settings.integer(REPLICATION_FACTORS[name], broker=broker)
    if name == GROUP_METADATA_TOPIC:
        if settings.release.shrinks_offsets_topic:
            factor = min(factor, alive) or factor
        partitions = settings.integer("offsets.topic.num.partitions", broker=broker)
        # `GroupCoordinator#groupMetadataTopicConfigs`
        return TopicSpec(
            name, partitions, factor,
            config=(("compression.type", "producer"), ("cleanup.policy", "compact"), ("segment.bytes", "104857600")),
        )  # fmt: skip
    partitions = settings.integer("transaction.state.log.num.partitions", broker=broker)
    # `TransactionStateManager#transactionTopicConfigs`
    return TopicSpec(
        name, partitions, factor,
        config=(
            ("unclean.leader.election.enable", "false"),
            ("compression.type", "uncompressed"),
            ("cleanup.policy", "compact"),
            ("min.insync.replicas", str(settings.integer("transaction.state.log.min.isr", broker=broker))),
            ("segment.bytes", "104857600"),
        ),
    )  # fmt: skip


class TopicCreation(Protocol):
    """The interface through which a broker creates internal topics."""

    def create_topic(self, name: str) -> None:
        """Request the creation of an internal topic, unless such a request is in flight."""

    def reset(self) -> None:
        """Forget the requests in flight, because the process has ended or the connection broke. The next lookup sends another request."""


class AutoTopicCreationManager:
    """The internal topics that one broker has asked the controller to create.

    Attributes:
        in_flight: the topics whose creation this broker has requested, each with the number of the request.
    """

    __slots__ = ("_broker", "_channel", "_requests", "in_flight")

    _broker: Final[BrokerContext]
    _channel: Final[ControllerChannel]
    in_flight: Final[dict[str, int]]

    def __init__(self, broker: BrokerContext, channel: ControllerChannel) -> None:
        self._broker = broker
        self._channel = channel
        self._requests = 0
        self.in_flight = {}
        broker.node.handlers[CreateTopicsResponse] = self._answered
        broker.node.timers["topic-creation-timeout"] = self._timed_out

    def create_topic(self, name: str) -> None:
        """Send a CreateTopics request to the controller, unless one is in flight (`#createTopics`, `#sendCreateTopicRequest`)."""
        if name in self.in_flight:
            return
        broker = self._broker
        self._requests += 1
        self.in_flight[name] = self._requests
        alive = len(broker.metadata_cache.alive_brokers())
        self._channel.send(CreateTopicsRequest(creatable_topic(name, broker.settings, broker.id, alive)))
        broker.node.timer(broker.config.request_timeout, "topic-creation-timeout", (name, self._requests))

    def reset(self) -> None:
        """Forget the requests in flight, because the process has ended or the connection broke. The next lookup sends another request."""
        self.in_flight.clear()

    def _answered(self, response: CreateTopicsResponse, _: str) -> None:
        self.in_flight.pop(response.topic, None)

    def _timed_out(self, about: object) -> None:
        assert isinstance(about, tuple)
        name, number = about
        if self.in_flight.get(name) == number:
            del self.in_flight[name]
