"""The errors that clients get when a coordinator cannot write to `__consumer_offsets` (`OffsetMetadataManager`, `GroupCoordinatorService`)."""

from __future__ import annotations

from typing import Final

from core.kafka import errors
from core.kafka.transaction.transaction_state_manager import APPEND_ERRORS as TRANSACTION_LOG_ERRORS

APPEND_ERRORS: Final = {**TRANSACTION_LOG_ERRORS, errors.NETWORK_EXCEPTION: errors.COORDINATOR_LOAD_IN_PROGRESS}
"""The error that a client gets for an error of the log, as with transactions, or of the verification."""

FOREVER: Final = 10**15
"""A time after the end of virtual time, µs: the write itself does not time out."""
