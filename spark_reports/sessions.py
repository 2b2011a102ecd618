"""Finds event logs and reads what they say of themselves: header and end, in Python; their events are for Spark (`frames`).

`find_logs` tells what paths mean: files, directories, globs, Parquet datasets, addresses of other file systems. `open_log` looks
at the first line and the end of a file only, whatever its size; `explain_bad_line` finds the first line that Spark could not read.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path, PurePath
from typing import IO, Any, Final, cast
from urllib.parse import unquote, urlsplit

import attrs
import msgspec

from core.kafka.release import Release
from core.lab.spec import ClusterSpec
from scenarios.errors import InputError
from scenarios.eventlog import Header, LogReader, parse_header
from scenarios.logfile import is_packed, open_log_file
from spark_reports.errors import ReportError

_NOT_JSON: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_CHUNK: Final = 1 << 16
_TAIL_LIMIT: Final = 16 << 20


PACKED: Final = ".jsonl.zst"
"""How the names of packed logs end."""

_ADDRESS: Final = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)
_NAMES: Final = ("*.jsonl", f"*{PACKED}")


@attrs.frozen
class Log:
    """One session's log, as its first and last lines tell.

    Attributes:
        path: the file, or the dataset it stands in, for messages.
        session: short unique name: the file's name without `.jsonl`.
        release, seed, scenario, settings: from the header; `scenario` is None for a session played by hand.
        events: number of events (the last one's `seq`).
        end_us: virtual time at which the session ended, or of its last event when it did not end in good order.
        ended: there is an end line; without it the process was killed.
        torn: the last line was cut off in the middle of being written; it is skipped.
        capped_min_isr: the release counts min.insync.replicas as at most the number of replicas.
        min_isr: min.insync.replicas at the start, by topic; that of the whole cluster under the empty name.
        threads: num.network.threads and num.io.threads at the start, where they are set: by the setting's name, for one broker with
            a blank and its number behind.
        readable: what Spark reads: the file itself or what it was unpacked to; an address if it is not on this machine.
    """

    path: str
    session: str
    release: str
    seed: int
    scenario: str | None
    settings: dict[str, str]
    events: int
    end_us: int
    ended: bool
    torn: bool
    capped_min_isr: bool
    min_isr: dict[str, int]
    threads: dict[str, int]
    readable: Path | str


@attrs.frozen
class Found:
    """What paths mean: logs as JSON Lines on this machine, datasets in Parquet, and JSON Lines elsewhere, for Spark to find."""

    files: list[Path]
    datasets: list[str]
    remote: list[str]


def find_logs(paths: Iterable[str | Path]) -> Found:
    """The logs meant by `paths`; what is named twice counts once.

    A directory stands for every `*.jsonl` and `*.jsonl.zst` in it, by name, and for the sessions of a dataset; a pattern (`*`, `?`,
    `[…]`) for what it matches, unless there is a file of that very name. Of an address (`hdfs:`, `s3a:` …) the end tells: `.jsonl` is
    JSON Lines, anything else a dataset; `file:` is this machine.

    Raises:
        ReportError: a directory or a pattern has no log in it.
    """
    files: dict[Path, None] = {}
    datasets: dict[str, None] = {}
    remote: dict[str, None] = {}
    for given in paths:
        text = str(given)
        if is_elsewhere(text):
            (remote if re.search(r"\.jsonl(\.gz)?$", text) else datasets).setdefault(text)
            continue
        text = path_here(text)
        matched = [text] if os.path.exists(text) or not glob.has_magic(text) else sorted(glob.glob(text))
        if not matched:
            raise ReportError(f"{text}: no event log matches this pattern")
        for one in map(Path, matched):
            if not one.is_dir() and one.suffix != ".parquet":
                files.setdefault(one)
                continue
            inside = sorted({found for name in _NAMES for found in one.glob(name)})
            if is_dataset(one):
                datasets.setdefault(f"file://{glob_free(one.resolve())}")
            elif not inside:
                raise ReportError(f"{one}: no event log (*.jsonl, *{PACKED} or what 'isrlab log convert' wrote) in this directory")
            files.update(dict.fromkeys(inside))
    return Found(list(files), list(datasets), list(remote))


def is_elsewhere(text: str) -> bool:
    """Whether it is an address (`hdfs:`, `s3a:` …) that only Spark can read; `file:` is this machine."""
    return _ADDRESS.match(text) is not None and not text.lower().startswith("file:")


def path_here(text: str) -> str:
    """A path of this machine as such, also when it is given as `file:…`."""
    return unquote(urlsplit(text).path) if _ADDRESS.match(text) else text


def glob_free(path: Path) -> str:
    """A path as Spark reads it as itself: it takes addresses as they are, without escapes but for the characters of patterns."""
    return re.sub(r"([\\*?{}\[\]])", r"\\\1", str(path))


def is_dataset(path: Path) -> bool:
    """Whether there is Parquet at a path: a dataset, a session's part of one, or a file of it."""
    return path.suffix == ".parquet" or any(path.glob("session=*")) or any(path.glob("*.parquet"))


def open_log(path: Path, readable: Path | None = None) -> Log:
    """What the log at `path` says of itself; `readable` is what it was unpacked to, if it is packed.

    Raises:
        ReportError: no file, no event log, or one of a newer version.
    """
    readable = readable or path
    try:
        reader = LogReader(readable, source=str(path))
        # The first event shows whether the lines are events at all; to end the iteration closes the file.
        events = cast("Generator[object]", iter(reader))
        next(events, None)
        events.close()
        with readable.open("rb") as file:
            start = len(file.readline())
            last, torn = _last_line(path, file, start)
    except InputError as wrong:
        raise ReportError(str(wrong)) from wrong
    except RecursionError:
        raise ReportError(f"{path}: no event log: lines nested without end") from None
    except OSError as failure:
        raise ReportError(f"{path}: cannot be read: {failure.strerror or failure}") from failure
    end_us, count, ended = _end(last)
    return _log(str(path), session_name(path), reader.header, reader.release, reader.spec, count, end_us, ended, torn, readable)


def dataset_log(dataset: str, session: str, header: str, tail: str, events: int, end_us: int) -> Log:
    """What a session of a dataset says of itself: its header line, what stands behind its last event, their number and the last one's time.

    Raises:
        ReportError: the header is none, or one of a newer version.
    """
    try:
        head, spec, release = parse_header(header.encode(), f"{dataset} (session {session})")
    except InputError as wrong:
        raise ReportError(str(wrong)) from wrong
    last = _object(tail.encode())
    ended = last is not None and last.get("end") is True
    if ended and last is not None:
        end_us, events, _ = _end(last)
    return _log(dataset, session, head, release, spec, events, end_us, ended, bool(tail) and not ended, dataset)


def _log(
    path: str,
    session: str,
    header: Header,
    release: Release,
    spec: ClusterSpec,
    events: int,
    end_us: int,
    ended: bool,
    torn: bool,
    readable: Path | str,
) -> Log:
    return Log(
        path=path,
        session=session,
        release=header.release,
        seed=header.seed,
        scenario=header.scenario,
        settings=dict(header.settings),
        events=events,
        end_us=end_us,
        ended=ended,
        torn=torn,
        capped_min_isr=release.capped_min_isr,
        min_isr=_min_isr(header, spec),
        threads=_threads(header, spec),
        readable=readable,
    )


def _min_isr(header: Header, spec: ClusterSpec) -> dict[str, int]:
    """min.insync.replicas as the header has it, by topic; that of the whole cluster under the empty name."""
    name = "min.insync.replicas"
    given = {"": header.settings.get(name)} | {topic.name: dict(topic.config).get(name) for topic in spec.topics}
    return {subject: int(value) for subject, value in given.items() if value is not None and value.isascii() and value.isdecimal()}


def _threads(header: Header, spec: ClusterSpec) -> dict[str, int]:
    """Numbers of threads as the header has them."""
    names = ("num.network.threads", "num.io.threads")
    given: dict[str, object] = {name: header.settings.get(name) for name in names}
    for broker in spec.brokers:
        given |= {f"{name} {broker.id}": value for name, value in broker.settings if name in names}
    return {name: int(str(value)) for name, value in given.items() if str(value).isascii() and str(value).isdecimal()}


def session_name(path: PurePath) -> str:
    """A session's name from its file's."""
    return path.name.removesuffix(".zst").removesuffix(".jsonl") or path.name


def unpacked(path: Path, scratch: Path) -> Path | None:
    """A packed log's lines in a file of their own in `scratch`, since Spark cannot unpack them; None for a log that is not packed.

    Raises:
        ReportError: it cannot be read, or what is packed in it is damaged.
    """
    try:
        if not is_packed(path):
            return None
        lines = scratch / f"{len(list(scratch.iterdir())):06d}.unpacked.jsonl"
        with open_log_file(path) as packed, lines.open("wb") as file:
            shutil.copyfileobj(packed, file, 1 << 20)
    except OSError as failure:
        raise ReportError(f"{path}: cannot be read: {failure.strerror or failure}") from failure
    return lines


def name_sessions(logs: Sequence[Log]) -> list[Log]:
    """The logs with names that tell them apart: where two files have the same name, the path is the session's name."""
    names = [log.session for log in logs]
    return [attrs.evolve(log, session=log.path) if names.count(log.session) > 1 else log for log in logs]


def _last_line(path: Path, file: IO[bytes], start: int) -> tuple[dict[str, Any] | None, bool]:
    """The last complete line behind offset `start` as an object (None: there is none), and whether a torn one follows it."""
    size = file.seek(0, os.SEEK_END)
    length = min(_CHUNK, size - start)
    while True:
        file.seek(size - length)
        tail = file.read(length)
        everything = length == size - start
        # Unless all was read, the first piece may be the end of a longer line.
        lines = [line for line in tail.split(b"\n")[0 if everything else 1 :] if line.strip()]
        if everything or len(lines) > 1:
            break
        if length > _TAIL_LIMIT:
            raise ReportError(f"{path}: its last line is longer than {_TAIL_LIMIT >> 20} MB; no event is")
        length = min(length * 4, size - start)
    torn = bool(lines) and not tail.endswith(b"\n") and _object(lines[-1]) is None
    if torn:
        lines.pop()
    return (_object(lines[-1]) if lines else None), torn


def _object(line: bytes) -> dict[str, Any] | None:
    """The JSON object on a line; None when it is none."""
    try:
        parsed = msgspec.json.decode(line)
    except _NOT_JSON:
        return None
    return parsed if isinstance(parsed, dict) else None


def _end(last: dict[str, Any] | None) -> tuple[int, int, bool]:
    """Virtual end of the session, number of events, and whether it ended in good order, from the last complete line."""
    if last is None:
        return 0, 0, False
    ended = last.get("end") is True
    at, events = last.get("t"), last.get("events" if ended else "seq")
    return (at if isinstance(at, int) else 0), (events if isinstance(events, int) else 0), ended


def explain_bad_line(log: Log) -> str:
    """Where the first unusable line of a log is and what is wrong with it: `FILE:LINE: …`."""
    try:
        for _ in LogReader(log.readable, source=log.path) if isinstance(log.readable, Path) else ():
            pass
    except InputError as wrong:
        return str(wrong)
    except RecursionError:
        return f"{log.path}: has a line nested without end"
    return f"{log.path}: has lines that Spark cannot read as events"
