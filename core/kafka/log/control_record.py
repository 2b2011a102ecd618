"""The control record that ends a transaction on a partition (Kafka: `EndTransactionMarker`, `ControlRecordType`)."""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

ABORT: Final = 0
"""The type of the control record that aborts a transaction."""

COMMIT: Final = 1
"""The type of the control record that commits a transaction."""

MARKER_BYTES: Final = 78
"""The size of a batch that contains one marker, in bytes: a header of 61 bytes and a record of 17 bytes."""


CONTROL_RECORD_VERSION: Final = 0
"""The version of the keys and values that a coordinator writes."""

_KEY: Final = struct.Struct(">hh")
_VALUE: Final = struct.Struct(">hi")


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

    def key_bytes(self) -> bytes:
        """Return the key of the record: its version and its type, 16 bits each (`ControlRecordType#recordKey`)."""
        return _KEY.pack(CONTROL_RECORD_VERSION, self.control_type)

    def value_bytes(self) -> bytes:
        """Return the value of the record: its version, 16 bits, and the coordinator epoch, 32 bits (`EndTransactionMarker#serializeValue`)."""
        return _VALUE.pack(CONTROL_RECORD_VERSION, self.coordinator_epoch)

    @staticmethod
    def parse(key: bytes, value: bytes) -> EndTransactionMarker:
        """Return the marker that a control record contains. A record in a newer version can have more bytes
        (`EndTransactionMarker#deserializeValue`).

        Raises:
            ValueError: a version is negative, bytes are missing, or the record does not end a transaction.
        """
        for part, layout in ((key, _KEY), (value, _VALUE)):
            if len(part) < layout.size:
                raise ValueError(f"a control record needs {layout.size} bytes, but has {len(part)}")
        version, control_type = _KEY.unpack_from(key)
        value_version, coordinator_epoch = _VALUE.unpack_from(value)
        if version < 0 or value_version < 0:
            raise ValueError(f"the version of a control record must not be negative: {min(version, value_version)}")
        if control_type not in (ABORT, COMMIT):
            raise ValueError(f"a control record of type {control_type} does not end a transaction")
        return EndTransactionMarker(control_type, coordinator_epoch)
