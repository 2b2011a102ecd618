"""An Elasticsearch cluster with one shard."""

from __future__ import annotations

from typing import ClassVar, Final

from core.models import acts
from core.models.client_messages import Row
from core.models.elasticsearch.cluster_state import ClusterState
from core.models.elasticsearch.node import GET, SEARCH, ElasticsearchNode
from core.models.elasticsearch.settings import ElasticsearchSettings
from core.models.system import ReplicationSystem
from core.sim.errors import ActRefused
from core.sim.journal import Sink, null_sink


class Elasticsearch(ReplicationSystem):
    """Nodes `n1`, `n2`, and so on. The first node has the primary at the start, in term 1."""

    model = "elasticsearch"
    READS: ClassVar = (GET, SEARCH)

    __slots__ = ("settings",)

    settings: Final[ElasticsearchSettings]

    def __init__(self, settings: ElasticsearchSettings | None = None, seed: int = 0, sink: Sink = null_sink) -> None:
        super().__init__(seed, sink)
        self.settings = settings = settings or ElasticsearchSettings()
        names = tuple(f"n{number}" for number in range(1, settings.nodes + 1))
        copies = names[: settings.copies or settings.nodes]
        state = ClusterState(1, 1, names, 1, names[0], copies, copies)
        for name in names:
            self.add_server(ElasticsearchNode(name, names, settings, seed, self.network, self.journal))
        interval = settings.refresh_interval
        phases = settings.refresh_phases or tuple(number * interval // settings.nodes for number in range(settings.nodes))
        for name, phase in zip(names, phases, strict=True):
            node = self.node(name)
            node.coordination.begin_steady(state, settings.master)
            node.primary.state_changed()
            node.begin_timers(phase)

    def node(self, name: str) -> ElasticsearchNode:
        """Return a node."""
        node = self.servers[name]
        assert isinstance(node, ElasticsearchNode)
        return node

    def master(self) -> str:
        """Return the running master with the highest term; empty if there is none."""
        masters = [self.node(name).coordination for name in self.running() if self.node(name).coordination.mode == "master"]
        return max(masters, key=lambda each: each.term).master if masters else ""

    def authority(self) -> str:
        primaries = [self.node(name) for name in self.running() if self.node(name).primary.term]
        return max(primaries, key=lambda node: node.primary.term).address if primaries else ""

    def electable(self) -> tuple[str, ...]:
        """Return the nodes whose copies are in sync according to the primary, other than the primary."""
        primary = self.authority()
        in_sync = self.node(primary).state.in_sync if primary else ()
        return tuple(name for name in in_sync if name != primary and self.network.alive[name])

    def final_rows(self) -> list[Row]:
        """Return the documents of the primary. A write that was tried twice results in two operations but only one document."""
        name = self.authority()
        return list({row.uid: row for row in self.node(name).shard.documents_in_order()}.values()) if name else []

    def check_promotion(self, act: acts.Promote) -> None:
        master = self.master()
        if not master:
            raise ActRefused("there is no master that could promote a copy")
        state = self.node(master).state
        if state.primary:
            raise ActRefused(f"{state.primary} is the primary; the master promotes an in-sync copy by itself if that node fails")
        if not act.server:
            raise ActRefused("name the node whose stale copy is to be the primary")
        if act.server not in state.nodes:
            raise ActRefused(f"{act.server} is not part of the cluster")
        if not act.accept_data_loss:
            raise ActRefused(
                f"the copy of {act.server} is stale, and its promotion can lose acknowledged writes; to promote it anyway, set accept_data_loss"
            )

    def promote(self, act: acts.Promote) -> None:
        self.node(self.master()).coordination.allocate_stale_primary(act.server)
