"""The base class of events. Each kind of event is a class that names the columns of its recorded tuple and writes its sentence."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Final

EventTuple = tuple[Any, ...]  # (int, int, int | tuple[int, ...], str, *columns)
"""A recorded event as a plain tuple: sequence number, virtual time, cause, kind, and the columns of the kind.

The cause is the sequence number of the event that led to this one, or 0 if there is none. If several events together led to this one, the
cause is a tuple of their sequence numbers, most important first. `causes_of` reads both forms.
"""

DETAIL: Final = 0
"""The level of events that occur in every round trip."""
NORMAL: Final = 1
"""The level of ordinary events that are worth showing in a list of events."""
NOTABLE: Final = 2
"""The level of the events that users look for: elections, truncations, errors, and losses."""


def causes_of(event: EventTuple) -> tuple[int, ...]:
    """Return the sequence numbers of the events that led to an event, most important first; empty if there are none."""
    cause = event[2]
    if type(cause) is tuple:
        return cause
    return (cause,) if cause else ()


def first_cause(event: EventTuple) -> int:
    """Return the sequence number of the most important event that led to an event; 0 if there is none."""
    cause = event[2]
    return int(cause[0] if type(cause) is tuple else cause)


class Event:
    """The base class of all kinds of events. The annotated fields of a kind are its columns, after those of its base class.

    Kinds are plain classes, because creating fifty attrs classes would use a tenth of the startup time that `isrlab run` is allowed.

    Attributes:
        kind: the name of the kind in the log.
        source: the class, method, or document that describes the event in the real system.
        level: the level of importance of the event.
        words: the allowed values of each column that has a fixed set of values.
        defaults: the trailing columns that logs of earlier isrlab versions lack, each with its default value.
        columns: the column names in order, each with its type: `int`, `str`, `bool`, or `tuple[int, ...]`.
    """

    kind: ClassVar[str]
    source: ClassVar[str]
    level: ClassVar[int]
    words: ClassVar[Mapping[str, tuple[str, ...]]]
    defaults: ClassVar[Mapping[str, int]]
    columns: ClassVar[dict[str, str]]

    def __init_subclass__(
        cls,
        *,
        kind: str,
        source: str = "",
        level: int = NORMAL,
        words: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
        defaults: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        cls.kind, cls.source, cls.level, cls.words, cls.defaults = kind, source, level, words, defaults
        cls.columns = {**getattr(cls, "columns", {}), **cls.__annotations__}

    def __init__(self, *values: object) -> None:
        self.__dict__.update(zip(self.columns, values, strict=True))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"events are immutable: {self.kind}.{name}")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((self.kind, *self.__dict__.values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.__dict__.items())})"

    def sentence(self) -> str:
        """Return one sentence that says what happened and why, including the numbers."""
        raise NotImplementedError(self.kind)
