"""The event log of a session: JSON Lines, written while the session runs, and readable even if the process was killed.

Line 1 is the header: format and version, release, seed, settings, and the cluster as scripts write it. Each further
line is one event with its columns by name. A log that was closed ends with a line `{"end": true, ...}`. Without this line, the process
was killed. The reader reports and skips an incomplete last line of a killed process. Any other error is refused with its line number.
The columns are those of `core.kafka.events`; EVENTLOG.md lists them.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec

from core.kafka.events import KINDS
from core.kafka.release import Release
from core.kafka.settings import render_value
from core.lab.spec import ClusterSpec
from core.sim.errors import Standstill
from scenarios.errors import InputError, LogError, ScriptError
from scenarios.io.output_files import OutputFile
from scenarios.io.standard_streams import remark
from scenarios.io.termination_signals import defer_signals
from scenarios.language.cluster import cluster_as_data, cluster_from_data
from scenarios.language.nodes import MAX_VALUES
from scenarios.logs.line_decoder import STAMP, LineDecoder, WrongEvent, columns_of
from scenarios.logs.log_file import is_packed_name, open_log_file, packer
from scenarios.releases import release_named

FORMAT: Final = "event-log"
"""The value of `isrlab` in the header."""

VERSION: Final = 1
"""The version of the format. It increases when a kind or a column changes its meaning or is removed."""

FLUSH_SECONDS: Final = 1.0
"""The interval between writes in seconds of wall time. A killed process loses at most the events of this interval."""

ENCODED_AT_ONCE: Final = 200
"""The number of events that are encoded together. Encoding them together takes half the time of encoding them one by one."""

MAX_BUFFERED: Final = 20_000
"""The number of encoded events in memory at which they are written immediately."""

MAX_LINE: Final = 32 * 1024 * 1024
"""The length of the longest line that is read, in bytes. A header with 200,000 placed partitions takes half of this length."""


class Header(msgspec.Struct, omit_defaults=False):
    """Line 1 of a log."""

    isrlab: str
    version: int
    release: str
    seed: int
    scenario: str | None
    settings: dict[str, str]
    cluster: dict[str, Any]


class End(msgspec.Struct, forbid_unknown_fields=True):
    """The last line of a log that was closed. `t` is the virtual time in µs, and `events` is the number of events."""

    end: bool
    t: int
    events: int


def make_header(spec: ClusterSpec, release: Release, seed: int, scenario: str | None) -> Header:
    """Return the header of a session's log."""
    settings = {name: render_value(value) for name, value in spec.settings}
    return Header(FORMAT, VERSION, release.name, seed, scenario, settings, cluster_as_data(spec))


_writers: dict[str, Callable[..., msgspec.Struct]] = {}


def _writer(kind: str) -> Callable[..., msgspec.Struct]:
    """Return the msgspec struct of a kind. The struct is created on first use. It encodes about ten times as fast as a dict."""
    made = _writers.get(kind)
    if made is None:
        made = _writers[kind] = msgspec.defstruct(KINDS[kind].__name__, STAMP + columns_of(KINDS[kind]), gc=False)
    return made


_encode: Final = msgspec.json.Encoder().encode


def encode_event(event: tuple[Any, ...]) -> bytes:
    """Encode an event as a line of the log, without the line break."""
    return _encode((_writers.get(event[3]) or _writer(event[3]))(*event))


