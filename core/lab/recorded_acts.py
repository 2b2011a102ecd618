"""Acts as the journal records them, read back: the inverse of `core.lab.act_handlers.arguments`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import attrs

from core.kafka.ids import TopicPartition
from core.kafka.settings import MAX_LONG
from core.lab.act_fields import least_of, most_of
from core.lab.acts import ACTS, Act


def recorded_act(word: str, arguments: str) -> Act:
    """The act behind an `act` event.

    Args:
        word: its word, as the event's `act` says.
        arguments: its fields as JSON, as the event's `args` say.

    Raises:
        ValueError: no act is recorded so; the message says what is wrong.
    """
    act = ACTS.get(word)
    if act is None:
        raise ValueError(f"there is no act '{word[:40]}'")
    try:
        fields = json.loads(arguments)
    except (ValueError, RecursionError):
        raise ValueError(f"{word}: its fields are no JSON: {arguments[:80]}") from None
    if not isinstance(fields, dict):
        raise ValueError(f"{word}: its fields are no JSON object: {arguments[:80]}")
    known = attrs.fields_dict(act)
    values: dict[str, Any] = {}
    for written, value in fields.items():
        name = written.replace("-", "_")
        if name not in known:
            raise ValueError(f"{word} has no field '{written[:40]}'; it has {', '.join(known)}")
        kind = str(known[name].type).removesuffix(" | None")
        try:
            values[name] = _READERS[kind](value)
        except (TypeError, ValueError, KeyError, IndexError):
            raise ValueError(f"{word}: {written[:40]} cannot be {json.dumps(value)[:60]}; it is of type {kind}") from None
        if kind == "int" and not least_of(name) <= values[name] <= most_of(name):
            raise ValueError(f"{word}: {written[:40]} cannot be {value}; it is from {least_of(name)} to {most_of(name)}")
    missing = [name for name, field in known.items() if field.default is attrs.NOTHING and name not in values]
    if missing:
        raise ValueError(f"{word} lacks {', '.join(missing)}")
    return act(**values)


def _exactly(kind: type) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if type(value) is not kind:
            raise TypeError(kind.__name__)
        return value

    return read


def _pair(value: Any) -> tuple[str, str]:
    first, second = value
    return _str(first), _str(second)


def _partition(value: Any) -> TopicPartition:
    return TopicPartition.parse(_str(value))


def _int(value: Any) -> int:
    if type(value) is not int or not -MAX_LONG <= value <= MAX_LONG:
        raise TypeError("int")
    return value


_str = _exactly(str)

_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    "int": _int,
    "str": _str,
    "bool": _exactly(bool),
    "TopicPartition": _partition,
    "tuple[str, str]": _pair,
    "tuple[int, ...]": lambda value: tuple(_int(each) for each in value),
    "tuple[tuple[int, ...], ...]": lambda value: tuple(tuple(_int(one) for one in each) for each in value),
    "tuple[tuple[str, str], ...]": lambda value: tuple((_str(name), _str(text)) for name, text in value),
    "tuple[tuple[TopicPartition, int], ...]": lambda value: tuple((_partition(tp), _int(offset)) for tp, offset in value),
}
"""How a field of each type is read back."""
