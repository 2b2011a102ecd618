"""A coordinator's responses to EndTxn requests, which depend on the state of the transactional.id (Kafka:
`TransactionCoordinator#endTransaction`)."""

from __future__ import annotations

from core.kafka import errors
from core.kafka.release import Release
from core.kafka.transaction.transaction_messages import EndTxnRequest
from core.kafka.transaction.transaction_metadata import MAX_EPOCH, TransactionMetadata
from core.kafka.transaction.transaction_state import TransactionState


def end_txn_answer(metadata: TransactionMetadata, request: EndTxnRequest, release: Release) -> str | None:
    """Return the response to an EndTxn request that changes nothing; None if the request ends the transaction."""
    return _answer_v2(metadata, request) if request.version >= 2 else _answer(metadata, request, release)


def _answer(metadata: TransactionMetadata, request: EndTxnRequest, release: Release) -> str | None:
    """Return the response to an EndTxn request before transaction.version 2."""
    if metadata.producer_id != request.producer_id:
        return errors.INVALID_PRODUCER_ID_MAPPING
    exact = release.end_txn_epoch_must_match
    if request.producer_epoch < metadata.producer_epoch or (exact and request.producer_epoch != metadata.producer_epoch):
        return errors.PRODUCER_FENCED
    if metadata.pending_state is not None:
        return errors.CONCURRENT_TRANSACTIONS
    return _answer_by_state(metadata.state, commit=request.commit)


def _answer_v2(metadata: TransactionMetadata, request: EndTxnRequest) -> str | None:
    """Return the response to an EndTxn request in transaction.version 2, where the epoch distinguishes a retry of the last request from the
    next request (KIP-890).

    A pending transition is checked first, because the producer might already use a producer ID whose transition is still pending.
    """
    if metadata.pending_state is not None:
        return errors.CONCURRENT_TRANSACTIONS
    retry_on_overflow = (
        request.producer_id == metadata.previous_producer_id and request.producer_epoch == MAX_EPOCH - 1 and metadata.producer_epoch == 0
    )
    if metadata.producer_id != request.producer_id and not retry_on_overflow:
        return errors.INVALID_PRODUCER_ID_MAPPING
    state = metadata.state
    current = request.producer_epoch == metadata.producer_epoch
    retry = request.producer_epoch + 1 == metadata.producer_epoch
    if state.is_prepared:
        return _answer_by_state(state, commit=request.commit) if retry else errors.PRODUCER_FENCED
    if state.is_complete and (retry or retry_on_overflow):
        return _answer_by_state(state, commit=request.commit)
    if not current:
        return errors.PRODUCER_FENCED
    if state is TransactionState.ONGOING or not request.commit:
        return None
    return errors.INVALID_TXN_STATE


def _answer_by_state(state: TransactionState, *, commit: bool) -> str | None:
    """Return the response to an EndTxn request, given the state of the transaction; None if the transaction is open."""
    if state is TransactionState.ONGOING:
        return None
    if state is (TransactionState.COMPLETE_COMMIT if commit else TransactionState.COMPLETE_ABORT):
        return errors.NONE
    if state is (TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT):
        return errors.CONCURRENT_TRANSACTIONS
    return errors.INVALID_TXN_STATE
