"""An administrator's command on a group: `kafka-consumer-groups` with --reset-offsets, --delete-offsets, or --delete (`KafkaAdminClient`)."""

from __future__ import annotations

from typing import Final

from core.kafka import errors, events
from core.kafka.clients.client import Client
from core.kafka.clients.client_context import ClientContext
from core.kafka.clients.group_member.coordinator_calls import COORDINATOR_ERRORS, CoordinatorCalls
from core.kafka.group_coordinator.group_requests import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
)
from core.kafka.transaction.transaction_log import GROUP_METADATA_TOPIC
from core.kafka.transaction.transaction_messages import FindCoordinatorResponse
from core.sim.units import SECOND

TIMEOUT: Final = 30 * SECOND
"""The time after which the tool gives up (--timeout), in µs. Kafka's tools before 3.0 wait only 5 s."""

Request = OffsetCommitRequest | OffsetDeleteRequest | DeleteGroupsRequest

OPERATION: Final[dict[type, str]] = {
    OffsetCommitRequest: "reset-offsets",
    OffsetDeleteRequest: "delete-offsets",
    DeleteGroupsRequest: "delete-group",
}
"""The name of the operation for each request type."""


class GroupCommand(Client):
    """The client that runs one command.

    Attributes:
        request: the request that the command sends. Each attempt gets its own correlation ID.
        calls: the object that sends the command's requests to the group coordinator.
        deadline: the time when the command gives up, in µs.
        done: whether the command has ended.
        error: the error that ended the command; empty if the command succeeded.
    """

    __slots__ = ("calls", "deadline", "done", "error", "request")

    request: Final[Request]
    calls: Final[CoordinatorCalls]

    def __init__(self, name: str, request: Request, context: ClientContext) -> None:
        super().__init__(name, GROUP_METADATA_TOPIC, context)
        self.request = request
        self.calls = CoordinatorCalls(self, request.group)
        self.deadline = 0
        self.done = False
        self.error = ""
        self.handlers.update(
            {
                FindCoordinatorResponse: self._found,
                OffsetCommitResponse: self._answered,
                OffsetDeleteResponse: self._answered,
                DeleteGroupsResponse: self._answered,
            }
        )
        self.timers.update({"find-coordinator": self._find_again, "call-timeout": self.calls.timed_out, "try-again": self._again})

    def start(self) -> None:
        """Look up the coordinator, and send the request."""
        self.deadline = self.journal.now + TIMEOUT
        self.calls.find()

    def _find_again(self, _: object) -> None:
        if not self._is_late():
            self.calls.search_again()

    def _found(self, response: FindCoordinatorResponse, _: str) -> None:
        if self.calls.found(response):
            correlation = self.calls.register(self.calls.coordinator, self._failed, None)
            self.send(self.calls.coordinator, self.request._replace(correlation=correlation))

    def _failed(self, _: object, error: str) -> None:
        """Look up the coordinator again and retry, unless the deadline has passed."""
        self.calls.coordinator_failed(error)
        if not self._is_late():
            self.timer(self.config.retry_backoff, "try-again")

    def _again(self, _: object) -> None:
        self.calls.find()

    def _is_late(self) -> bool:
        late = self.journal.now >= self.deadline
        if late:
            self._end("TimeoutException")
        return late

    def _answered(self, response: OffsetCommitResponse | OffsetDeleteResponse | DeleteGroupsResponse, _: str) -> None:
        if self.calls.take(response.correlation) is None:
            return
        error = response.error
        if error in COORDINATOR_ERRORS or error == errors.COORDINATOR_LOAD_IN_PROGRESS:
            self._failed(None, error)
            return
        if isinstance(response, OffsetDeleteResponse) and error == errors.NONE:
            error = next((each for _, each in response.partitions if each != errors.NONE), errors.NONE)
        self._end("" if error == errors.NONE else error)

    def _end(self, error: str) -> None:
        if not self.done:
            self.done, self.error = True, error
            self.journal.emit(events.GroupAdministered.kind, self.request.group, OPERATION[type(self.request)], error)

    def metadata_updated(self) -> None:
        """Do nothing, because the command needs no metadata."""

    def connection_lost(self, node: str) -> None:
        """Fail the requests to a broker."""
        self.calls.disconnected(node)
