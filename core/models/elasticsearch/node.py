"""A node of an Elasticsearch cluster: it holds a copy, can be the master, and coordinates the requests of its clients."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Final

from core.models.client_messages import NOTHING, Read, Refused, Row, Value
from core.models.elasticsearch import events
from core.models.elasticsearch.cluster_state import ClusterState
from core.models.elasticsearch.coordination import Coordination
from core.models.elasticsearch.elasticsearch_messages import (
    GlobalCheckpoint,
    NoLongerPrimary,
    RecoveryFrom,
    RecoveryOps,
    RecoveryStart,
    Replicate,
    Replicated,
    Resync,
)
from core.models.elasticsearch.primary import Primary
from core.models.elasticsearch.requests import Requests
from core.models.elasticsearch.settings import ElasticsearchSettings
from core.models.elasticsearch.shard import ShardCopy
from core.models.server import CopyView, Server
from core.sim.journal import Journal
from core.sim.kernel_messages import Disconnected
from core.sim.network import Network

GET: Final = "get"
SEARCH: Final = "search"


class ElasticsearchNode(Server):
    """A node of an Elasticsearch cluster.

    Attributes:
        shard: the node's copy of the shard.
        coordination: the node's part in electing a master and in changing the cluster state.
        primary: the node's work as the primary.
        requests: the clients' writes that the node coordinates.
        after_refresh: the answers to the primary that wait for the next refresh.
    """

    __slots__ = ("after_refresh", "coordination", "primary", "requests", "settings", "shard")

    settings: Final[ElasticsearchSettings]

    def __init__(
        self, address: str, peers: tuple[str, ...], settings: ElasticsearchSettings, seed: int, network: Network, journal: Journal
    ) -> None:
        super().__init__(address, peers, network, journal)
        self.settings = settings
        self.shard: Final = ShardCopy()
        self.coordination: Final = Coordination(self, settings, seed, self._state_changed)
        self.primary: Final = Primary(self, self.shard, self.coordination, settings)
        self.requests: Final = Requests(self, self.coordination, settings)
        self.after_refresh: list[tuple[str, Replicated]] = []
        self.handlers.update({
            Read: self._read, Replicate: self._replicate, Resync: self._resync, GlobalCheckpoint: self._global_checkpoint,
            RecoveryStart: self._recovery_start, RecoveryOps: self._recovery_ops, Disconnected: self._disconnected,
        })  # fmt: skip
        self.timers.update({
            "indexed": self._indexed, "resynced": self._resynced, "recovered": self._recovered, "refresh": self._refresh, "sync": self._sync,
        })  # fmt: skip

    def handle(self, message: object, sender: str) -> None:
        if sender != self.address and sender in self.peers and not isinstance(message, Disconnected):
            self.coordination.closed.discard(sender)
        super().handle(message, sender)

    # --- start and end of the process ---------------------------------------------------------------------------------

    def begin(self) -> None:
        self.shard.restore_from_translog()
        self.coordination.begin()
        self.begin_timers(self.settings.refresh_interval)

    def begin_timers(self, refresh: int) -> None:
        """Start the timers for refreshes and for syncs of the translog. The first refresh happens after `refresh` µs."""
        self.timer(refresh, "refresh")
        if self.settings.translog_async:
            self.timer(self.settings.sync_interval, "sync")

    def end(self, *, power: bool) -> None:
        self.coordination.end()
        self.primary.end()
        self.requests.end()
        self.after_refresh.clear()
        if power and self.settings.translog_async:
            lost = self.shard.lose_power()
            if lost:
                self.emit(events.TranslogLost.kind, self.address, lost)

    @property
    def state(self) -> ClusterState:
        """The cluster state in force, as far as this node knows."""
        return self.coordination.applied

    def _state_changed(self) -> None:
        self.primary.state_changed()
        self.requests.state_changed()

    def _disconnected(self, gone: Disconnected, sender: str) -> None:
        if gone.node not in self.peers:
            return
        self.coordination.disconnected(gone.node)
        self.primary.disconnected(gone.node)
        self.requests.disconnected(gone.node)

    # --- the copy's side of replication -------------------------------------------------------------------------------

    def _is_outdated(self, primary_term: int, primary: str) -> bool:
        """Return whether a message comes from a primary that has been replaced. If it does, tell the sender that it has been replaced."""
        if primary_term < max(self.shard.primary_term, self.state.primary_term):
            self.reply(primary, NoLongerPrimary(max(self.shard.primary_term, self.state.primary_term)))
            return True
        self._learn_term(primary_term)
        return False

    def _learn_term(self, primary_term: int) -> None:
        if self.shard.primary_term < primary_term:
            self.shard.primary_term = primary_term
            if self.primary.term:
                self.primary.depose()

    def _replicate(self, message: Replicate, primary: str) -> None:
        if not self._is_outdated(message.primary_term, primary):
            self.shard.learn_global_checkpoint(message.global_checkpoint)
            self.timer(self.write_time, "indexed", (message, primary))

    def _indexed(self, about: tuple[Replicate, str]) -> None:
        message, primary = about
        op = message.op
        if self._is_outdated(message.primary_term, primary):
            return
        self.shard.index(op)
        row = op.row or NOTHING
        self.emit(events.OpIndexed.kind, self.address, op.seqno, op.term, row.key, row.version)
        answer = Replicated(op.seqno, message.primary_term, self.shard.local_checkpoint)
        if self.settings.wait_for_refresh:
            self.after_refresh.append((primary, answer))
        else:
            self.reply(primary, answer)

    def _global_checkpoint(self, message: GlobalCheckpoint, primary: str) -> None:
        if not self._is_outdated(message.primary_term, primary):
            self.shard.learn_global_checkpoint(message.global_checkpoint)

    def _resync(self, message: Resync, primary: str) -> None:
        if not self._is_outdated(message.primary_term, primary):
            self.timer(self.write_time, "resynced", (message, primary))

    def _resynced(self, about: tuple[Resync, str]) -> None:
        """Roll back to the global checkpoint, and take the operations of the new primary instead."""
        message, primary = about
        if self._is_outdated(message.primary_term, primary):
            return
        shard = self.shard
        shard.learn_global_checkpoint(message.global_checkpoint)
        dropped = shard.roll_back()
        if dropped:
            self.emit(events.RolledBack.kind, self.address, shard.global_checkpoint, dropped)
        shard.trim_translog()
        for op in message.ops:
            shard.index(op)
        self.reply(primary, Replicated(-1, message.primary_term, shard.local_checkpoint))

    def _recovery_start(self, message: RecoveryStart, primary: str) -> None:
        if self._is_outdated(message.primary_term, primary):
            return
        shard = self.shard
        shard.restore_from_translog()
        dropped = shard.roll_back()
        shard.trim_translog()
        if dropped:
            self.emit(events.RolledBack.kind, self.address, shard.global_checkpoint, dropped)
        checkpoint = min(shard.global_checkpoint, shard.local_checkpoint)
        term = shard.indexed[checkpoint].term if checkpoint >= 0 else 0
        self.reply(primary, RecoveryFrom(message.primary_term, checkpoint, term))

    def _recovery_ops(self, message: RecoveryOps, primary: str) -> None:
        if not self._is_outdated(message.primary_term, primary):
            self.timer(self.write_time, "recovered", (message, primary))

    def _recovered(self, about: tuple[RecoveryOps, str]) -> None:
        message, primary = about
        if self._is_outdated(message.primary_term, primary):
            return
        shard = self.shard
        if message.whole:
            shard.clear()
        for op in message.ops:
            shard.index(op)
        shard.learn_global_checkpoint(message.global_checkpoint)
        self.reply(primary, Replicated(-1, message.primary_term, shard.local_checkpoint))

    def _refresh(self, about: object) -> None:
        self.timer(self.settings.refresh_interval, "refresh")
        self.shard.refresh()
        waiting, self.after_refresh = self.after_refresh, []
        for primary, answer in waiting:
            self.reply(primary, answer)
        self.primary.refreshed()

    def _sync(self, about: object) -> None:
        self.timer(self.settings.sync_interval, "sync")
        self.shard.sync()

    # --- reads and views ----------------------------------------------------------------------------------------------

    def _read(self, read: Read, client: str) -> None:
        """Answer from this node's own copy, without checking whether the copy is still in sync."""
        if self.address not in self.state.started:
            self.reply(client, Refused(read.request, f"the copy of {self.address} is not started", self.state.primary))
            return
        rows = self.shard.searchable if read.how == SEARCH else self.shard.documents
        self.reply(client, Value(read.request, rows.read(read.key)))

    @property
    def has_copy(self) -> bool:
        return self.address in self.primary.holders()

    def stored_rows(self) -> Iterable[Row]:
        return self.shard.documents_in_order()

    def holds(self, row: Row) -> bool:
        return row.uid in self.shard.documents.uids

    def copy_state(self) -> tuple[int, int]:
        return self.incarnation + self.shard.primary_term, len(self.shard.indexed)

    def received_since(self, length: int) -> Iterable[Row]:
        indexed = self.shard.indexed
        return [op.row for op in islice(reversed(indexed.values()), len(indexed) - length) if op.row is not None]

    def places(self) -> dict[object, Row]:
        return {seqno: op.row or NOTHING for seqno, op in sorted(self.shard.indexed.items())}

    def view(self) -> CopyView:
        shard, state = self.shard, self.state
        role = "primary" if self.primary.term else "in sync" if self.address in state.in_sync else "not in sync"
        durable = sum(op.row is not None and seqno in shard.synced for seqno, op in shard.translog.items())
        documents = len(shard.documents)
        note = "master" if self.coordination.mode == "master" else "" if self.coordination.master else "no master"
        return CopyView(
            self.address, role, True, shard.primary_term, documents, durable if self.settings.translog_async else documents, documents, note=note
        )  # fmt: skip
