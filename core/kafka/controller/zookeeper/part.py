"""What all parts of a ZooKeeper controller work with."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.kafka.controller.zookeeper.kafka_controller import KafkaController


class ControllerPart:
    """A part of what a controller does: its queue of events, what it knows, how it changes partitions and tells brokers."""

    def __init__(self, controller: KafkaController) -> None:
        self.controller = controller
        self.broker = controller.broker
        self.journal = controller.journal
        self.queue = controller.queue
        self.context = controller.context
        self.requests = controller.requests
        self.partitions = controller.partitions
