"""Sends a leader's ISR changes to the controller (Kafka: `DefaultAlterPartitionManager`).

Each partition has at most one pending change, and each broker has at most one request in flight. Further changes wait for the next request.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from core.kafka import errors
from core.kafka.broker.context import BrokerContext
from core.kafka.broker.controller_requests.controller_channel import ControllerChannel
from core.kafka.broker.partition import Partition
from core.kafka.ids import TopicPartition
from core.kafka.messages import AlterPartitionItem, AlterPartitionRequest, AlterPartitionResponse

RETRY: Final = 50_000
"""The delay before the broker resends a request that failed as a whole, in µs."""


class AlterPartitionManager:
    """The pending ISR changes of one broker.

    Attributes:
        timed_out: called when the controller has not responded in time.
        unsent: pending changes by partition, in order of submission.
        in_flight: the correlation ID of the request in flight; 0 if there is none.
    """

    __slots__ = ("_broker", "_channel", "_partitions", "in_flight", "timed_out", "unsent")

    _broker: Final[BrokerContext]
    _channel: Final[ControllerChannel]
    _partitions: Final[dict[TopicPartition, Partition]]
    timed_out: Final[Callable[[], None]]
    unsent: Final[dict[TopicPartition, AlterPartitionItem]]

    def __init__(
        self, broker: BrokerContext, channel: ControllerChannel, partitions: dict[TopicPartition, Partition], timed_out: Callable[[], None]
    ) -> None:
        self._broker = broker
        self.timed_out = timed_out
        self._channel = channel
        self._partitions = partitions
        self.unsent = {}
        self.in_flight = 0
        broker.node.handlers[AlterPartitionResponse] = self._handle_response
        broker.node.timers["alter-partition-retry"] = self._retry
        broker.node.timers["alter-partition-timeout"] = self._timed_out

    def submit(self, item: AlterPartitionItem) -> bool:
        """Submit an ISR change. Return False if the partition already has a pending change (OPERATION_NOT_ATTEMPTED)."""
        if item.tp in self.unsent:
            return False
        self.unsent[item.tp] = item
        self._maybe_send()
        return True

    def reset(self) -> None:
        """Forget all pending ISR changes, because the process has ended."""
        self.unsent.clear()
        self.in_flight = 0

    def disconnected(self) -> None:
        """Send the request again later, because the connection to the controller broke."""
        if self.in_flight:
            self.in_flight = 0
            self._broker.node.timer(RETRY, "alter-partition-retry")

    def _maybe_send(self) -> None:
        if self.in_flight or not self.unsent:
            return
        broker = self._broker
        self.in_flight = correlation = broker.next_correlation()
        items = tuple(self.unsent.values())
        self._channel.send(AlterPartitionRequest(correlation, broker.id, broker.broker_epoch, items))
        broker.node.timer(broker.config.request_timeout, "alter-partition-timeout", correlation)

    def _retry(self, _: object) -> None:
        self._maybe_send()

    def _timed_out(self, correlation: object) -> None:
        if correlation == self.in_flight:
            self.timed_out()

    def _handle_response(self, response: AlterPartitionResponse, _: str) -> None:
        if response.correlation != self.in_flight:
            return
        self.in_flight = 0
        broker = self._broker
        if response.error != errors.NONE:
            broker.node.timer(RETRY, "alter-partition-retry")
            return
        journal = broker.journal
        arrived = journal.cause
        for tp, error, registration, cause in response.items:
            item = self.unsent.pop(tp, None)
            partition = self._partitions.get(tp)
            if item is None or partition is None:
                continue
            journal.cause = cause or arrived
            if registration is not None and error == errors.NONE:
                partition.handle_alter_partition_update(item, registration)
            else:
                partition.handle_alter_partition_error(item, error)
        journal.cause = arrived
        self._maybe_send()
