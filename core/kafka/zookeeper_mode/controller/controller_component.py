"""What the components of a ZooKeeper-mode controller share."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from core.kafka.broker.context import BrokerContext
from core.kafka.zookeeper_mode.controller.controller_channel_manager import ControllerChannelManager
from core.kafka.zookeeper_mode.controller.controller_context import ControllerContext
from core.kafka.zookeeper_mode.controller.event_manager import ControllerEventManager
from core.kafka.zookeeper_mode.controller.request_sender import ControllerRequestSender


class SharedParts(NamedTuple):
    """The parts of a controller that its components use.

    Attributes:
        broker: the broker that hosts the controller.
        queue: the event queue.
        context: what the controller knows about the cluster.
        channels: the connections to the brokers.
        requests: the sender of requests to the brokers.
        resign: the function that makes the controller resign, for a reason.
    """

    broker: BrokerContext
    queue: ControllerEventManager
    context: ControllerContext
    channels: ControllerChannelManager
    requests: ControllerRequestSender
    resign: Callable[[str], None]


class ControllerComponent:
    """A component of a controller. Its attributes are those of `SharedParts`, and the event journal."""

    def __init__(self, shared: SharedParts) -> None:
        self.broker, self.queue, self.context, self.channels, self.requests, self.resign = shared
        self.journal = shared.broker.journal
