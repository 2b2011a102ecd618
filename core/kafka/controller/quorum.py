"""The metadata quorum: its voters, and the committed log that they agree on.

`Quorum.commit` keeps the committed entries. It raises an error if a voter commits a different entry at the same offset. Each entry is
applied once to `QuorumController`, the state that the committed log produces. Brokers read this state through the metadata log, up to
the offset that their controller knows to be committed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from core.kafka import events
from core.kafka.admin_requests import AdminRequest
from core.kafka.controller.admin_request_handler import handle_admin_request
from core.kafka.controller.controller import Controller
from core.kafka.controller.voter import Role, Voter
from core.kafka.ids import broker_at
from core.kafka.messages import BrokerWrite, FenceStaleBroker, LeaderChangeMessage, PeriodicWrite, QuorumEntry
from core.sim.journal import Journal
from core.sim.network import Network
from core.sim.node import Node

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.kafka.controller.metadata_log import MetadataLog


class QuorumController(Controller):
    """The controller state of a quorum. Only committed entries change it, in log order.

    This controller is not a network node. It responds through the voter that commits an entry, and only if that voter received the request.
    """

    _responding_voter: Voter | None = None

    def remove_from_network(self) -> None:
        """Remove this controller's address from the network, because only the voters are network nodes."""
        del self.network.alive[self.address]

    def boot(self, seed: int) -> None:
        """Do nothing, because the active controller schedules its tasks in `ActiveController.claim`."""

    def publish(self) -> None:
        """Do nothing, because each leader publishes the metadata that it knows to be committed."""

    def reply(self, node: str, message: object) -> None:
        """Respond through the voter that received the request. A request to an earlier active controller gets no response."""
        if self._responding_voter is not None:
            self._responding_voter.send_response(node, message)

    def _arm_session_check(self, *, fenced: bool = False) -> None:
        if self._responding_voter is not None and self._responding_voter.active is not None:
            self._responding_voter.active.arm_session_check()

    def apply_committed_entry(self, voter: Voter, entry: QuorumEntry) -> None:
        """Apply a committed entry. `voter` is the leader that has just committed it."""
        active = voter.active
        assert active is not None
        self.heartbeats, self.last_contact = active.heartbeats, active.last_contact
        self._responding_voter = voter if entry.epoch == voter.epoch else None
        self.journal.cause = entry.cause
        write = entry.write
        if isinstance(write, BrokerWrite):
            self.handlers[type(write.request)](write.request, write.sender)
        elif isinstance(write, FenceStaleBroker):
            registration = self.brokers.get(write.broker)
            if registration is not None and not registration.fenced:
                self.fence(write.broker, by_session=True)
        elif isinstance(write, PeriodicWrite):
            self._periodic(write.task, voter)
        elif isinstance(write, AdminRequest):
            handle_admin_request(self, write)
        self._responding_voter = None

    def _periodic(self, task: str, voter: Voter) -> None:
        more = self.run_periodic_task(task)
        if self._responding_voter is not None and voter.active is not None:
            voter.active.periodic_task_done(task, more=more)


class ControllerNode(Node):
    """The process of a dedicated controller, which hosts a voter but no broker."""

    running = True
    starting = False
    voter: Voter

    def __init__(self, address: str, network: Network, journal: Journal) -> None:
        super().__init__(address, network, journal)
        self.timers["started"] = self._started

    def stop(self) -> None:
        """Kill the process. The voter's epoch, vote, and log stay on disk."""
        self.journal.cause = self.journal.emit(events.ControllerStopped.kind, self.address)
        self.running = self.starting = False
        self.incarnation += 1
        self.voter.process_ended()
        self.network.process_died(self.address, self.journal.now, self.journal.cause)

    def start(self, startup: int) -> None:
        """Start the process. Its voter takes part in the quorum after `startup` µs."""
        self.starting = True
        self.incarnation += 1
        self.journal.cause = self.journal.emit(events.ControllerStarted.kind, self.address)
        self.timer(startup, "started")

    def _started(self, _: object) -> None:
        self.running, self.starting = True, False
        self.network.alive[self.address] = True
        self.voter.start()


