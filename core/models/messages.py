"""The messages between clients and servers, which are the same in all models."""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """What a write inserts. Nothing is overwritten, so each version of a key stays visible.

    Attributes:
        key: the key. Each key has one writer.
        version: the number of the write among the writes of the key: 1, 2, 3, and so on. 0 stands for no row.
        uid: a number that is unique in the run. A row with the uid of another one is a duplicate.
    """

    key: str
    version: int
    uid: int


NOTHING = Row("", 0, 0)
"""The row that a read returns if the key has none."""


class Write(NamedTuple):
    """A client writes a row."""

    request: int
    row: Row


class Read(NamedTuple):
    """A client reads the latest version of a key.

    Attributes:
        how: the way of reading, one of the model's `READS`; empty for its default.
        seen: the highest position that the client's session has seen; -1 if the client keeps none.
    """

    request: int
    key: str
    how: str = ""
    seen: int = -1


class Written(NamedTuple):
    """The write is acknowledged."""

    request: int


class Value(NamedTuple):
    """The answer to a read.

    Attributes:
        position: the position of the server's visible data; -1 if the model has none.
    """

    request: int
    row: Row
    position: int = -1


class Refused(NamedTuple):
    """A definite refusal: nothing will come of the request.

    Attributes:
        leader: the server to ask instead; empty if the refusing server knows of none.
    """

    request: int
    reason: str
    leader: str = ""


class Unclear(NamedTuple):
    """The server gives up on a request that can still take effect."""

    request: int
    reason: str


Answer = Written | Value | Refused | Unclear

OVERHEAD = 100
"""The bytes of a message without rows."""

ROW_BYTES = 1_000
"""The bytes of a row."""


def wire_bytes(message: object) -> int:
    """Return the bytes that a message takes on the network. Its property `rows` is the number of rows that it carries."""
    return OVERHEAD + ROW_BYTES * int(getattr(message, "rows", 0))
