"""ZooKeeper as one node that never fails: a tree of znodes, conditional writes, sessions, ephemeral znodes, and one-shot watches.

A session expires when ZooKeeper has not heard from its client for the session timeout. Then ZooKeeper deletes the session's ephemeral
znodes, and their watches fire. A controller learns about the failure of a broker only through a watch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import attrs

from core.kafka import events
from core.kafka.ids import ZOOKEEPER
from core.kafka.last_changes import EXPIRED
from core.kafka.zookeeper_server.protocol import (
    ANY_VERSION,
    BAD_VERSION,
    NO_NODE,
    NODE_EXISTS,
    OK,
    SESSION_EXPIRED,
    CloseRequest,
    CloseResponse,
    ConnectRequest,
    ConnectResponse,
    Create,
    Delete,
    GetChildren,
    GetData,
    Multi,
    Op,
    Result,
    SessionRequest,
    SessionResponse,
    WatchEvent,
)
from core.sim.journal import Journal
from core.sim.kernel_messages import Disconnected
from core.sim.network import Network
from core.sim.node import Node

NO_SESSION: Final = 0
"""The placeholder for the owner of a znode that is not ephemeral."""

Observer = Callable[[str, object, int, int], int]
"""A function that is called for every write with the path, the data, the version (-1 if the znode was deleted), and the zxid of the znode's
creation.

