"""Writes the event log of a session as JSON Lines. The log is written during the session, and is readable even if the process is killed.

Line 1 is the header: format and version, release, seed, settings, and the cluster as scripts write it. Each further line is one event with
its columns by name. A log that was closed ends with the line `{"end": true, ...}`. If the end line is missing, the process was killed.
`core.kafka.events` defines the columns of each event kind, and EVENTLOG.md lists them.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from core.sim.errors import Standstill
from core.sim.events import time_of
from scenarios.errors import InputError
from scenarios.io.output_files import OutputFile
from scenarios.io.termination_signals import defer_signals
from scenarios.logs.line_encoder import encode_events
from scenarios.logs.log_file import is_packed_name, open_log_file, packer
from scenarios.logs.log_header import End, Header

FLUSH_SECONDS: Final = 1.0
"""The interval between writes, in seconds of wall time. If the process is killed, at most the events of one interval are lost."""

ENCODED_AT_ONCE: Final = 200
"""The number of events that are encoded together. Encoding events together takes half as long as encoding them one by one."""

MAX_BUFFERED: Final = 20_000
"""The number of buffered events at which the buffer is written immediately."""


class LogWriter:
    """A writer of a session's log. The writer is called with each event tuple.

    A thread writes the buffered events at least once a second. `close` writes the remaining events and the end line. If the name ends in
    `.zst`, each write is a Zstandard frame. The file appears under its name when `begin` or, without `begin`, `close` is called. Until
    then, an existing file with this name is kept. Every method can raise `Terminated`, but even then, the events in the log have no gaps.
    """

    def __init__(self, path: str | Path, header: Header) -> None:
        self.path = Path(path)
        self._output = OutputFile(path)
        encoder = msgspec.json.Encoder()
        self._encode = encoder.encode
        self._events: deque[tuple[Any, ...]] = deque()
        self._lines: list[bytes] = []
        self._waiting = 0
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._count = 0
        self._last_time = 0
        self.failed: OSError | None = None
        self.on_failure: Callable[[str], object] = str
        """The function to call with a message when a write fails for the first time. The session can go on without its log."""
        self._pack = packer() if is_packed_name(path) else None
        self._frames: list[tuple[int, int]] = []
        """The frames of a compressed log, as (number of lines before the frame, position of the frame in the file)."""
        self._lines_written = 0
        self._put(self._encode(header) + b"\n", 1)

    def begin(self) -> None:
        """Give the log its final name, because the session has started.

        Raises:
            InputError: the file cannot be written.
        """
        with defer_signals(), self._lock:
            try:
                self._output.appear(revocable=True)
            except OSError as wrong:
                raise self._output.failed(wrong) from None

    def discard(self) -> None:
        """Remove the log, because the session did not start. An existing file with the log's name is kept or restored."""
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
        if self.failed is not None:
            self._events.clear()  # otherwise, a session that goes on for days would keep them all
            self._lines.clear()
            return
        take = self._events.popleft
        events = [take() for _ in range(len(self._events))]
        if events:
            self._lines.append(encode_events(events))
            self._waiting += len(events)
            self._count += len(events)
            self._last_time = time_of(events[-1])

    def flush(self) -> None:
        """Write the events that have been added so far."""
        with defer_signals(), self._lock:
            self._encode_events()
            if not self._waiting or self.failed is not None:
                return
            lines, count = b"".join(self._lines), self._waiting
            self._lines.clear()
            self._waiting = 0
            self._put(lines, count)

    def cut(self, seq: int) -> None:
        """Remove every event after `seq`, because the session has gone back in time and continues with other events.

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
            raise InputError(f"{self.path}: cannot be truncated: {wrong.strerror or wrong}") from None
        self._count = seq

    def _cut_lines(self, keep: int) -> None:
        with open(self._output.where, "r+b") as file:
            for _ in range(keep):
                file.readline()
            file.truncate(file.tell())
        self._output.file.seek(0, 2)

    def _cut_frames(self, keep: int) -> None:
        """Keep the first `keep` lines of a compressed log. Remove the later frames, and recompress the last frame if only some of its lines
        are kept.
        """
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
        """Write a chunk of complete lines. If the log is compressed, write the lines as one frame."""
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
            self.on_failure(f"{self._output.failed(wrong)}; the session goes on without its log")

    def _flush_regularly(self) -> None:
        while not self._closing.wait(FLUSH_SECONDS * 0.8):
            self.flush()

    def close(self, now: int | None = None) -> None:
        """Write the buffered events and the end line. `now` is the virtual time, in µs, at the end of the session. A second call to `close`
        has no effect.

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
