"""A writer: the BookKeeper client that owns a ledger, as a Pulsar broker does. The writer serves the requests of its own clients."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from core.models.bookkeeper import events
from core.models.bookkeeper.messages import (
    CLOSED,
    IN_RECOVERY,
    OPEN,
    Added,
    AddEntry,
    ChangeMetadata,
    EntryRead,
    Fenced,
    Fragment,
    Ledger,
    Metadata,
    MetadataChanged,
    ReadMetadata,
)
from core.models.bookkeeper.recovery import Recovery
from core.models.bookkeeper.settings import BookKeeperSettings
from core.models.client_messages import Connect, Connected, Read, Refused, Row, Unclear, Value, Write, Written
from core.models.server import CopyView, Rows, Server
from core.sim.journal import Journal
from core.sim.kernel_messages import Disconnected
from core.sim.network import Network


class PendingAdd:
    """An entry that is not confirmed.

    Attributes:
        request, client: the write request, and the client that sent it.
        acks: the bookies that have the entry.
    """

    __slots__ = ("acks", "client", "request", "row")

    def __init__(self, row: Row, request: int, client: str) -> None:
        self.row = row
        self.request = request
        self.client = client
        self.acks: set[str] = set()


class Writer(Server):
    """A writer of ledgers.

    Attributes:
        ledger: the ledger that the writer owns, with the metadata that the writer knows; None if the writer owns no ledger.
        next: the number of the next entry.
        confirmed: the last confirmed entry. Entries are confirmed in order.
        pending: the entries that are not confirmed, in order.
        changing: whether the writer is waiting for a change in the ensemble, and therefore neither sends nor confirms entries.
        waits: whether the writer is waiting for bookies to become available again, because too few bookies are left.
        failed: the bookies that the writer no longer uses.
        recovery: the recovery of another writer's ledger; None if there is none.
        found: the ledgers that existed before this writer's own ledger, while the writer is taking over.
        rows: the confirmed entries of all ledgers.
        engine: the rows that reads return.
    """

    __slots__ = (
        "changing", "confirmed", "engine", "failed", "found", "ledger", "next", "pending", "recovery", "rows", "settings", "store", "waits",
    )  # fmt: skip

    settings: Final[BookKeeperSettings]

    def __init__(
        self, address: str, peers: tuple[str, ...], store: str, settings: BookKeeperSettings, network: Network, journal: Journal
    ) -> None:
        super().__init__(address, peers, network, journal)
        self.settings = settings
        self.store = store
        self.rows: dict[tuple[int, int], Row] = {}
        self.engine = Rows()
        self.failed: set[str] = set()
        self.found: list[Ledger] = []
        self._forget()
        self.handlers.update({
            Write: self._write, Read: self._read, Added: self._added, Fenced: self._fenced, EntryRead: self._entry_read, Metadata: self._metadata,
            MetadataChanged: self._metadata_changed, Connected: self._connected, Disconnected: self._disconnected,
        })  # fmt: skip
        self.timers.update({"add time-out": self._add_timed_out, "retry": self._retry})

    def _forget(self) -> None:
        self.ledger: Ledger | None = None
        self.next = 0
        self.confirmed = -1
        self.pending: dict[int, PendingAdd] = {}
        self.changing = False
        self.waits = False
        self.recovery: Recovery | None = None

    def end(self, *, power: bool) -> None:
        self._forget()
        self.failed.clear()
        self.rows.clear()
        self.engine.reset(())

    # --- writes -------------------------------------------------------------------------------------------------------

    def _write(self, write: Write, client: str) -> None:
        if self.ledger is None:
            self.reply(client, Refused(write.request, f"{self.address} owns no ledger"))
            return
        entry = self.next
        self.next += 1
        self.pending[entry] = PendingAdd(write.row, write.request, client)
        self._send_entry(entry)

    def _send_entry(self, entry: int) -> None:
        """Send an entry to the bookies in its write set that don't have the entry."""
        ledger, pending = self.ledger, self.pending[entry]
        if ledger is None or self.changing:
            return
        for bookie in ledger.write_set(entry, self.settings.write_quorum):
            if bookie not in pending.acks:
                self.send(bookie, AddEntry(ledger.number, entry, pending.row, self.confirmed))
        self.timer(self.settings.add_timeout, "add time-out", (ledger.number, entry))

    def _added(self, answer: Added, bookie: str) -> None:
        ledger = self.ledger
        if self.recovery is not None and answer.ledger == self.recovery.ledger.number:
            self.recovery.heard_added(answer.entry, bookie)
        elif ledger is not None and answer.ledger == ledger.number:
            if not answer.ok:
                self._lose_ledger()
            elif answer.entry in self.pending:
                if bookie in ledger.write_set(answer.entry, self.settings.write_quorum):
                    self.pending[answer.entry].acks.add(bookie)
                self._confirm()

    def _confirm(self) -> None:
        """Confirm the entries that enough bookies have, in order."""
        ledger = self.ledger
        while ledger is not None and not self.changing and self.pending:
            entry, pending = next(iter(self.pending.items()))
            if len(pending.acks) < self.settings.ack_quorum:
                return
            del self.pending[entry]
            self.confirmed = entry
            self._keep(ledger.number, entry, pending.row)
            self.emit(events.EntryConfirmed.kind, self.address, ledger.number, entry, len(pending.acks))
            self.reply(pending.client, Written(pending.request))

    def _keep(self, ledger: int, entry: int, row: Row) -> None:
        self.rows[ledger, entry] = row
        self.engine.add(row)

    def _lose_ledger(self) -> None:
        """Stop writing, because another writer has fenced the ledger."""
        assert self.ledger is not None
        self.emit(events.WriterFenced.kind, self.address, self.ledger.number)
        for pending in self.pending.values():
            self.reply(pending.client, Unclear(pending.request, f"the ledger of {self.address} is fenced"))
        self._forget()

    # --- bookies that fail ----------------------------------------------------------------------------------------------

    def _add_timed_out(self, about: tuple[int, int]) -> None:
        ledger, entry = self.ledger, about[1]
        if ledger is None or ledger.number != about[0] or self.changing:
            return
        if entry in self.pending:
            slow = [bookie for bookie in ledger.write_set(entry, self.settings.write_quorum) if bookie not in self.pending[entry].acks]
            self._bookies_failed(slow)

    def _disconnected(self, gone: Disconnected, sender: str) -> None:
        if gone.node not in self.failed and gone.node in self._names():
            self._bookies_failed([gone.node])

    def _names(self) -> list[str]:
        return [f"n{number}" for number in range(1, self.settings.bookies + 1)]

    def _bookies_failed(self, bookies: Iterable[str]) -> None:
        self.failed.update(bookies)
        if self.ledger is not None and not self.changing and self.failed.intersection(self.ledger.fragments[-1].ensemble):
            self._change_ensemble()

    def _change_ensemble(self) -> None:
        """Replace failed bookies with spare ones. If there are too few spare bookies, continue with a smaller ensemble, as long as it has
        enough bookies for a write quorum. Otherwise, wait.

        In BookKeeper itself, the ensemble cannot shrink. The application, for example Pulsar, closes the ledger and opens a smaller one instead.
        """
        ledger = self.ledger
        assert ledger is not None
        self.changing = True
        former = ledger.fragments[-1].ensemble
        spare = [name for name in self._names() if name not in self.failed and name not in former]
        ensemble = []
        for name in former:
            if name not in self.failed:
                ensemble.append(name)
            elif spare:
                ensemble.append(spare.pop(0))
        if len(ensemble) < self.settings.write_quorum:
            self._wait_for_bookies(len(ensemble))
            return
        first = self.confirmed + 1
        fragments = tuple(each for each in ledger.fragments if each.first < first)
        changed = ledger._replace(version=ledger.version + 1, fragments=(*fragments, Fragment(first, tuple(ensemble))))
        gone = ", ".join(name for name in former if name not in ensemble)
        self.emit(events.EnsembleChanged.kind, self.address, ledger.number, gone, first, ", ".join(ensemble))
        self.send(self.store, ChangeMetadata(changed))

    def _wait_for_bookies(self, left: int) -> None:
        if not self.waits:
            self.waits = True
            self.emit(events.TooFewBookies.kind, self.address, left, self.settings.write_quorum)
            self.timer(self.settings.retry, "retry")

    def _retry(self, about: object) -> None:
        """Try again to reach the bookies that failed."""
        if self.recovery is not None:
            self.recovery.ask()
        if self.recovery is not None or self.waits:
            for bookie in sorted(self.failed):
                self.send(bookie, Connect())
            self.timer(self.settings.retry, "retry")

    def _connected(self, connected: Connected, bookie: str) -> None:
        self.failed.discard(bookie)
        if self.waits:
            self.waits = False
            if self.ledger is not None:
                self._change_ensemble()
            else:
                self._open(self.found[-1].number + 1)

    # --- ledgers ------------------------------------------------------------------------------------------------------

    def take_over(self) -> None:
        """Become the writer: recover the ledgers of the former writer, and open a new one."""
        self._forget()
        self.send(self.store, ReadMetadata())

    def _metadata(self, metadata: Metadata, store: str) -> None:
        self.found = sorted(metadata.ledgers)
        self._recover_next()

    def _recover_next(self) -> None:
        """Recover the next ledger whose entries this writer hasn't read. When there is no ledger left to recover, open a new one."""
        known = {ledger for ledger, _ in self.rows}
        ledger = next((each for each in self.found if each.number not in known and not (each.state == CLOSED and each.last < 0)), None)
        if ledger is None:
            self._open(self.found[-1].number + 1 if self.found else 0)
        else:
            self.send(self.store, ChangeMetadata(ledger._replace(version=ledger.version + 1, state=IN_RECOVERY)))

    def _open(self, number: int) -> None:
        settings = self.settings
        ensemble = tuple(name for name in self._names() if name not in self.failed)[: settings.ensemble]
        if len(ensemble) < settings.write_quorum:
            self._wait_for_bookies(len(ensemble))
            return
        self.send(self.store, ChangeMetadata(Ledger(number, 0, OPEN, (Fragment(0, ensemble),))))

    def _metadata_changed(self, answer: MetadataChanged, store: str) -> None:
        ledger = answer.ledger
        if not answer.ok:
            if self.ledger is not None and ledger.number == self.ledger.number:
                self._lose_ledger()
            return
        if ledger.state == IN_RECOVERY:
            self.emit(events.RecoveryStarted.kind, self.address, ledger.number)
            self.recovery = Recovery(ledger, self, self.settings)
            self.recovery.ask()
            self.timer(self.settings.retry, "retry")
        elif ledger.state == CLOSED:
            self.found = [ledger if each.number == ledger.number else each for each in self.found]
            self._recover_next()
        elif self.ledger is None:
            self.ledger = ledger
            self.emit(events.LedgerOpened.kind, self.address, ledger.number, ", ".join(ledger.fragments[-1].ensemble))
        else:
            self._continue_with(ledger)

    def _continue_with(self, ledger: Ledger) -> None:
        """Send the entries that are not confirmed to the new ensemble."""
        self.ledger = ledger
        self.changing = False
        for entry, pending in self.pending.items():
            pending.acks.intersection_update(ledger.write_set(entry, self.settings.write_quorum))
            self._send_entry(entry)
        self._confirm()

    def _fenced(self, answer: Fenced, bookie: str) -> None:
        if self.recovery is not None and answer.ledger == self.recovery.ledger.number:
            self.recovery.heard_fenced(answer, bookie)

    def _entry_read(self, answer: EntryRead, bookie: str) -> None:
        if self.recovery is not None and answer.ledger == self.recovery.ledger.number:
            self.recovery.heard_read(answer, bookie)

    def recovered(self, last: int, rewritten: int) -> None:
        """Close the recovered ledger. From now on, all entries of this ledger count as confirmed."""
        recovery, self.recovery = self.recovery, None
        assert recovery is not None
        ledger = recovery.ledger
        for entry, row in recovery.rows.items():
            self._keep(ledger.number, entry, row)
        self.emit(events.LedgerRecovered.kind, self.address, ledger.number, last, rewritten)
        self.send(self.store, ChangeMetadata(ledger._replace(version=ledger.version + 1, state=CLOSED, last=last)))

    # --- reads and views ----------------------------------------------------------------------------------------------

    def _read(self, read: Read, client: str) -> None:
        if self.ledger is None:
            self.reply(client, Refused(read.request, f"{self.address} owns no ledger"))
        else:
            self.reply(client, Value(read.request, self.engine.read(read.key), self.confirmed))

    @property
    def has_copy(self) -> bool:
        """Return False, because a writer keeps no data of its own."""
        return False

    def stored_rows(self) -> Iterable[Row]:
        return list(self.rows.values())

    def holds(self, row: Row) -> bool:
        return False

    def copy_state(self) -> tuple[int, int]:
        return self.incarnation, 0

    def received_since(self, length: int) -> Iterable[Row]:
        return ()

    def places(self) -> dict[object, Row]:
        return dict(sorted(self.rows.items()))

    def view(self) -> CopyView:
        role = "owner" if self.ledger is not None else "recovering" if self.recovery is not None else "standby"
        return CopyView(self.address, role, True, self.ledger.number if self.ledger else 0, len(self.rows), 0, len(self.engine))
