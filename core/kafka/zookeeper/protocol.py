"""What ZooKeeper and its clients say to each other: operations on znodes, their results, sessions and watches.

A request carries several operations that are answered one by one, as Kafka's pipelined `ZooKeeperClient#handleRequests`.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

OK: Final = "OK"
NO_NODE: Final = "NO_NODE"
NODE_EXISTS: Final = "NODE_EXISTS"
BAD_VERSION: Final = "BAD_VERSION"
SESSION_EXPIRED: Final = "SESSION_EXPIRED"

ANY_VERSION: Final = -1
"""A write that takes any version."""


class Create(NamedTuple):
    """Make a znode; `sequential` appends a rising number of ten digits to its name."""

    path: str
    data: object = None
    ephemeral: bool = False
    sequential: bool = False


class SetData(NamedTuple):
    """Write a znode if it has this version."""

    path: str
    data: object
    version: int = ANY_VERSION


class Delete(NamedTuple):
    """Remove a znode."""

    path: str


class GetData(NamedTuple):
    """Read a znode; `watch` asks to be told once when it changes, appears or goes."""

    path: str
    watch: bool = False


class GetChildren(NamedTuple):
    """Names of the znodes below one, in order; `watch` asks to be told once when they change."""

    path: str
    watch: bool = False


class Multi(NamedTuple):
    """A write that counts only while another znode has a version (a multi of check and write)."""

    checked: str
    version: int
    op: Create | SetData


Op = Create | SetData | Delete | GetData | GetChildren | Multi


class Result(NamedTuple):
    """The outcome of one operation: `error`, the data or children, the znode's version, and the zxid that made it.

    `fenced`: a multi failed by its check. `cause`: the event that tells of a write.
    """

    error: str
    data: Any = None
    version: int = -1
    created: int = -1
    fenced: bool = False
    cause: int = 0


class ConnectRequest(NamedTuple):
    """Open a session with a timeout in µs."""

    timeout: int


class ConnectResponse(NamedTuple):
    """The session's number."""

    session: int


class SessionRequest(NamedTuple):
    """Operations of a session; without any it is a ping."""

    session: int
    xid: int
    ops: tuple[Op, ...]


class SessionResponse(NamedTuple):
    """The results; `error` SESSION_EXPIRED if the session is gone."""

    session: int
    xid: int
    error: str
    results: tuple[Result, ...]


class CloseRequest(NamedTuple):
    """End a session in good order: its ephemeral znodes go at once."""

    session: int


class CloseResponse(NamedTuple):
    """It is closed."""


class WatchEvent(NamedTuple):
    """Something that was watched has changed."""

    session: int
    path: str
