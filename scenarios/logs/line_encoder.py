"""Encodes events as lines of an event log: each event becomes one line of JSON with its columns by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from core.kafka.events import KINDS
from core.sim.events import causes_of, kind_of, seq_of, time_of, values_of
from scenarios.logs.line_decoder import MORE_CAUSES, STAMP, columns_of

_struct_types: Final[dict[str, Callable[..., msgspec.Struct]]] = {}


def _struct_type(kind: str) -> Callable[..., msgspec.Struct]:
    """Return the msgspec struct for a kind. The struct is created on first use. A struct is encoded about ten times as fast as a dict."""
    made = _struct_types.get(kind)
    if made is None:
        made = _struct_types[kind] = msgspec.defstruct(KINDS[kind].__name__, STAMP + columns_of(KINDS[kind]), gc=False)
    return made


def _with_more_causes(event: tuple[Any, ...]) -> msgspec.Struct:
    """Return the struct for an event that has several causes."""
    kind, (cause, *more) = kind_of(event), causes_of(event)
    made = _struct_types.get(f"{kind}+")
    if made is None:
        made = _struct_types[f"{kind}+"] = msgspec.defstruct(
            KINDS[kind].__name__, [*STAMP, *columns_of(KINDS[kind]), MORE_CAUSES], gc=False
        )
    return made(seq_of(event), time_of(event), cause, kind, *values_of(event), tuple(more))


_encoder: Final = msgspec.json.Encoder()


def encode_events(events: Iterable[tuple[Any, ...]]) -> bytes:
    """Encode events as lines of the log, each with its line break."""
    return _encoder.encode_lines(
        [
            (_struct_types.get(event[3]) or _struct_type(event[3]))(*event) if type(event[2]) is int else _with_more_causes(event)
            for event in events
        ]
    )


def encode_event(event: tuple[Any, ...]) -> bytes:
    """Encode one event as a line of the log, without the line break."""
    return encode_events((event,))[:-1]
