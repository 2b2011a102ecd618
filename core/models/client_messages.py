"""The messages between clients and servers, which are the same in all models."""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """The row that a write inserts. No row is overwritten, so each version of a key stays visible.

    Attributes:
        key: the key of the row. Each key has one writer.
        version: the number of the write in the sequence of writes to the key, starting at 1; 0 means no row.
        uid: a number that is unique in the run. Two rows with the same uid are duplicates.
    """

    key: str
    version: int
    uid: int


NOTHING = Row("", 0, 0)
"""The row that a read returns if the key has no row."""


class Write(NamedTuple):
    """A client's request to write a row."""

    request: int
    row: Row


class Read(NamedTuple):
    """A client's request to read the latest version of a key.

    Attributes:
        how: the read mode, one of the model's `READS`; empty for its default.
        seen: the highest position that the client's session has seen; -1 if the client does not track positions.
    """

    request: int
    key: str
    how: str = ""
    seen: int = -1


class Connect(NamedTuple):
    """A client opens a connection again after the former one broke. The client sends its next request only after the server has accepted
    the connection."""


class Connected(NamedTuple):
    """The server has accepted the connection."""


class Written(NamedTuple):
    """The acknowledgment of a write."""

    request: int


class Value(NamedTuple):
    """The response to a read.

    Attributes:
        position: the position of the server's visible data; -1 if the model has none.
    """

    request: int
    row: Row
    position: int = -1


class Refused(NamedTuple):
    """A definite refusal: the request has no effect and will have none.

    Attributes:
        leader: the server to send the request to instead; empty if the refusing server knows of none.
    """

    request: int
    reason: str
    leader: str = ""


class Unclear(NamedTuple):
    """The response from a server that gives up on a request that can still take effect."""

    request: int
    reason: str


Answer = Written | Value | Refused | Unclear

OVERHEAD = 100
"""The size of a message without rows, in bytes."""

ROW_BYTES = 1_000
"""The size of a row, in bytes."""


def wire_bytes(message: object) -> int:
    """Return the size of a message on the network, in bytes. The property `rows` of a message, if there is one, is the number of rows that
    the message carries.
    """
    return OVERHEAD + ROW_BYTES * int(getattr(message, "rows", 0))
