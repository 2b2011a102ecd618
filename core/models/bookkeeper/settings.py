"""The settings of the BookKeeper model."""

from __future__ import annotations

import attrs

from core.sim.units import SECOND


@attrs.frozen
class BookKeeperSettings:
    """The settings of BookKeeper.

    Attributes:
        bookies: the number of bookies.
        ensemble: E, the number of bookies that a ledger is striped over.
        write_quorum: Qw, the number of bookies that each entry is sent to.
        ack_quorum: Qa, the number of acknowledgments that an entry needs.
        add_timeout: how long a bookie can take to store an entry before the writer replaces the bookie, in µs (addEntryTimeoutSec).
        retry: the time between two attempts of a recovery to reach bookies, in µs.
    """

    bookies: int = 3
    ensemble: int = 3
    write_quorum: int = 3
    ack_quorum: int = 2
    add_timeout: int = 5 * SECOND
    retry: int = SECOND

    @property
    def covering(self) -> int:
        """The number of bookies in a write set that a recovery must hear from: Qw - Qa + 1. The remaining Qa - 1 bookies in the write set
        are fewer than an ack quorum, so they alone cannot have acknowledged an entry.
        """
        return self.write_quorum - self.ack_quorum + 1
