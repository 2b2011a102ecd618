"""Recovery of a ledger (`LedgerRecoveryOp`): fence the ledger, read the entries after its last confirmed entry, write them again, and close
the ledger.

The recovery must hear from Qw - Qa + 1 bookies of each write set. The bookies that do not answer are then too few for an ack quorum, so the
recovery misses no acknowledged entry (`DistributionSchedule.QuorumCoverageSet`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol

from core.models.bookkeeper.messages import AddEntry, EntryRead, Fence, Fenced, Ledger, ReadEntry
from core.models.bookkeeper.settings import BookKeeperSettings
from core.models.client_messages import Row


class Host(Protocol):
    """The part of a writer that a recovery uses."""

    def send(self, node: str, message: object) -> None:
        """Send a message."""

    def recovered(self, last: int, rewritten: int) -> None:
        """Take over the ledger after the former writer's last entry has become known."""


class Recovery:
    """The recovery of a ledger.

    Attributes:
        ledger: the ledger, whose state is "in recovery".
        fenced: the last confirmed entry that each fenced bookie knows.
        confirmed: the last entry that is known to be confirmed; -1 until enough bookies are fenced.
        next: the number of the entry that is being read.
        absent: the bookies that do not have this entry.
        acks: the bookies that have rewritten the entry `next`; None while the entry is not being rewritten.
        rows: the entries that the recovery has found.
        rewritten: the number of entries that were written again.
    """

    __slots__ = ("_host", "_settings", "absent", "acks", "confirmed", "fenced", "is_covered", "ledger", "next", "rewritten", "rows")

    def __init__(self, ledger: Ledger, host: Host, settings: BookKeeperSettings) -> None:
        self._host: Final = host
        self._settings: Final = settings
        self.ledger = ledger
        self.fenced: dict[str, int] = {}
        self.confirmed = -1
        self.is_covered = False
        self.next = 0
        self.absent: set[str] = set()
        self.acks: set[str] | None = None
        self.rows: dict[int, Row] = {}
        self.rewritten = 0

    def ask(self) -> None:
        """Send or resend the requests whose answers the recovery is waiting for."""
        ledger = self.ledger
        for bookie in self._ensemble():
            if bookie not in self.fenced:
                self._host.send(bookie, Fence(ledger.number))
        if self.is_covered:
            for bookie in self._write_set():
                if self.acks is None and bookie not in self.absent:
                    self._host.send(bookie, ReadEntry(ledger.number, self.next))
                elif self.acks is not None and bookie not in self.acks:
                    self._host.send(bookie, AddEntry(ledger.number, self.next, self.rows[self.next], self.confirmed, recovery=True))

    def _ensemble(self) -> tuple[str, ...]:
        return self.ledger.fragments[-1].ensemble

    def _write_set(self) -> tuple[str, ...]:
        return self.ledger.write_set(self.next, self._settings.write_quorum)

    def heard_fenced(self, answer: Fenced, bookie: str) -> None:
        """Record that a bookie is fenced."""
        self.fenced[bookie] = answer.confirmed
        if not self.is_covered and all(self._covers(write_set) for write_set in self._write_sets()):
            self.is_covered = True
            self.confirmed = max(self.fenced.values())
            self.ask()

    def _write_sets(self) -> Iterable[tuple[str, ...]]:
        """Return the write sets of the last fragment."""
        first, ensemble = self.ledger.fragments[-1]
        return (self.ledger.write_set(first + number, self._settings.write_quorum) for number in range(len(ensemble)))

    def _covers(self, write_set: tuple[str, ...]) -> bool:
        return sum(bookie in self.fenced for bookie in write_set) >= self._settings.covering

    def heard_read(self, answer: EntryRead, bookie: str) -> None:
        """Record that a bookie has or lacks the entry that is being read."""
        if answer.entry != self.next or self.acks is not None:
            return
        if answer.row is None:
            self.absent.add(bookie)
            if len(self.absent) >= self._settings.covering and self.next > self.confirmed:
                self._host.recovered(self.next - 1, self.rewritten)
            return
        self.rows[self.next] = answer.row
        if self.next <= self.confirmed:
            self._proceed()
        else:
            self.acks = set()
            self.rewritten += 1
            self.ask()

    def heard_added(self, entry: int, bookie: str) -> None:
        """Record that a bookie has written an entry again."""
        if entry == self.next and self.acks is not None:
            self.acks.add(bookie)
            if len(self.acks) >= self._settings.ack_quorum:
                self.confirmed = entry
                self._proceed()

    def _proceed(self) -> None:
        self.next += 1
        self.absent.clear()
        self.acks = None
        self.ask()
