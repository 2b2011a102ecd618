"""Finds how far each log of a stream can be read. This part of `log_source` runs on the driver.

The offset of a stream contains a `Position` for each log, by path. With two offsets, Spark can read the lines between them again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

import attrs
import msgspec

from scenarios.errors import InputError
from scenarios.logs.log_file import MAX_LINE, is_packed
from scenarios.logs.log_header import parse_header
from spark_reports.errors import ReportError
from spark_reports.logs.find_logs import find_logs
from spark_reports.logs.session_log import session_name

_CHUNK: Final = 1 << 16


@attrs.frozen
class Position:
    """How far a log can be read: up to the end of its last complete line.

    Attributes:
        session: the name of the session.
        at: the number of bytes.
        last: the position of the last line, in bytes.
        seq: the number of the last event; 0 if there is none.
        t: the virtual time of the last event or of the end, in µs.
        ended: whether the last line is an end line.
        mark: a digest of the first and the last line, which differs if the log is replaced.
    """

    session: str
    at: int
    last: int
    seq: int
    t: int
    ended: bool
    mark: str


def latest_positions(paths: Sequence[str | Path], before: Mapping[str, Position]) -> dict[str, Position]:
    """Return the positions up to which the logs at `paths` can be read now. Logs without a complete line are left out.

    Args:
        before: the positions up to which the logs have been read.

    Raises:
        ReportError: a file is not an event log in JSON Lines, or a log was replaced or shortened after it was read.
    """
    found = find_logs(paths, or_none=True)
    for other in (*found.datasets, *found.remote):
        raise ReportError(f"{other}: only logs in JSON Lines at paths can be followed, neither Parquet nor URIs")
    files = {str(path.resolve()): path for path in found.files}
    for gone in (path for path, position in before.items() if not (path in files or position.ended)):
        raise ReportError(_changed(gone))
    after = dict(before)
    taken = {position.session for position in before.values()}
    names = [session_name(path) for key, path in files.items() if key not in before]
    for key, path in files.items():
        name = session_name(path)
        session = before[key].session if key in before else str(path) if name in taken or names.count(name) > 1 else name
        try:
            position = _latest(path, before.get(key), session)
        except OSError as failure:
            raise ReportError(f"{path}: cannot read this file: {failure.strerror or failure}") from None
        except InputError as wrong:
            raise ReportError(str(wrong)) from None
        if position is not None:
            after[key] = position
    return after


def _latest(path: Path, before: Position | None, session: str) -> Position | None:
    """Return the position up to which a log can be read, or None if there is no complete line.

    Raises:
        OSError, InputError, ReportError: see `latest_positions`.
    """
    if is_packed(path):
        raise ReportError(f"{path}: a compressed log cannot be followed")
    with path.open("rb") as file:
        header = file.readline(MAX_LINE)
        if before is None:
            if not header.endswith(b"\n") and len(header) < MAX_LINE:
                return None
            parse_header(header, str(path))
            start = len(header)
        else:
            start = before.at
            file.seek(before.last)
            if _mark(header, file.read(before.at - before.last)) != before.mark:
                raise ReportError(_changed(str(path)))
        end = _after_newline(file, start, file.seek(0, os.SEEK_END))
        if before is not None and end == start:
            return before
        if before is not None and before.ended:
            raise ReportError(f"{path}: there are lines after the end of the log")
        if end == start:
            return Position(session, end, 0, 0, 0, False, _mark(header, header))
        last = _after_newline(file, start, end - 1)
        file.seek(last)
        line = file.read(end - last)
    seq, t, ended = _seq_and_time(path, line)
    return Position(session, end, last, seq, t, ended, _mark(header, line))


def _changed(path: str) -> str:
    return f"{path}: this log was replaced, shortened, or removed after a part of it was read; start a query with a new checkpoint"


def _mark(header: bytes, last: bytes) -> str:
    return hashlib.sha256(header + last).hexdigest()[:16]


def _after_newline(file: BinaryIO, start: int, end: int) -> int:
    """Return the position after the last line break between two positions, or `start` if there is none."""
    while end > start:
        at = max(start, end - _CHUNK)
        file.seek(at)
        found = file.read(end - at).rfind(b"\n")
        if found >= 0:
            return at + found + 1
        end = at
    return start


def _seq_and_time(path: Path, line: bytes) -> tuple[int, int, bool]:
    """Return the number of the last event, the time, and whether the log has ended, given its last complete line.

    Raises:
        ReportError: the line is neither an event nor an end line.
    """
    fields: Any = None
    if len(line) < MAX_LINE:
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            fields = msgspec.json.decode(line)
    ended = isinstance(fields, dict) and fields.get("end") is True
    seq, t = (fields.get("events" if ended else "seq"), fields.get("t")) if isinstance(fields, dict) else (None, None)
    if not isinstance(seq, int) or not isinstance(t, int):
        raise ReportError(f"{path}: the last line is not an event as isrlab writes it")
    return seq, t, ended
