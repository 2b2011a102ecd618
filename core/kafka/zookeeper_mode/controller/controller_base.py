"""What all parts of a ZooKeeper controller work with."""

from __future__ import annotations

from core.kafka import events
from core.kafka.broker.context import BrokerContext
from core.kafka.zookeeper_mode.client import ZooKeeperClient
from core.kafka.zookeeper_mode.controller.controller_channel_manager import ControllerChannelManager
from core.kafka.zookeeper_mode.controller.controller_context import ControllerContext
from core.kafka.zookeeper_mode.controller.event_manager import ControllerEventManager
from core.kafka.zookeeper_mode.controller.request_sender import ControllerRequestSender


class ControllerBase:
    """Base of the controller; it knows none of its parts, so that each part can know it.

    Attributes:
        queue: its events, one after the other.
        context: what it knows.
        channels, requests: how it reaches the brokers, and what it tells them.
    """

    def __init__(self, broker: BrokerContext, zk: ZooKeeperClient) -> None:
        self.broker = broker
        self.journal = broker.journal
        self.queue = ControllerEventManager(broker.journal, zk)
        self.context = ControllerContext()
        self.channels = ControllerChannelManager(broker)
        self.requests = ControllerRequestSender(broker, self.context, self.channels)

    @property
    def active(self) -> bool:
        """Whether this broker believes to be the controller."""
        return self.queue.active

    def resign(self, reason: str) -> None:
        """Be controller no more (`KafkaController#onControllerResignation`)."""
        if self.active:
            self.journal.emit(events.ControllerResigned.kind, self.broker.address, self.context.epoch, reason, 0)
        self.reset()

    def reset(self) -> None:
        """Forget everything a controller knows."""
        self.queue.clear()
        self.channels.clear()
        self.context.clear()


class ControllerComponent:
    """A part of what a controller does: its queue of events, what it knows, and how it tells brokers."""

    def __init__(self, controller: ControllerBase) -> None:
        self.controller = controller
        self.broker = controller.broker
        self.journal = controller.journal
        self.queue = controller.queue
        self.context = controller.context
        self.requests = controller.requests
