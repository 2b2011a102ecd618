"""The base of events: the recorded tuple, the class that names its columns, and the words that sentences share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Final

EventTuple = tuple[Any, ...]  # (int, int, int, str, *columns)
"""A recorded event as a plain tuple."""

DETAIL: Final = 0
"""The level of events that occur in every round trip."""
NORMAL: Final = 1
"""The level of ordinary events that are worth a line."""
NOTABLE: Final = 2
"""The level of the events that users look for: elections, ISR changes, truncations, errors, and losses."""


class Event:
    """The base class of all kinds of events. The annotated fields of a kind are its columns.

    Kinds are plain classes, because fifty attrs classes would take a tenth of the time in which `isrlab run` must start.

    Attributes:
        kind: the name of the kind in the log.
        source: the Kafka class, method, or KIP that describes the event.
        level: the level of importance.
        words: the allowed words of each column that has a fixed set of words.
        defaults: the last columns that logs of earlier isrlab versions lack, each with its default value.
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
        cls.columns = dict(cls.__annotations__)

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

    @property
    def tp(self) -> str:
        """The partition of the event, as Kafka prints it."""
        return f"{self.__dict__['topic']}-{self.__dict__['partition']}"

    def sentence(self) -> str:
        """Return one sentence that says what happened and why, including the numbers."""
        raise NotImplementedError(self.kind)


def name_of(topic: str, partition: int) -> str:
    """Return a partition as Kafka prints it."""
    return f"{topic}-{partition}"


def ids(ids: Sequence[int]) -> str:
    """Return broker ids in brackets: `[1,2]`."""
    return "[" + ",".join(str(i) for i in ids) + "]"


def count_of(count: int, singular: str, plural: str = "") -> str:
    """Return a count with its noun: `1 partition`, `2,000 partitions`. If the plural is not formed with an s, pass `plural`."""
    return f"1 {singular}" if count == 1 else f"{count:,} {plural or singular + 's'}"


def records(count: int) -> str:
    """Return a count of records."""
    return count_of(count, "record")


def listed(names: Sequence[str]) -> str:
    """Return names as a list in a sentence: `b1`, `b1 and b2`, `b1, b2, and b3`."""
    return " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])}, and {names[-1]}"


def brokers(ids: Sequence[int]) -> str:
    """Return brokers as a list in a sentence."""
    return listed([f"b{i}" for i in ids]) or "no broker"


def offsets(start: int, end: int) -> str:
    """Return the offsets [start, end) in words."""
    return f"offset {start}" if end == start + 1 else f"offsets {start}–{end - 1}"


def leader_name(leader: int) -> str:
    """Return a leader's name, or `no leader`."""
    return "no leader" if leader < 0 else f"b{leader}"
