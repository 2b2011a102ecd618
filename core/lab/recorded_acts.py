"""Reads an act from the form in which the journal records it. This module is the inverse of `core.lab.act_handlers.act_arguments`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final, TypeVar

import attrs

from core.kafka.events import Acted, EventTuple
from core.kafka.ids import TopicPartition
from core.kafka.settings.setting import MAX_LONG
from core.lab.act_fields import max_value, min_value
from core.lab.acts import ACTS, Act

T = TypeVar("T")

Reader = Callable[[object], object]
"""A function that converts a JSON value to the value of a field, or raises TypeError or ValueError if the conversion is impossible."""


def act_of(event: EventTuple) -> Act:
    """Return the act that an `act` event records.

    Raises:
        ValueError: the event does not record a valid act. The error message says what is wrong.
    """
    acted = Acted(event)
    return recorded_act(acted.act, acted.args)


def recorded_act(word: str, arguments: str) -> Act:
    """Return an act from its recorded form.

    Args:
        word: the `act` of the event, which is the script's word for the act.
        arguments: the `args` of the event, which are the fields as JSON.

    Raises:
        ValueError: the event does not record a valid act. The error message says what is wrong.
    """
    act = ACTS.get(word)
    if act is None:
        raise ValueError(f"there is no act '{word[:40]}'")
    try:
        fields = json.loads(arguments)
    except (ValueError, RecursionError):
        raise ValueError(f"{word}: its fields are not valid JSON: {arguments[:80]}") from None
    if not isinstance(fields, dict):
        raise ValueError(f"{word}: its fields are not a JSON object: {arguments[:80]}")
    known = attrs.fields_dict(act)
    values: dict[str, object] = {}
    for written, value in fields.items():
        name = written.replace("-", "_")
        if name not in known:
            raise ValueError(f"{word} has no field '{written[:40]}'; it has {', '.join(known)}")
        kind = str(known[name].type).removesuffix(" | None")
        try:
            read = values[name] = _READERS[kind](value)
        except (TypeError, ValueError, KeyError, IndexError):
            raise ValueError(f"{word}: {written[:40]} cannot be {json.dumps(value)[:60]}; it must be of type {kind}") from None
        if type(read) is int and not min_value(name) <= read <= max_value(name):
            raise ValueError(f"{word}: {written[:40]} cannot be {value}; it must be from {min_value(name)} to {max_value(name)}")
    missing = [name for name, field in known.items() if field.default is attrs.NOTHING and name not in values]
    if missing:
        raise ValueError(f"{word} lacks {', '.join(missing)}")
    return act(**values)


def _only(kind: type[T]) -> Callable[[object], T]:
    def read(value: object) -> T:
        if not isinstance(value, kind):
            raise TypeError(kind.__name__)
        return value

    return read


def _int(value: object) -> int:
    if type(value) is not int or not -MAX_LONG <= value <= MAX_LONG:
        raise TypeError("int")
    return value


_str, _list = _only(str), _only(list)


def _partition(value: object) -> TopicPartition:
    return TopicPartition.parse(_str(value))


def _pair(first: Reader, second: Reader) -> Reader:
    def read(value: object) -> tuple[object, object]:
        one, other = _list(value)
        return first(one), second(other)

    return read


def _each(read: Reader) -> Reader:
    return lambda value: tuple(map(read, _list(value)))


_READERS: Final[dict[str, Reader]] = {
    "int": _int,
    "str": _str,
    "bool": _only(bool),
    "TopicPartition": _partition,
    "tuple[str, str]": _pair(_str, _str),
    "tuple[int, ...]": _each(_int),
    "tuple[str, ...]": _each(_str),
    "tuple[tuple[int, ...], ...]": _each(_each(_int)),
    "tuple[tuple[str, str], ...]": _each(_pair(_str, _str)),
    "tuple[tuple[TopicPartition, int], ...]": _each(_pair(_partition, _int)),
}
"""The functions that read the values of fields, by type of field."""
