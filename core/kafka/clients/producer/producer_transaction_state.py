"""The states of a transactional producer, and the calls that its application can make in each state (Kafka: `TransactionManager.State`)."""

from __future__ import annotations

import enum
from typing import Final


class ProducerTransactionState(enum.Enum):
    """The state of a transactional producer. The value of each state is the name that appears in Kafka's messages."""

    UNINITIALIZED = "UNINITIALIZED"
    """The producer has no producer ID."""
    INITIALIZING = "INITIALIZING"
    """The producer has requested a producer ID or a new epoch from the coordinator."""
    READY = "READY"
    """The producer can begin a transaction."""
    IN_TRANSACTION = "IN_TRANSACTION"
    """A transaction is open."""
    COMMITTING_TRANSACTION = "COMMITTING_TRANSACTION"
    """The application has requested the commit."""
    ABORTING_TRANSACTION = "ABORTING_TRANSACTION"
    """The application has requested the abort."""
    ABORTABLE_ERROR = "ABORTABLE_ERROR"
    """The transaction has failed. The application can abort the transaction and continue."""
    FATAL_ERROR = "FATAL_ERROR"
    """The producer can no longer be used."""

    @property
    def is_completing(self) -> bool:
        """Whether the application has requested the end of the transaction."""
        return self in (ProducerTransactionState.COMMITTING_TRANSACTION, ProducerTransactionState.ABORTING_TRANSACTION)

    def can_follow(self, former: ProducerTransactionState) -> bool:
        """Return whether a producer can enter this state from another state (`State#isTransitionValid`)."""
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
"""For each state of a producer, the states from which the producer can enter it. A producer can enter FATAL_ERROR from every state, and can
never leave it."""

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
"""For each transactional call (initialize, begin, commit, or abort), the state that the producer enters."""


class IllegalStateError(ValueError):
    """The application made a call that is impossible in the current state (`IllegalStateException`)."""


def impossible_call(call: str, state: ProducerTransactionState, transactional_id: str, error: str) -> str:
    """Return the reason why the application cannot make a call in a state. If the call is possible, return an empty string.

    Args:
        call: the name of the method.
        state: the current state.
        transactional_id: the transactional.id, for the message.
        error: the reason for an error state.
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
