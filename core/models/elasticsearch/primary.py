"""The primary's side of replication: a write is acknowledged when every copy has it or was removed (`ReplicationOperation`)."""

from __future__ import annotations

from typing import Final

from core.models.client_messages import Row
from core.models.elasticsearch import events
from core.models.elasticsearch.cluster_state import ClusterState
from core.models.elasticsearch.coordination import Coordination
from core.models.elasticsearch.elasticsearch_messages import (
    GlobalCheckpoint,
    NoLongerPrimary,
    Op,
    PrimaryFailed,
    PrimaryRefused,
    PrimaryWrite,
    PrimaryWritten,
    RecoveryFrom,
    RecoveryOps,
    RecoveryStart,
    Replicate,
    Replicated,
    Resync,
    ShardFailed,
    ShardStarted,
)
from core.models.elasticsearch.settings import ElasticsearchSettings
from core.models.elasticsearch.shard import ShardCopy
from core.models.server import Server
from core.sim.units import SECOND

RECONNECT_INTERVAL: Final = 10 * SECOND
"""The interval at which a node tries to reopen a closed connection, in µs (cluster.nodes.reconnect_interval)."""


class OpenWrite:
    """A write that is not acknowledged yet.

    Attributes:
        coordinator, number: the coordinating node, and the number that this node gave to the write.
        waiting: the copies that have not responded to the write.
        indexed: whether the primary itself has indexed the write and, with refresh=wait_for, whether searches find it.
    """

    __slots__ = ("coordinator", "indexed", "number", "waiting")

    def __init__(self, coordinator: str, number: int) -> None:
        self.coordinator = coordinator
        self.number = number
        self.waiting: set[str] = set()
        self.indexed = False


