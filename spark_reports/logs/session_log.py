"""Describes the log of a session from its first and last lines, without reading the events in between. Spark reads the events of the log."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from pathlib import Path, PurePath
from typing import IO, Any, Final, cast

import attrs
import msgspec

from core.kafka.release import Release
from core.lab.spec import ClusterSpec
from scenarios.errors import InputError
from scenarios.logs.log_header import Header, parse_header
from scenarios.logs.log_reader import LogReader
from spark_reports.errors import ReportError

_NOT_JSON: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

_CHUNK: Final = 1 << 16

_TAIL_LIMIT: Final = 16 << 20


@attrs.frozen
class SessionLog:
    """The log of one session, described by its first and last lines.

    Attributes:
        path: the path of the file or dataset, for messages.
        session: the short unique name of the session, which is the name of the file without `.jsonl`.
        release, seed, scenario, settings: the values in the header; `scenario` is None if a person played the session.
        events: the number of events, which equals the `seq` of the last event.
        end_us: the virtual time of the end or, if the session did not end normally, of the last event.
        ended: whether the log has an end line; if the end line is missing, the process was killed.
        torn: whether the last line is incomplete and therefore skipped.
        capped_min_isr: whether the release caps min.insync.replicas at the number of replicas.
        min_isr: the values of min.insync.replicas at the start, by topic; the key of the cluster-wide value is the empty string.
        threads: the values of num.network.threads and num.io.threads that are set at the start. The key is the name of the setting,
            followed by a space and the broker ID if the value is for a single broker.
        readable: the path or URI that Spark reads: the file, an unpacked copy of the file, or a URI in another file system.
        tail: the text after the last event: the end line, an incomplete line, or nothing.
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
    tail: str


def open_log(path: Path, readable: Path | None = None) -> SessionLog:
    """Describe the log at `path`. If the log is compressed, `readable` is the path of its unpacked copy.

    Raises:
        ReportError: the file is missing or is not an event log, or the version of its format is newer than this program supports.
    """
    readable = readable or path
    try:
        reader = LogReader(readable, source=str(path))
        # The first event shows whether the lines are events. Closing the iterator closes the file.
        events = cast("Generator[object]", iter(reader))
        next(events, None)
        events.close()
        with readable.open("rb") as file:
            start = len(file.readline())
            last, torn, tail = _last_line(path, file, start)
    except InputError as wrong:
        raise ReportError(str(wrong)) from wrong
    except RecursionError:
        raise ReportError(f"{path}: this is not an event log: a line is nested too deeply") from None
    except OSError as failure:
        raise ReportError(f"{path}: cannot read this file: {failure.strerror or failure}") from failure
    end_us, count, ended = _end(last)
    return _log(str(path), session_name(path), reader.header, reader.release, reader.spec, count, end_us, ended, torn, readable, tail)


def dataset_log(dataset: str, session: str, header: str, tail: str, events: int, end_us: int) -> SessionLog:
    """Describe a session of a dataset.

    Args:
        dataset: the path or URI of the dataset.
        session: the name of the session.
        header: the header line.
        tail: the text after the last event.
        events: the number of events.
        end_us: the virtual time of the last event in µs.

    Raises:
        ReportError: the header is invalid, or names a newer version of the format than this program supports.
    """
    try:
        head, spec, release = parse_header(header.encode(), f"{dataset} (session {session})")
    except InputError as wrong:
        raise ReportError(str(wrong)) from wrong
    last = _object(tail.encode())
    ended = last is not None and last.get("end") is True
    if ended and last is not None:
        end_us, events, _ = _end(last)
    return _log(dataset, session, head, release, spec, events, end_us, ended, bool(tail) and not ended, dataset, tail)


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
    tail: str,
) -> SessionLog:
    return SessionLog(
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
        tail=tail,
    )


def _min_isr(header: Header, spec: ClusterSpec) -> dict[str, int]:
    """Return the values of min.insync.replicas in the header, keyed by topic; the key of the cluster-wide value is the empty string."""
    name = "min.insync.replicas"
    given = {"": header.settings.get(name)} | {topic.name: dict(topic.config).get(name) for topic in spec.topics}
    return {subject: int(value) for subject, value in given.items() if value is not None and value.isascii() and value.isdecimal()}


def _threads(header: Header, spec: ClusterSpec) -> dict[str, int]:
    """Return the numbers of threads that the header sets."""
    names = ("num.network.threads", "num.io.threads")
    given: dict[str, object] = {name: header.settings.get(name) for name in names}
    for broker in spec.brokers:
        given |= {f"{name} {broker.id}": value for name, value in broker.settings if name in names}
    return {name: int(str(value)) for name, value in given.items() if str(value).isascii() and str(value).isdecimal()}


def session_name(path: PurePath) -> str:
    """Return the name of a session, derived from the name of its file."""
    return path.name.removesuffix(".zst").removesuffix(".jsonl") or path.name


def name_sessions(logs: Sequence[SessionLog]) -> list[SessionLog]:
    """Give the sessions unique names. If two files have the same name, the paths of the files become the names."""
    names = [log.session for log in logs]
    return [attrs.evolve(log, session=log.path) if names.count(log.session) > 1 else log for log in logs]


def _last_line(path: Path, file: IO[bytes], start: int) -> tuple[dict[str, Any] | None, bool, str]:
    """Return the last complete line after offset `start` as an object, or None, whether an incomplete line follows, and the text after the
    last event.
    """
    size = file.seek(0, os.SEEK_END)
    length = min(_CHUNK, size - start)
    while True:
        file.seek(size - length)
        tail = file.read(length)
        everything = length == size - start
        # The first piece can be the end of a longer line, unless everything was read.
        lines = [line for line in tail.split(b"\n")[0 if everything else 1 :] if line.strip()]
        if everything or len(lines) > 1:
            break
        if length > _TAIL_LIMIT:
            raise ReportError(f"{path}: its last line is longer than {_TAIL_LIMIT >> 20} MB; no event is that long")
        length = min(length * 4, size - start)
    torn = bool(lines) and not tail.endswith(b"\n") and _object(lines[-1]) is None
    after = lines.pop() if torn else b""
    last = _object(lines[-1]) if lines else None
    if last is not None and last.get("end") is True:
        after = lines[-1] + b"\n" + after
    return last, torn, after.decode("utf-8", "backslashreplace")


def _object(line: bytes) -> dict[str, Any] | None:
    """Return the JSON object in a line, or None if the line is not an object."""
    try:
        parsed = msgspec.json.decode(line)
    except _NOT_JSON:
        return None
    return parsed if isinstance(parsed, dict) else None


def _end(last: dict[str, Any] | None) -> tuple[int, int, bool]:
    """Return the virtual time of the end, the number of events, and whether the session ended normally, given the last complete line."""
    if last is None:
        return 0, 0, False
    ended = last.get("end") is True
    at, events = last.get("t"), last.get("events" if ended else "seq")
    return (at if isinstance(at, int) else 0), (events if isinstance(events, int) else 0), ended


def explain_bad_line(log: SessionLog) -> str:
    """Return the location of the first unusable line and its problem: `FILE:LINE: …`."""
    try:
        for _ in LogReader(log.readable, source=log.path) if isinstance(log.readable, Path) else ():
            pass
    except InputError as wrong:
        return str(wrong)
    except RecursionError:
        return f"{log.path}: a line is nested too deeply"
    return f"{log.path}: Spark cannot read some lines as events"