class Quorum:
    """All voters and their committed log.

    Attributes:
        controller: the state that the committed log produces.
        metadata: the metadata log.
        voters: the voters by name, in the order of `controller.quorum.voters`.
        committed: the committed entries.
        majority_lost: whether, since the last active controller, a voter has reported that it reaches no majority.
    """

    __slots__ = ("_ends", "_first_end", "committed", "controller", "journal", "majority_lost", "metadata", "voters")

    metadata: Final[MetadataLog]
    journal: Final[Journal]
    committed: Final[list[QuorumEntry]]
    _ends: Final[list[int]]

    def __init__(self, controller: QuorumController, metadata: MetadataLog, journal: Journal) -> None:
        self.controller = controller
        self.metadata = metadata
        self.journal = journal
        self.voters: dict[str, Voter] = {}
        self.committed = []
        self.majority_lost = False
        self._ends = []
        self._first_end = 0

    def boot(self, hosts: Sequence[Node], seed: int, first: str) -> None:
        """Create a voter in each host. If a majority of the hosts is running, one of their voters is already the active controller.

        Raises:
            ValueError: `first` is not one of the running voters.
        """
        self.voters = {host.address: Voter(host, self, seed) for host in hosts}
        self._first_end = len(self.metadata)
        running = [voter for voter in self.voters.values() if voter.host.network.alive[voter.name]]
        if first and first not in [voter.name for voter in running]:
            raise ValueError(f"controller {first} cannot be active; running voters: {', '.join(voter.name for voter in running)}")
        running.sort(key=lambda voter: voter.name != first)
        if len(running) < self.majority:
            for voter in running:
                voter.start()
            return
        entry = QuorumEntry(1, LeaderChangeMessage(running[0].name), 0)
        for voter in running:
            voter.boot(running[0].name, 1, entry)
        running[0].assume_replicated([voter.name for voter in running])

    # --- settings --------------------------------------------------------------------------------------------------

    @property
    def majority(self) -> int:
        """The number of voters that make a majority."""
        return len(self.voters) // 2 + 1

    @property
    def fetch_timeout(self) -> int:
        """The time without a response from the leader after which a voter or broker looks for another leader, µs."""
        return self.controller.settings.us("controller.quorum.fetch.timeout.ms")

    @property
    def check_quorum_timeout(self) -> int:
        """The time without fetches from a majority after which a leader resigns, µs (`LeaderState.CHECK_QUORUM_TIMEOUT_FACTOR`)."""
        return self.fetch_timeout * 3 // 2

    @property
    def election_timeout(self) -> int:
        """The minimum time that a voter waits for votes, µs."""
        return self.controller.settings.us("controller.quorum.election.timeout.ms")

    @property
    def session_timeout(self) -> int:
        """The broker.session.timeout.ms setting, µs."""
        return self.controller.settings.us("broker.session.timeout.ms")

    # --- the committed log -----------------------------------------------------------------------------------------

    def metadata_end(self, high_watermark: int) -> int:
        """Return the end of the metadata log for a high watermark of the quorum's log."""
        return self._ends[high_watermark - 1] if high_watermark else self._first_end

    def commit(self, voter: Voter, start: int, end: int) -> None:
        """Commit a voter's log from `start` to `end`: apply the new entries, and check that the others are the same.

        Raises:
            AssertionError: at some offset, the voter's entry differs from the committed entry.
        """
        journal, committed = self.journal, self.committed
        before = journal.cause
        for offset in range(start, min(len(committed), end)):
            if voter.log[offset] is not committed[offset]:
                raise AssertionError(f"{voter.name} commits another entry at {offset} than was committed: {voter.log[offset]}")
        for offset in range(len(committed), end):
            entry = voter.log[offset]
            committed.append(entry)
            if type(entry.write) is LeaderChangeMessage:
                self.controller.replication.controller_node = broker_at(entry.write.leader)
                self._leader_change_committed(voter, entry)
            else:
                self.controller.apply_committed_entry(voter, entry)
            self._ends.append(len(self.metadata))
        journal.cause = before

    def _leader_change_committed(self, voter: Voter, entry: QuorumEntry) -> None:
        if entry.epoch != voter.epoch or voter.active is None:
            return
        self.majority_lost = False
        self.journal.cause = self.journal.emit(events.ControllerElected.kind, voter.name, voter.epoch, len(self.voters), self.majority)
        voter.active.claim()
        self.controller.heartbeats, self.controller.last_contact = voter.active.heartbeats, voter.active.last_contact

    def report_no_majority(self, voter: Voter, in_touch: int) -> None:
        """Report that a voter reaches no majority. This is reported once until there is an active controller again."""
        if not self.majority_lost and in_touch < self.majority and self.active() is None:
            self.majority_lost = True
            self.journal.emit(events.NoMajority.kind, voter.name, in_touch, len(self.voters), self.majority)

    # --- from outside ----------------------------------------------------------------------------------------------

    def active(self) -> Voter | None:
        """Return the active controller; None if there is none.

        If several voters consider themselves active, return the voter with the highest epoch.
        """
        claimed = [voter for voter in self.voters.values() if voter.active is not None and voter.active.claimed]
        return max(claimed, key=lambda voter: voter.epoch, default=None)

    def active_count(self) -> int:
        """Return the number of voters that consider themselves active (the sum of ActiveControllerCount over the cluster)."""
        return sum(voter.active is not None and voter.active.claimed for voter in self.voters.values())

    def has_majority(self, paused: Sequence[str]) -> bool:
        """Whether a running voter can exchange messages with enough other voters to form a majority."""

        def works(name: str) -> bool:
            return self.voters[name].role is not Role.STOPPED and name not in paused

        def joined(a: str, b: str, network: Network) -> bool:
            states = (network.links.get((a, b)), network.links.get((b, a)))
            return not any(link is not None and (link.cut or link.held) for link in states)

        up = [name for name in self.voters if works(name)]
        return any(
            sum(other == name or joined(name, other, self.voters[name].host.network) for other in up) >= self.majority for name in up
        )
