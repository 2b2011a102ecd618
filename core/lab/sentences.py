"""The one-line sentence of an event or act."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Final

import attrs

from core.kafka.events import EventTuple, explain
from core.lab.acts import ACTS
from core.sim.units import format_duration


@lru_cache(maxsize=4_096)
def sentence(event: EventTuple) -> str:
    """Return the sentence of an event. The last few thousand are cached, so that drawing a screen again costs nothing."""
    return act_sentence(event[4], event[5]) if event[3] == "act" else explain(event)


_BEFORE_TOPIC: Final = {"produce": "to", "load": "on", "set": "for", "consume": "", "create-topic": "", "init-transactions": "on"}

_DURATIONS: Final = frozenset({"delay", "every", "jitter", "latency", "since", "skew"})
"""The fields of acts that are durations in µs."""

_ONE_WAY: Final = frozenset({"hold", "release"})
"""The acts that apply only to messages from the first node to the second."""

_SHOWN_DEFAULTS: Final = {
    "acks": "producer", "stop-load": "producer", "stop-consume": "consumer", "elect": "election", "init-transactions": "producer",
    "begin-transaction": "producer", "commit-transaction": "producer", "abort-transaction": "producer",
    "process": "process", "stop-process": "process", "kill-process": "process",
}  # fmt: skip


def _with_unit(name: str, value: object) -> str:
    """Return a field of an act with its unit, for example `latency 200ms`, `loss 10%`, `rate 200/s`."""
    if name in _DURATIONS and isinstance(value, int):
        return f"{name} {format_duration(value)}"
    if name.endswith("-ppm") and isinstance(value, int):
        return f"{name.removesuffix('-ppm')} {value / 10_000:g}%"
    if name == "rate":
        return f"{name} {value:,}/s"
    return f"{name.replace('_', ' ')} {value if value is not True else ''}".strip()


def act_sentence(word: str, args: str) -> str:
    """Return an act in words instead of JSON, for example `kill b2` or `set min.insync.replicas = 1 for orders`."""
    try:
        fields = {
            name: value for name, value in json.loads(args).items() if value is not None and value is not False and value not in ([], "")
        }
    except (ValueError, AttributeError):
        return f"{word} {args}"
    said = [word]
    if word in _SHOWN_DEFAULTS:
        shown = _SHOWN_DEFAULTS[word]
        fields = {f.name: f.default for f in attrs.fields(ACTS[word]) if f.name == shown} | fields
    if word == "acks":
        said.append(str(fields.pop("acks", "")) + " for")
    if "broker" in fields and word != "set":
        said.append(f"b{fields.pop('broker')}")
    if "follower" in fields:
        said.append(f"b{fields.pop('follower')}")
    if "between" in fields:
        said.append((" → " if word in _ONE_WAY else " and ").join(map(str, fields.pop("between"))))
    if "name" in fields:
        said.append(f"{fields.pop('name')} = {fields.pop('value', '')}")
    if "records" in fields:
        records = fields.pop("records")
        said.append("1 record" if records == 1 else f"{records:,} records")
    for name in ("node", "election", "consumer", "producer", "process"):
        if name in fields:
            said.append(str(fields.pop(name)))
    if "source" in fields:
        said.append(f"from {fields.pop('source')} to {fields.pop('output', '')}")
    if "topic" in fields:
        said.append(f"{_BEFORE_TOPIC.get(word, 'topic')} {fields.pop('topic')}".strip())
    if "partition" in fields:
        partition = fields.pop("partition")
        said.append(f"partition {'-'.join(map(str, partition)) if isinstance(partition, list) else partition}")
    rest = ", ".join(_with_unit(name, value) for name, value in fields.items())
    return " ".join(said) + (f" ({rest})" if rest else "")
