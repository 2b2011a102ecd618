"""Checks a whole event log: each line is an event, sequence numbers have no gaps, times never decrease, and causes precede their effects.

Unlike readers, which stop at the first invalid line, the check continues and reports every problem with its line number.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Final

import attrs
import msgspec

from core.kafka.events import Acted
from core.lab.recorded_acts import act_of
from core.sim.events import causes_of, kind_of, seq_of, time_of
from scenarios.errors import InputError
from scenarios.logs.line_decoder import LineDecoder, UnknownKind, WrongEvent
from scenarios.logs.log_file import MAX_LINE, open_log_file
from scenarios.logs.log_header import End
from scenarios.logs.log_reader import LogReader, one_line

MAX_SHOWN: Final = 100
"""The maximum number of problems that the check lists. The check counts further problems without listing them."""

MAX_COUNTED: Final = 100_000
"""The number of problems after which the check stops, because the file is probably not an event log."""


@attrs.define
class Checked:
    """The result of a check.

    Attributes:
        events: the number of valid events.
        end_us: the virtual time, in µs, in the end line. Without an end line, this is the virtual time of the last event.
        problems: the first `MAX_SHOWN` problems, as `FILE:LINE: …`.
        count: the total number of problems.
        unknown: the number of events of each unknown kind, and of events with each unknown column. They are not problems, because another
            version of isrlab can have written the log.
    """

    events: int = 0
    end_us: int = 0
    problems: list[str] = attrs.field(factory=list)
    count: int = 0
    unknown: Mapping[str, int] = attrs.field(factory=dict)


def check_log(path: str | Path) -> Checked:
    """Check a log. If the file cannot be opened, or if its header is invalid, this counts as one problem."""
    checked = Checked()

    def tell(problem: str) -> None:
        checked.count += 1
        if checked.count <= MAX_SHOWN:
            checked.problems.append(problem)

    try:
        reader = LogReader(path)
        reader.close()
    except InputError as wrong:
        tell(str(wrong))
        return checked
    decode = LineDecoder(reader.spec)
    checked.unknown = decode.unknown
    try:
        for line, problem in _problems(Path(path), decode, checked):
            tell(f"{path}:{line}: {problem}" if line else f"{path}: {problem}")
            if checked.count >= MAX_COUNTED:
                break
    except OSError as wrong:
        tell(f"{path}: cannot be read after event {checked.events:,}: {wrong.strerror or wrong}")
    return checked


def _problems(path: Path, decode: LineDecoder, checked: Checked) -> Iterator[tuple[int, str]]:
    """Yield each problem after the header, with its line number, or with 0 if the problem concerns the whole file."""
    end: End | None = None
    last_seq = last_time = 0
    missing: list[tuple[int, int]] = []
    """The missing sequence numbers, as ascending ranges. The end of a range is exclusive."""
    number = 1
    with open_log_file(path) as file:
        file.readline(MAX_LINE)
        while line := file.readline(MAX_LINE):
            number += 1
            if len(line) == MAX_LINE and not line.endswith(b"\n"):
                yield number, f"the line is longer than {MAX_LINE >> 20} MB, so it is not an event"
                _skip_line(file)
                continue
            if end is not None:
                yield number, "there is a line after the end of the log"
                continue
            try:
                if line.startswith(b'{"end"'):
                    end = msgspec.json.decode(line, type=End)
                    checked.end_us = end.t
                    if end.events != last_seq:
                        yield number, f"the end line says that the log has {end.events} events, but the last event has number {last_seq}"
                    if end.t < last_time:
                        yield number, f"the end line says that the session ended at {end.t} µs, but the last event is at {last_time} µs"
                    continue
                event = decode(line)
            except UnknownKind as unknown:
                event = unknown.stamp
            except WrongEvent as wrong:
                yield number, str(wrong)
                event = wrong.event
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as wrong:
                if line.endswith(b"\n"):
                    yield number, f"not an event: {one_line(wrong)}"
                else:
                    yield number, "the last line is incomplete: the process was killed while it was writing; readers skip it"
                continue
            seq, time, causes = seq_of(event), time_of(event), causes_of(event)
            if kind_of(event) == Acted.kind:
                try:
                    act_of(event)
                except ValueError as wrong:
                    yield number, one_line(wrong)
            if seq <= last_seq:
                yield number, f"event {seq} follows event {last_seq}; lines are duplicated or out of order"
            elif seq > last_seq + 1:
                gap = f"event {last_seq + 1} is" if seq == last_seq + 2 else f"events {last_seq + 1} to {seq - 1} are"
                yield number, f"event {seq} follows event {last_seq}; {gap} missing"
                missing.append((last_seq + 1, seq))
            if time < last_time:
                yield number, f"event {seq} at {time} µs is earlier than the previous event, at {last_time} µs"
            for cause in causes:
                if not 0 <= cause < seq:
                    yield number, f"event {seq} names event {cause} as its cause; a cause must come before its effect, and 0 means no cause"
                elif _stands_in(cause, missing):
                    yield number, f"event {seq} names event {cause} as its cause, but there is no event {cause}"
            checked.events += 1
            last_seq, last_time = max(seq, last_seq), max(time, last_time)
    if end is None:
        checked.end_us = last_time
        yield 0, "no end line: the process was killed; all events up to that point are readable"


def _skip_line(file: IO[bytes]) -> None:
    """Skip the rest of a line."""
    while (rest := file.readline(MAX_LINE)) and not rest.endswith(b"\n"):
        pass


def _stands_in(seq: int, ranges: list[tuple[int, int]]) -> bool:
    at = bisect_right(ranges, (seq, 2**63)) - 1
    return at >= 0 and seq < ranges[at][1]
