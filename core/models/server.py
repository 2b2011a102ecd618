"""A server of any model: a process with a disk, which answers clients."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import attrs

from core.models.client_messages import NOTHING, Connect, Connected, Row
from core.sim.journal import Journal
from core.sim.network import Network
from core.sim.node import Node
from core.sim.units import US_PER_MS


@attrs.frozen
class CopyView:
    """A server's copy at one point in time.

    Attributes:
        name, role, running: the name of the server, its current role in the model's own words, and whether its process is running.
        term: the term that the server knows; 0 if the model has no terms.
        stored: the number of rows that the server has received.
        durable: the number of received rows that would survive a loss of power.
        visible: the number of rows that a read at this server can return.
        acknowledged: the number of acknowledged rows that the server has received.
        note: other relevant facts about the copy, in the model's own words.
    """

    name: str
    role: str
    running: bool
    term: int
    stored: int
    durable: int
    visible: int
    acknowledged: int = 0
    note: str = ""


class Rows:
    """The rows that are visible on a server: the latest version of each key, and the IDs of all visible rows."""

    __slots__ = ("latest", "uids")

    def __init__(self) -> None:
        self.latest: dict[str, Row] = {}
        self.uids: set[int] = set()

    def add(self, row: Row) -> None:
        """Make a row visible to reads."""
        self.uids.add(row.uid)
        if row.version > self.latest.get(row.key, NOTHING).version:
            self.latest[row.key] = row

    def reset(self, rows: Iterable[Row]) -> None:
        """Make exactly the given rows visible to reads."""
        self.latest.clear()
        self.uids.clear()
        for row in rows:
            self.add(row)

    def become(self, rows: Rows) -> None:
        """Replace the visible rows with those of another `Rows`."""
        self.latest = dict(rows.latest)
        self.uids = set(rows.uids)

    def read(self, key: str) -> Row:
        """Return the latest version of a key."""
        return self.latest.get(key, NOTHING)

    def __len__(self) -> int:
        return len(self.uids)


class Server(Node):
    """The base class of the servers of all models.

    Attributes:
        write_time: how long a write to the server's own log takes, including the sync, in µs.
    """

    __slots__ = ("peers", "write_time")

    peers: Final[tuple[str, ...]]

    def __init__(self, address: str, peers: tuple[str, ...], network: Network, journal: Journal) -> None:
        super().__init__(address, network, journal)
        self.peers = peers
        self.write_time = US_PER_MS
        self.handlers[Connect] = self._accept

    def _accept(self, connect: Connect, client: str) -> None:
        self.reply(client, Connected())

    def begin(self) -> None:
        """Start the process with the data on disk."""

    def connection_killed(self, client: str) -> None:
        """End what the server does only for the connection of a client, which has been killed."""

    def end(self, *, power: bool) -> None:
        """Drop the data in memory. If the machine loses power, also drop the data that was not synced to disk."""

    def emit(self, kind: str, *columns: object) -> None:
        """Record an event, and make that event the cause of what the server does next."""
        self.journal.cause = self.journal.emit(kind, *columns)

    @property
    def has_copy(self) -> bool:
        """Whether the server is supposed to hold a copy of the data."""
        return True

    def stored_rows(self) -> Iterable[Row]:
        """Return the rows that the server has received, in order."""
        raise NotImplementedError

    def holds(self, row: Row) -> bool:
        """Return whether the server has received a row."""
        raise NotImplementedError

    def copy_state(self) -> tuple[int, int]:
        """Return a number that changes if the copy's content is replaced, and the length of the copy."""
        raise NotImplementedError

    def received_since(self, length: int) -> Iterable[Row]:
        """Return the rows that the server has received since its copy had a given length."""
        raise NotImplementedError

    def places(self) -> dict[object, Row]:
        """Return the rows that the server knows to be committed, by place: offset, sequence number, or GTID."""
        raise NotImplementedError

    def view(self) -> CopyView:
        """Return a frozen view of the copy."""
        raise NotImplementedError
