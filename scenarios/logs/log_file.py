"""Opens event logs: plain JSON Lines, or JSON Lines compressed with Zstandard (`.jsonl.zst`).

A compressed log is a sequence of frames, one for each flush, so flushed events remain readable if the process is killed. If the last frame
is incomplete, its readable part is also read. When a file is read, its first bytes show whether it is compressed. When a file is written,
its name determines whether it is compressed. Zstandard is imported only when a compressed log is read or written.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

SUFFIX: Final = ".zst"
"""The suffix of a compressed log."""

MAX_LINE: Final = 32 * 1024 * 1024
"""The maximum length of a line in an event log, in bytes. A header that lists the replicas of 200,000 partitions is about 16 MB long."""

_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_LEVEL: Final = 3
_CHUNK: Final = 1 << 18
_PIECE: Final = 1 << 10

MOST_PER_BYTE: Final = 300
"""The maximum accepted ratio of uncompressed to compressed size.

Event logs have a compression ratio of 10 to 20, and a file of zeros has a ratio of 30,000.
"""

MOST_UNPACKED: Final = 1 << 24
"""The uncompressed size, in bytes, up to which any compression ratio is accepted."""


def is_packed_name(path: str | Path) -> bool:
    """Whether a log with this name is compressed when it is written."""
    return str(path).endswith(SUFFIX)


def packer() -> Callable[[bytes], bytes]:
    """Return a function that compresses bytes into one complete frame."""
    import zstandard

    return zstandard.ZstdCompressor(level=_LEVEL).compress


def open_log_file(path: str | Path) -> BinaryIO:
    """Open a log for reading, and decompress it if it is compressed.

    Raises:
        OSError: the file cannot be read. Later reads also raise this error if the compressed data is damaged.
    """
    file = Path(path).open("rb")  # noqa: SIM115 (the caller closes the file)
    if file.peek(len(_MAGIC))[: len(_MAGIC)] != _MAGIC:
        return file
    return cast("BinaryIO", io.BufferedReader(_Unpacked(file), _CHUNK))


def is_packed(path: str | Path) -> bool:
    """Whether a file starts like a Zstandard frame.

    Raises:
        OSError: the file cannot be read.
    """
    with Path(path).open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


class _Unpacked(io.RawIOBase):
    """The decompressed content of the frames in a compressed file. If the last frame is incomplete, the content ends with its readable
    part.

    If a frame is damaged, the content before the damage is returned, and the next read raises `OSError`.
    """

    def __init__(self, file: BinaryIO) -> None:
        import zstandard

        self._file = file
        self._error = zstandard.ZstdError
        self._begin = zstandard.ZstdDecompressor().decompressobj
        self._frame: Any = None
        self._packed = memoryview(b"")
        self._plain = memoryview(b"")
        self._came = False
        """Whether any content has been returned."""
        self._most = MOST_UNPACKED
        """The number of further decompressed bytes that the reader accepts. This number increases with each compressed byte that is read.
        """

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._plain:
            if not self._packed:
                self._packed = memoryview(self._file.read(_CHUNK))
                if not self._packed:
                    if not self._came:
                        raise OSError("the file is truncated: the first line cannot be decompressed")
                    return 0
            self._unpack()
        self._came = True
        size = min(len(buffer), len(self._plain))
        buffer[:size] = self._plain[:size]
        self._plain = self._plain[size:]
        return size

    def _unpack(self) -> None:
        """Decompress a part of the current frame.

        Each part is small, because a few compressed bytes can decompress to a block of 128 kB.
        """
        if self._frame is None:
            self._frame = self._begin()
        piece, rest = self._packed[:_PIECE], self._packed[_PIECE:]
        try:
            self._plain = memoryview(self._frame.decompress(piece))
        except self._error as wrong:
            raise OSError(f"the compressed data is damaged ({wrong})") from None
        self._most += MOST_PER_BYTE * len(piece) - len(self._plain)
        if self._most < 0:
            raise OSError(f"it decompresses to more than {MOST_PER_BYTE:,} times its size, which no event log does")
        self._packed = rest
        if self._frame.eof:
            self._packed = memoryview(bytes(self._frame.unused_data) + bytes(rest)) if self._frame.unused_data else rest
            self._frame = None

    def close(self) -> None:
        self._file.close()
        super().close()
