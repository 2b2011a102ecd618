"""Acts as the journal records them, read back: the inverse of `core.lab.act_handlers.arguments`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final, TypeVar

import attrs

from core.kafka.ids import TopicPartition
from core.kafka.settings import MAX_LONG
from core.lab.act_fields import least_of, most_of
from core.lab.acts import ACTS, Act

T = TypeVar("T")

Reader = Callable[[object], object]
"""Takes what JSON has; what it cannot be raises TypeError or ValueError."""


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
    values: dict[str, object] = {}
    for written, value in fields.items():
        name = written.replace("-", "_")
        if name not in known:
            raise ValueError(f"{word} has no field '{written[:40]}'; it has {', '.join(known)}")
        kind = str(known[name].type).removesuffix(" | None")
        try:
            read = values[name] = _READERS[kind](value)
        except (TypeError, ValueError, KeyError, IndexError):
            raise ValueError(f"{word}: {written[:40]} cannot be {json.dumps(value)[:60]}; it is of type {kind}") from None
        if type(read) is int and not least_of(name) <= read <= most_of(name):
            raise ValueError(f"{word}: {written[:40]} cannot be {value}; it is from {least_of(name)} to {most_of(name)}")
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
    "tuple[tuple[int, ...], ...]": _each(_each(_int)),
    "tuple[tuple[str, str], ...]": _each(_pair(_str, _str)),
    "tuple[tuple[TopicPartition, int], ...]": _each(_pair(_partition, _int)),
}
"""How a field of each type is read back."""
