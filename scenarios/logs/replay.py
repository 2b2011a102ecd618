"""Replays an event log: builds the cluster in the log's header, executes the log's acts at their times, and compares every event byte for
byte.

The same cluster, release, seed, and acts always produce the same events. If a line of the log was changed, or another version of the
program behaves differently, a replay therefore finds the first difference.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import msgspec

from core.kafka.errors import KafkaError
from core.kafka.events import Acted, explain
from core.lab.cluster import Cluster
from core.lab.recorded_acts import act_of
from core.sim.errors import ActRefused
from core.sim.events import kind_of, seq_of, time_of
from core.sim.units import format_duration
from scenarios.errors import LogError
from scenarios.logs.line_encoder import encode_event
from scenarios.logs.log_file import open_log_file
from scenarios.logs.log_header import End, make_header
from scenarios.logs.log_reader import LogReader


@attrs.frozen
class Replayed:
    """The result of a replay.

    Attributes:
        source: the name of the log.
        events, acts: the numbers of events and acts in the log.
        time: the virtual time at the end of the log in µs.
        line: the line number of the first difference; 0 if there is none.
        recorded, replayed: the first event that differs, as the log and the replay contain it; empty if there is no difference.
    """

    source: str
    events: int
    acts: int
    time: int
    line: int = 0
    recorded: str = ""
    replayed: str = ""

    @property
    def same(self) -> bool:
        """Whether the replay produced the same events as the log."""
        return self.line == 0


class _Differs(Exception):
    """The exception for an event of the replay that differs from the event in the log. The arguments are the line number, the event in the
    log, and the event in the replay.
    """


class _Holding:
    """A sink that compares each event of the replay with a line of the log."""

    def __init__(self, lines: list[bytes], events: list[tuple[Any, ...]]) -> None:
        self.lines = lines
        self.events = events
        self.count = 0

    def __call__(self, event: tuple[Any, ...]) -> None:
        at, self.count = self.count, self.count + 1
        if at >= len(self.events):
            return
        line = encode_event(event)
        if line != self.lines[at + 1]:
            before = self.events[at]
            raise _Differs(at + 2, in_words(before), in_words(event) if in_words(event) != in_words(before) else line.decode())


def in_words(event: tuple[Any, ...]) -> str:
    """Return an event as text for the output of a replay."""
    return f"event {seq_of(event)} at {format_duration(time_of(event))}, {kind_of(event)}: {explain(event)}"


def replay(path: str | Path) -> Replayed:
    """Replay a log.

    Raises:
        InputError: the file cannot be read, or is not an event log.
    """
    reader = LogReader(path)
    reader.refuse_observed("a replay")
    events = list(reader)
    reader.refuse_unknown_kinds("a replay")
    with open_log_file(path) as file:
        lines = file.read().split(b"\n")
    source = str(path)
    acts = sum(kind_of(event) == Acted.kind for event in events)
    end = reader.end
    time = end.t if end is not None else time_of(events[-1]) if events else 0
    header = reader.header
    try:
        _hold_header(reader, lines[0])
        _play(reader, events, lines, end)
    except _Differs as differs:
        line, recorded, replayed = differs.args
        return Replayed(source, len(events), acts, time, line, recorded, replayed)
    except (ValueError, KafkaError) as wrong:
        raise LogError(source, 1, f"the cluster of header {header.scenario or ''} cannot be built: {wrong}") from None
    return Replayed(source, len(events), acts, time)


def _hold_header(reader: LogReader, line: bytes) -> None:
    header = make_header(reader.spec, reader.release, reader.header.seed, reader.header.scenario)
    written = msgspec.json.encode(header)
    if written != line:
        raise _Differs(1, line.decode()[:400], written.decode()[:400])


def _play(reader: LogReader, events: list[tuple[Any, ...]], lines: list[bytes], end: End | None) -> None:
    holding = _Holding(lines, events)
    cluster = Cluster(reader.spec, reader.release, reader.header.seed, holding)
    for at, event in enumerate(events):
        if kind_of(event) != Acted.kind:
            continue
        cluster.run_until(time_of(event))
        if holding.count != at:
            _missing(holding, at, events)
        try:
            cluster.do(act_of(event))
        except ActRefused as refused:
            raise _Differs(at + 2, in_words(event), f"{Acted(event).act} is refused: {refused}") from None
        except ValueError as wrong:
            raise LogError(reader.source, at + 2, str(wrong)) from None
    # A session can end, or be killed, between two events at the same virtual time.
    while holding.count < len(events):
        due = cluster.next_time()
        if due is None or due > time_of(events[holding.count]):
            break
        cluster.step()
    if holding.count < len(events):
        _missing(holding, len(events), events)
    if end is None:
        return
    # A closed log ends between two steps. Only the events show which steps at its last virtual time were executed.
    if holding.count == len(events) and cluster.now < end.t:
        cluster.run_until(end.t - 1)
    if holding.count > len(events):
        raise _Differs(
            len(events) + 2,
            f"no more events before the end at {format_duration(end.t)}",
            f"{holding.count - len(events)} more events before that",
        )


def _missing(holding: _Holding, at: int, events: list[tuple[Any, ...]]) -> None:
    """Raise `_Differs` if the replay has fewer events up to the time `at` than the log."""
    if holding.count < at:
        raise _Differs(holding.count + 2, in_words(events[holding.count]), "no such event up to that time")


def lines_of(replayed: Replayed) -> list[str]:
    """Return the result of a replay as lines of text."""
    if replayed.same:
        return [f"same {replayed.source}: {replayed.events} events, {replayed.acts} acts, {format_duration(replayed.time)}"]
    return [
        f"DIFFERS {replayed.source}:{replayed.line}: after {max(replayed.line - 2, 0)} identical events",
        f"  in the log  {replayed.recorded}",
        f"  replayed    {replayed.replayed}",
    ]
