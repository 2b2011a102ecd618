"""The control record that ends a transaction on a partition (Kafka: `EndTransactionMarker`, `ControlRecordType`)."""

from __future__ import annotations

from typing import Final, NamedTuple

ABORT: Final = 0
"""The type of the control record of an aborted transaction."""

COMMIT: Final = 1
"""The type of the control record of a committed transaction."""

MARKER_BYTES: Final = 78
"""The size of a batch with one marker: 61 bytes of header, and a record of 17 bytes."""


class EndTransactionMarker(NamedTuple):
    """The content of a control batch: ABORT or COMMIT, and the epoch of the coordinator that wrote it."""

    control_type: int
    coordinator_epoch: int

    @property
    def commits(self) -> bool:
        """Whether the transaction is committed."""
        return self.control_type == COMMIT

    @property
    def name(self) -> str:
        """The name that Kafka's tools print: `COMMIT` or `ABORT`."""
        return "COMMIT" if self.commits else "ABORT"