class LogWriter:
    """Writes a session's log. Call the writer with each event tuple.

    A thread writes the buffered events at least once a second. `close` writes the rest and the end line. If the name ends in `.zst`,
    each write is a Zstandard frame. The file appears under its name at `begin`, or otherwise at `close`, and replaces an existing file only
    then. Each call can raise `Terminated`, but a call never leaves a gap between events.
    """

    def __init__(self, path: str | Path, header: Header) -> None:
        self.path = Path(path)
        self._output = OutputFile(path)
        encoder = msgspec.json.Encoder()
        self._encode, self._encode_lines = encoder.encode, encoder.encode_lines
        self._events: deque[tuple[Any, ...]] = deque()
        self._lines: list[bytes] = []
        self._waiting = 0
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._count = 0
        self._last_time = 0
        self.failed: OSError | None = None
        self._pack = packer() if is_packed_name(path) else None
        self._frames: list[tuple[int, int]] = []
        """The frames of a compressed log, as (number of lines before the frame, position of the frame in the file)."""
        self._lines_written = 0
        self._put(self._encode(header) + b"\n", 1)

    def begin(self) -> None:
        """Make the log readable under its name, because the session has started.

        Raises:
            InputError: the file cannot be written.
        """
        with defer_signals(), self._lock:
            try:
                self._output.appear(revocable=True)
            except OSError as wrong:
                raise self._output.failed(wrong) from None

    def discard(self) -> None:
        """Remove the log, because the session did not start. An existing file of that name is kept or restored."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join()
        self._output.revoke()

    def __call__(self, event: tuple[Any, ...]) -> None:
        """Add an event."""
        events = self._events
        events.append(event)
        if self._thread is None:
            with defer_signals():
                self._thread = threading.Thread(target=self._flush_regularly, name="event log", daemon=True)
                self._thread.start()
        elif len(events) >= ENCODED_AT_ONCE:
            with defer_signals(), self._lock:
                self._encode_events()
            if self._waiting > MAX_BUFFERED:
                self.flush()

    def _encode_events(self) -> None:
        take = self._events.popleft
        events = [take() for _ in range(len(self._events))]
        if events:
            writers = _writers
            self._lines.append(self._encode_lines([(writers.get(event[3]) or _writer(event[3]))(*event) for event in events]))
            self._waiting += len(events)
            self._count += len(events)
            self._last_time = events[-1][1]

    def flush(self) -> None:
        """Write the events that were added so far."""
        with defer_signals(), self._lock:
            self._encode_events()
            if not self._waiting or self.failed is not None:
                return
            lines, count = b"".join(self._lines), self._waiting
            self._lines.clear()
            self._waiting = 0
            self._put(lines, count)

    def cut(self, seq: int) -> None:
        """Remove every event after `seq`, because the session went back in time and continues with other events.

        Raises:
            InputError: the file cannot be truncated.
        """
        self.flush()
        try:
            with self._lock:
                if self._pack is None:
                    self._cut_lines(seq + 1)
                else:
                    self._cut_frames(seq + 1)
        except OSError as wrong:
            raise InputError(f"{self.path}: cannot be cut: {wrong.strerror or wrong}") from None
        self._count = seq

    def _cut_lines(self, keep: int) -> None:
        with open(self._output.where, "r+b") as file:
            for _ in range(keep):
                file.readline()
            file.truncate(file.tell())
        self._output.file.seek(0, 2)

    def _cut_frames(self, keep: int) -> None:
        """Keep the first `keep` lines of a compressed log. Remove later frames, and compress the frame that is partly kept again."""
        while self._frames and self._frames[-1][0] >= keep:
            self._lines_written, start = self._frames.pop()
            self._output.file.truncate(start)
        if self._frames and self._lines_written > keep:
            before, start = self._frames.pop()
            with open_log_file(self._output.where) as file:
                kept = [file.readline() for _ in range(keep)][before:]
            self._output.file.truncate(start)
            self._output.file.seek(0, 2)
            self._lines_written = before
            self._put(b"".join(kept), keep - before)
        self._output.file.seek(0, 2)

    def _put(self, chunk: bytes, lines: int) -> None:
        """Write complete lines. If the log is compressed, write them as one frame."""
        if self._pack is not None:
            self._frames.append((self._lines_written, self._output.file.tell()))
            self._lines_written += lines
            chunk = self._pack(chunk)
        self._write(chunk)

    def _write(self, chunk: bytes) -> None:
        try:
            self._output.write(chunk)
        except OSError as wrong:
            self.failed = wrong

    def _flush_regularly(self) -> None:
        while not self._closing.wait(FLUSH_SECONDS * 0.8):
            self.flush()

    def close(self, now: int | None = None) -> None:
        """Write the buffered events and the end line. `now` is the virtual time at the end in µs. A second call has no effect.

        Raises:
            InputError: a write failed.
        """
        if self._output.file.closed:
            return
        self._closing.set()
        with defer_signals():
            if self._thread is not None:
                self._thread.join()
            self.flush()
            if self.failed is None:
                self._put(self._encode(End(True, self._last_time if now is None else now, self._count)) + b"\n", 1)
            try:
                if self.failed is None:
                    self._output.appear()
            except OSError as wrong:
                self.failed = wrong
            self._output.discard()
        if self.failed is not None:
            raise self._output.failed(self.failed)

    def __enter__(self) -> LogWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_exc: object) -> None:
        if kind is not None and (self._output.hidden or issubclass(kind, InputError | Standstill)):
            self.discard()  # A session that cannot run leaves no log.
        else:
            self.close()


def parse_header(line: bytes, source: str) -> tuple[Header, ClusterSpec, Release]:
    """Parse the first line of a log into its header, cluster, and release.

    Raises:
        LogError: the line is not a header, or its version is unknown.
    """
    if not line.strip():
        raise LogError(
            source,
            1,
            "the file is empty; an event log starts with a header line"
            if not line
            else "there is no header; an event log starts with a header line",
        )
    if len(line) >= MAX_LINE and not line.endswith(b"\n"):
        raise LogError(source, 1, f"the first line is longer than {MAX_LINE >> 20} MB, so it is not the header of an event log")
    if line.count(b",") > MAX_VALUES:
        raise LogError(source, 1, f"the first line has more than {MAX_VALUES:,} values, so it is not the header of an event log")
    try:
        raw = msgspec.json.decode(line)
    except RecursionError:
        raise LogError(source, 1, "not an event log: the nesting in its first line is too deep") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise LogError(source, 1, 'not an event log; the first line of a log is a header such as {"isrlab": "event-log", ...}') from None
    if not isinstance(raw, dict) or raw.get("isrlab") != FORMAT:
        what = (
            "no header: the event log's first line is missing" if isinstance(raw, dict) and "seq" in raw else "not an event log of isrlab"
        )
        raise LogError(source, 1, f'{what}; it would start with {{"isrlab": "{FORMAT}", "version": {VERSION}, ...}}')
    version = raw.get("version")
    if version != VERSION or isinstance(version, bool):
        newer = isinstance(version, int) and not isinstance(version, bool) and version > VERSION
        why = "a newer isrlab wrote it; use that version" if newer else "no such version exists"
        raise LogError(source, 1, f"version {str(version)[:20]} of the format is unknown: {why}; this isrlab reads version {VERSION}")
    try:
        header = msgspec.convert(raw, Header)
        release = release_named(header.release)
        spec = cluster_from_data(header.cluster, source)
    except (msgspec.ValidationError, ValueError) as wrong:
        raise LogError(source, 1, f"the header is wrong: {wrong}") from None
    except ScriptError as wrong:
        raise LogError(
            source, 1, f"the header is wrong: {wrong.field}: {wrong.problem}" + (f"; {wrong.remedy}" if wrong.remedy else "")
        ) from None
    return header, spec, release


class LogReader:
    """Reads a log. The header is read when the reader is created, and the events are read during iteration.

    Attributes:
        header: the first line of the log.
        spec: the cluster in the header.
        end: the end line, set after the last event; None if the log has no end line.
        torn: the line number of an incomplete last line that was skipped; 0 if the last line is complete.
    """

    def __init__(self, path: str | Path, source: str | None = None) -> None:
        """Open a log. `source` is its name in messages, by default its path."""
        self.source = str(path) if source is None else source
        self.end: End | None = None
        self.torn = 0
        try:
            self._file: BinaryIO = open_log_file(path)
        except OSError as wrong:
            raise InputError(
                f"{self.source}: cannot be read: {wrong.strerror or wrong}; name an event log, such as 'isrlab run --log FILE' writes"
            ) from None
        except ValueError:
            raise InputError(f"{self.source!r}: not a file name") from None
        try:
            self.header, self.spec = self._read_header()
        except BaseException:
            self._file.close()
            raise

    def _read_header(self) -> tuple[Header, ClusterSpec]:
        try:
            line = self._file.readline(MAX_LINE)
        except OSError as wrong:
            raise InputError(f"{self.source}: cannot be read: {wrong.strerror or wrong}") from None
        header, spec, self._release = parse_header(line, self.source)
        return header, spec

    @property
    def release(self) -> Release:
        """The release under which the session ran."""
        return self._release

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Yield the recorded event tuples in order.

        Raises:
            LogError: a line is malformed, out of order, or after the end line.
        """
        decode = LineDecoder(self.spec)
        last_seq = last_time = 0
        number = 1
        with self._file:
            while line := self._next_line(number + 1):
                number += 1
                torn = not line.endswith(b"\n")
                try:
                    if self.end is not None:
                        raise LogError(self.source, number, "there is a line after the end of the log")
                    if line.startswith(b'{"end"'):
                        self.end = msgspec.json.decode(line, type=End)
                        if self.end.events != last_seq:
                            raise LogError(self.source, number, f"the log ends with {self.end.events} events, but {last_seq} stand in it")
                        continue
                    event = decode(line)
                except WrongEvent as wrong:
                    raise LogError(self.source, number, str(wrong)) from None
                except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as wrong:
                    if torn:
                        self.torn = number
                        return
                    raise LogError(self.source, number, f"not an event: {one_line(wrong)}") from None
                if event[0] != last_seq + 1:
                    raise LogError(self.source, number, f"event {event[0]} follows event {last_seq}; lines are missing or out of order")
                if event[1] < last_time:
                    raise LogError(self.source, number, f"event {event[0]} is earlier than the one before; lines are out of order")
                last_seq, last_time = event[0], event[1]
                yield event

    def _next_line(self, number: int) -> bytes:
        try:
            line = self._file.readline(MAX_LINE)
        except OSError as wrong:
            raise LogError(self.source, number, f"cannot be read from here on: {wrong.strerror or wrong}") from None
        if len(line) == MAX_LINE and not line.endswith(b"\n"):
            raise LogError(self.source, number, f"the line is longer than {MAX_LINE >> 20} MB; no event is")
        return line

    def close(self) -> None:
        """Close the file if only the header was needed. Iterating over all events also closes the file."""
        self._file.close()

    def problem(self) -> str:
        """Return a message if the log was not closed, and '' if it was closed. The result is known after the last event."""
        if self.torn:
            return f"{self.source}:{self.torn}: the last line is torn (the process was killed while it wrote); it is skipped"
        if self.end is None:
            return f"{self.source}: the log has no end line: its process was killed; all events up to then are read"
        return ""


def one_line(wrong: Exception) -> str:
    """Return the message of an error in one line, shortened."""
    if isinstance(wrong, RecursionError):
        return "it is nested too deeply"
    return " ".join(str(wrong).split())[:200]


def read_events(path: str | Path, report: Callable[[str], None] | None = None) -> tuple[LogReader, list[tuple[Any, ...]]]:
    """Read a whole log. A message about the end of the log is passed to `report`, which by default prints it to stderr."""
    reader = LogReader(path)
    events = list(reader)
    if problem := reader.problem():
        (report or remark)(problem)
    return reader, events


__all__ = ["End", "Header", "LogReader", "LogWriter", "make_header", "one_line", "read_events"]
