"""Writes an event log as a Chrome trace for ui.perfetto.dev and chrome://tracing, with a track for each broker and arrows from causes to
effects.

Format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU (Trace Event Format), JSON object form. Times are in
µs of virtual time. Arrows are flow events, which attach only to slices. Every event is therefore a slice of 1 µs.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final

from core.kafka.events import KINDS, explain
from core.kafka.events.base import name_of
from core.sim.events import causes_of, first_cause, kind_of, seq_of, time_of, values_of
from scenarios.io.escaping import escape_json
from scenarios.io.output_files import Writes
from scenarios.logs.log_reader import LogReader

PROCESS: Final = 1
"""The process id under which the trace shows the session; each track is a thread of this process."""

CONTROLLER: Final = 1_000_001
PEOPLE: Final = 1_000_000
FIRST_CLIENT: Final = 1_000_002
"""The lowest thread id of a client's track. The thread id of a broker is its id + 1, because viewers treat thread 0 specially."""

_CONTROLLERS: Final = frozenset({
    "topic-created", "topic-refused", "partition-changed", "leader-elected", "partition-offline", "election-refused",
    "alter-partition-refused", "broker-registered", "broker-unregistered", "registration-refused", "broker-fenced", "broker-unfenced",
})  # fmt: skip
"""Event kinds that are shown on the controller's track, even if they name a broker."""


class _Tracks:
    """The thread ids of the tracks, assigned by node name."""

    def __init__(self) -> None:
        self.named: dict[str, int] = {"people": PEOPLE, "controller": CONTROLLER}
        self._clients = 0

    def of(self, kind: str, columns: dict[str, Any]) -> int:
        """Return the thread id of an event's track."""
        if kind in ("act", "setting-changed"):
            return PEOPLE
        if kind in _CONTROLLERS:
            return CONTROLLER
        if "broker" in columns and "consumer" not in columns:
            return self.broker(columns["broker"])
        return self.node(columns.get("src") or columns.get("producer") or columns.get("consumer") or "controller")

    def broker(self, broker: int) -> int:
        self.named.setdefault(f"b{broker}", broker + 1)
        return broker + 1

    def node(self, name: str) -> int:
        """Return the thread id of the track of a node. The node is a broker, the controller, or a client."""
        if name.startswith("b") and name[1:].isdecimal():
            return self.broker(int(name[1:]))
        if name not in self.named:
            self.named[name] = FIRST_CLIENT + self._clients
            self._clients += 1
        return self.named[name]


def write_trace(reader: LogReader, out: Writes) -> int:
    """Write a log as a trace, and return the number of events.

    Raises:
        LogError: a line of the log is invalid.
    """
    events = list(reader)
    effects: dict[int, list[int | str]] = defaultdict(list)
    for event in events:
        for arrow, cause in _arrows(event):
            effects[cause].append(arrow)
    tracks = _Tracks()
    for broker in reader.spec.brokers:
        tracks.broker(broker.id)
    as_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

    def encode(value: object) -> str:
        return escape_json(as_json(value))

    out.write('{"displayTimeUnit":"ms","traceEvents":[\n')
    for event in events:
        for entry in _entries(event, tracks, effects.get(seq_of(event), ())):
            out.write(encode(entry) + ",\n")
    scenario = reader.header.scenario
    name = f"isrlab {scenario or 'session'} ({reader.header.release}, seed {reader.header.seed})"
    for thread, entry in enumerate(_names(name, tracks)):
        out.write((",\n" if thread else "") + encode(entry))
    out.write('\n],"otherData":')
    out.write(encode({"release": reader.header.release, "seed": str(reader.header.seed), "scenario": scenario or ""}))
    out.write("}\n")
    return len(events)


def _arrows(event: tuple[Any, ...]) -> Iterator[tuple[int | str, int]]:
    """Yield the ids of the arrows that end at an event, each with the number of the cause from which it starts."""
    for number, cause in enumerate(causes_of(event)):
        yield (f"{seq_of(event)}.{number}" if number else seq_of(event)), cause


def _entries(event: tuple[Any, ...], tracks: _Tracks, effects: Sequence[int | str]) -> Iterator[dict[str, Any]]:
    """Yield the trace entries of an event: a slice, the ends of the arrows from its causes, and the starts of the arrows to its effects."""
    seq, time, cause, kind = seq_of(event), time_of(event), first_cause(event), kind_of(event)
    columns = dict(zip(KINDS[kind].columns, values_of(event), strict=True))
    where = {"pid": PROCESS, "tid": tracks.of(kind, columns), "ts": time}
    name = f"{kind} {name_of(columns['topic'], columns['partition'])}" if "partition" in columns else kind
    yield {"ph": "X", "name": name, "cat": kind, "dur": 1, **where, "args": {"what": explain(event), "seq": seq, "cause": cause, **columns}}
    for arrow, _ in _arrows(event):
        yield {"ph": "f", "bp": "e", "name": "cause", "cat": "cause", "id": arrow, **where}
    for effect in effects:
        yield {"ph": "s", "name": "cause", "cat": "cause", "id": effect, **where}


def _names(process: str, tracks: _Tracks) -> Iterator[dict[str, Any]]:
    """Yield the names of the process and its tracks. The order of the tracks is: people, controller, brokers, clients."""
    yield {"ph": "M", "name": "process_name", "pid": PROCESS, "args": {"name": process}}
    for name, thread in tracks.named.items():
        yield {"ph": "M", "name": "thread_name", "pid": PROCESS, "tid": thread, "args": {"name": name}}
        order = thread - FIRST_CLIENT if thread in (PEOPLE, CONTROLLER) else thread
        yield {"ph": "M", "name": "thread_sort_index", "pid": PROCESS, "tid": thread, "args": {"sort_index": order}}
