"""The controller as a replicated state machine, which executes the committed entries of the quorum's log in log order."""

from __future__ import annotations

from core.kafka.admin_requests import AdminRequest
from core.kafka.controller.admin_request_handler import handle_admin_request
from core.kafka.controller.quorum.kafka_raft_client import KafkaRaftClient
from core.kafka.controller.quorum.raft_messages import BrokerWrite, FenceStaleBroker, PeriodicWrite, QuorumEntry
from core.kafka.controller.quorum_controller import QuorumController


class ReplicatedController(QuorumController):
    """The controller state of a quorum. Only committed entries change this state, in log order.

    A replicated controller is not a network node. When a voter commits an entry that was created from a request to this voter, the
    controller responds through this voter.
    """

    _responding_voter: KafkaRaftClient | None = None

    def remove_from_network(self) -> None:
        """Remove this controller's address from the network, because only the voters are network nodes."""
        del self.network.alive[self.address]

    def boot(self, seed: int) -> None:
        """Do nothing, because the active controller schedules its tasks in `ActiveController.claim`."""

    def publish(self) -> None:
        """Do nothing, because each leader publishes the metadata that it knows to be committed."""

    def reply(self, node: str, message: object) -> None:
        """Respond through the voter that received the request. If that voter is no longer the active controller, the request gets no
        response."""
        if self._responding_voter is not None:
            self._responding_voter.send_response(node, message)

    def _arm_session_check(self, *, fenced: bool = False) -> None:
        if self._responding_voter is not None and self._responding_voter.active is not None:
            self._responding_voter.active.arm_session_check()

    def apply_committed_entry(self, voter: KafkaRaftClient, entry: QuorumEntry) -> None:
        """Apply a committed entry. `voter` is the leader that has just committed the entry."""
        active = voter.active
        assert active is not None
        self.heartbeats, self.last_contact = active.heartbeats, active.last_contact
        self._responding_voter = voter if entry.epoch == voter.epoch else None
        self.journal.cause = entry.cause
        write = entry.write
        if isinstance(write, BrokerWrite):
            self.handlers[type(write.request)](write.request, write.sender)
        elif isinstance(write, FenceStaleBroker):
            registration = self.cluster_control.brokers.get(write.broker)
            if registration is not None and not registration.fenced:
                self.fence(write.broker, by_session=True)
        elif isinstance(write, PeriodicWrite):
            self._periodic(write.task, voter)
        elif isinstance(write, AdminRequest):
            handle_admin_request(self, write)
        self._responding_voter = None

    def _periodic(self, task: str, voter: KafkaRaftClient) -> None:
        more = self.run_periodic_task(task)
        if self._responding_voter is not None and voter.active is not None:
            voter.active.periodic_task_done(task, more=more)
