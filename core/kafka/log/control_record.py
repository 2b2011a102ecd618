"""The control record that ends a transaction on a partition (Kafka: `EndTransactionMarker`, `ControlRecordType`)."""

from __future__ import annotations

from typing import Final, NamedTuple

ABORT: Final = 0
"""The type of the control record that aborts a transaction."""

COMMIT: Final = 1
"""The type of the control record that commits a transaction."""

MARKER_BYTES: Final = 78
"""The size of a batch that contains one marker, in bytes: a header of 61 bytes and a record of 17 bytes."""


class EndTransactionMarker(NamedTuple):
    """The content of a control batch: ABORT or COMMIT, and the epoch of the coordinator that wrote it."""

    control_type: int
    coordinator_epoch: int

    @property
    def commits(self) -> bool:
        """Whether the marker commits the transaction."""
        return self.control_type == COMMIT

    @property
    def name(self) -> str:
        """The name that Kafka's tools print: `COMMIT` or `ABORT`."""
        return "COMMIT" if self.commits else "ABORT"
