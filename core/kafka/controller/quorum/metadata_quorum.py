"""The metadata quorum: its voters, and the committed log that they agree on.

`MetadataQuorum.commit` keeps the committed entries. `commit` raises an error if two voters commit different entries at the same offset.
Each entry is applied once to `ReplicatedController`, which is the state that results from the committed log. Brokers read the controller's
state through the metadata log, up to the offset that their controller knows to be committed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from core.kafka import events
from core.kafka.controller.quorum.kafka_raft_client import KafkaRaftClient, Role
from core.kafka.controller.quorum.raft_messages import LeaderChangeMessage, QuorumEntry
from core.kafka.controller.quorum.replicated_controller import ReplicatedController
from core.kafka.ids import broker_at
from core.sim.journal import Journal
from core.sim.network import Network
from core.sim.node import Node

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.kafka.controller.metadata_log import MetadataLog


class MetadataQuorum:
    """All voters and their committed log.

    Attributes:
        controller: the state that results from the committed log.
        metadata: the metadata log.
        voters: the voters by name, in the order of `controller.quorum.voters`.
        committed: the committed entries.
        majority_lost: whether, since a controller was last active, a voter has reported that it cannot reach a majority.
    """

    __slots__ = ("_ends", "_first_end", "committed", "controller", "journal", "majority_lost", "metadata", "voters")

    metadata: Final[MetadataLog]
    journal: Final[Journal]
    committed: Final[list[QuorumEntry]]
    _ends: Final[list[int]]

    def __init__(self, controller: ReplicatedController, metadata: MetadataLog, journal: Journal) -> None:
        self.controller = controller
        self.metadata = metadata
        self.journal = journal
        self.voters: dict[str, KafkaRaftClient] = {}
        self.committed = []
        self.majority_lost = False
        self._ends = []
        self._first_end = 0

    def boot(self, hosts: Sequence[Node], seed: int, first: str) -> None:
        """Create a voter on each host. If a majority of the hosts is running, the voter on one of these hosts is already the active
        controller.

        Raises:
            ValueError: `first` is not one of the running voters.
        """
        self.voters = {host.address: KafkaRaftClient(host, self, seed) for host in hosts}
        self._first_end = len(self.metadata)
        running = [voter for voter in self.voters.values() if voter.host.network.alive[voter.name]]
        if first and first not in [voter.name for voter in running]:
            raise ValueError(f"controller {first} cannot be active; the running voters are {', '.join(voter.name for voter in running)}")
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
        """How long a voter or broker waits for a response from the leader before it looks for another leader, in µs."""
        return self.controller.settings.us("controller.quorum.fetch.timeout.ms")

    @property
    def check_quorum_timeout(self) -> int:
        """How long a leader waits for fetches from a majority before it resigns, in µs (`LeaderState.CHECK_QUORUM_TIMEOUT_FACTOR`)."""
        return self.fetch_timeout * 3 // 2

    @property
    def election_timeout(self) -> int:
        """The minimum time that a voter waits for votes, in µs."""
        return self.controller.settings.us("controller.quorum.election.timeout.ms")

    @property
    def session_timeout(self) -> int:
        """The broker.session.timeout.ms setting, in µs."""
        return self.controller.settings.us("broker.session.timeout.ms")

    # --- the committed log -----------------------------------------------------------------------------------------

    def metadata_end(self, high_watermark: int) -> int:
        """Return the end of the metadata log that results from applying the quorum's log up to a high watermark."""
        return self._ends[high_watermark - 1] if high_watermark else self._first_end

    def commit(self, voter: KafkaRaftClient, start: int, end: int) -> None:
        """Commit a voter's log from `start` to `end`. Apply the new entries, and check that the other entries equal those that were
        committed earlier at the same offsets.

        Raises:
            AssertionError: the voter's entry at some offset differs from the committed entry.
        """
        journal, committed = self.journal, self.committed
        before = journal.cause
        for offset in range(start, min(len(committed), end)):
            if voter.log[offset] is not committed[offset]:
                raise AssertionError(f"{voter.name} commits a different entry at {offset} than the committed one: {voter.log[offset]}")
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

    def _leader_change_committed(self, voter: KafkaRaftClient, entry: QuorumEntry) -> None:
        if entry.epoch != voter.epoch or voter.active is None:
            return
        self.majority_lost = False
        self.journal.cause = self.journal.emit(events.ControllerElected.kind, voter.name, voter.epoch, len(self.voters), self.majority)
        voter.active.claim()
        self.controller.heartbeats, self.controller.last_contact = voter.active.heartbeats, voter.active.last_contact

    def report_no_majority(self, voter: KafkaRaftClient, in_touch: int) -> None:
        """Report that a voter cannot reach a majority. Emit only one event until there is an active controller again."""
        if not self.majority_lost and in_touch < self.majority and self.active() is None:
            self.majority_lost = True
            since = self.journal.now - self.check_quorum_timeout
            silent = (cause for other in self.voters if other != voter.name for cause in voter.host.why_silent(other, since)[:1])
            self.journal.blame(tuple(dict.fromkeys(silent)))
            self.journal.emit(events.NoMajority.kind, voter.name, in_touch, len(self.voters), self.majority)

    # --- from outside ----------------------------------------------------------------------------------------------

    def active(self) -> KafkaRaftClient | None:
        """Return the active controller; None if there is none.

        If several voters consider themselves active, return the voter with the highest epoch.
        """
        claimed = [voter for voter in self.voters.values() if voter.active is not None and voter.active.claimed]
        return max(claimed, key=lambda voter: voter.epoch, default=None)

    def active_count(self) -> int:
        """Return the number of voters that consider themselves active, which is the sum of ActiveControllerCount over all controllers."""
        return sum(voter.active is not None and voter.active.claimed for voter in self.voters.values())

    def has_majority(self, paused: Sequence[str]) -> bool:
        """Return whether a running voter can exchange messages with enough other voters to form a majority."""

        def works(name: str) -> bool:
            return self.voters[name].role is not Role.STOPPED and name not in paused

        def joined(a: str, b: str, network: Network) -> bool:
            states = (network.links.get((a, b)), network.links.get((b, a)))
            return not any(link is not None and (link.cut or link.held) for link in states)

        up = [name for name in self.voters if works(name)]
        return any(
            sum(other == name or joined(name, other, self.voters[name].host.network) for other in up) >= self.majority for name in up
        )
