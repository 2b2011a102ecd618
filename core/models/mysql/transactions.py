"""Transactions, their GTIDs, and the messages between a source and its replicas."""

from __future__ import annotations

from typing import NamedTuple

from core.models.messages import Row


class Gtid(NamedTuple):
    """A global transaction identifier: the server where the transaction was committed first, and its number there.

    MariaDB numbers the transactions of all servers of a domain in one sequence.
    """

    server: str
    number: int


class Transaction(NamedTuple):
    """A committed transaction.

    Attributes:
        primary_key: the number of the row in its table if the keys are AUTO_INCREMENT; 0 otherwise.
    """

    gtid: Gtid
    row: Row
    primary_key: int = 0


class StartReplication(NamedTuple):
    """A replica connects and says what it has (COM_BINLOG_DUMP_GTID).

    Attributes:
        executed: the GTIDs that it has received or executed.
        position: the last GTID that it has received or executed, which is all that MariaDB's source looks at; None for the beginning.
    """

    executed: frozenset[Gtid]
    position: Gtid | None


class BinlogEvent(NamedTuple):
    """The source sends a transaction.

    Attributes:
        place: the place of the transaction in the source's binary log.
    """

    place: int
    transaction: Transaction

    @property
    def rows(self) -> int:
        """The number of rows that the message carries."""
        return 1


class Heartbeat(NamedTuple):
    """The source has nothing to send, but is alive."""


class ReplicationRefused(NamedTuple):
    """The source refuses to send its binary log (error 1236)."""

    reason: str


class ReceivedUpTo(NamedTuple):
    """A semi-synchronous replica has written a transaction to its relay log.

    Attributes:
        place: the place of the transaction in the source's binary log.
    """

    place: int
