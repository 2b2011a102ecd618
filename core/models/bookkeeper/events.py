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

    template = "{bookie} stores entry {entry} of ledger {ledger}: version {version} of {key}"


class EntryConfirmed(Event, kind="bk-entry-confirmed", source="LedgerHandle#sendAddSuccessCallbacks", level=DETAIL):
    """A writer confirmed an entry."""

    writer: str
    ledger: int
    entry: int
    copies: int

    template = "{writer} confirms entry {entry} of ledger {ledger}: {copies} bookies have it"


class LedgerOpened(Event, kind="bk-ledger-opened", level=NOTABLE):
    """A writer opened a ledger."""

    writer: str
    ledger: int
    ensemble: str

    template = "{writer} opens ledger {ledger} on {ensemble}"


class EnsembleChanged(Event, kind="bk-ensemble-changed", source="LedgerHandle#ensembleChangeLoop", level=NOTABLE):
    """A writer replaced a bookie."""

    writer: str
    ledger: int
    bookie: str
    entry: int
    ensemble: str

    template = "{writer} no longer writes to {bookie}: from entry {entry} of ledger {ledger} on, the bookies are {ensemble}"


class TooFewBookies(Event, kind="bk-too-few-bookies", source="BKNotEnoughBookiesException", level=NOTABLE):
    """A writer cannot continue, because too few bookies are left."""

    writer: str
    left: int
    needed: int

    template = "{writer} cannot continue: {left} bookies are left, and an entry needs {needed}"


class WriterFenced(Event, kind="bk-writer-fenced", source="BKLedgerFencedException", level=NOTABLE):
    """A writer learned that another writer had taken over its ledger."""

    writer: str
    ledger: int

    template = "{writer} stops writing: ledger {ledger} is fenced"


class RecoveryStarted(Event, kind="bk-recovery-started", source="LedgerRecoveryOp", level=NOTABLE):
    """A writer began to recover another writer's ledger."""

    writer: str
    ledger: int

    template = "{writer} fences ledger {ledger} and reads the entries after the last confirmed one"


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
