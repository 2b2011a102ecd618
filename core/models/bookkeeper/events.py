"""The events of BookKeeper."""

from __future__ import annotations

from core.sim.events import DETAIL, NOTABLE, Event


class EntryStored(Event, kind="bk-entry-stored", source="Bookie#addEntry", level=DETAIL):
    """A bookie stored an entry on its disk."""

    bookie: str
    ledger: int
    entry: int
    key: str
    version: int

    def sentence(self) -> str:
        return f"{self.bookie} stores entry {self.entry} of ledger {self.ledger}: version {self.version} of {self.key}"


class EntryConfirmed(Event, kind="bk-entry-confirmed", source="LedgerHandle#sendAddSuccessCallbacks", level=DETAIL):
    """A writer confirmed an entry."""

    writer: str
    ledger: int
    entry: int
    copies: int

    def sentence(self) -> str:
        return f"{self.writer} confirms entry {self.entry} of ledger {self.ledger}: {self.copies} bookies have it"


class LedgerOpened(Event, kind="bk-ledger-opened", level=NOTABLE):
    """A writer opened a ledger."""

    writer: str
    ledger: int
    ensemble: str

    def sentence(self) -> str:
        return f"{self.writer} opens ledger {self.ledger} on {self.ensemble}"


class EnsembleChanged(Event, kind="bk-ensemble-changed", source="LedgerHandle#ensembleChangeLoop", level=NOTABLE):
    """A writer replaced a bookie."""

    writer: str
    ledger: int
    bookie: str
    entry: int
    ensemble: str

    def sentence(self) -> str:
        return f"{self.writer} no longer writes to {self.bookie}: from entry {self.entry} of ledger {self.ledger} on, the bookies are {self.ensemble}"


class TooFewBookies(Event, kind="bk-too-few-bookies", source="BKNotEnoughBookiesException", level=NOTABLE):
    """A writer cannot continue, because too few bookies are left."""

    writer: str
    left: int
    needed: int

    def sentence(self) -> str:
        return f"{self.writer} cannot continue: {self.left} bookies are left, and an entry needs {self.needed}"


class WriterFenced(Event, kind="bk-writer-fenced", source="BKLedgerFencedException", level=NOTABLE):
    """A writer learned that another writer had taken over its ledger."""

    writer: str
    ledger: int

    def sentence(self) -> str:
        return f"{self.writer} stops writing: ledger {self.ledger} is fenced"


class RecoveryStarted(Event, kind="bk-recovery-started", source="LedgerRecoveryOp", level=NOTABLE):
    """A writer began to recover another writer's ledger."""

    writer: str
    ledger: int

    def sentence(self) -> str:
        return f"{self.writer} fences ledger {self.ledger} and reads the entries after the last confirmed one"


class LedgerRecovered(Event, kind="bk-ledger-recovered", source="LedgerRecoveryOp", level=NOTABLE):
    """A recovery found the end of a ledger and closed it."""

    writer: str
    ledger: int
    last: int
    rewritten: int

    def sentence(self) -> str:
        end = f"at entry {self.last}" if self.last >= 0 else "without entries"
        return f"{self.writer} closes ledger {self.ledger} {end}; it rewrote {self.rewritten} entries that were not known to be confirmed"


EVENTS = (EntryStored, EntryConfirmed, LedgerOpened, EnsembleChanged, TooFewBookies, WriterFenced, RecoveryStarted, LedgerRecovered)
"""The kinds of events of the model."""
