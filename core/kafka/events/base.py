"""What an event is: a tuple in flight, a class that names its columns, and the words its sentence is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Final

EventTuple = tuple[Any, ...]  # (int, int, int, str, *columns)
"""A recorded event as a plain tuple."""

DETAIL: Final = 0
"""Level of events that every round trip makes."""
NORMAL: Final = 1
"""Level of ordinary traffic worth a line."""
NOTABLE: Final = 2
"""Level of events people look for: elections, ISR changes, truncations, errors, losses."""


class Event:
    """Base of all kinds; a kind's annotated fields are its columns. Plain classes: fifty attrs ones took a tenth of the time that `isrlab run` may take to start.

    Attributes:
        kind: its name in the log.
        source: the Kafka class, method or KIP to read on.
        level: how notable it is.
        words: columns that hold one of a few words, by name.
        defaults: the last columns, if logs of an earlier isrlab lack them: the value that stands for each there.
        columns: column names in order, with their types as written: `int`, `str`, `bool` or `tuple[int, ...]`.
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
        raise AttributeError(f"an event does not change: {self.kind}.{name}")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((self.kind, *self.__dict__.values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.__dict__.items())})"

    @property
    def tp(self) -> str:
        """The partition that it is about, as Kafka prints it."""
        return f"{self.__dict__['topic']}-{self.__dict__['partition']}"

    def sentence(self) -> str:
        """What happened and why, as a colleague would say it, with the numbers in it."""
        raise NotImplementedError(self.kind)


def name_of(topic: str, partition: int) -> str:
    """A partition as Kafka prints it."""
    return f"{topic}-{partition}"


def ids(ids: Sequence[int]) -> str:
    """Broker ids in brackets."""
    return "[" + ",".join(str(i) for i in ids) + "]"


def count_of(count: int, singular: str, plural: str = "") -> str:
    """A count of things, `plural` where it is not the singular with an s: `1 partition`, `2,000 partitions`."""
    return f"1 {singular}" if count == 1 else f"{count:,} {plural or singular + 's'}"


def records(count: int) -> str:
    """A count of records."""
    return count_of(count, "record")


def listed(names: Sequence[str]) -> str:
    """Names as a sentence has them: `b1`, `b1 and b2`, `b1, b2, and b3`."""
    return " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])}, and {names[-1]}"


def brokers(ids: Sequence[int]) -> str:
    """Brokers as a sentence has them."""
    return listed([f"b{i}" for i in ids]) or "no broker"


def offsets(start: int, end: int) -> str:
    """Offsets [start, end) in words."""
    return f"offset {start}" if end == start + 1 else f"offsets {start}–{end - 1}"


def leader_name(leader: int) -> str:
    """A leader, or none."""
    return "no leader" if leader < 0 else f"b{leader}"
