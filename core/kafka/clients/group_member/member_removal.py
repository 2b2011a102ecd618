"""An administrator's client that removes a static member from its group (Kafka: `KafkaAdminClient#removeMembersFromConsumerGroup`)."""

from __future__ import annotations

from typing import Final

from core.kafka import errors
from core.kafka.clients.client import Client
from core.kafka.clients.client_context import ClientContext
from core.kafka.clients.group_member.coordinator_calls import COORDINATOR_ERRORS, CoordinatorCalls
from core.kafka.group_coordinator.classic_group.classic_group_messages import LeaveGroupRequest, LeaveGroupResponse
from core.kafka.transaction.transaction_log import GROUP_METADATA_TOPIC
from core.kafka.transaction.transaction_messages import FindCoordinatorResponse


class MemberRemoval(Client):
    """The client that removes one member.

    Attributes:
        instance_id: the group.instance.id of the member.
        calls: the requests to the coordinator.
        done: whether the coordinator has responded.
        error: the error in the response.
    """

    __slots__ = ("calls", "done", "error", "instance_id")

    instance_id: Final[str]
    calls: Final[CoordinatorCalls]

    def __init__(
        self,
        name: str,
        group: str,
        instance_id: str,
        context: ClientContext,
    ) -> None:
        super().__init__(name, GROUP_METADATA_TOPIC, context)
        self.instance_id = instance_id
        self.calls = CoordinatorCalls(self, group)
        self.done = False
        self.error = errors.NONE
        self.handlers.update({FindCoordinatorResponse: self._found, LeaveGroupResponse: self._answered})
        self.timers.update({"find-coordinator": self._find_again, "call-timeout": self.calls.timed_out, "leave-again": self._again})

    def start(self) -> None:
        """Look up the coordinator, and ask it to remove the member."""
        self.calls.find()

    def _find_again(self, _: object) -> None:
        self.calls.search_again()

    def _found(self, response: FindCoordinatorResponse, _: str) -> None:
        if self.calls.found(response):
            correlation = self.calls.register(self.calls.coordinator, self._failed, None)
            members = (("", self.instance_id),)
            self.send(self.calls.coordinator, LeaveGroupRequest(correlation, self.calls.group, members, "an administrator removed it"))

    def _failed(self, _: object, error: str) -> None:
        self.calls.coordinator_failed(error)
        self.timer(self.config.retry_backoff, "leave-again")

    def _again(self, _: object) -> None:
        self.calls.find()

    def _answered(self, response: LeaveGroupResponse, _: str) -> None:
        if self.calls.take(response.correlation) is None:
            return
        if response.error in COORDINATOR_ERRORS or response.error == errors.COORDINATOR_LOAD_IN_PROGRESS:
            self._failed(None, response.error)
        else:
            self.done, self.error = True, response.error

    def metadata_updated(self) -> None:
        """Do nothing, because the removal of a member needs no metadata."""

    def connection_lost(self, node: str) -> None:
        """Fail the requests to a broker."""
        self.calls.disconnected(node)