class Primary:
    """A node's work as the primary.

    Attributes:
        term: the primary term in which this node is the primary; 0 if the node is not the primary.
        next_seqno: the sequence number of the next operation.
        tracked: the local checkpoints of the copies that take part in replication, whether in sync or recovering (`ReplicationTracker`).
        recovering: the copies that are recovering from this primary.
        failing: the copies that the master was asked to remove.
        open: the writes that are not acknowledged yet, by sequence number.
        parked: the writes that wait for active copies: coordinating node, number, row, and time of arrival.
        left: the time at which each copy left the replication group, in µs.
        told: the global checkpoint that was last sent to the copies.
    """

    __slots__ = (
        "_coordination", "_node", "_settings", "_shard", "failing", "left", "next_seqno", "open", "parked", "recovering", "term", "told", "tracked",
    )  # fmt: skip

    def __init__(self, node: Server, shard: ShardCopy, coordination: Coordination, settings: ElasticsearchSettings) -> None:
        self._node: Final = node
        self._shard: Final = shard
        self._coordination: Final = coordination
        self._settings: Final = settings
        self.term = 0
        self.next_seqno = 0
        self.tracked: dict[str, int] = {}
        self.recovering: set[str] = set()
        self.failing: set[str] = set()
        self.open: dict[int, OpenWrite] = {}
        self.parked: list[tuple[str, int, Row, int]] = []
        self.left: dict[str, int] = {}
        self.told = -1
        node.handlers.update({
            PrimaryWrite: self._write, Replicated: self._replicated, NoLongerPrimary: self._no_longer_primary, RecoveryFrom: self._recovery_from,
        })  # fmt: skip
        node.timers.update({"indexed by primary": self._indexed, "write time-out": self._parked_too_long, "reconnect": self._reconnect})

    @property
    def state(self) -> ClusterState:
        """The cluster state in force."""
        return self._coordination.applied

    # --- becoming the primary and ceasing to be it --------------------------------------------------------------------

    def state_changed(self) -> None:
        """Handle a new cluster state: become or stop being the primary, and update the tracked copies."""
        state, name = self.state, self._node.address
        if state.primary != name:
            if self.term:
                self.depose()
            return
        if self.term != state.primary_term:
            self._activate()
        now = self._node.journal.now
        for copy in list(self.tracked):
            gone = copy not in state.nodes or (copy not in state.started and copy not in self.recovering) or copy in self._removed()
            if gone:
                del self.tracked[copy]
                self.recovering.discard(copy)
                self.left[copy] = now
        self.recovering = {copy for copy in self.recovering if copy in state.nodes and copy not in state.started}
        self.failing &= set(self.tracked)
        for copy in sorted(self.failing):
            self._ask_to_remove(copy)
        self._start_recoveries()
        for seqno in list(self.open):
            self._answer_if_done(seqno)
        parked, self.parked = self.parked, []
        for coordinator, number, row, since in parked:
            self._begin(coordinator, number, row, since)

    def _removed(self) -> set[str]:
        """Return the copies that failed and are no longer listed in the state in force."""
        return {copy for copy in self.failing if copy not in self.state.started}

    def _activate(self) -> None:
        """Become the primary of a new term: fill gaps with no-ops, and send the other copies the operations above the global checkpoint."""
        shard, state, name = self._shard, self.state, self._node.address
        first = not self.state.primary_term or shard.primary_term == 0
        shard.restore_from_translog()
        self.term = shard.primary_term = state.primary_term
        gaps = shard.gaps()
        for seqno in gaps:
            shard.index(Op(seqno, self.term, None))
        self.next_seqno = shard.max_seqno + 1
        self.open.clear()
        self.recovering.clear()
        self.failing.clear()
        self.tracked = {copy: shard.global_checkpoint for copy in state.started if copy != name}
        self.told = shard.global_checkpoint
        if first:
            return
        ops = shard.above(shard.global_checkpoint)
        self._node.emit(events.PrimaryPromoted.kind, name, self.term, len(gaps), len(ops))
        for copy in self.tracked:
            self._send(copy, Resync(ops, self.term, shard.global_checkpoint))
        self._advance_global_checkpoint()

    def depose(self) -> None:
        """Stop being the primary. The coordinating nodes retry the open writes."""
        self._node.emit(events.PrimaryDeposed.kind, self._node.address, self.term, len(self.open))
        self.term = 0
        for write in self.open.values():
            self._node.reply(write.coordinator, PrimaryFailed(write.number, "the primary was replaced"))
        for coordinator, number, _, _ in self.parked:
            self._node.reply(coordinator, PrimaryFailed(number, "the primary was replaced"))
        self.open.clear()
        self.parked.clear()
        self.tracked.clear()
        self.recovering.clear()
        self.failing.clear()

    def end(self) -> None:
        """Forget the state of the primary, because the process is ending."""
        self.term = 0
        self.open.clear()
        self.parked.clear()
        self.tracked.clear()
        self.recovering.clear()
        self.failing.clear()

    def _no_longer_primary(self, message: NoLongerPrimary, sender: str) -> None:
        if self.term and message.primary_term > self.term:
            self.depose()

    # --- writes -------------------------------------------------------------------------------------------------------

    def _write(self, write: PrimaryWrite, coordinator: str) -> None:
        if not self.term:
            self._node.reply(coordinator, PrimaryFailed(write.number, f"{self._node.address} is not the primary"))
            return
        self._begin(coordinator, write.number, write.row, self._node.journal.now)

    def _begin(self, coordinator: str, number: int, row: Row, since: int) -> None:
        """Check how many copies are active, and index the operation. The number of active copies is not checked again later."""
        settings = self._settings
        if len(self.state.started) < settings.wait_for_active_shards:
            self.parked.append((coordinator, number, row, since))
            self._node.timer(max(0, since + settings.write_timeout - self._node.journal.now), "write time-out", (coordinator, number))
            return
        self._node.timer(self._node.write_time, "indexed by primary", (coordinator, number, row, self.term))

    def _parked_too_long(self, about: tuple[str, int]) -> None:
        for each in [each for each in self.parked if each[:2] == about]:
            self.parked.remove(each)
            self._node.reply(about[0], PrimaryRefused(about[1], "503: not enough active copies"))

    def _indexed(self, about: tuple[str, int, Row, int]) -> None:
        """Put the operation in the primary's own index and translog, and send the operation to all copies that take part in replication."""
        coordinator, number, row, term = about
        if term != self.term:
            self._node.reply(coordinator, PrimaryFailed(number, "the primary was replaced"))
            return
        shard = self._shard
        op = Op(self.next_seqno, self.term, row)
        self.next_seqno += 1
        shard.index(op)
        self._node.emit(events.OpIndexed.kind, self._node.address, op.seqno, op.term, row.key, row.version)
        self.open[op.seqno] = write = OpenWrite(coordinator, number)
        write.waiting = set(self.tracked)
        write.indexed = not self._settings.wait_for_refresh
        for copy in list(self.tracked):
            self._send(copy, Replicate(op, self.term, shard.global_checkpoint))
        self._advance_global_checkpoint()
        self._answer_if_done(op.seqno)

    def _send(self, copy: str, message: object) -> None:
        """Send operations to a copy. If the connection to the copy is closed, ask the master to remove the copy."""
        if copy in self._coordination.closed:
            self.copy_failed(copy, "the connection is closed")
        else:
            self._node.send(copy, message)

    def copy_failed(self, copy: str, reason: str) -> None:
        """Ask the master to remove a copy that cannot take operations."""
        if self.term and copy in self.tracked and copy not in self.failing:
            self._node.emit(events.CopyFailed.kind, self._node.address, copy, reason)
            self.failing.add(copy)
            self._ask_to_remove(copy)

    def disconnected(self, copy: str) -> None:
        """Handle the closing of the connection to a copy. If the copy has not answered a write, the copy fails now; otherwise, it fails at
        the next write.
        """
        if copy in self.recovering:
            self.recovering.discard(copy)
            self.tracked.pop(copy, None)
            self._node.timer(RECONNECT_INTERVAL, "reconnect", self.term)
        if any(copy in write.waiting for write in self.open.values()):
            self.copy_failed(copy, "the connection is closed")
            for seqno in list(self.open):
                self._answer_if_done(seqno)

    def _ask_to_remove(self, copy: str) -> None:
        if self._coordination.master:
            self._node.send(self._coordination.master, ShardFailed(copy, self.term))

    def _replicated(self, answer: Replicated, copy: str) -> None:
        if answer.primary_term != self.term or copy not in self.tracked:
            return
        self.tracked[copy] = max(self.tracked[copy], answer.local_checkpoint)
        if answer.seqno in self.open:
            self.open[answer.seqno].waiting.discard(copy)
        self._advance_global_checkpoint()
        if copy in self.recovering and self.tracked[copy] >= self._shard.global_checkpoint and self._coordination.master:
            self._node.send(self._coordination.master, ShardStarted(copy, self.term))
        self._answer_if_done(answer.seqno)

    def _advance_global_checkpoint(self) -> None:
        """Advance the global checkpoint, which is the minimum of the local checkpoints of all copies that are in sync."""
        in_sync = [self.tracked[copy] for copy in self.state.in_sync if copy in self.tracked]
        self._shard.learn_global_checkpoint(min([self._shard.local_checkpoint, *in_sync]))

    def refreshed(self) -> None:
        """Handle a refresh, after which searches at the primary find all indexed operations."""
        if self._settings.wait_for_refresh:
            for seqno, write in list(self.open.items()):
                write.indexed = True
                self._answer_if_done(seqno)

    def _answer_if_done(self, seqno: int) -> None:
        write = self.open.get(seqno)
        if write is None:
            return
        write.waiting &= set(self.tracked)
        if write.waiting or not write.indexed:
            return
        del self.open[seqno]
        self._node.reply(write.coordinator, PrimaryWritten(write.number))
        self._advance_global_checkpoint()
        checkpoint = self._shard.global_checkpoint
        if not self.open and checkpoint > self.told:
            self.told = checkpoint
            for copy in self.tracked:
                self._node.send(copy, GlobalCheckpoint(self.term, checkpoint))

    # --- recovery of copies that are not in sync ----------------------------------------------------------------------

    def _start_recoveries(self) -> None:
        state = self.state
        for copy in state.nodes:
            if copy in state.started or copy in self.recovering or copy not in self.holders():
                continue
            if copy in self._coordination.closed:
                self._node.timer(RECONNECT_INTERVAL, "reconnect", self.term)
            else:
                self.recovering.add(copy)
                self._node.timer(RECONNECT_INTERVAL, "reconnect", self.term)
                self._node.send(copy, RecoveryStart(self.term))

    def _reconnect(self, term: int) -> None:
        """Try again to recover the copies that are not started. The process of a copy that is recovering can end without the primary
        noticing it.
        """
        if term == self.term:
            reached = self._shard.global_checkpoint
            self.recovering = {copy for copy in self.recovering if self.tracked.get(copy, -2) >= reached}
            self._coordination.closed.difference_update(set(self.state.nodes) - set(self.state.started))
            self._start_recoveries()

    def holders(self) -> tuple[str, ...]:
        """Return the nodes that can hold a copy."""
        copies = self._settings.copies or len(self._node.peers)
        return self._node.peers[:copies]

    def _recovery_from(self, start: RecoveryFrom, copy: str) -> None:
        """Send the data that a copy lacks to the copy: the operations above the copy's checkpoint if the primary still has these operations;
        otherwise, whole files.
        """
        shard = self._shard
        if start.primary_term != self.term or copy not in self.recovering:
            return
        away = self._node.journal.now - self.left.get(copy, self._node.journal.now)
        known = shard.indexed.get(start.checkpoint)
        same = start.checkpoint < 0 or (known is not None and known.term == start.term)
        whole = not same or away > self._settings.lease_period
        checkpoint = -1 if whole else start.checkpoint
        ops = shard.above(checkpoint)
        self._node.emit(events.Recovered.kind, self._node.address, copy, len(ops), whole, away)
        self.tracked[copy] = checkpoint
        self._send(copy, RecoveryOps(ops, self.term, shard.global_checkpoint, whole))
