"""The base classes of a ZooKeeper-mode controller and its components."""

from __future__ import annotations

from core.kafka import events
from core.kafka.broker.context import BrokerContext
from core.kafka.zookeeper_mode.client import ZooKeeperClient
from core.kafka.zookeeper_mode.controller.controller_channel_manager import ControllerChannelManager
from core.kafka.zookeeper_mode.controller.controller_context import ControllerContext
from core.kafka.zookeeper_mode.controller.event_manager import ControllerEventManager
from core.kafka.zookeeper_mode.controller.request_sender import ControllerRequestSender


class ControllerBase:
    """The base class of the controller. This class does not import the controller's components, so that each component can import this
    class.

    Attributes:
        broker: the broker that hosts the controller.
        journal: the event journal.
        queue: the event queue.
        context: what the controller knows about the cluster.
        channels: the connections to the brokers.
        requests: the sender of requests to the brokers.
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
        """Whether this broker considers itself the controller."""
        return self.queue.active

    def resign(self, reason: str) -> None:
        """Resign as controller (`KafkaController#onControllerResignation`)."""
        if self.active:
            self.journal.emit(events.ControllerResigned.kind, self.broker.node.address, self.context.epoch, reason, 0)
        self.reset()

    def reset(self) -> None:
        """Drop the events, the queued requests, and what the controller knows about the cluster."""
        self.queue.clear()
        self.channels.clear()
        self.context.clear()


class ControllerComponent:
    """The base class of the controller's components. This class gives the components access to the controller's queue, context, and request
    sender."""

    def __init__(self, controller: ControllerBase) -> None:
        self.controller = controller
        self.broker = controller.broker
        self.journal = controller.journal
        self.queue = controller.queue
        self.context = controller.context
        self.requests = controller.requests
