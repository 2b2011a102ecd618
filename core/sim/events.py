"""The base class of events. Each kind of event is a class that names the columns of its recorded tuple and writes its sentence."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from operator import attrgetter, itemgetter
from types import MappingProxyType
from typing import Any, ClassVar, Final

from core.sim.units import format_duration

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


seq_of: Final[Callable[[EventTuple], int]] = itemgetter(0)
"""Return the sequence number of an event."""

time_of: Final[Callable[[EventTuple], int]] = itemgetter(1)
"""Return the virtual time of an event, in µs."""

kind_of: Final[Callable[[EventTuple], str]] = itemgetter(3)
"""Return the kind of an event."""

values_of: Final[Callable[[EventTuple], tuple[Any, ...]]] = itemgetter(slice(4, None))
"""Return the values of the columns of an event, in the order in which its kind declares them."""

content_of: Final[Callable[[EventTuple], tuple[Any, ...]]] = itemgetter(1, slice(3, None))
"""Return what an event says apart from its number and its causes: the virtual time, and the kind with the columns."""


def without_causes(event: EventTuple) -> EventTuple:
    """Return an event as if no other event had led to it."""
    return (*event[:2], 0, *event[3:])


@cache
def _value_at(position: int) -> property:
    """Return the property that reads the value at a position of an event."""
    return property(itemgetter(position))


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


class Event(EventTuple):
    """The base class of all kinds of events. The annotated fields of a kind are its columns, after those of its base class.

    A class reads the recorded tuple of its kind by the names of the columns: `LeaderElected(event).epoch`. Events are recorded as plain
    tuples, because creating an object of a class takes several times as long.

    Attributes:
        kind: the name of the kind in the log.
        source: the class, method, or document that describes the event in the real system.
        level: the level of importance of the event.
        words: the allowed values of each column that has a fixed set of values.
        changes: what an event of the kind changes, in terms of the system that it belongs to.
        defaults: the trailing columns that logs of earlier isrlab versions lack, each with its default value.
        columns: the column names in order, each with its type: `int`, `str`, `bool`, or `tuple[int, ...]`.
        template: the sentence, with columns and properties of the event in braces: `{broker}`. After a colon, it can name one of the
            `phrases`, with a word for that phrase (`{members:count member}`), or a format (`{bytes:,}`). A kind whose sentence has
            several wordings overrides `sentence` instead.
        phrases: the functions by which a template turns values into words.
    """

    kind: ClassVar[str]
    source: ClassVar[str]
    level: ClassVar[int]
    words: ClassVar[Mapping[str, tuple[str, ...]]]
    changes: ClassVar[str] = ""
    defaults: ClassVar[Mapping[str, int]]
    columns: ClassVar[dict[str, str]] = {}
    template: ClassVar[str] = ""
    phrases: ClassVar[Mapping[str, Callable[..., str]]] = MappingProxyType({"duration": format_duration})

    def __init_subclass__(
        cls,
        *,
        kind: str,
        source: str = "",
        level: int = NORMAL,
        words: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
        defaults: Mapping[str, int] = MappingProxyType({}),
        changes: str = "",
    ) -> None:
        cls.kind, cls.source, cls.level, cls.words, cls.defaults = kind, source, level, words, defaults
        cls.changes = changes or cls.changes
        inherited = cls.columns
        cls.columns = {**inherited, **cls.__annotations__}
        for position, name in enumerate(cls.__annotations__, 4 + len(inherited)):
            setattr(cls, name, _value_at(position))

    @classmethod
    def reader(cls, *names: str) -> Callable[[EventTuple], Any]:
        """Return a function that reads a column of a recorded event of this kind, or several columns as a tuple. Such a function is for code
        that reads one or two columns of very many events."""
        return itemgetter(*(4 + list(cls.columns).index(name) for name in names))

    def __repr__(self) -> str:
        values = zip(self.columns, values_of(self), strict=True)
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in values)})"

    def sentence(self) -> str:
        """Return one sentence that says what happened and why, including the numbers."""
        return "".join([part if isinstance(part, str) else part(self) for part in _parts(type(self))])


@cache
def _parts(kind: type[Event]) -> list[str | Callable[[Event], str]]:
    """Return the parts of the template of a kind: texts, and functions that write a value of an event."""
    parts: list[str | Callable[[Event], str]] = list(re.split(r"(\{[^}]*\})", kind.template))
    for at in range(1, len(parts), 2):
        name, _, how = str(parts[at])[1:-1].partition(":")
        parts[at] = _writer(attrgetter(name), how, kind.phrases)
    return parts


def _writer(value: Callable[[Event], Any], how: str, phrases: Mapping[str, Callable[..., str]]) -> Callable[[Event], str]:
    """Return the function that writes a value of an event as a template says: as it is, in a format, or in words."""
    name, _, word = how.partition(" ")
    if name not in phrases:
        return lambda event: format(value(event), how)
    words = phrases[name]
    return (lambda event: words(value(event), word)) if word else lambda event: words(value(event))
