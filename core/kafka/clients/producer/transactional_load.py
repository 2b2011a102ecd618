"""The steady load from a producer that has a transactional.id. The producer sends the records in consecutive transactions."""

from __future__ import annotations

import attrs

from core.kafka.clients.producer.producer_transaction_state import ProducerTransactionState
from core.kafka.clients.producer.transaction_manager import TransactionManager

_S = ProducerTransactionState


@attrs.define(slots=True, eq=False)
class TransactionalLoad:
    """An application that sends records, and commits after a certain number of records or a certain time.

    The application waits for the result of each call before it continues. If a transaction fails, the application aborts it and begins the
    next one, but does not send the records in the failed transaction again.

    Attributes:
        commit_records: the number of records after which a transaction is committed; 0 means no limit.
        commit_every: the age at which a transaction is committed, in µs; 0 means no limit.
        records: the number of records in the open transaction.
        began: the time when the open transaction began, in µs.
    """

    commit_records: int
    commit_every: int
    records: int = 0
    began: int = 0

    def may_send(self, transactions: TransactionManager, now: int) -> bool:
        """If it is time for the application's next call, make this call. Return whether the application can send records now."""
        if transactions.call:
            return False
        state = transactions.state
        if state is _S.UNINITIALIZED:
            transactions.init()
        elif state is _S.ABORTABLE_ERROR:
            transactions.abort()
        elif state is _S.READY:
            transactions.begin()
            self.records, self.began = 0, now
        elif state is _S.IN_TRANSACTION:
            self.commit_if_due(transactions, now)
        return transactions.state is _S.IN_TRANSACTION

    def sent(self, transactions: TransactionManager, records: int, now: int) -> None:
        """Count the records that were sent. If the transaction has enough records, commit it."""
        self.records += records
        if transactions.state is _S.IN_TRANSACTION and not transactions.call:
            self.commit_if_due(transactions, now)

    def commit_if_due(self, transactions: TransactionManager, now: int) -> None:
        """Commit the open transaction if it has enough records or is old enough."""
        if 0 < self.commit_records <= self.records or 0 < self.commit_every <= now - self.began:
            transactions.commit()

    def stop(self, transactions: TransactionManager) -> None:
        """Commit the open transaction, because the load is ending."""
        if transactions.state is _S.IN_TRANSACTION and not transactions.call:
            transactions.commit()
