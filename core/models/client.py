"""A client that writes versions of keys and reads them back. A client knows only what servers tell it.

Each request ends once: *ok*, *fail* (a definite refusal), or *unknown* (no answer within the time limit, or a broken connection).
"""

from __future__ import annotations

from typing import Final

import attrs

from core.models import events
from core.models.account import FAIL, OK, UNKNOWN, Account, Floor
from core.models.client_messages import NOTHING, Connect, Connected, Read, Refused, Row, Unclear, Value, Write, Written
from core.sim.journal import Journal
from core.sim.kernel_messages import Disconnected
from core.sim.network import Network
from core.sim.node import Node
from core.sim.units import SECOND, US_PER_MS

REDIRECTS: Final = 3
"""The maximum number of times that a request can be redirected. A server that refuses a request can name another server for the request."""


@attrs.frozen
class WriteLoop:
    """A loop that writes at fixed times.

    Attributes:
        key: the key to write.
        every: the time between two requests, in µs.
        start, until: the time of the first request, and the time at which the loop ends, in µs.
        limit: the time limit of a request, in µs.
        probe: whether the loop is a probe, which writes to a new key every `every` µs, even if earlier writes are outstanding.
    """

    key: str
    every: int
    start: int = 0
    until: int = 10**15
    limit: int = 120 * SECOND
    probe: bool = False


@attrs.frozen
class ReadLoop:
    """A loop that reads at fixed times.

    Attributes:
        key: the key to read.
        every, start, until, limit, probe: as in `WriteLoop`.
        servers: the servers to read from in turn; empty for the server that the client writes to.
        how: the read mode, one of the model's `READS`.
    """

    key: str
    every: int
    servers: tuple[str, ...] = ()
    how: str = ""
    start: int = 0
    until: int = 10**15
    limit: int = 120 * SECOND
    probe: bool = False


class Pending:
    """A request that has not ended.

    Attributes:
        server: the server that the request was sent to.
        sent: whether the request was sent. If the request was not sent, it waits until the connection to the server is open again.
        redirects: how many more times the request can be redirected to another server.
    """

    __slots__ = ("floor", "how", "invoked", "key", "probe", "redirects", "row", "sent", "server", "write")

    def __init__(self, server: str, key: str, row: Row, how: str, invoked: int, floor: Floor, *, write: bool, probe: bool) -> None:
        self.server = server
        self.key = key
        self.row = row
        self.how = how
        self.invoked = invoked
        self.floor = floor
        self.write = write
        self.probe = probe
        self.redirects = REDIRECTS
        self.sent = False


