"""The process of a dedicated controller (Kafka: `ControllerServer`)."""

from __future__ import annotations

from core.kafka import events
from core.kafka.controller.quorum.kafka_raft_client import KafkaRaftClient
from core.sim.journal import Journal
from core.sim.network import Network
from core.sim.node import Node


class ControllerServer(Node):
    """The process of a dedicated controller, which hosts a voter but no broker."""

    running = True
    starting = False
    voter: KafkaRaftClient

    def __init__(self, address: str, network: Network, journal: Journal) -> None:
        super().__init__(address, network, journal)
        self.timers["started"] = self._started

    def stop(self, *, power: bool = False) -> None:
        """Kill the process or, with `power`, cut the power of its machine. The voter's epoch, vote, and log stay on disk."""
        self.journal.cause = self.journal.emit(events.ControllerStopped.kind, self.address)
        self.running = self.starting = False
        self.incarnation += 1
        self.voter.process_ended()
        self.network.process_died(self.address, self.journal.now, self.journal.cause, power=power)

    def start(self, startup: int) -> None:
        """Start the process. The controller's voter takes part in the quorum after `startup` µs."""
        self.starting = True
        self.incarnation += 1
        self.journal.cause = self.journal.emit(events.ControllerStarted.kind, self.address)
        self.timer(startup, "started")

    def _started(self, _: object) -> None:
        self.running, self.starting = True, False
        self.network.process_started(self.address, self.journal.now)
        self.voter.start()
