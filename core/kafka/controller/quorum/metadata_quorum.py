"""The metadata quorum: its voters, and the committed log that they agree on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.kafka import events
from core.kafka.controller.quorum.committed_log import CommittedLog
from core.kafka.controller.quorum.kafka_raft_client import KafkaRaftClient, Role
from core.kafka.controller.quorum.raft_messages import LeaderChangeMessage, QuorumEntry
from core.kafka.controller.quorum.replicated_controller import ReplicatedController
from core.sim.network import Network
from core.sim.node import Node

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.kafka.controller.metadata_log import MetadataLog


class MetadataQuorum:
    """All voters and their committed log, for those who look at the quorum from outside. The voters know only the committed log.

    Attributes:
        log: the committed log.
        voters: the voters by name, in the order of `controller.quorum.voters`.
        majority_lost: whether, since a controller was last active, a voter has reported that it cannot reach a majority.
    """

    __slots__ = ("log", "majority_lost", "voters")

    def __init__(self, controller: ReplicatedController, metadata: MetadataLog, hosts: Sequence[Node], seed: int, first: str) -> None:
        """Create a voter on each host. If a majority of the hosts is running, the voter on one of these hosts is already the active
        controller.

        Raises:
            ValueError: `first` is not one of the running voters.
        """
        self.majority_lost = False
        self.log = CommittedLog(controller, metadata, tuple(host.address for host in hosts), self)
        self.voters = {host.address: KafkaRaftClient(host, self.log, seed) for host in hosts}
        running = [voter for voter in self.voters.values() if voter.host.network.alive[voter.name]]
        if first and first not in [voter.name for voter in running]:
            raise ValueError(f"controller {first} cannot be active; the running voters are {', '.join(voter.name for voter in running)}")
        running.sort(key=lambda voter: voter.name != first)
        if len(running) < self.log.majority:
            for voter in running:
                voter.start()
            return
        entry = QuorumEntry(1, LeaderChangeMessage(running[0].name), 0)
        for voter in running:
            voter.boot(running[0].name, 1, entry)
        running[0].assume_replicated([voter.name for voter in running])

    # --- what the voters report ------------------------------------------------------------------------------------

    def controller_elected(self) -> None:
        """Record that a controller has become active."""
        self.majority_lost = False

    def no_majority(self, voter: KafkaRaftClient, in_touch: int) -> None:
        """Emit an event for a voter that cannot reach a majority, but only one until there is an active controller again."""
        log = self.log
        if not self.majority_lost and in_touch < log.majority and self.active() is None:
            self.majority_lost = True
            since = log.journal.now - log.check_quorum_timeout
            silent = (cause for other in self.voters if other != voter.name for cause in voter.host.why_silent(other, since)[:1])
            log.journal.blame(tuple(dict.fromkeys(silent)))
            log.journal.emit(events.NoMajority.kind, voter.name, in_touch, len(self.voters), log.majority)

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
            sum(other == name or joined(name, other, self.voters[name].host.network) for other in up) >= self.log.majority for name in up
        )