The observer returns the sequence number of the event that records the write; 0 if there is none.
"""


@attrs.define(slots=True, eq=False)
class Znode:
    """A znode.

    Attributes:
        data: the data that the znode contains.
        created: the zxid of the znode's creation.
        version: the number of writes since the znode's creation.
        owner: the session that owns an ephemeral znode; NO_SESSION for any other znode.
        children: the names of the znode's children (ordered set).
        sequence: the number of the next sequential child.
    """

    data: object
    created: int
    version: int = 0
    owner: int = NO_SESSION
    children: dict[str, None] = attrs.field(factory=dict)
    sequence: int = 0


@attrs.define(slots=True, eq=False)
class Session:
    """A client's session.

    Attributes:
        number: the session's id.
        address: the client's address.
        timeout: the session timeout, in µs.
        last_heard: the time of the client's last request, in µs.
        ephemerals: the paths of the session's ephemeral znodes (ordered set).
    """

    number: int
    address: str
    timeout: int
    last_heard: int
    ephemerals: dict[str, None] = attrs.field(factory=dict)


class ZooKeeper(Node):
    """The ZooKeeper node.

    Attributes:
        by_hand: whether the laboratory is in by-hand mode, in which no session expires by itself.
        observer: the function that is called for every write. The observer does not change ZooKeeper.
        znodes: the znodes by path.
        sessions: the live sessions by number.
    """

    def __init__(self, network: Network, journal: Journal, *, by_hand: bool, observer: Observer) -> None:
        super().__init__(ZOOKEEPER, network, journal)
        self.by_hand = by_hand
        self.observer = observer
        self.znodes: dict[str, Znode] = {"": Znode(None, 0)}
        self.sessions: dict[int, Session] = {}
        self._zxid = 0
        self._last_session = NO_SESSION
        self._watches: dict[str, dict[int, None]] = {}
        self._child_watches: dict[str, dict[int, None]] = {}
        self.handlers.update(
            {
                ConnectRequest: self._connect,
                SessionRequest: self._request,
                CloseRequest: self._close,
                Disconnected: self._disconnected,
            }
        )
        self.timers.update({"session": self._session_check})

    # --- sessions --------------------------------------------------------------------------------------------------

    def open_session(self, address: str, timeout: int) -> int:
        """Open a session, and return its number."""
        self._last_session = number = self._last_session + 1
        self.sessions[number] = Session(number, address, timeout, self.journal.now)
        if not self.by_hand:
            self.timer(timeout + 1, "session", number)
        return number

    def session_of(self, address: str) -> Session | None:
        """Return the newest live session of a client; None if it has none."""
        found = None
        for session in self.sessions.values():
            if session.address == address:
                found = session
        return found

    def _connect(self, request: ConnectRequest, sender: str) -> None:
        if self.by_hand:
            # In by-hand mode, no time passes in which the session of the former process could expire.
            for session in [session for session in self.sessions.values() if session.address == sender]:
                self.expire(session.number)
        self.reply(sender, ConnectResponse(self.open_session(sender, request.timeout)))

    def _session_check(self, number: object) -> None:
        assert isinstance(number, int)
        session = self.sessions.get(number)
        if session is None:
            return
        silent = self.journal.now - session.last_heard
        if silent > session.timeout:
            self.expire(number)
        else:
            self.timer(session.timeout + 1 - silent, "session", number)

    def expire(self, number: int) -> None:
        """Expire a session, and delete its ephemeral znodes."""
        session = self.sessions[number]
        journal = self.journal
        before = journal.cause
        limit = -1 if self.by_hand else session.timeout
        if not self.by_hand:
            journal.blame(self.why_silent(session.address, session.last_heard))
        journal.cause = journal.emit(events.SessionExpired.kind, int(session.address[1:]), journal.now - session.last_heard, limit)
        self.network.disturbances.changed(number, journal.cause)
        self.network.disturbances.changed((EXPIRED, session.address), journal.cause)
        self._end(session)
        journal.cause = before

    def _close(self, request: CloseRequest, sender: str) -> None:
        session = self.sessions.get(request.session)
        if session is not None:
            self._end(session)
        self.reply(sender, CloseResponse())

    def _end(self, session: Session) -> None:
        del self.sessions[session.number]
        for path in list(session.ephemerals):
            self._delete(path)

    def _disconnected(self, message: Disconnected, _: str) -> None:
        """Do nothing, because a session survives a broken connection until its timeout expires."""

    # --- requests --------------------------------------------------------------------------------------------------

    def _request(self, request: SessionRequest, sender: str) -> None:
        session = self.sessions.get(request.session)
        if session is None:
            self.journal.cause = self.network.disturbances.last_change(request.session) or self.journal.cause
            self.reply(sender, SessionResponse(request.session, request.xid, SESSION_EXPIRED, ()))
            return
        session.last_heard = self.journal.now
        results = tuple(self.apply(op, session) for op in request.ops)
        self.reply(sender, SessionResponse(request.session, request.xid, OK, results))

    def apply(self, op: Op, session: Session | None = None) -> Result:
        """Perform one operation. An operation without a session comes from an administrator's tool."""
        if isinstance(op, Multi):
            checked = self.znodes.get(op.checked)
            if checked is None or checked.version != op.version:
                return Result(BAD_VERSION, fenced=True)
            return self.apply(op.op, session)
        if isinstance(op, GetData):
            return self._get_data(op, session)
        if isinstance(op, GetChildren):
            if op.watch and session is not None:
                self._child_watches.setdefault(op.path, {})[session.number] = None
            parent = self.znodes.get(op.path)
            return Result(OK, () if parent is None else tuple(parent.children))
        if isinstance(op, Create):
            return self._create(op, session)
        znode = self.znodes.get(op.path)
        if znode is None:
            return Result(NO_NODE)
        if isinstance(op, Delete):
            self._delete(op.path)
            return Result(OK)
        if op.version not in (ANY_VERSION, znode.version):
            return Result(BAD_VERSION, version=znode.version)
        znode.data = op.data
        znode.version += 1
        self._zxid += 1
        cause = self._written(op.path, znode)
        return Result(OK, version=znode.version, created=znode.created, cause=cause)

    def _get_data(self, op: GetData, session: Session | None) -> Result:
        if op.watch and session is not None:
            self._watches.setdefault(op.path, {})[session.number] = None
        znode = self.znodes.get(op.path)
        return Result(NO_NODE) if znode is None else Result(OK, znode.data, znode.version, znode.created)

    def _create(self, op: Create, session: Session | None) -> Result:
        parent_path, _, name = op.path.rpartition("/")
        parent = self._parent(parent_path)
        if op.sequential:
            name = f"{name}{parent.sequence:010}"
            parent.sequence += 1
        path = f"{parent_path}/{name}"
        if path in self.znodes:
            return Result(NODE_EXISTS)
        self._zxid += 1
        znode = self.znodes[path] = Znode(op.data, self._zxid)
        parent.children[name] = None
        if op.ephemeral and session is not None:
            znode.owner = session.number
            session.ephemerals[path] = None
        cause = self._written(path, znode)
        self._fire(self._child_watches, parent_path)
        return Result(OK, path, 0, znode.created, cause=cause)

    def _parent(self, path: str) -> Znode:
        znode = self.znodes.get(path)
        if znode is None:
            above, _, name = path.rpartition("/")
            self._parent(above).children[name] = None
            znode = self.znodes[path] = Znode(None, self._zxid)
        return znode

    def _delete(self, path: str) -> None:
        znode = self.znodes.pop(path)
        self._zxid += 1
        parent_path, _, name = path.rpartition("/")
        self.znodes[parent_path].children.pop(name, None)
        session = self.sessions.get(znode.owner)
        if session is not None:
            session.ephemerals.pop(path, None)
        self.observer(path, None, -1, znode.created)
        self._fire(self._watches, path)
        self._fire(self._child_watches, parent_path)

    def _written(self, path: str, znode: Znode) -> int:
        cause = self.observer(path, znode.data, znode.version, znode.created)
        self._fire(self._watches, path)
        return cause

    def _fire(self, watches: dict[str, dict[int, None]], path: str) -> None:
        for number in watches.pop(path, ()):
            session = self.sessions.get(number)
            if session is not None:
                # The notification uses the connection that the client opened.
                self.reply(session.address, WatchEvent(number, path))
