"""Plays an event log again: the cluster of its header, its acts at their times, and every event held against the log, byte for byte.

The same cluster, release, seed and acts give the same events. So a log says by itself whether it tells the truth about
this program: another version that behaves otherwise, or a line that somebody changed, is found at its first difference.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import msgspec

from core.kafka.errors import KafkaError
from core.kafka.events import Acted, explain
from core.lab.cluster import Cluster
from core.lab.recorded_acts import recorded_act
from core.sim.errors import ActRefused
from core.sim.units import format_duration
from scenarios.errors import LogError
from scenarios.logs.event_log import End, LogReader, encode_event, make_header
from scenarios.logs.log_file import open_log_file


@attrs.frozen
class Replayed:
    """What came of a replay.

    Attributes:
        events, acts: how many the log has.
        time: virtual µs at its end.
        line: of the log where it differs first; 0 if nothing differs.
        recorded, replayed: what stands there, and what comes out now; '' for nothing.
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
        """Whether the replay is the log."""
        return self.line == 0


class _Differs(Exception):
    """The replay is not the log: (line, what stands there, what comes out)."""


class _Holding:
    """Takes the events of the replay, and holds each against the log's line."""

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
    """An event as a replay tells it."""
    return f"event {event[0]} at {format_duration(event[1])}, {event[3]}: {explain(event)}"


def replay(path: str | Path) -> Replayed:
    """Play a log again.

    Raises:
        InputError: the file cannot be read, or is no event log.
    """
    reader = LogReader(path)
    events = list(reader)
    with open_log_file(path) as file:
        lines = file.read().split(b"\n")
    source = str(path)
    acts = sum(event[3] == Acted.kind for event in events)
    end = reader.end
    time = end.t if end is not None else events[-1][1] if events else 0
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
        if event[3] != Acted.kind:
            continue
        cluster.run_until(event[1])
        if holding.count != at:
            _missing(holding, at, events)
        try:
            cluster.do(recorded_act(*event[4:6]))
        except ActRefused as refused:
            raise _Differs(at + 2, in_words(event), f"{event[4]} is refused: {refused}") from None
        except ValueError as wrong:
            raise LogError(reader.source, at + 2, str(wrong)) from None
    # A session may have ended, or been killed, between two events of one moment.
    while holding.count < len(events):
        due = cluster.next_time()
        if due is None or due > events[holding.count][1]:
            break
        cluster.step()
    if holding.count < len(events):
        _missing(holding, len(events), events)
    if end is None:
        return
    # Closed in good order it ends between two steps; which of its last moment's steps were done, only the events say.
    if holding.count == len(events) and cluster.now < end.t:
        cluster.run_until(end.t - 1)
    if holding.count > len(events):
        raise _Differs(len(events) + 2, f"the end at {format_duration(end.t)}", f"{holding.count - len(events)} more events before that")


def _missing(holding: _Holding, at: int, events: list[tuple[Any, ...]]) -> None:
    """The replay has not come as far as the log."""
    if holding.count < at:
        raise _Differs(holding.count + 2, in_words(events[holding.count]), "nothing of the sort by then")


def lines_of(replayed: Replayed) -> list[str]:
    """A replay's outcome for people."""
    if replayed.same:
        return [f"same {replayed.source}: {replayed.events} events, {replayed.acts} acts, {format_duration(replayed.time)}"]
    return [
        f"DIFFERS {replayed.source}:{replayed.line}: after {max(replayed.line - 2, 0)} events that are the same",
        f"  in the log  {replayed.recorded}",
        f"  replayed    {replayed.replayed}",
    ]
