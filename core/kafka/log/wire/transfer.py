"""The cost of sending part of a segment to a client: by zero copy, by read and write calls, and over TLS (`FileRecords#writeTo`,
`SslTransportLayer`).

A plain connection uses the system call sendfile, so the bytes never enter the broker's memory. A TLS connection must read the bytes to
encrypt them. The method with read and write calls shows what a broker would do without sendfile. The calls and the buffer sizes come from
Kafka's source code. The numbers of copies and of switches come from textbooks about Linux; they are not measurements.
"""

from __future__ import annotations

import enum
from typing import Final, NamedTuple

SOCKET_BUFFER: Final = 102_400
"""The default of socket.send.buffer.bytes, which is the size of a chunk without TLS."""

TLS_READ: Final = 32_768
"""The size of the direct buffer that a TLS connection reads a segment into."""

TLS_RECORD: Final = 16_384
"""The approximate size of a TLS record. Each TLS record is written separately."""


class Method(enum.Enum):
    """A way to send bytes from a file to a socket."""

    SENDFILE = "sendfile"
    READ_WRITE = "read+write"
    TLS = "TLS"


PATHS: Final = {
    Method.SENDFILE: ("disk", "page cache", "network card"),
    Method.READ_WRITE: ("disk", "page cache", "heap", "socket buffer", "network card"),
    Method.TLS: ("disk", "page cache", "direct buffer", "TLS record", "socket buffer", "network card"),
}
"""The places that the bytes pass through, in order."""


class Transfer(NamedTuple):
    """The cost of one transfer.

    Attributes:
        method: the way in which the bytes are sent.
        bytes: the number of bytes that are sent.
        cpu_copies: the number of times that the CPU copies each byte; encryption counts as a copy.
        dma_copies: the number of times that a device copies each byte.
        chunks: the number of chunks in which the bytes are sent.
        switches: the number of switches between user mode and kernel mode.
        user_copies: the number of user-space buffers that each byte passes through.
    """

    method: Method
    bytes: int
    cpu_copies: int
    dma_copies: int
    chunks: int
    switches: int
    user_copies: int

    @property
    def path(self) -> tuple[str, ...]:
        """The places that the bytes pass through, in order."""
        return PATHS[self.method]

    @property
    def cpu_bytes(self) -> int:
        """The total number of bytes that the CPU copies."""
        return self.bytes * self.cpu_copies

    @property
    def user_bytes(self) -> int:
        """The number of bytes that pass through user space."""
        return self.bytes * self.user_copies

    def cpu_bytes_per_record(self, records: int) -> float:
        """Return the number of bytes that the CPU copies for each record. If `records` is 0, return the total number of bytes that the CPU
        copies."""
        return self.cpu_bytes / max(records, 1)


def transfer(method: Method, size: int, *, cached: bool = True, scatter_gather: bool = True, chunk: int = SOCKET_BUFFER) -> Transfer:
    """Return the cost of sending a number of bytes from a segment.

    Args:
        method: the way in which the bytes are sent.
        size: the number of bytes.
        cached: whether the bytes are in the page cache, for example because they were written recently. If the bytes are not in the page
            cache, the disk copies them there first.
        scatter_gather: whether the network card can read from the page cache. If the network card cannot read from the page cache, sendfile
            copies the bytes to the socket buffer.
        chunk: the number of bytes that one call sends if TLS is not used.
    """
    dma = 1 if cached else 2
    match method:
        case Method.SENDFILE:
            chunks = -(-size // chunk)
            return Transfer(method, size, 0 if scatter_gather else 1, dma, chunks, 2 * chunks, 0)
        case Method.READ_WRITE:
            chunks = -(-size // chunk)
            return Transfer(method, size, 2, dma, chunks, 4 * chunks, 1)
        case Method.TLS:
            chunks = -(-size // TLS_READ)
            return Transfer(method, size, 3, dma, chunks, 4 * chunks + 2 * -(-size // TLS_RECORD), 2)


def transfers(size: int, *, cached: bool = True, scatter_gather: bool = True) -> tuple[Transfer, ...]:
    """Return the cost of sending a number of bytes with each method."""
    return tuple(transfer(method, size, cached=cached, scatter_gather=scatter_gather) for method in Method)
