"""The errors that clients get when a coordinator cannot write to `__consumer_offsets` (`OffsetMetadataManager`, `GroupCoordinatorService`)."""

from __future__ import annotations

from typing import Final

from core.kafka import errors
from core.kafka.transaction.transaction_state_manager import APPEND_ERRORS as TRANSACTION_LOG_ERRORS

APPEND_ERRORS: Final = {**TRANSACTION_LOG_ERRORS, errors.NETWORK_EXCEPTION: errors.COORDINATOR_LOAD_IN_PROGRESS}
"""Maps an error from the log, or from the verification of a transaction, to the error that clients get."""

FOREVER: Final = 10**15
"""A deadline, in µs, that virtual time never reaches. A write with this deadline does not time out."""
