"""Decodes the lines of an event log, and checks each event against the cluster in the log's header.

Each number must be within the bounds of its column. Each broker in the line must be listed in the header. Each partition must have been
created on an earlier line. All readers of logs use this decoder.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

import msgspec
from msgspec.structs import astuple

from core.kafka.events import KINDS, Event, PartitionsCreated, TopicCreated, TopicDeleted, TopicRefused
from core.kafka.ids import NO_LEADER
from core.lab.spec import MAX_PARTITIONS, ClusterSpec
from core.sim.events import kind_of, values_of
from scenarios.errors import did_you_mean

_MOST: Final = 2**63 - 1
"""The maximum value of a number in a log. All numbers fit in 64 bits, so that every reader can store them."""

_BOUNDS: Final = {
    "skew_us": (-_MOST - 1, _MOST), "drift_ppm": (-_MOST - 1, _MOST), "late_us": (-_MOST - 1, _MOST), "total_error_us": (-_MOST - 1, _MOST),
    "partition": (0, MAX_PARTITIONS - 1), "partitions": (0, MAX_PARTITIONS),
}  # fmt: skip
"""The minimum and maximum of each column whose bounds differ from `_COUNT`."""

_COUNT: Final = (-1, _MOST)
"""The default minimum and maximum, for columns that are not in `_BOUNDS`. The value -1 means that there is no value."""

_BROKERS: Final = frozenset({"broker", "leader", "old_leader", "follower", "sender", "held_by"})
"""Columns that contain a broker ID, or -1 if there is no broker. This set does not include the columns of type `tuple[int, ...]`, which
contain several broker IDs."""

_LONGEST: Final = 40
"""The maximum length of an unknown name in a message."""

_NAMED: Final = 8
"""The maximum number of unknown kinds, and of unknown columns, that a message lists."""

_SHOWN: Final = 12
"""The maximum number of brokers that an error message lists."""


_INT: Final[Any] = Annotated[int, msgspec.Meta(ge=-_MOST - 1, le=_MOST)]

STAMP: Final[list[tuple[str, Any]]] = [("seq", _INT), ("t", _INT), ("cause", _INT), ("kind", str)]
"""The fields of every event that precede its columns."""

MORE_CAUSES: Final[tuple[str, Any, Any]] = ("more_causes", tuple[_INT, ...], ())
"""The field that follows the columns of an event with several causes: all causes after the first one, most important first."""

_TYPES: Final[dict[str, Any]] = {"int": _INT, "str": str, "bool": bool, "tuple[int, ...]": tuple[_INT, ...]}


def columns_of(event: type[Event]) -> list[tuple[str, Any]]:
    """Return the columns of a kind with their types."""
    return [(name, _TYPES[written]) for name, written in event.columns.items()]


def _bounded(name: str, type_: Any) -> Any:
    least, most = _BOUNDS.get(name, _COUNT)
    return Annotated[int, msgspec.Meta(ge=least, le=most)] if type_ is _INT else type_


class WrongEvent(Exception):
    """The error for an event that no session of the cluster can have recorded. The message contains a remedy.

    Attributes:
        problem: the message.
        event: the decoded event.
    """

    def __init__(self, problem: str, event: tuple[Any, ...]) -> None:
        super().__init__(problem, event)
        self.problem = problem
        self.event = event

    def __str__(self) -> str:
        return self.problem


class UnknownKind(Exception):
    """The exception for an event of a kind that this version of isrlab does not know. The message contains a remedy.

    Attributes:
        problem: the message.
        stamp: the number, the time, the cause, and the kind of the event.
    """

    def __init__(self, problem: str, stamp: tuple[int, int, int, str]) -> None:
        super().__init__(problem, stamp)
        self.problem = problem
        self.stamp = stamp

    def __str__(self) -> str:
        return self.problem


class _Reading:
    """The decoder for an event kind, and the indexes of the columns that are checked against the cluster. An index is 0 if the kind has no
    such column."""

    __slots__ = ("broker_ats", "brokers_ats", "creates", "decode", "deletes", "partition_at", "topic_at", "words")

    def __init__(self, kind: str) -> None:
        event = KINDS[kind]
        at = {name: place for place, name in enumerate(event.columns, len(STAMP))}
        self.decode = _decoder(kind, True)
        self.words = tuple((at[name], name, known) for name, known in event.words.items())
        self.creates = event in (TopicCreated, PartitionsCreated)
        self.deletes = event is TopicDeleted
        self.topic_at = 0 if event in (TopicCreated, TopicRefused) else at.get("topic", 0)
        self.partition_at = at.get("partition", 0)
        self.broker_ats = tuple(at[name] for name in event.columns if name in _BROKERS)
        self.brokers_ats = tuple(at[name] for name, written in event.columns.items() if written == "tuple[int, ...]")


@functools.cache
def _decoder(kind: str, strict: bool) -> Callable[[bytes], msgspec.Struct]:
    """Return the decoder of a kind. A decoder that is not strict ignores unknown columns, and accepts numbers out of bounds."""
    event = KINDS[kind]
    columns = [
        (name, _bounded(name, type_) if strict else type_, *([event.defaults[name]] if name in event.defaults else []))
        for name, type_ in columns_of(event)
    ]
    line = msgspec.defstruct(event.__name__, [*STAMP, *columns, MORE_CAUSES], forbid_unknown_fields=strict, gc=False)
    return msgspec.json.Decoder(line).decode


def _event(line: msgspec.Struct) -> tuple[Any, ...]:
    """Return the event tuple of a decoded line."""
    fields = astuple(line)
    if not fields[-1]:
        return fields[:-1]
    seq, time, cause, kind, *values, more = fields
    return (seq, time, (cause, *more), kind, *values)


class _Kind(msgspec.Struct):
    kind: str


_stamp_of: Final = msgspec.json.Decoder(msgspec.defstruct("Stamp", STAMP)).decode


class LineDecoder:
    """Decodes lines into event tuples. The decoder must be called with all lines of a log, in order.

    Attributes:
        unknown: the number of events of each unknown kind, and of events with each unknown column, as `KIND.COLUMN`. Unknown columns are
            ignored.

    Raises:
        UnknownKind: the event is of an unknown kind.
        WrongEvent: no session of the cluster can have recorded the event.
        msgspec.DecodeError, UnicodeDecodeError, RecursionError: the line is not an event.
    """

    def __init__(self, spec: ClusterSpec) -> None:
        self._readings: dict[str, _Reading] = {}
        self._kind_of = msgspec.json.Decoder(_Kind).decode
        self._brokers = frozenset([NO_LEADER, *(broker.id for broker in spec.brokers)])
        self._partitions: dict[str, int] = {}
        """The number of partitions of each topic that an earlier line has created. Deleted topics are included, because brokers can still
        name them for a while.
        """
        self._deleted: dict[str, None] = {}
        """The topics that an earlier line has deleted and that no line has created since then."""
        self.unknown: Counter[str] = Counter()

    def __call__(self, line: bytes) -> tuple[Any, ...]:
        kind = self._kind_of(line).kind
        reading = self._readings.get(kind) or self._reading(kind, line)
        try:
            event = _event(reading.decode(line))
        except msgspec.ValidationError:
            event = _event(_decoder(kind, False)(line))
            if problem := _out_of_bounds(event):
                raise WrongEvent(problem, event) from None
            known = {*(name for name, _ in STAMP), *KINDS[kind].columns, MORE_CAUSES[0]}
            self.unknown.update(f"{kind}.{name}" for name in msgspec.json.decode(line) if name not in known)
        if problem := self._problem(reading, event):
            raise WrongEvent(problem, event)
        if reading.creates:
            self._create(event)
        elif reading.deletes:
            self._deleted[TopicDeleted(event).topic] = None
        return event

    def _reading(self, kind: str, line: bytes) -> _Reading:
        if kind not in KINDS:
            stamp: Any = astuple(_stamp_of(line))
            self.unknown[kind[:_LONGEST].replace(".", "_")] += 1
            raise UnknownKind(f"unknown kind '{kind[:_LONGEST]}'; {did_you_mean(kind, KINDS, 'see EVENTLOG.md')}", stamp)
        reading = self._readings[kind] = _Reading(kind)
        return reading

    def _problem(self, reading: _Reading, event: tuple[Any, ...]) -> str:
        for at, column, known in reading.words:
            if event[at] not in known:
                return f"unknown {column} '{event[at][:40]}'; {did_you_mean(event[at], known)}"
        brokers = self._brokers
        for at in reading.broker_ats:
            if event[at] not in brokers:
                return self._unknown_broker(event[at])
        for at in reading.brokers_ats:
            if not brokers.issuperset(event[at]):
                return self._unknown_broker(next(broker for broker in event[at] if broker not in brokers))
        if reading.topic_at:
            count = self._partitions.get(event[reading.topic_at])
            if count is None or (reading.partition_at and event[reading.partition_at] >= count):
                return self._no_partition(event[reading.topic_at], event[reading.partition_at], count)
        return ""

    def _unknown_broker(self, broker: int) -> str:
        there = sorted(self._brokers - {NO_LEADER})
        more = f" and {len(there) - _SHOWN:,} more" if len(there) > _SHOWN else ""
        return f"unknown broker {broker}; the header's brokers are {', '.join(map(str, there[:_SHOWN]))}{more}"

    def _no_partition(self, topic: str, partition: int, count: int | None) -> str:
        if count is None:
            self._partitions[topic] = MAX_PARTITIONS  # Reported once. Later lines about this topic are not reported again.
            return f"unknown topic '{topic[:40]}'; no earlier line creates it"
        return f"unknown partition {topic[:40]}-{partition}; the topic has {count:,} partition{'s' if count != 1 else ''}, numbered from 0"

    def _create(self, event: tuple[Any, ...]) -> None:
        new = TopicCreated(event) if kind_of(event) == TopicCreated.kind else PartitionsCreated(event)
        topic, there = new.topic, self._partitions.get(new.topic)
        self._partitions[topic] = max(new.partitions, there or 0)
        if isinstance(new, TopicCreated):
            if topic in self._deleted:
                del self._deleted[topic]
            elif there is not None:
                raise WrongEvent(f"topic '{topic[:40]}' already exists; an earlier line creates it", event)
        elif there is not None and new.partitions != there + new.added:
            problem = f"{topic[:40]} has {there:,} partitions; adding {new.added:,} does not result in {new.partitions:,}"
            raise WrongEvent(problem, event)


def _out_of_bounds(event: tuple[Any, ...]) -> str:
    """Return the error message for an event that has a number outside its bounds; empty if all numbers are within them."""
    columns = KINDS[kind_of(event)].columns
    for (name, written), value in zip(columns.items(), values_of(event), strict=True):
        least, most = _BOUNDS.get(name, _COUNT)
        if written == "int" and not least <= value <= most:
            return f"{name} cannot be {value}; it must be {f'at least {least}' if value < least else f'at most {most:,}'}"
    return ""


def about_unknown(unknown: Mapping[str, int]) -> str:
    """Return a sentence about unknown kinds and columns (`LineDecoder.unknown`)."""
    kinds = {name: count for name, count in unknown.items() if "." not in name}
    columns = [f"{name} ({count:,})" for name, count in unknown.items() if "." in name]
    said = []
    if kinds:
        total, few = sum(kinds.values()), dict(list(kinds.items())[:_NAMED])
        listed = ", ".join(f"{name} ({count:,})" for name, count in few.items()) + (", …" if len(few) < len(kinds) else "")
        said.append(f"{total:,} event{'s' if total > 1 else ''} of unknown kinds {'are' if total > 1 else 'is'} skipped: {listed}")
    if columns:
        listed = ", ".join(columns[:_NAMED]) + (", …" if len(columns) > _NAMED else "")
        said.append(f"unknown columns are ignored: {listed}")
    return f"another version of isrlab wrote this log; {'; '.join(said)}"


__all__ = ["STAMP", "LineDecoder", "UnknownKind", "WrongEvent", "about_unknown", "columns_of"]
