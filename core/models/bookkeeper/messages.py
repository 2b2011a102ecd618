"""Ledgers, and the messages between writers, bookies, and the metadata store. Entries are numbered from 0."""

from __future__ import annotations

from typing import NamedTuple

from core.models.client_messages import Row

OPEN = "open"
IN_RECOVERY = "in recovery"
CLOSED = "closed"


class Fragment(NamedTuple):
    """A part of a ledger: its first entry, and the bookies that it is striped over."""

    first: int
    ensemble: tuple[str, ...]


class Ledger(NamedTuple):
    """The metadata of a ledger.

    Attributes:
        number: the number of the ledger.
        version: the number of changes to the ledger's metadata so far. A change succeeds only if nobody else has changed the ledger in the
            meantime.
        state: the state of the ledger: open, in recovery, or closed.
        fragments: the fragments of the ledger, in order.
        last: the last entry of a closed ledger; -1 if the ledger is empty or not closed.
    """

    number: int
    version: int
    state: str
    fragments: tuple[Fragment, ...]
    last: int = -1

    def ensemble_of(self, entry: int) -> tuple[str, ...]:
        """Return the bookies that an entry's fragment is striped over."""
        return next(each.ensemble for each in reversed(self.fragments) if each.first <= entry)

    def write_set(self, entry: int, write_quorum: int) -> tuple[str, ...]:
        """Return the bookies that an entry is sent to (`RoundRobinDistributionSchedule#getWriteSet`)."""
        ensemble = self.ensemble_of(entry)
        return tuple(ensemble[(entry + number) % len(ensemble)] for number in range(write_quorum))


class AddEntry(NamedTuple):
    """A writer sends an entry to a bookie.

    Attributes:
        confirmed: the number of the last confirmed entry.
        recovery: whether a recovery writes the entry again; a fenced bookie accepts such an entry.
    """

    ledger: int
    entry: int
    row: Row
    confirmed: int
    recovery: bool = False

    @property
    def rows(self) -> int:
        """The number of rows that the message carries."""
        return 1


class Added(NamedTuple):
    """The answer to `AddEntry`.

    Attributes:
        ok: whether the entry is on disk; False if the ledger is fenced.
    """

    ledger: int
    entry: int
    ok: bool


class Fence(NamedTuple):
    """A recovery asks a bookie to accept no more entries from the ledger's writer, and to name the last confirmed entry."""

    ledger: int


class Fenced(NamedTuple):
    """The answer to `Fence`."""

    ledger: int
    confirmed: int


class ReadEntry(NamedTuple):
    """A recovery reads an entry."""

    ledger: int
    entry: int


class EntryRead(NamedTuple):
    """The answer to `ReadEntry`. The row is None if the bookie does not have the entry."""

    ledger: int
    entry: int
    row: Row | None

    @property
    def rows(self) -> int:
        """The number of rows that the message carries."""
        return int(self.row is not None)


class ReadMetadata(NamedTuple):
    """A writer asks for the metadata of the last ledger."""


class Metadata(NamedTuple):
    """The metadata of all ledgers; the answer to `ReadMetadata`."""

    ledgers: tuple[Ledger, ...]


class ChangeMetadata(NamedTuple):
    """A writer changes a ledger, or adds one. The message contains the version that the ledger has after the change."""

    ledger: Ledger


class MetadataChanged(NamedTuple):
    """The answer to `ChangeMetadata`.

    Attributes:
        ok: whether the change was made; False if another writer has changed the ledger.
    """

    ledger: Ledger
    ok: bool
