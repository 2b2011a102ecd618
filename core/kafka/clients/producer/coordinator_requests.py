"""A transactional producer's queue of requests to its coordinators. One request is in flight at a time (Kafka: `Sender`)."""

from __future__ import annotations

from typing import Final

from core.kafka.clients.client import POLL_DELAY, Client
from core.kafka.clients.producer.transactional_requests import FindCoordinator, RequestContext, TxnRequest


class CoordinatorRequests:
    """The requests from one transaction manager.

    Attributes:
        client: the producer.
        manager: the transaction manager.
        coordinators: the coordinators, by (key, whether the key is a group).
        waiting: the requests to send, in order of priority.
        in_flight: the request that is in flight or is waiting for its backoff to end; None if there is none.
        correlation: the correlation ID of the request in flight; 0 during a backoff.
        node: the address of the broker to which the request in flight was sent.
    """

    __slots__ = ("client", "coordinators", "correlation", "in_flight", "manager", "node", "waiting")

    client: Final[Client]
    manager: Final[RequestContext]
    coordinators: Final[dict[tuple[str, bool], str]]

    def __init__(self, client: Client, manager: RequestContext) -> None:
        self.client = client
        self.manager = manager
        self.coordinators = {}
        self.waiting: tuple[TxnRequest, ...] = ()
        self.in_flight: TxnRequest | None = None
        self.correlation = 0
        self.node = ""

    def enqueue(self, request: TxnRequest) -> None:
        """Queue a request behind the other requests that have the same priority."""
        before = [each for each in self.waiting if each.priority <= request.priority]
        self.waiting = (*before, request, *self.waiting[len(before) :])

    def retry(self, request: TxnRequest, backoff: int | None = None) -> None:
        """Send a request again after a backoff in µs, which is retry.backoff.ms by default."""
        retry_backoff = self.client.config.retry_backoff
        request.backoff = retry_backoff if backoff is None else min(backoff, retry_backoff)
        self.enqueue(request)

    def look_up_coordinator(self, key: str, group: bool) -> None:
        """Forget a coordinator, and look it up again (`TransactionManager#lookupCoordinator`)."""
        self.coordinators.pop((key, group), None)
        if not any(isinstance(each, FindCoordinator) and (each.key, bool(each.group)) == (key, group) for each in self.waiting):
            self.enqueue(FindCoordinator(key, key if group else ""))

    def send(self, request: TxnRequest) -> None:
        """Send a request now or after its backoff. If the request's coordinator is unknown, look up the coordinator first."""
        key, group = request.group or self.manager.transactional_id, bool(request.group)
        if not request.needs_coordinator:
            node = self.client.least_loaded_node()
        elif (key, group) not in self.coordinators:
            self.look_up_coordinator(key, group)
            self.enqueue(request)
            return
        else:
            node = self.coordinators[key, group]
        self.in_flight, self.node, self.correlation = request, node, 0
        wait = max(request.backoff, self.client.reconnect_time(node) - self.client.journal.now)
        if wait > 0:
            self.client.timer(wait, "transaction-retry")
        else:
            self.send_now()

    def send_now(self) -> None:
        """Send the request whose backoff has ended."""
        client, request = self.client, self.in_flight
        assert request is not None, "a request waits"
        self.correlation = client.next_correlation()
        client.send(self.node, request.message(self.correlation, self.manager))
        client.timer(client.config.request_timeout + POLL_DELAY, "transaction-timeout", self.correlation)

    def take_answered(self, correlation: int) -> TxnRequest | None:
        """Return the request with the given correlation ID, and record that it is no longer in flight. Return None if no such request is in
        flight."""
        request = self.in_flight
        if request is None or correlation != self.correlation:
            return None
        self.in_flight, self.correlation = None, 0
        return request

    def disconnected(self, node: str) -> None:
        """Look up the coordinator again and repeat the request, because the connection to the coordinator broke
        (`TxnRequestHandler#onComplete`)."""
        request = self.in_flight
        if request is None or not self.correlation or self.node != node:
            return
        self.in_flight, self.correlation = None, 0
        if request.needs_coordinator:
            self.look_up_coordinator(request.group or self.manager.transactional_id, bool(request.group))
        self.retry(request)
