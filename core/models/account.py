"""The account of what clients requested and how their requests ended. The account sees only what clients see, and the counts are derived
from the account.

One request precedes another if it completes before the other is invoked. Therefore, a write that overlaps with a read never makes that read
stale.
"""

from __future__ import annotations

from bisect import bisect_right
from operator import attrgetter
from typing import Final, NamedTuple

from core.models import events
from core.models.client_messages import NOTHING, Row
from core.sim.journal import Journal
from core.sim.state.append_only_list import AppendOnlyList

OK: Final = "ok"
FAIL: Final = "fail"
UNKNOWN: Final = "unknown"


VERSION: Final = attrgetter("version")
"""A function that returns the acknowledged version of an `Advance`."""


class WriteRecord(NamedTuple):
    """A completed write.

    Attributes:
        probe: whether a probe made the write. Probes measure only availability.
        event: the sequence number of the event that records the end of the write.
    """

    client: str
    row: Row
    invoked: int
    ended: int
    outcome: str
    probe: bool
    event: int


class ReadRecord(NamedTuple):
    """A completed read.

    Attributes:
        row: the row that the read returned; `NOTHING` if there was no row or the read failed.
        acked, own, before: the highest acknowledged version, the highest version acknowledged to this client, and the highest version that
            this client had read, at the time when the read was invoked.
        stale_us: the time since the acknowledgment of the version that follows the returned one, in µs.
        unacknowledged: whether the read ended before the write of the row was acknowledged.
    """

    client: str
    server: str
    key: str
    row: Row
    invoked: int
    ended: int
    outcome: str
    probe: bool
    acked: int
    own: int
    before: int
    stale_us: int
    unacknowledged: bool
    event: int

    @property
    def stale(self) -> int:
        """The number of acknowledged versions by which the returned value is out of date."""
        return max(0, self.acked - self.row.version) if self.outcome == OK else 0

    @property
    def own_missing(self) -> int:
        """The number of versions by which the returned value is behind the client's own acknowledged writes."""
        return max(0, self.own - self.row.version) if self.outcome == OK else 0

    @property
    def backward(self) -> int:
        """The number of versions by which the returned value is behind a value that the same client read earlier."""
        return max(0, self.before - self.row.version) if self.outcome == OK else 0


class Advance(NamedTuple):
    """An acknowledgment of a version that is higher than all versions acknowledged before: the version and the time."""

    version: int
    time: int


class Floor(NamedTuple):
    """The oldest versions that a read can return without violating a guarantee, at the time when the read is invoked."""

    acked: int
    own: int
    before: int


class Account:
    """The account of what clients requested and how their requests ended.

    Attributes:
        writes, reads: the completed requests, in the order of their completion.
        versions: the number of versions that were sent, by key.
        uids: the number of uids that have been assigned to rows.
        requests: the number of requests that were sent.
        acked: the highest acknowledged version, by key.
        acked_times: the time at which each version was acknowledged, by key and version.
        advances: the acknowledgments that raised the highest acknowledged version of a key, in order, by key.
        own: the highest version that was acknowledged to a client, by client and key.
        before: the highest version that a client has read, by client and key.
        oks: the uids of acknowledged rows.
    """

    __slots__ = ("acked", "acked_times", "advances", "before", "journal", "oks", "own", "reads", "requests", "uids", "versions", "writes")

    journal: Final[Journal]
    writes: Final[AppendOnlyList[WriteRecord]]
    reads: Final[AppendOnlyList[ReadRecord]]

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.writes = AppendOnlyList()
        self.reads = AppendOnlyList()
        self.versions: dict[str, int] = {}
        self.uids = 0
        self.requests = 0
        self.acked: dict[str, int] = {}
        self.acked_times: dict[tuple[str, int], int] = {}
        self.advances: dict[str, AppendOnlyList[Advance]] = {}
        self.own: dict[tuple[str, str], int] = {}
        self.before: dict[tuple[str, str], int] = {}
        self.oks: dict[int, Row] = {}

    def new_request(self) -> int:
        """Return a new request number."""
        self.requests += 1
        return self.requests

    def new_row(self, key: str) -> Row:
        """Return the row of the next version of a key."""
        self.uids += 1
        self.versions[key] = version = self.versions.get(key, 0) + 1
        return Row(key, version, self.uids)

    def floor(self, client: str, key: str) -> Floor:
        """Return the oldest versions that a read invoked now can return without violating a guarantee."""
        return Floor(self.acked.get(key, 0), self.own.get((client, key), 0), self.before.get((client, key), 0))

    def write_ended(self, client: str, row: Row, invoked: int, outcome: str, reason: str, *, probe: bool) -> None:
        """Record the end of a write."""
        journal = self.journal
        now = journal.now
        event = journal.emit(events.WriteEnded.kind, client, row.key, row.version, outcome, now - invoked, reason)
        self.writes.append(WriteRecord(client, row, invoked, now, outcome, probe, event))
        if outcome == OK:
            self.oks[row.uid] = row
            self.acked_times[row.key, row.version] = now
            if row.version > self.acked.get(row.key, 0):
                self.acked[row.key] = row.version
                self.advances.setdefault(row.key, AppendOnlyList()).append(Advance(row.version, now))
            own = (client, row.key)
            self.own[own] = max(self.own.get(own, 0), row.version)

    def read_ended(
        self, client: str, server: str, key: str, row: Row, invoked: int, floor: Floor, outcome: str, reason: str, *, probe: bool
    ) -> None:
        """Record the end of a read."""
        journal = self.journal
        now = journal.now
        stale_us = 0
        ok = outcome == OK
        if ok and row.version < floor.acked:
            advances = self.advances[key]  # the first of them beyond the returned version was acknowledged first
            stale_us = invoked - advances[bisect_right(advances, row.version, key=VERSION)].time
        unacknowledged = ok and row.version > 0 and row.uid not in self.oks
        record = ReadRecord(
            client, server, key, row if ok else NOTHING, invoked, now, outcome, probe, *floor, stale_us, unacknowledged, 0
        )  # fmt: skip
        event = journal.emit(
            events.ReadEnded.kind, client, key, server, outcome, row.version, record.stale, record.own_missing, record.backward,
            unacknowledged, reason,
        )  # fmt: skip
        self.reads.append(record._replace(event=event))
        if ok:
            mine = (client, key)
            self.before[mine] = max(self.before.get(mine, 0), row.version)