class Client(Node):
    """A client.

    Attributes:
        reachable: the servers that the client can connect to, in order of preference.
        servers: those of the reachable servers that the client uses now.
        target: the server that the client sends writes to.
        session: whether the client refuses servers that have not reached the position `seen`, as a ZooKeeper client does.
        seen: the highest position that the client's session has seen.
        broken: the servers to which the connection is broken.
        pending: the requests that have not ended, by number.
    """

    __slots__ = ("_turns", "account", "broken", "pending", "reachable", "seen", "servers", "session", "target")

    account: Final[Account]
    reachable: Final[tuple[str, ...]]

    def __init__(
        self, name: str, servers: tuple[str, ...], account: Account, network: Network, journal: Journal, *, session: bool = False
    ) -> None:
        super().__init__(name, network, journal)
        self.account = account
        self.reachable = self.servers = servers
        self.target = servers[0]
        self.session = session
        self.seen = -1
        self.broken: set[str] = set()
        self.pending: dict[int, Pending] = {}
        self._turns: dict[ReadLoop, int] = {}
        self.handlers.update({
            Written: self._written, Value: self._value, Refused: self._refused, Unclear: self._unclear, Connected: self._connected, Disconnected: self._disconnected,
        })  # fmt: skip
        self.timers.update({"write": self._write_due, "read": self._read_due, "limit": self._limit})

    # --- loops --------------------------------------------------------------------------------------------------------

    def start(self, loop: WriteLoop | ReadLoop) -> None:
        """Start a loop of reads or writes."""
        self.timer(max(0, loop.start - self.journal.now), "write" if isinstance(loop, WriteLoop) else "read", loop)

    def stop(self) -> None:
        """Stop all loops of reads and writes. Outstanding requests continue."""
        self.incarnation += 1
        for request, pending in self.pending.items():
            self.timer(max(0, pending.invoked + 120 * SECOND - self.journal.now), "limit", request)

    def _write_due(self, loop: WriteLoop) -> None:
        now = self.journal.now
        if now >= loop.until:
            return
        self.timer(loop.every, "write", loop)
        if loop.probe:
            self.write(f"{loop.key}-{now // US_PER_MS}", limit=loop.limit, probe=True)
        elif not any(each.write and each.key == loop.key for each in self.pending.values()):
            self.write(loop.key, limit=loop.limit)

    def _read_due(self, loop: ReadLoop) -> None:
        if self.journal.now >= loop.until:
            return
        self.timer(loop.every, "read", loop)
        turn = self._turns.get(loop, 0)
        self._turns[loop] = turn + 1
        server = loop.servers[turn % len(loop.servers)] if loop.servers else self.target
        self.read(loop.key, server, how=loop.how, limit=loop.limit, probe=loop.probe)

    # --- requests -----------------------------------------------------------------------------------------------------

    def write(self, key: str, server: str = "", *, limit: int = 120 * SECOND, probe: bool = False) -> Row:
        """Send the next version of a key."""
        row = self.account.new_row(key)
        self._begin(server or self.target, key, row, "", limit, write=True, probe=probe)
        return row

    def read(self, key: str, server: str = "", *, how: str = "", limit: int = 120 * SECOND, probe: bool = False) -> None:
        """Request the latest version of a key."""
        self._begin(server or self.target, key, NOTHING, how, limit, write=False, probe=probe)

    def _begin(self, server: str, key: str, row: Row, how: str, limit: int, *, write: bool, probe: bool) -> None:
        account, journal = self.account, self.journal
        request = account.new_request()
        floor = account.floor(self.address, key)
        self.pending[request] = pending = Pending(server, key, row, how, journal.now, floor, write=write, probe=probe)
        if write:
            journal.cause = journal.emit(events.WriteSent.kind, self.address, key, row.version, server)
        self._send(request, pending)
        self.timer(limit, "limit", request)

    def _send(self, request: int, pending: Pending) -> None:
        pending.sent = pending.server not in self.broken
        if not pending.sent:
            self.send(pending.server, Connect())
        elif pending.write:
            self.send(pending.server, Write(request, pending.row))
        else:
            self.send(pending.server, Read(request, pending.key, pending.how, self.seen if self.session else -1))

    # --- answers ------------------------------------------------------------------------------------------------------

    def _written(self, answer: Written, sender: str) -> None:
        self._end(answer.request, OK, "")

    def _value(self, answer: Value, sender: str) -> None:
        self.seen = max(self.seen, answer.position)
        self._end(answer.request, OK, "", answer.row)

    def _refused(self, answer: Refused, sender: str) -> None:
        pending = self.pending.get(answer.request)
        if pending is None or pending.server != sender:
            return
        if answer.leader and answer.leader != sender and answer.leader in self.servers and pending.redirects:
            pending.redirects -= 1
            pending.server = answer.leader
            if pending.write:
                self.target = answer.leader
            self._send(answer.request, pending)
            return
        if self.session and not pending.write and pending.redirects:
            pending.redirects -= 1
            pending.server = self._after(sender)
            self._send(answer.request, pending)
            return
        self._end(answer.request, FAIL, answer.reason)
        if not answer.leader and pending.write and sender == self.target:
            self._turn_from(sender)

    def _unclear(self, answer: Unclear, sender: str) -> None:
        self._end(answer.request, UNKNOWN, answer.reason)

    def _connected(self, connected: Connected, server: str) -> None:
        self.broken.discard(server)
        for request, pending in self.pending.items():
            if pending.server == server and not pending.sent:
                self._send(request, pending)

    def _disconnected(self, gone: Disconnected, sender: str) -> None:
        self.broken.add(gone.node)
        for request in [request for request, each in self.pending.items() if each.server == gone.node]:
            if self.pending[request].sent:
                self._end(request, UNKNOWN, f"the connection to {gone.node} broke")
            else:
                self._end(request, FAIL, f"{gone.node} refuses connections")
        if self.target == gone.node:
            self._turn_from(gone.node)

    def _turn_from(self, server: str) -> None:
        if server in self.servers:
            self.target = self._after(server)

    def _after(self, server: str) -> str:
        return self.servers[(self.servers.index(server) + 1) % len(self.servers)]

    def _limit(self, request: int) -> None:
        pending = self.pending.get(request)
        if pending is not None:
            self._end(request, UNKNOWN if pending.sent else FAIL, "no answer within the time limit")
            if pending.server == self.target:
                self._turn_from(pending.server)

    def _end(self, request: int, outcome: str, reason: str, row: Row = NOTHING) -> None:
        pending = self.pending.pop(request, None)
        if pending is None:
            return
        account = self.account
        if pending.write:
            account.write_ended(self.address, pending.row, pending.invoked, outcome, reason, probe=pending.probe)
        else:
            account.read_ended(
                self.address, pending.server, pending.key, row, pending.invoked, pending.floor, outcome, reason, probe=pending.probe
            )  # fmt: skip
