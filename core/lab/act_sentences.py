"""The one-line sentence of an event or act."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, Final

import attrs

from core.kafka.events import Acted, EventTuple, explain
from core.lab.act_fields import DURATIONS
from core.lab.acts import ACTS
from core.sim.events import kind_of, values_of
from core.sim.units import format_duration


@lru_cache(maxsize=4_096)
def sentence(event: EventTuple) -> str:
    """Return the sentence that describes an event. The last few thousand sentences are cached, so that redrawing a screen is fast."""
    return act_sentence(*values_of(event)) if kind_of(event) == Acted.kind else explain(event)


_BEFORE_TOPIC: Final = {
    "produce": "to",
    "load": "on",
    "set": "for",
    "consume": "",
    "create-topic": "",
    "init-transactions": "on",
    "delay-service": "for",
    "retry-service": "on",
}

_BEFORE_GROUP: Final = {"remove-member": "from"}

_ONE_WAY: Final = frozenset({"hold", "release"})
"""The acts that apply only to messages from the first node to the second."""

_SHOWN_DEFAULTS: Final = {
    "acks": "producer", "stop-load": "producer", "stop-consume": "consumer", "elect": "election", "init-transactions": "producer",
    "begin-transaction": "producer", "commit-transaction": "producer", "abort-transaction": "producer",
    "process": "process", "stop-process": "process", "kill-process": "process",
    "delay-service": "service", "retry-service": "service", "stop-service": "service", "kill-service": "service",
}  # fmt: skip


def _with_unit(name: str, value: object) -> str:
    """Return a field of an act with its unit, for example `latency 200ms`, `loss 10%`, `rate 200/s`."""
    if name.replace("-", "_") in DURATIONS and isinstance(value, int):
        return f"{name} {format_duration(value)}"
    if name.endswith("-ppm") and isinstance(value, int):
        return f"{name.removesuffix('-ppm')} {value / 10_000:g}%"
    if name == "rate":
        return f"{name} {value:,}/s"
    if name == "keep" and isinstance(value, list):
        return f"keep {', '.join(f'{_value(tp)} up to {offset}' for tp, offset in value)}"
    if name == "config" and isinstance(value, list):
        return ", ".join(f"{setting}={text}" for setting, text in value)
    shown = name.replace("_", " ")
    return shown if value is True else f"{shown} {_value(value)}"


def _value(value: object) -> str:
    """Return a value as scripts write it: `[1, 2]`, `orders-0`."""
    if not isinstance(value, list):
        return str(value)
    if len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], int):
        return f"{value[0]}-{value[1]}"
    return f"[{', '.join(map(_value, value))}]"


def act_sentence(word: str, args: str) -> str:
    """Return an act in words instead of JSON, for example `kill b2` or `set min.insync.replicas = 1 for orders`."""
    try:
        fields = {
            name: value for name, value in json.loads(args).items() if value is not None and value is not False and value not in ([], "")
        }
        return _in_words(word, fields)
    except (ValueError, TypeError, AttributeError, RecursionError):  # the log was not written by isrlab, or was edited
        return f"{word} {args}"


def _in_words(word: str, fields: dict[str, Any]) -> str:
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
    for name in ("node", "zone", "election", "consumer", "producer", "process", "service"):
        if name in fields:
            said.append(f"{'from ' if name == 'producer' and word.startswith('produce') else ''}{fields.pop(name)}")
    if "other" in fields:
        said.append(f"from zone {fields.pop('other')}")
    if "group" in fields and word != "process":
        said.append(f"{_BEFORE_GROUP.get(word, 'in')} group {fields.pop('group')}")
    if "topics" in fields:
        said.append(f"on {', '.join(map(str, fields.pop('topics')))}")
    if "source" in fields:
        said.append(f"from {fields.pop('source')} to {fields.pop('output', '')}")
    if "topic" in fields:
        said.append(f"{_BEFORE_TOPIC.get(word, 'topic')} {fields.pop('topic')}".strip())
    if "partition" in fields:
        partition = fields.pop("partition")
        said.append(f"partition {_value(partition)}")
    rest = ", ".join(_with_unit(name, value) for name, value in fields.items())
    return " ".join(said) + (f" ({rest})" if rest else "")
