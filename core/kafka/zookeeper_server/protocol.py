"""The messages between ZooKeeper and its clients: operations on znodes, their results, sessions, and watches.

A request carries several operations, and each of them has its own result, as in Kafka's pipelined `ZooKeeperClient#handleRequests`.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

OK: Final = "OK"
NO_NODE: Final = "NO_NODE"
NODE_EXISTS: Final = "NODE_EXISTS"
BAD_VERSION: Final = "BAD_VERSION"
SESSION_EXPIRED: Final = "SESSION_EXPIRED"

ANY_VERSION: Final = -1
"""The version that lets a write succeed regardless of the znode's version."""


class Create(NamedTuple):
    """The creation of a znode. If `sequential` is true, ZooKeeper appends an increasing ten-digit number to the name."""

    path: str
    data: object = None
    ephemeral: bool = False
    sequential: bool = False


class SetData(NamedTuple):
    """A write to a znode. The write fails if the znode does not have the given version."""

    path: str
    data: object
    version: int = ANY_VERSION


class Delete(NamedTuple):
    """The deletion of a znode."""

    path: str


class GetData(NamedTuple):
    """A read of a znode. If `watch` is true, ZooKeeper sends one notification when the znode is created, changed, or deleted."""

    path: str
    watch: bool = False


class GetChildren(NamedTuple):
    """An operation that reads the names of a znode's children, in the order in which the children were created. If `watch` is true,
    ZooKeeper sends one notification when the names change."""

    path: str
    watch: bool = False


class Multi(NamedTuple):
    """A write that happens only if another znode has the given version (in ZooKeeper, a multi operation that consists of a check and a
    write)."""

    checked: str
    version: int
    op: Create | SetData


Op = Create | SetData | Delete | GetData | GetChildren | Multi


class Result(NamedTuple):
    """The result of one ZooKeeper operation.

    Attributes:
        error: OK, or the reason for the failure.
        data: the data that was read, the path of the created znode, or the names of the children.
        version: the znode's version.
        created: the zxid of the znode's creation.
        fenced: whether the check in a multi operation failed.
        cause: the sequence number of the event that records a write; 0 if there is none.
    """

    error: str
    data: Any = None
    version: int = -1
    created: int = -1
    fenced: bool = False
    cause: int = 0


class ConnectRequest(NamedTuple):
    """A request to open a session. `timeout` is in µs."""

    timeout: int


class ConnectResponse(NamedTuple):
    """The response to a request to open a session. The response contains the number of the new session."""

    session: int


class SessionRequest(NamedTuple):
    """A client's request, which carries the operations to perform in the client's session. A request without operations is a ping."""

    session: int
    xid: int
    ops: tuple[Op, ...]


class SessionResponse(NamedTuple):
    """The results of the operations in a request. `error` is SESSION_EXPIRED if the session does not exist."""

    session: int
    xid: int
    error: str
    results: tuple[Result, ...]


class CloseRequest(NamedTuple):
    """A request to close a session, which immediately deletes the session's ephemeral znodes."""

    session: int


class CloseResponse(NamedTuple):
    """The confirmation that the session is closed."""


class WatchEvent(NamedTuple):
    """The notification that a watched znode has changed."""

    session: int
    path: str
