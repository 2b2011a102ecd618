"""Reads the event log of a session.

If the process was killed, an incomplete last line is reported and skipped. Events of kinds that this version of isrlab does not know are
counted and skipped, and unknown columns are counted and ignored. Any other invalid line raises an error with its line number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from core.kafka.release import Release
from core.lab.spec import ClusterSpec
from core.sim.events import seq_of, time_of
from scenarios.errors import InputError, LogError
from scenarios.io.standard_streams import print_messages
from scenarios.logs.line_decoder import LineDecoder, UnknownKind, WrongEvent, about_unknown
from scenarios.logs.log_file import MAX_LINE, open_log_file
from scenarios.logs.log_header import End, Header, parse_header


class LogReader:
    """A reader of a log. The header is read when the reader is created, and the events are read during iteration.

    Attributes:
        header: the first line of the log.
        spec: the cluster in the header.
        end: the end line, set after the last event; None if the log has no end line.
        unknown: the number of events of each unknown kind, which are skipped, and of events with each unknown column, which is ignored
            (`LineDecoder.unknown`).
        torn: the line number of an incomplete last line that was skipped; 0 if the last line is complete.
    """

    def __init__(self, path: str | Path, source: str | None = None) -> None:
        """Open a log. `source` is the name of the log in messages; the default is the path of the log."""
        self.source = str(path) if source is None else source
        self.end: End | None = None
        self.torn = 0
        self.unknown: Mapping[str, int] = {}
        try:
            self._file: BinaryIO = open_log_file(path)
        except OSError as wrong:
            raise InputError(
                f"{self.source}: cannot be read: {wrong.strerror or wrong}; "
                "name an event log, such as one that 'isrlab run --log FILE' writes"
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
        self.unknown = decode.unknown
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
                            raise LogError(
                                self.source, number, f"the last line says that the log has {self.end.events} events, but it has {last_seq}"
                            )
                        continue
                    event, known = decode(line), True
                except UnknownKind as unknown:
                    event, known = unknown.stamp, False
                except WrongEvent as wrong:
                    raise LogError(self.source, number, str(wrong)) from None
                except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as wrong:
                    if torn:
                        self.torn = number
                        return
                    raise LogError(self.source, number, f"not an event: {one_line(wrong)}") from None
                if seq_of(event) != last_seq + 1:
                    raise LogError(
                        self.source, number, f"event {seq_of(event)} follows event {last_seq}; lines are missing or out of order"
                    )
                if time_of(event) < last_time:
                    raise LogError(self.source, number, f"event {seq_of(event)} is earlier than the previous event; lines are out of order")
                last_seq, last_time = seq_of(event), time_of(event)
                if known:
                    yield event

    def _next_line(self, number: int) -> bytes:
        try:
            line = self._file.readline(MAX_LINE)
        except OSError as wrong:
            raise LogError(self.source, number, f"cannot be read from here on: {wrong.strerror or wrong}") from None
        if len(line) == MAX_LINE and not line.endswith(b"\n"):
            raise LogError(self.source, number, f"the line is longer than {MAX_LINE >> 20} MB; no event is that long")
        return line

    def close(self) -> None:
        """Close the file. An iteration over all events also closes the file."""
        self._file.close()

    def refuse_observed(self, what: str) -> None:
        """Refuse the log of a watched cluster.

        Args:
            what: what needs a simulated session, for example `a replay`.

        Raises:
            InputError: a running cluster was watched.
        """
        if self.header.observed is not None:
            self.close()
            raise InputError(
                f"{self.source}: {what} needs a simulated session, but this log is of a watched cluster; 'isrlab describe', 'isrlab log', "
                "and 'isrlab report' read it, and 'isrlab import' makes a copy of the cluster that can run"
            )

    def refuse_unknown_kinds(self, what: str) -> None:
        """Refuse a log with events of unknown kinds. Call this method only after the last event has been read.

        Args:
            what: what needs every event of the log, for example `a replay`.

        Raises:
            InputError: the log has events of unknown kinds.
        """
        if any("." not in name for name in self.unknown):
            raise InputError(f"{self.source}: {what} needs every event of a log, but {about_unknown(self.unknown)}")

    def problem(self) -> str:
        """Return a message if the log was not closed, or has unknown kinds or columns; otherwise ''. Call this method only after the last
        event has been read.
        """
        unknown = f"; {about_unknown(self.unknown)}" if self.unknown else ""
        if self.torn:
            return (
                f"{self.source}:{self.torn}: the last line is incomplete (the process was killed while it was writing); isrlab skips this "
                f"line{unknown}"
            )
        if self.end is None:
            return f"{self.source}: the log has no end line, because its process was killed; all events up to that point are read{unknown}"
        return f"{self.source}: {about_unknown(self.unknown)}" if self.unknown else ""


def one_line(wrong: Exception) -> str:
    """Return the message of an error, shortened to one line."""
    if isinstance(wrong, RecursionError):
        return "the line is nested too deeply"
    return " ".join(str(wrong).split())[:200]


def read_events(path: str | Path, report: Callable[[str], None] | None = None) -> tuple[LogReader, list[tuple[Any, ...]]]:
    """Read a log from its first line to its last line. If the log was not closed, `report` receives a message; by default, the message is
    printed to stderr.
    """
    reader = LogReader(path)
    events = list(reader)
    if problem := reader.problem():
        (report or print_messages)(problem)
    return reader, events
