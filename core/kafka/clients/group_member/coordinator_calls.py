"""A member's requests to its group's coordinator, and the lookup of this coordinator (Kafka: `AbstractCoordinator`,
`ConsumerNetworkClient`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from core.kafka import errors, events
from core.kafka.clients.client import POLL_DELAY
from core.kafka.clients.client_config import ClientConfig
from core.kafka.ids import NO_LEADER, broker_address, broker_at
from core.kafka.transaction.transaction_messages import FindCoordinatorRequest, FindCoordinatorResponse
from core.sim.journal import Journal

COORDINATOR_ERRORS: Final = frozenset({errors.NOT_COORDINATOR, errors.COORDINATOR_NOT_AVAILABLE})
"""The errors after which a member looks up the coordinator again."""

DISCONNECTED: Final = "the connection broke"
"""The error for a request that got no response in time or whose connection broke."""


class CallingClient(Protocol):
    """The part of the client's interface that the requests use."""

    @property
    def name(self) -> str:
        """The client.id."""

    @property
    def config(self) -> ClientConfig:
        """The settings."""

    @property
    def journal(self) -> Journal:
        """The journal."""

    def next_correlation(self) -> int:
        """A new correlation ID."""

    def send(self, node: str, message: object, /) -> None:
        """Send a message."""

    def timer(self, delay: int, name: str, about: object = None, /) -> None:
        """Set a timer that fires after a delay, given in µs."""

    def why_silent(self, peer: str, since: int, /) -> tuple[int, ...]:
        """The events because of which the client has received nothing from a peer since a virtual time."""

    def least_loaded_node(self) -> str:
        """The broker to which a coordinator lookup is sent."""

    def reconnect_time(self, node: str, /) -> int:
        """The time when the client tries to reconnect, in µs; 0 if the connection is not broken."""

    def abandon_connection(self, node: str, /) -> None:
        """Close the connection to a broker that has not responded in time."""


class Call(NamedTuple):
    """A request in flight: the broker, the function that handles a failure, and a detail that is passed to this function."""

    node: str
    failed: Callable[[object, str], None]
    detail: object


class CoordinatorCalls:
    """The requests from one member to its coordinator.

    Attributes:
        group: the group that the member belongs to.
        coordinator: the address of the coordinator; empty while it is unknown.
        searching: whether the member is looking for the coordinator.
        lost: the address of the coordinator whose loss was reported and that has not responded since; empty if there is none.
        in_flight: the requests in flight, by correlation ID.
    """

    __slots__ = ("client", "coordinator", "group", "in_flight", "lost", "searching")

    client: Final[CallingClient]
    group: Final[str]
    in_flight: Final[dict[int, Call]]

    def __init__(self, client: CallingClient, group: str) -> None:
        self.client = client
        self.group = group
        self.coordinator = ""
        self.searching = False
        self.lost = ""
        self.in_flight = {}

    # --- the search for the coordinator ----------------------------------------------------------------------------

    def find(self) -> None:
        """Look up the coordinator, unless the member is already looking for it (`AbstractCoordinator#lookupCoordinator`)."""
        if self.coordinator or self.searching:
            return
        self.searching = True
        node = self.client.least_loaded_node()
        if self.client.reconnect_time(node) > self.client.journal.now:
            self._search_failed(None, DISCONNECTED)
            return
        correlation = self.register(node, self._search_failed, None)
        self.client.send(node, FindCoordinatorRequest(correlation, self.group, True))

    def found(self, response: FindCoordinatorResponse) -> bool:
        """Handle the response to a lookup. Return whether the coordinator is now known.

        While a coordinator is down, brokers continue to return its address until the leader of its partition changes. Therefore, if the
        coordinator's loss was reported, the event `coordinator-found` is recorded only when the coordinator responds.
        """
        if self.take(response.correlation) is None:
            return False
        if response.error != errors.NONE:
            self._search_failed(None, response.error)
            return False
        self.searching = False
        self.coordinator = broker_address(response.broker)
        if self.coordinator != self.lost:
            self._report_found(response.broker)
        return True

    def _report_found(self, broker: int) -> None:
        self.lost = ""
        self.client.journal.emit(events.CoordinatorFound.kind, self.client.name, self.group, broker)

    def _search_failed(self, _: object, __: str) -> None:
        """Look up the coordinator again after retry.backoff.ms."""
        self.client.timer(self.client.config.retry_backoff, "find-coordinator")

    def search_again(self) -> None:
        """Look up the coordinator again, because the backoff has ended."""
        self.searching = False
        self.find()

    def coordinator_failed(self, reason: str) -> None:
        """Forget the coordinator (`AbstractCoordinator#markCoordinatorUnknown`)."""
        if not self.coordinator:
            return
        node, self.coordinator = self.coordinator, ""
        if node == self.lost:
            return
        self.lost = node
        broker, journal = broker_at(node), self.client.journal
        number = NO_LEADER if broker is None else broker
        journal.cause = journal.emit(events.CoordinatorLost.kind, self.client.name, self.group, number, reason)

    # --- requests --------------------------------------------------------------------------------------------------

    def register(self, node: str, failed: Callable[[object, str], None], detail: object, timeout: int = 0) -> int:
        """Return the correlation ID of a new request.

        Args:
            node: the broker.
            failed: called with the detail and the error if the connection breaks.
            detail: an argument for `failed` that identifies what was requested.
            timeout: the time after which the request fails, in µs; 0 for request.timeout.ms.
        """
        correlation = self.client.next_correlation()
        self.in_flight[correlation] = Call(node, failed, detail)
        self.client.timer((timeout or self.client.config.request_timeout) + POLL_DELAY, "call-timeout", correlation)
        return correlation

    def take(self, correlation: int) -> Call | None:
        """Remove and return a request that got its response; None if it is not in flight."""
        call = self.in_flight.pop(correlation, None)
        if call is not None and self.lost and call.node == self.lost == self.coordinator:
            broker = broker_at(self.lost)
            self._report_found(NO_LEADER if broker is None else broker)
        return call

    def timed_out(self, correlation: object) -> None:
        """Close the connection on which a request received no response in time."""
        assert isinstance(correlation, int)
        call = self.in_flight.get(correlation)
        if call is not None:
            self.client.abandon_connection(call.node)

    def disconnected(self, node: str) -> None:
        """Fail the requests to a broker."""
        for correlation in [each for each, call in self.in_flight.items() if call.node == node]:
            call = self.in_flight.pop(correlation)
            if self.coordinator == node:
                self.coordinator_failed(DISCONNECTED)
            call.failed(call.detail, DISCONNECTED)
        if self.coordinator == node:
            self.coordinator_failed(DISCONNECTED)
