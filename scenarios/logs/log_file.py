"""Event logs as files: plain JSON Lines, or the same packed by Zstandard (`.jsonl.zst`).

A packed log is a row of frames, one for every time it was flushed, so that what was flushed is readable whatever happened
afterwards; of a frame that was being written then, the part that is there is read as well. How a file is read is told by its
first bytes, how it is written by its name. Zstandard is loaded only when there is something packed.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

SUFFIX: Final = ".zst"
"""How the name of a packed log ends."""

_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_LEVEL: Final = 3
_CHUNK: Final = 1 << 18
_PIECE: Final = 1 << 10

MOST_PER_BYTE: Final = 300
"""How many bytes a packed one may stand for: event logs pack to a tenth or a twentieth; a file of nothing but zeros to a 30,000th."""

MOST_UNPACKED: Final = 1 << 24
"""Bytes that may come out of a file however small it is."""


def is_packed_name(path: str | Path) -> bool:
    """Whether a log of that name is written packed."""
    return str(path).endswith(SUFFIX)


def packer() -> Callable[[bytes], bytes]:
    """Makes of a piece of a log one frame that stands for itself."""
    import zstandard

    return zstandard.ZstdCompressor(level=_LEVEL).compress


def open_log_file(path: str | Path) -> BinaryIO:
    """The bytes of a log, unpacked if they are packed.

    Raises:
        OSError: the file cannot be read; on reading also: what is packed is damaged.
    """
    file = Path(path).open("rb")  # noqa: SIM115 (the caller's)
    if file.peek(len(_MAGIC))[: len(_MAGIC)] != _MAGIC:
        return file
    return cast("BinaryIO", io.BufferedReader(_Unpacked(file), _CHUNK))


def is_packed(path: str | Path) -> bool:
    """Whether a file begins as a packed one does.

    Raises:
        OSError: it cannot be read.
    """
    with Path(path).open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


class _Unpacked(io.RawIOBase):
    """What is in a file's frames, one after the other; it ends where the last one was cut off.

    What comes before damage is handed out before the damage is told.
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
        """Whether anything came out."""
        self._most = MOST_UNPACKED
        """How many bytes may still come out: some more with everything that goes in."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._plain:
            if not self._packed:
                self._packed = memoryview(self._file.read(_CHUNK))
                if not self._packed:
                    if not self._came:
                        raise OSError("it is cut short: not even the first line of what is packed in it is there")
                    return 0
            self._unpack()
        self._came = True
        size = min(len(buffer), len(self._plain))
        buffer[:size] = self._plain[:size]
        self._plain = self._plain[size:]
        return size

    def _unpack(self) -> None:
        """Take what there is of a piece of the frame at hand: a small one, since a few bytes can stand for a whole block of 128 kB."""
        if self._frame is None:
            self._frame = self._begin()
        piece, rest = self._packed[:_PIECE], self._packed[_PIECE:]
        try:
            self._plain = memoryview(self._frame.decompress(piece))
        except self._error as wrong:
            raise OSError(f"what is packed in it is damaged ({wrong})") from None
        self._most += MOST_PER_BYTE * len(piece) - len(self._plain)
        if self._most < 0:
            raise OSError(f"it unpacks to more than {MOST_PER_BYTE:,} times its size, which no event log does")
        self._packed = rest
        if self._frame.eof:
            self._packed = memoryview(bytes(self._frame.unused_data) + bytes(rest)) if self._frame.unused_data else rest
            self._frame = None

    def close(self) -> None:
        self._file.close()
        super().close()
