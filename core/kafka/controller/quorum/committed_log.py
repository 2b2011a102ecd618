"""The committed log of the metadata quorum, and the state that results from it.

`CommittedLog.commit` keeps the committed entries. `commit` raises an error if two voters commit different entries at the same offset.
Each entry is applied once to `ReplicatedController`, which is the state that results from the committed log. Voters read this state up to
their own high watermark. Brokers read it through the metadata log, up to the offset that their controller knows to be committed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from core.kafka import events
from core.kafka.controller.partition_index import PartitionIndex
from core.kafka.controller.quorum.kafka_raft_client import KafkaRaftClient, VoterObserver
from core.kafka.controller.quorum.raft_messages import LeaderChangeMessage, QuorumEntry
from core.kafka.controller.quorum.replicated_controller import ReplicatedController
from core.kafka.ids import broker_at
from core.kafka.release import Release
from core.sim.journal import Journal

if TYPE_CHECKING:
    from core.kafka.controller.metadata_log import BrokerRegistration, MetadataLog


class CommittedLog:
    """The log that the voters agree on. All voters share it, because each committed entry and its results are the same for all of them.

    Attributes:
        controller: the state that results from the committed log.
        metadata: the metadata log.
        voters: the names of the voters, in the order of `controller.quorum.voters`.
        observer: the observer of the voters.
        committed: the committed entries.
    """

    __slots__ = ("_ends", "_first_end", "committed", "controller", "journal", "metadata", "observer", "voters")

    metadata: Final[MetadataLog]
    journal: Final[Journal]
    voters: Final[tuple[str, ...]]
    observer: Final[VoterObserver]
    committed: Final[list[QuorumEntry]]
    _first_end: Final[int]
    _ends: Final[list[int]]

    def __init__(self, controller: ReplicatedController, metadata: MetadataLog, voters: tuple[str, ...], observer: VoterObserver) -> None:
        self.controller = controller
        self.metadata = metadata
        self.journal = controller.journal
        self.voters = voters
        self.observer = observer
        self.committed = []
        self._first_end = len(metadata)
        self._ends = []

    # --- settings --------------------------------------------------------------------------------------------------

    @property
    def majority(self) -> int:
        """The number of voters that make a majority."""
        return len(self.voters) // 2 + 1

    @property
    def release(self) -> Release:
        """The rules of the simulated Kafka release."""
        return self.controller.settings.release

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

    # --- the committed state ---------------------------------------------------------------------------------------
    # A voter knows the state that results from the entries below its high watermark. Another voter may have committed more entries.

    def registration(self, broker: int, high_watermark: int) -> BrokerRegistration | None:
        """Return a broker's registration; None if the broker is not registered."""
        return self.metadata.broker(broker, self.metadata_end(high_watermark))

    def registrations(self, high_watermark: int) -> dict[int, BrokerRegistration]:
        """Return the registrations of all brokers, keyed by broker ID."""
        if high_watermark >= len(self.committed):
            return self.controller.cluster_control.brokers
        return self.metadata.brokers(self.metadata_end(high_watermark))

    def leads_partitions(self, broker: int, high_watermark: int) -> bool:
        """Return whether a broker leads a partition."""
        return self._index(high_watermark).leader_counts.get(broker, 0) > 0

    def periodic_tasks(self, high_watermark: int) -> tuple[tuple[str, int], ...]:
        """Return the periodic tasks that have work to do, each with the delay until it runs, in µs."""
        return self.controller.periodic_tasks(self._index(high_watermark))

    def _index(self, high_watermark: int) -> PartitionIndex:
        if high_watermark >= len(self.committed):
            return self.controller.registry.index
        index = PartitionIndex()
        for tp, registration in self.metadata.partitions(self.metadata_end(high_watermark)).items():
            index.update(tp, None, registration)
        return index

    # --- the committed log -----------------------------------------------------------------------------------------

    def metadata_end(self, high_watermark: int) -> int:
        """Return the end of the metadata log that results from applying the quorum's log up to a high watermark."""
        if high_watermark > len(self._ends):  # the entry below the high watermark is being applied
            return len(self.metadata)
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
                self.controller.configuration_control.controller_node = broker_at(entry.write.leader)
                self._leader_change_committed(voter, entry)
            else:
                self.controller.apply_committed_entry(voter, entry)
            self._ends.append(len(self.metadata))
        journal.cause = before

    def _leader_change_committed(self, voter: KafkaRaftClient, entry: QuorumEntry) -> None:
        if entry.epoch != voter.epoch or voter.active is None:
            return
        self.journal.cause = self.journal.emit(events.ControllerElected.kind, voter.name, voter.epoch, len(self.voters), self.majority)
        self.observer.controller_elected()
        voter.active.claim()
        self.controller.heartbeats, self.controller.last_contact = voter.active.heartbeats, voter.active.last_contact
