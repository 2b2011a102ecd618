"""Reads text files up to a size limit, encoded in UTF-8 or, as some Windows tools do, in UTF-16.

A file without an end, such as a device or a pipe that is never closed, is rejected in the same way as a file that is too large.
"""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import IO, Final

from scenarios.errors import InputError, Place, ScriptError

MAX_BYTES: Final = 64 * 1024 * 1024
"""The maximum size of a text file, in bytes.

A cluster of 200,000 partitions, the largest cluster that Kafka's developers report, takes 30 MB as a script or as the output of
`kafka-topics --describe`.
"""

_UTF_16: Final = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_LOOKED_AT: Final = 64


def read_bytes(path: str | Path, remedy: str = "", most: int = MAX_BYTES) -> bytes:
    """Read the bytes of a file. The argument `remedy` becomes the end of each error message and says which kind of file to use.

    Raises:
        InputError: the file cannot be read, or has more bytes than `most`.
    """
    told = f"; {remedy}" if remedy else ""
    try:
        with Path(path).open("rb") as file:
            return take(file, str(path), most)
    except OSError as wrong:
        raise InputError(f"{path}: cannot be read: {wrong.strerror or wrong}{told}") from None
    except ValueError:
        raise InputError(f"{str(path)[:80]!r}: not a file name{told}") from None


def take(file: IO[bytes], source: str, most: int = MAX_BYTES) -> bytes:
    """Read an open file to its end.

    Raises:
        InputError: the file has more bytes than `most`.
    """
    data = file.read(most + 1)
    if len(data) > most:
        raise InputError(f"{source}: the file has more than {most:,} bytes, which is the maximum")
    return data


def decode(data: bytes, source: str, right: str = "use a text file in UTF-8") -> str:
    """Decode the bytes of a file. `right` is the part of error messages that says which kind of file to use.

    Raises:
        ScriptError: the data is binary, or has an encoding other than UTF-8 and UTF-16.
    """
    encoding = _UTF_16.get(data[:2]) or _unmarked_utf_16(data)
    try:
        if encoding is not None:
            return data.decode(encoding).removeprefix("\ufeff")
        if b"\0" in data:
            raise ScriptError(Place(source, 1, 1), "", "the file is binary", right)
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as wrong:
        before = data[: wrong.start]
        line, column = before.count(b"\n") + 1, wrong.start - (before.rfind(b"\n") + 1) + 1
        named = "starts like UTF-16 but is not UTF-16" if encoding is not None else "is not UTF-8"
        raise ScriptError(Place(source, line, column), "", f"the file is binary, or {named}", right) from None


def read_text(path: str | Path, right: str = "use a text file in UTF-8", remedy: str = "", most: int = MAX_BYTES) -> str:
    """Read the text of a file.

    Raises:
        InputError: the file cannot be read, is too large, or is not text.
    """
    return decode(read_bytes(path, remedy, most), str(path), right)


def _unmarked_utf_16(data: bytes) -> str | None:
    """Return the UTF-16 encoding of data that has no byte order mark and starts with ASCII characters, or None for any other encoding."""
    start = data[:_LOOKED_AT]
    if len(start) < 4 or len(data) % 2:
        return None
    for text, zeros, name in ((start[::2], start[1::2], "utf-16-le"), (start[1::2], start[::2], "utf-16-be")):
        if not any(zeros) and 0 not in text and text.isascii():
            return name
    return None
