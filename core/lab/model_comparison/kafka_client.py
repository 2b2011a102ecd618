"""A client of the common workload for Kafka: it writes each row as a record in its own request, and reads what replicas serve.

The client uses the laboratory's brokers unchanged. So that each request ends exactly once in all models, the client doesn't retry a write
whose outcome is unknown. By default, Kafka's own producer retries a write whose outcome is unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import attrs

from core.kafka import errors
from core.kafka.clients.client import Client
from core.kafka.clients.client_context import ClientContext
from core.kafka.ids import NO_LEADER, TopicPartition, broker_address
from core.kafka.messages import ProduceRequest, ProduceResponse
from core.models import events
from core.models.account import FAIL, OK, UNKNOWN, Account, Floor
from core.models.client import ReadLoop, WriteLoop
from core.models.client_messages import NOTHING, ROW_BYTES, Row
from core.sim.units import SECOND, US_PER_MS

NOT_APPENDED: Final = frozenset({errors.NOT_LEADER_OR_FOLLOWER, errors.UNKNOWN_TOPIC_OR_PARTITION, errors.NOT_ENOUGH_REPLICAS})
"""The errors after which it is certain that the leader has not appended the record. After one of these errors, the client sends the record
again after a short time.
"""

REQUEST_TIMEOUT: Final = 30 * SECOND
"""The request.timeout.ms of the Java clients, in µs."""


@attrs.frozen
class Served:
    """A replica's answer to a read.

    Attributes:
        row: the latest version of the key below `position`.
        position: the offset up to which the read sees records.
        refusal: why the replica did not answer; empty if it answered.
        unreachable: whether no answer arrives, so that the read ends only at its time limit.
    """

    row: Row = NOTHING
    position: int = -1
    refusal: str = ""
    unreachable: bool = False


class PendingWrite:
    """A write that has not ended.

    Attributes:
        sent_to: the broker that has the request; empty while the client waits for metadata.
        probe: whether the write belongs to a probe.
    """

    __slots__ = ("invoked", "probe", "row", "sent_to")

    def __init__(self, row: Row, invoked: int, *, probe: bool) -> None:
        self.row = row
        self.invoked = invoked
        self.probe = probe
        self.sent_to = ""


class WorkloadClient(Client):
    """A client of the workload.

    Attributes:
        reachable: the brokers that the client can connect to.
        ledger: the account of the clients' requests and their outcomes.
        acks: the value of acks for the client's writes.
        serve: the function that returns what a replica serves, given the key, the broker, the read mode, and the client's position.
        position: the highest position up to which the client has read; used only by the read modes that need it.
        pending: the writes that have not ended, by request.
    """

    __slots__ = ("_reads", "_turns", "acks", "ledger", "pending", "position", "reachable", "serve", "tp")

    ledger: Final[Account]
    reachable: Final[tuple[int, ...]]
    tp: Final[TopicPartition]

    def __init__(
        self, name: str, tp: TopicPartition, context: ClientContext, reachable: tuple[int, ...], ledger: Account, acks: int, serve: Callable[[str, str, int, str, int], Served],
    ) -> None:  # fmt: skip
        super().__init__(name, tp.topic, context)
        self.tp = tp
        self.reachable = reachable
        self.ledger = ledger
        self.acks = acks
        self.serve = serve
        self.position = -1
        self.pending: dict[int, PendingWrite] = {}
        self._reads: dict[int, tuple[str, int, Floor, int, bool]] = {}
        self._turns: dict[ReadLoop, int] = {}
        self.handlers[ProduceResponse] = self._produced
        self.timers.update({
            "write": self._write_due, "read": self._read_due, "limit": self._limit, "read-limit": self._read_limit, "retry": self._retry,
        })  # fmt: skip

    # --- loops --------------------------------------------------------------------------------------------------------

    def start(self, loop: WriteLoop | ReadLoop) -> None:
        """Start a loop of reads or writes."""
        self.timer(max(0, loop.start - self.journal.now), "write" if isinstance(loop, WriteLoop) else "read", loop)

    def stop(self) -> None:
        """Stop all loops of reads and writes. Unfinished writes continue until they reach their time limit."""
        self.incarnation += 1
        for request, pending in self.pending.items():
            self.timer(max(0, pending.invoked + REQUEST_TIMEOUT - self.journal.now), "limit", request)
            self.timer(0, "retry", request)

    def _write_due(self, loop: WriteLoop) -> None:
        now = self.journal.now
        if now >= loop.until:
            return
        self.timer(loop.every, "write", loop)
        if loop.probe:
            self.write(f"{loop.key}-{now // US_PER_MS}", limit=loop.limit, probe=True)
        elif not any(each.row.key == loop.key for each in self.pending.values()):
            self.write(loop.key, limit=loop.limit)

    def _read_due(self, loop: ReadLoop) -> None:
        if self.journal.now >= loop.until:
            return
        self.timer(loop.every, "read", loop)
        turn = self._turns.get(loop, 0)
        self._turns[loop] = turn + 1
        broker = int(loop.servers[turn % len(loop.servers)][1:]) if loop.servers else NO_LEADER
        self.read(loop.key, broker, how=loop.how, limit=loop.limit, probe=loop.probe)

    # --- writes -------------------------------------------------------------------------------------------------------

    def write(self, key: str, *, limit: int = REQUEST_TIMEOUT, probe: bool = False) -> Row:
        """Send the next version of a key."""
        journal = self.journal
        row = self.ledger.new_row(key)
        request = self.ledger.new_request()
        self.pending[request] = PendingWrite(row, journal.now, probe=probe)
        journal.cause = journal.emit(events.WriteSent.kind, self.name, key, row.version, "the leader")
        self.timer(min(limit, REQUEST_TIMEOUT), "limit", request)
        self._try(request)
        return row

    def _try(self, request: int) -> None:
        pending = self.pending[request]
        leader = self.leader_of(0)
        if leader == NO_LEADER or leader not in self.reachable or self.reconnect_time(broker_address(leader)) > self.journal.now:
            self.refresh_metadata_soon()
            return
        row = pending.row
        pending.sent_to = broker_address(leader)
        content = ((row.key, str(row.version)),)
        self.send(
            pending.sent_to,
            ProduceRequest(request, self.name, self.tp, 1, ROW_BYTES, self.acks, REQUEST_TIMEOUT, row.uid, 1, content=content),
        )
        if self.acks == 0:
            self._end(request, OK, "")

    def _produced(self, response: ProduceResponse, sender: str) -> None:
        pending = self.pending.get(response.correlation)
        if pending is None or pending.sent_to != sender:
            return
        if response.error == errors.NONE:
            if response.term is not None:
                self.account.acknowledged(self.tp, response.term, response.base, 1, self.name, pending.row.uid, sender)
            self._end(response.correlation, OK, "")
        elif response.error in NOT_APPENDED:
            pending.sent_to = ""
            self.refresh_metadata_soon()
        else:
            self._end(response.correlation, UNKNOWN, response.error)

    def _retry(self, request: int) -> None:
        if request in self.pending and not self.pending[request].sent_to:
            self._try(request)

    def metadata_updated(self) -> None:
        for request, pending in list(self.pending.items()):
            if not pending.sent_to:
                self._try(request)

    def connection_lost(self, node: str) -> None:
        for request, pending in list(self.pending.items()):
            if pending.sent_to == node:
                self._end(request, UNKNOWN, f"the connection to {node} broke")
        self.refresh_metadata_soon()

    def _limit(self, request: int) -> None:
        pending = self.pending.get(request)
        if pending is not None:
            if pending.sent_to:
                self.abandon_connection(pending.sent_to)  # ends this request as well
                return
            self._end(request, FAIL, "no leader accepts it within the time limit")
            self.refresh_metadata()

    def _end(self, request: int, outcome: str, reason: str) -> None:
        pending = self.pending.pop(request)
        self.account.batch_completed(self.name, pending.row.uid)
        self.ledger.write_ended(self.name, pending.row, pending.invoked, outcome, reason, probe=pending.probe)

    # --- reads --------------------------------------------------------------------------------------------------------

    def read(self, key: str, broker: int = NO_LEADER, *, how: str = "", limit: int = REQUEST_TIMEOUT, probe: bool = False) -> None:
        """Ask a broker, by default the leader that the client knows, for the latest version of a key."""
        ledger, now = self.ledger, self.journal.now
        if broker == NO_LEADER:
            broker = self.leader_of(0)
            if broker == NO_LEADER:
                self.refresh_metadata()
        floor = ledger.floor(self.name, key)
        can_connect = broker == NO_LEADER or broker in self.reachable
        served = self.serve(self.name, key, broker, how, self.position) if can_connect else Served(unreachable=True)
        if served.unreachable:
            request = ledger.new_request()
            self._reads[request] = (key, broker, floor, now, probe)
            self.timer(limit, "read-limit", request)
            return
        outcome = FAIL if served.refusal else OK
        if served.refusal:
            self.refresh_metadata_soon()
        self.position = max(self.position, served.position)
        ledger.read_ended(self.name, f"b{broker}", key, served.row, now, floor, outcome, served.refusal, probe=probe)

    def _read_limit(self, request: int) -> None:
        key, broker, floor, invoked, probe = self._reads.pop(request)
        self.ledger.read_ended(
            self.name, f"b{broker}", key, NOTHING, invoked, floor, UNKNOWN, "no answer within the time limit", probe=probe
        )  # fmt: skip
        self.refresh_metadata()
