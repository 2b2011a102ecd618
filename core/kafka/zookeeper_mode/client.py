"""A broker's ZooKeeper client (Kafka: `ZooKeeperClient`). The client has one session, and sends one request at a time, in order.

While the link to ZooKeeper is cut, requests wait. The client learns only from ZooKeeper that its session has expired. When ZooKeeper
reports the expiration of the session, the client drops all requests in the session.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Protocol

from core.kafka.broker.context import BrokerContext
from core.kafka.ids import ZOOKEEPER
from core.kafka.zookeeper_server.protocol import (
    OK,
    CloseRequest,
    CloseResponse,
    ConnectRequest,
    ConnectResponse,
    Op,
    Result,
    SessionRequest,
    SessionResponse,
    WatchEvent,
)
from core.sim.units import US_PER_MS

Callback = Callable[..., None]
"""A function that is called with the results, followed by the additional arguments that were passed to `submit`."""

PINGS_PER_TIMEOUT: int = 3
"""The number of pings within one session timeout, as in ZooKeeper's own client."""


class SessionListener(Protocol):
    """The interface that receives a client's session events (Kafka: `StateChangeHandler`, `ZNodeChangeHandler`)."""

    def session_established(self) -> None:
        """Handle an established session."""

    def session_expired(self) -> None:
        """Handle ZooKeeper's report that the session has expired."""

    def session_closed(self) -> None:
        """Handle the end of a session that the client closed."""

    def watch_fired(self, path: str) -> None:
        """Handle a change to a watched znode."""


class ZooKeeperClient:
    """A broker's ZooKeeper client, which has at most one session at a time.

    Attributes:
        session: the session's number; 0 if there is none.
        in_flight: (xid, callback, arguments for the callback) of the request that is waiting for its response.
    """

    def __init__(self, broker: BrokerContext, watcher: SessionListener) -> None:
        self._broker = broker
        self._watcher = watcher
        self.session = 0
        self._xid = 0
        self.in_flight: tuple[int, Callback, tuple[object, ...]] | None = None
        self._queue: deque[tuple[tuple[Op, ...], Callback, tuple[object, ...]]] = deque()
        self._causes: deque[int] = deque()
        """The events because of which each request in the queue is sent."""
        broker.node.handlers.update(
            {
                ConnectResponse: self._connected,
                SessionResponse: self._answered,
                WatchEvent: self._watched,
                CloseResponse: self._closed,
            }
        )
        broker.node.timers.update({"zookeeper-ping": self._ping})

    @property
    def timeout(self) -> int:
        """The value of zookeeper.session.timeout.ms in µs, measured by the broker's own clock."""
        return self._broker.settings.us("zookeeper.session.timeout.ms", broker=self._broker.id)

    def connect(self) -> None:
        """Open a new session."""
        nominal = self._broker.settings.integer("zookeeper.session.timeout.ms", broker=self._broker.id) * US_PER_MS
        self._broker.node.send(ZOOKEEPER, ConnectRequest(nominal))

    def adopt(self, session: int) -> None:
        """Start to use a session that was just opened or that exists at the start of the simulation, and start to send its pings."""
        self.session = session
        self._arm_ping()

    def close(self) -> None:
        """Close the session."""
        self._broker.node.send(ZOOKEEPER, CloseRequest(self.session))

    def reset(self) -> None:
        """Drop the session and all requests, because the process or the session has ended."""
        self.session = 0
        self.in_flight = None
        self._queue.clear()
        self._causes.clear()

    def submit(self, ops: tuple[Op, ...], callback: Callback, *about: object) -> None:
        """Send operations, and call `callback(results, *about)` when the response arrives. If the session expires before the response
        arrives, the callback is not called."""
        self._queue.append((ops, callback, about))
        self._causes.append(self._broker.journal.cause)
        self._send_next()

    def _send_next(self) -> None:
        if self.session and self.in_flight is None and self._queue:
            ops, callback, about = self._queue.popleft()
            self._xid += 1
            self.in_flight = (self._xid, callback, about)
            journal = self._broker.journal
            before, journal.cause = journal.cause, self._causes.popleft()
            self._broker.node.send(ZOOKEEPER, SessionRequest(self.session, self._xid, ops))
            journal.cause = before

    def _arm_ping(self) -> None:
        if not self._broker.by_hand:
            self._broker.node.timer(self.timeout // PINGS_PER_TIMEOUT, "zookeeper-ping", self.session)

    def _ping(self, session: object) -> None:
        if session == self.session:
            self._broker.node.send(ZOOKEEPER, SessionRequest(self.session, 0, ()))
            self._arm_ping()

    def _connected(self, response: ConnectResponse, _: str) -> None:
        if not self.session:
            self.adopt(response.session)
            self._watcher.session_established()
            self._send_next()

    def _answered(self, response: SessionResponse, _: str) -> None:
        if response.session != self.session:
            return
        if response.error != OK:
            self.reset()
            self._watcher.session_expired()
            return
        if self.in_flight is None or response.xid != self.in_flight[0]:
            return
        _xid, callback, about = self.in_flight
        self.in_flight = None
        results: tuple[Result, ...] = response.results
        callback(results, *about)
        self._send_next()

    def _watched(self, event: WatchEvent, _: str) -> None:
        if event.session == self.session:
            self._watcher.watch_fired(event.path)

    def _closed(self, _response: CloseResponse, _: str) -> None:
        self._watcher.session_closed()
