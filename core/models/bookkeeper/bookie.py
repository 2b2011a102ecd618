"""A bookie, which stores entries, and the metadata store."""

from __future__ import annotations

from collections.abc import Iterable

from core.models.bookkeeper import events
from core.models.bookkeeper.messages import (
    Added,
    AddEntry,
    ChangeMetadata,
    EntryRead,
    Fence,
    Fenced,
    Ledger,
    Metadata,
    MetadataChanged,
    ReadEntry,
    ReadMetadata,
)
from core.models.client_messages import Row
from core.models.server import CopyView, Server
from core.sim.journal import Journal
from core.sim.kernel_messages import Disconnected
from core.sim.network import Network


class Bookie(Server):
    """A BookKeeper bookie.

    Attributes:
        entries: the entries on the bookie's disk, by ledger and number.
        fenced: the ledgers whose writers were fenced.
        confirmed: the last entry that the bookie knows to be confirmed, by ledger.
    """

    __slots__ = ("confirmed", "entries", "fenced")

    def __init__(self, address: str, peers: tuple[str, ...], network: Network, journal: Journal) -> None:
        super().__init__(address, peers, network, journal)
        self.entries: dict[tuple[int, int], Row] = {}
        self.fenced: set[int] = set()
        self.confirmed: dict[int, int] = {}
        self.handlers.update({AddEntry: self._add, Fence: self._fence, ReadEntry: self._read, Disconnected: self._disconnected})
        self.timers["stored"] = self._stored

    def _disconnected(self, gone: Disconnected, sender: str) -> None:
        """Do nothing, because a bookie only answers requests and opens no connections."""

    def _add(self, add: AddEntry, writer: str) -> None:
        if add.ledger in self.fenced and not add.recovery:
            self.reply(writer, Added(add.ledger, add.entry, False))
            return
        self.timer(self.write_time, "stored", (add, writer))

    def _stored(self, about: tuple[AddEntry, str]) -> None:
        add, writer = about
        if add.ledger in self.fenced and not add.recovery:
            self.reply(writer, Added(add.ledger, add.entry, False))
            return
        self.entries[add.ledger, add.entry] = add.row
        self.confirmed[add.ledger] = max(self.confirmed.get(add.ledger, -1), add.confirmed)
        self.emit(events.EntryStored.kind, self.address, add.ledger, add.entry, add.row.key, add.row.version)
        self.reply(writer, Added(add.ledger, add.entry, True))

    def _fence(self, fence: Fence, writer: str) -> None:
        self.fenced.add(fence.ledger)
        self.reply(writer, Fenced(fence.ledger, self.confirmed.get(fence.ledger, -1)))

    def _read(self, read: ReadEntry, writer: str) -> None:
        self.reply(writer, EntryRead(read.ledger, read.entry, self.entries.get((read.ledger, read.entry))))

    @property
    def has_copy(self) -> bool:
        """Return False, because a bookie has only its share of the entries and is therefore not compared with the writer."""
        return False

    def stored_rows(self) -> Iterable[Row]:
        return [row for _, row in sorted(self.entries.items())]

    def holds(self, row: Row) -> bool:
        return row in self.entries.values()

    def copy_state(self) -> tuple[int, int]:
        return self.incarnation, len(self.entries)

    def received_since(self, length: int) -> Iterable[Row]:
        return list(self.entries.values())[length:]

    def places(self) -> dict[object, Row]:
        return {place: row for place, row in sorted(self.entries.items()) if place[1] <= self.confirmed.get(place[0], -1)}

    def view(self) -> CopyView:
        count = len(self.entries)
        note = "fenced" if self.fenced else ""
        return CopyView(self.address, "bookie", True, 0, count, count, len(self.places()), note=note)


class MetadataStore(Server):
    """BookKeeper's metadata store (ZooKeeper). The store contains the metadata of ledgers, and accepts a change only if the writer has
    read the latest version.

    Attributes:
        ledgers: the metadata of the ledgers, by ledger number.
    """

    __slots__ = ("ledgers",)

    def __init__(self, address: str, peers: tuple[str, ...], network: Network, journal: Journal) -> None:
        super().__init__(address, peers, network, journal)
        self.ledgers: dict[int, Ledger] = {}
        self.handlers.update({ReadMetadata: self._read, ChangeMetadata: self._change, Disconnected: self._disconnected})

    def _disconnected(self, gone: Disconnected, sender: str) -> None:
        """Do nothing, because the store only answers requests and opens no connections."""

    def _read(self, read: ReadMetadata, writer: str) -> None:
        self.reply(writer, Metadata(tuple(self.ledgers.values())))

    def _change(self, change: ChangeMetadata, writer: str) -> None:
        known = self.ledgers.get(change.ledger.number)
        ok = change.ledger.version == (0 if known is None else known.version + 1)
        if ok:
            self.ledgers[change.ledger.number] = change.ledger
        self.reply(writer, MetadataChanged(self.ledgers[change.ledger.number], ok))

    @property
    def has_copy(self) -> bool:
        """Return False, because the metadata store has no rows."""
        return False

    def stored_rows(self) -> Iterable[Row]:
        return ()

    def holds(self, row: Row) -> bool:
        return False

    def copy_state(self) -> tuple[int, int]:
        return 0, 0

    def received_since(self, length: int) -> Iterable[Row]:
        return ()

    def places(self) -> dict[object, Row]:
        return {}

    def view(self) -> CopyView:
        return CopyView(self.address, "metadata", True, 0, 0, 0, 0)
