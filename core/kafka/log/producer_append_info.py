"""The checks that a leader makes before it appends a batch or a marker from a producer (Kafka: `ProducerAppendInfo`)."""

from __future__ import annotations

from typing import Final

from core.kafka import errors
from core.kafka.ids import NO_OFFSET
from core.kafka.log.producer_state_entry import NO_SEQUENCE, ProducerStateEntry, VerificationStateEntry, increment_sequence
from core.kafka.release import Release, UnknownProducer

UNKNOWN_PRODUCER_ERROR: Final = {
    UnknownProducer.OUT_OF_ORDER: errors.OUT_OF_ORDER_SEQUENCE_NUMBER,
    UnknownProducer.REFUSED: errors.UNKNOWN_PRODUCER_ID,
    UnknownProducer.ACCEPTED: errors.NONE,
}
"""The error for a batch that comes from an unknown producer and does not begin with sequence number 0."""


def data_batch_error(
    entry: ProducerStateEntry | None,
    verification: VerificationStateEntry | None,
    epoch: int,
    first_sequence: int,
    release: Release,
    *,
    transactional: bool,
) -> str:
    """Return the error for a client's batch, or NONE (`ProducerAppendInfo#appendDataBatch`)."""
    if entry is not None and epoch < entry.epoch:
        return errors.INVALID_PRODUCER_EPOCH
    error = _sequence_error(entry, verification, epoch, first_sequence, release)
    if error == errors.NONE and entry is not None and entry.open_from != NO_OFFSET and not transactional:
        return errors.INVALID_TXN_STATE
    return error


def _sequence_error(
    entry: ProducerStateEntry | None, verification: VerificationStateEntry | None, epoch: int, first_sequence: int, release: Release
) -> str:
    """Return the error that a batch's sequence numbers cause, or NONE (`ProducerAppendInfo#checkSequence`)."""
    if verification is not None:
        if verification.begins_at_0 and first_sequence != 0 and (entry is None or not entry.batches):
            return errors.OUT_OF_ORDER_SEQUENCE_NUMBER
        if first_sequence > verification.lowest_sequence:
            return errors.OUT_OF_ORDER_SEQUENCE_NUMBER
    if first_sequence == 0 and (entry is None or epoch > entry.epoch or entry.last_sequence == NO_SEQUENCE):
        return errors.NONE
    if entry is None:
        return UNKNOWN_PRODUCER_ERROR[release.unknown_producer]
    if epoch == entry.epoch and entry.last_sequence == NO_SEQUENCE and release.marker_only_is_unknown:
        return errors.UNKNOWN_PRODUCER_ID
    in_sequence = (
        epoch == entry.epoch and entry.last_sequence != NO_SEQUENCE and first_sequence == increment_sequence(entry.last_sequence, 1)
    )
    return errors.NONE if in_sequence else errors.OUT_OF_ORDER_SEQUENCE_NUMBER


def marker_error(entry: ProducerStateEntry | None, epoch: int, coordinator_epoch: int, *, must_rise: bool) -> str:
    """Return the error for a marker, or NONE (`ProducerAppendInfo#appendEndTxnMarker`).

    Args:
        entry: the state of the producer; None if the log does not know it.
        epoch: the producer epoch of the marker.
        coordinator_epoch: the epoch of the coordinator that writes the marker.
        must_rise: whether the marker's producer epoch must be greater than the epoch of an open transaction (KIP-1228).
    """
    if entry is None:
        return errors.NONE
    if epoch < entry.epoch or (must_rise and epoch == entry.epoch and entry.open_from != NO_OFFSET):
        return errors.INVALID_PRODUCER_EPOCH
    return errors.TRANSACTION_COORDINATOR_FENCED if coordinator_epoch < entry.coordinator_epoch else errors.NONE
