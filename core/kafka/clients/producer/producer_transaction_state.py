"""The states of a transactional producer, and the calls that its application can make in each (Kafka: `TransactionManager.State`)."""

from __future__ import annotations

import enum
from typing import Final


class ProducerTransactionState(enum.Enum):
    """A state; the value is the name in Kafka's messages."""

    UNINITIALIZED = "UNINITIALIZED"
    """The producer has no producer ID."""
    INITIALIZING = "INITIALIZING"
    """The producer asks the coordinator for a producer ID or for another epoch."""
    READY = "READY"
    """The producer can begin a transaction."""
    IN_TRANSACTION = "IN_TRANSACTION"
    """A transaction is open."""
    COMMITTING_TRANSACTION = "COMMITTING_TRANSACTION"
    """The application asked for the commit."""
    ABORTING_TRANSACTION = "ABORTING_TRANSACTION"
    """The application asked for the abort."""
    ABORTABLE_ERROR = "ABORTABLE_ERROR"
    """The transaction failed. The application can abort it and continue."""
    FATAL_ERROR = "FATAL_ERROR"
    """The producer cannot be used anymore."""

    @property
    def is_completing(self) -> bool:
        """Whether the application has asked for the end of the transaction."""
        return self in (ProducerTransactionState.COMMITTING_TRANSACTION, ProducerTransactionState.ABORTING_TRANSACTION)

    def can_follow(self, former: ProducerTransactionState) -> bool:
        """Return whether a producer can change from a former state to this one (`State#isTransitionValid`)."""
        return self is ProducerTransactionState.FATAL_ERROR or former in VALID_SOURCES[self]


_S = ProducerTransactionState

VALID_SOURCES: Final = {
    _S.UNINITIALIZED: frozenset({_S.READY, _S.ABORTABLE_ERROR}),
    _S.INITIALIZING: frozenset({_S.UNINITIALIZED, _S.COMMITTING_TRANSACTION, _S.ABORTING_TRANSACTION}),
    _S.READY: frozenset({_S.INITIALIZING, _S.COMMITTING_TRANSACTION, _S.ABORTING_TRANSACTION}),
    _S.IN_TRANSACTION: frozenset({_S.READY}),
    _S.COMMITTING_TRANSACTION: frozenset({_S.IN_TRANSACTION}),
    _S.ABORTING_TRANSACTION: frozenset({_S.IN_TRANSACTION, _S.ABORTABLE_ERROR}),
    _S.ABORTABLE_ERROR: frozenset({_S.IN_TRANSACTION, _S.COMMITTING_TRANSACTION, _S.ABORTABLE_ERROR, _S.INITIALIZING}),
}
"""The states that each state can follow. FATAL_ERROR can follow every state, and no state follows it."""

INIT: Final = "initTransactions"
BEGIN: Final = "beginTransaction"
SEND: Final = "send"
COMMIT: Final = "commitTransaction"
ABORT: Final = "abortTransaction"

TARGETS: Final = {
    INIT: _S.INITIALIZING,
    BEGIN: _S.IN_TRANSACTION,
    COMMIT: _S.COMMITTING_TRANSACTION,
    ABORT: _S.ABORTING_TRANSACTION,
}
"""The state that each call by the application leads to."""


class IllegalStateError(ValueError):
    """The application made a call that is impossible in the present state (`IllegalStateException`)."""


def impossible_call(call: str, state: ProducerTransactionState, transactional_id: str, error: str) -> str:
    """Return the reason why the application cannot make a call in a state; an empty string if it can.

    Args:
        call: the name of the method.
        state: the present state.
        transactional_id: the transactional.id, for the message.
        error: the reason of an error state.
    """
    if state is _S.FATAL_ERROR or (state is _S.ABORTABLE_ERROR and call != ABORT):
        then = "abort the transaction" if state is _S.ABORTABLE_ERROR else "start another producer"
        return f"Cannot execute transactional method because we are in an error state: {error}; {then}"
    if call == SEND:
        return "" if state is _S.IN_TRANSACTION else f"Cannot call send in state {state.value}; begin a transaction"
    if TARGETS[call].can_follow(state):
        return ""
    target = TARGETS[call].value
    return f"TransactionalId {transactional_id}: Invalid transition attempted from state {state.value} to state {target}"
