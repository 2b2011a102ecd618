"""A majority log with its nodes."""

from __future__ import annotations

from typing import ClassVar, Final

import attrs

from core.models import acts
from core.models.quorum.node import LEADER, QuorumNode
from core.models.quorum.reads import READS
from core.models.quorum.settings import QuorumSettings
from core.models.system import ReplicationSystem
from core.sim.errors import ActRefused
from core.sim.journal import Sink, null_sink


@attrs.frozen
class StartElection(acts.Act):
    """Have a node start an election now."""

    word = "start-election"
    server: str

    def text(self) -> str:
        return f"have {self.server} start an election"


class Quorum(ReplicationSystem):
    """Nodes `n1`, `n2`, and so on. The nodes elect a leader automatically; `elect_first` skips this election."""

    model = "quorum"
    READS: ClassVar = READS

    __slots__ = ("settings",)

    settings: Final[QuorumSettings]

    def __init__(self, settings: QuorumSettings | None = None, seed: int = 0, sink: Sink = null_sink) -> None:
        super().__init__(seed, sink)
        self.settings = settings = settings or QuorumSettings()
        names = tuple(f"n{number}" for number in range(1, settings.nodes + 1))
        for name in names:
            self.add_server(QuorumNode(name, names, settings, seed, self.network, self.journal))
        for server in self.servers.values():
            server.begin()

    def elect_first(self) -> None:
        """Make the first node the leader, and run until all nodes have stored and committed its empty entry."""
        settings = self.settings
        self.node("n1").start_election()
        self.run_until(2 * settings.heartbeat)

    def node(self, name: str) -> QuorumNode:
        """Return a node."""
        node = self.servers[name]
        assert isinstance(node, QuorumNode)
        return node

    def authority(self) -> str:
        leaders = [self.node(name) for name in self.running() if self.node(name).role == LEADER]
        return max(leaders, key=lambda node: node.term).address if leaders else ""

    def electable(self) -> tuple[str, ...]:
        leader = self.authority()
        return tuple(name for name in self.running() if name != leader)

    def check(self, act: acts.Act) -> None:
        super().check(act)
        if isinstance(act, StartElection) and not self.network.alive[act.server]:
            raise ActRefused(f"the process of {act.server} is not running")

    def check_promotion(self, act: acts.Promote) -> None:
        raise ActRefused("the nodes of a majority log elect their leader; nobody can promote one without a majority")

    def execute(self, act: acts.Act) -> None:
        if isinstance(act, StartElection):
            self.node(act.server).start_election()
        else:
            super().execute(act)
