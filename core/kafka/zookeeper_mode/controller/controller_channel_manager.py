"""The connections from a ZooKeeper-mode controller to the brokers (Kafka: `ControllerChannelManager`, `RequestSendThread`).

Only one request to each broker is in flight at a time. The controller repeats each request until the broker responds, and only then sends
the next request. If a broker's znode is deleted, the controller drops the broker's queue. When the controller resigns, it drops all queues.
"""

from __future__ import annotations

from collections import deque
from typing import Final

import attrs

from core.kafka.broker.context import BrokerContext
from core.kafka.ids import broker_address
from core.kafka.zookeeper_mode.controller.requests import (
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from core.sim.units import SECOND, US_PER_MS

RETRY_BACKOFF: Final = 100 * US_PER_MS
"""The delay, in µs, after which a request is sent again if its connection broke (`RequestSendThread#doWork`)."""

SOCKET_TIMEOUT: Final = 30 * SECOND
"""The time to wait for a broker's response, in µs (controller.socket.timeout.ms)."""

ControlRequest = LeaderAndIsrRequest | StopReplicaRequest | UpdateMetadataRequest


@attrs.define(slots=True, eq=False)
class Channel:
    """The requests for one broker.

    Attributes:
        queue: the requests, each with the event that caused it. If `correlation` is not 0, the first request in the queue is in flight.
        correlation: the correlation ID of the request in flight; 0 if there is none.
    """

    queue: deque[tuple[ControlRequest, int]] = attrs.field(factory=deque)
    correlation: int = 0


class ControllerChannelManager:
    """The connections from one broker's controller to the brokers."""

    def __init__(self, broker: BrokerContext) -> None:
        self._broker = broker
        self._channels: dict[int, Channel] = {}
        self._correlation = 0
        broker.node.timers.update({"controller-retry": self._resend, "controller-socket-timeout": self._timed_out})

    def send(self, to: int, request: ControlRequest) -> None:
        """Queue a request for a broker."""
        channel = self._channels.get(to)
        if channel is None:
            channel = self._channels[to] = Channel()
        channel.queue.append((request, self._broker.journal.cause))
        if len(channel.queue) == 1:
            self._send_first(to, channel)

    def remove(self, broker: int) -> None:
        """Drop the requests for a broker that is gone (`#removeBroker`)."""
        self._channels.pop(broker, None)

    def clear(self) -> None:
        """Drop all requests, because the controller has resigned (`#shutdown`)."""
        self._channels.clear()

    def _send_first(self, to: int, channel: Channel) -> None:
        broker = self._broker
        self._correlation += 1
        channel.correlation = self._correlation
        request, cause = channel.queue[0]
        journal = broker.journal
        before, journal.cause = journal.cause, cause
        broker.node.send(broker_address(to), request._replace(correlation=self._correlation))
        if not broker.by_hand:
            broker.node.timer(SOCKET_TIMEOUT, "controller-socket-timeout", (to, self._correlation))
        journal.cause = before

    def _under_way(self, to: int, correlation: int) -> Channel | None:
        channel = self._channels.get(to)
        return channel if channel is not None and channel.correlation == correlation else None

    def answered(self, sender: str, correlation: int) -> bool:
        """Complete the request in flight to a broker, and send the next one. Return False if the response is for a different request."""
        to = int(sender[1:])
        channel = self._under_way(to, correlation)
        if channel is None or not correlation:
            return False
        channel.queue.popleft()
        channel.correlation = 0
        if channel.queue:
            self._send_first(to, channel)
        return True

    def disconnected(self, node: str) -> None:
        """Send the request in flight again after `RETRY_BACKOFF`, because the broker's process has ended or refuses connections."""
        to = int(node[1:]) if node[:1] == "b" and node[1:].isdecimal() else -1
        channel = self._channels.get(to)
        if channel is None or not channel.correlation:
            return
        if self._broker.by_hand:
            self.remove(to)
        else:
            self._broker.node.timer(RETRY_BACKOFF, "controller-retry", (to, channel.correlation))

    def _resend(self, about: object) -> None:
        assert isinstance(about, tuple)
        to, correlation = about
        channel = self._under_way(to, correlation)
        if channel is not None:
            self._send_first(to, channel)

    def _timed_out(self, about: object) -> None:
        self._resend(about)
