"""The states of a transactional.id (Kafka: `TransactionState`)."""

from __future__ import annotations

import enum
from typing import Final


class TransactionState(enum.Enum):
    """The state of a transaction. The value of each state is the name that Kafka's tools print."""

    EMPTY = "Empty"
    """A producer has initialized the ID, but has not begun a transaction."""
    ONGOING = "Ongoing"
    """A transaction is open, and partitions have been added to it."""
    PREPARE_COMMIT = "PrepareCommit"
    """The coordinator has decided to commit the transaction, and the markers are being written."""
    PREPARE_ABORT = "PrepareAbort"
    """The coordinator has decided to abort the transaction, and the markers are being written."""
    COMPLETE_COMMIT = "CompleteCommit"
    """All markers of a committed transaction have been written."""
    COMPLETE_ABORT = "CompleteAbort"
    """All markers of an aborted transaction have been written."""
    DEAD = "Dead"
    """The ID has expired. The tombstone of the transactional.id is being written."""
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"
    """The coordinator is fencing the producer before it aborts the transaction. The log never contains the state PrepareEpochFence."""

    @property
    def is_prepared(self) -> bool:
        """Whether the coordinator has decided to commit or abort the transaction, but some markers might not have been written yet."""
        return self in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)

    @property
    def is_complete(self) -> bool:
        """Whether the last transaction has been completed."""
        return self in (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)


_S = TransactionState

VALID_PREVIOUS_STATES: Final = {
    _S.EMPTY: frozenset({_S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT}),
    _S.ONGOING: frozenset({_S.ONGOING, _S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT}),
    _S.PREPARE_COMMIT: frozenset({_S.ONGOING}),
    _S.PREPARE_ABORT: frozenset({_S.ONGOING, _S.PREPARE_EPOCH_FENCE, _S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT}),
    _S.COMPLETE_COMMIT: frozenset({_S.PREPARE_COMMIT}),
    _S.COMPLETE_ABORT: frozenset({_S.PREPARE_ABORT}),
    _S.DEAD: frozenset({_S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT}),
    _S.PREPARE_EPOCH_FENCE: frozenset({_S.ONGOING}),
}
"""For each state, the states that can precede it (`TransactionState.VALID_PREVIOUS_STATES`)."""
