"""Transactions, their GTIDs, and the messages between a source and its replicas."""

from __future__ import annotations

from typing import NamedTuple

from core.models.client_messages import Row


class Gtid(NamedTuple):
    """A global transaction identifier: the server on which the transaction was first committed, and the number of the transaction on that server.

    MariaDB numbers the transactions of all servers in a domain in one sequence.
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
    """A replica's request to start replication, with the transactions that it has (COM_BINLOG_DUMP_GTID).

    Attributes:
        executed: the GTIDs that the replica has received or executed.
        position: the last GTID that the replica has received or executed, which is all that MariaDB's source checks; None for the beginning.
    """

    executed: frozenset[Gtid]
    position: Gtid | None


class BinlogEvent(NamedTuple):
    """A transaction that the source sends to a replica.

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
    """The message by which a source that has no transactions to send shows that it is alive."""


class ReplicationRefused(NamedTuple):
    """The response of a source that refuses to send its binary log (error 1236)."""

    reason: str


class ReceivedUpTo(NamedTuple):
    """The acknowledgment of a semi-synchronous replica that has written a transaction to its relay log.

    Attributes:
        place: the place of the transaction in the source's binary log.
    """

    place: int
