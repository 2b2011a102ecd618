"""The ways from a ZooKeeper controller to the brokers (Kafka: `ControllerChannelManager`, `RequestSendThread`).

To each broker one request is under way at a time; it is sent again until it is answered, and only then comes the next. What
was queued for a broker goes when its znode does, and everything when the controllership is over.
"""

from __future__ import annotations

from collections import deque
from typing import Final

import attrs

from core.kafka.broker.context import BrokerContext
from core.kafka.ids import broker_address
from core.kafka.zookeeper_mode.controller.requests import (
    ControlResponse,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from core.sim.units import SECOND, US_PER_MS

RETRY_BACKOFF: Final = 100 * US_PER_MS
"""µs before a request is sent again after its connection broke (`RequestSendThread#doWork`)."""

SOCKET_TIMEOUT: Final = 30 * SECOND
"""controller.socket.timeout.ms in µs."""

ControlRequest = LeaderAndIsrRequest | StopReplicaRequest | UpdateMetadataRequest


@attrs.define(slots=True, eq=False)
class _Channel:
    """What waits for one broker, each with the event behind it; the first is under way if `correlation` is not 0."""

    queue: deque[tuple[ControlRequest, int]] = attrs.field(factory=deque)
    correlation: int = 0


class ControllerChannelManager:
    """The channels of one broker's controller."""

    def __init__(self, broker: BrokerContext) -> None:
        self._broker = broker
        self._channels: dict[int, _Channel] = {}
        self._correlation = 0
        broker.handlers[ControlResponse] = self._answered
        broker.timers.update({"controller-retry": self._resend, "controller-socket-timeout": self._timed_out})

    def send(self, to: int, request: ControlRequest) -> None:
        """Queue a request for a broker."""
        channel = self._channels.get(to)
        if channel is None:
            channel = self._channels[to] = _Channel()
        channel.queue.append((request, self._broker.journal.cause))
        if len(channel.queue) == 1:
            self._send_first(to, channel)

    def remove(self, broker: int) -> None:
        """A broker is gone: what waits for it goes (`#removeBroker`)."""
        self._channels.pop(broker, None)

    def clear(self) -> None:
        """The controllership is over (`#shutdown`)."""
        self._channels.clear()

    def _send_first(self, to: int, channel: _Channel) -> None:
        broker = self._broker
        self._correlation += 1
        channel.correlation = self._correlation
        request, cause = channel.queue[0]
        journal = broker.journal
        before, journal.cause = journal.cause, cause
        broker.send(broker_address(to), request._replace(correlation=self._correlation))
        if not broker.by_hand:
            broker.timer(SOCKET_TIMEOUT, "controller-socket-timeout", (to, self._correlation))
        journal.cause = before

    def _under_way(self, to: int, correlation: int) -> _Channel | None:
        channel = self._channels.get(to)
        return channel if channel is not None and channel.correlation == correlation else None

    def answered(self, sender: str, correlation: int) -> bool:
        """The request under way to a broker has its answer: the next goes out. False if it is another's."""
        to = int(sender[1:])
        channel = self._under_way(to, correlation)
        if channel is None or not correlation:
            return False
        channel.queue.popleft()
        channel.correlation = 0
        if channel.queue:
            self._send_first(to, channel)
        return True

    def _answered(self, response: ControlResponse | LeaderAndIsrResponse, sender: str) -> None:
        self.answered(sender, response.correlation)

    def disconnected(self, node: str) -> None:
        """A broker's process is gone or refuses connections: try again in a moment, for as long as its znode is there."""
        to = int(node[1:]) if node[:1] == "b" and node[1:].isdecimal() else -1
        channel = self._channels.get(to)
        if channel is None or not channel.correlation:
            return
        if self._broker.by_hand:
            self.remove(to)
        else:
            self._broker.timer(RETRY_BACKOFF, "controller-retry", (to, channel.correlation))

    def _resend(self, about: object) -> None:
        assert isinstance(about, tuple)
        to, correlation = about
        channel = self._under_way(to, correlation)
        if channel is not None:
            self._send_first(to, channel)

    def _timed_out(self, about: object) -> None:
        self._resend(about)
