"""Makes event logs for tests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from core.kafka.events import KINDS, column_types

HEADER: dict[str, Any] = {
    "isrlab": "event-log",
    "version": 1,
    "release": "4.1",
    "seed": 7,
    "scenario": None,
    "settings": {"min.insync.replicas": "2"},
    "cluster": {"brokers": [1, 2, 3]},
}

_DEFAULTS: dict[str, Any] = {"int": 0, "str": "", "bool": False, "tuple[int, ...]": []}


def event(t: int, kind: str, **columns: Any) -> dict[str, Any]:
    """Return an event with the given kind and time. Columns that are not given are 0, empty, or false."""
    declared = column_types(KINDS[kind])
    assert columns.keys() <= declared.keys(), columns.keys() - declared.keys()
    return {"t": t, "cause": 0, "kind": kind} | {name: columns.get(name, _DEFAULTS[how]) for name, how in declared.items()}


def numbered(events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the events with sequence numbers (`seq`) from 1."""
    return [{"seq": seq} | event for seq, event in enumerate(events, start=1)]


def log_text(events: Sequence[dict[str, Any]], end: int | None, header: dict[str, Any] = HEADER) -> str:
    """Return the text of a log. Without `end`, the session was killed."""
    lines = [header, *numbered(events)]
    if end is not None:
        lines.append({"end": True, "t": end, "events": len(events)})
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def write_log(path: Path, events: Sequence[dict[str, Any]], end: int | None = None) -> Path:
    """Write a log and return its path."""
    path.write_text(log_text(events, end), encoding="utf-8")
    return path
