"""The base class of Kafka's events, and the phrases that their sentences share."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from types import MappingProxyType
from typing import Final

from core.sim import events
from core.sim.events import DETAIL, NORMAL, NOTABLE, EventTuple

__all__ = [
    "BROKER", "DETAIL", "EVERYTHING", "INSTANCE_ENDINGS", "LINK", "NORMAL", "NOTABLE", "NOTHING", "OFFSETS", "PARTITION", "TOPICS", "TRANSACTIONS", "CoordinatorEvent", "Event",
    "EventTuple", "MemberEvent", "ReplicaEvent", "brokers", "count_of", "ids", "leader_name", "listed", "name_of", "offsets", "records",
]  # fmt: skip


PARTITION: Final = "partition"
"""What an event changes: the partition that it names (`topic` and `partition`)."""

OFFSETS: Final = "offsets"
"""What an event changes: only offsets and record counters of the partition that it names."""

BROKER: Final = "broker"
"""What an event changes: every replica on the broker that it names (`broker`)."""

LINK: Final = "link"
"""What an event changes: every replica on the two nodes that it names (`src` and `dst`)."""

TRANSACTIONS: Final = "transactions"
"""What an event changes: whether the transactions that hold back the last stable offset of partitions will end."""

TOPICS: Final = "topics"
"""What an event changes: which partitions exist."""

EVERYTHING: Final = "everything"
"""What an event changes: every partition."""

NOTHING: Final = "nothing"
"""What an event changes: no partition."""


INSTANCE_ENDINGS: Final = {
    "killed": "was killed",
    "crashed": "crashed, as requested,",
    "stopped": "stopped",
    "failed": "failed",
}
"""The phrases that describe how an instance of a process or a worker ended."""


def name_of(topic: str, partition: int) -> str:
    """Return a partition in the form in which Kafka prints it."""
    return f"{topic}-{partition}"


def ids(ids: Sequence[int]) -> str:
    """Return broker ids in brackets, for example `[1,2]`."""
    return "[" + ",".join(str(i) for i in ids) + "]"


def count_of(count: int, singular: str, plural: str = "") -> str:
    """Return a count with its noun, for example `1 partition` or `2,000 partitions`. Pass `plural` if the plural is not the noun followed
    by an s."""
    return f"1 {singular}" if count == 1 else f"{count:,} {plural or singular + 's'}"


def _counted(count: int, noun: str) -> str:
    """Return a count with its noun, which names an irregular plural after a slash: `try/tries`."""
    return count_of(count, *noun.split("/"))


def records(count: int) -> str:
    """Return a count of records with its noun, for example `1 record` or `2,000 records`."""
    return count_of(count, "record")


def listed(names: Sequence[str]) -> str:
    """Return names as a list for a sentence, for example `b1`, `b1 and b2`, or `b1, b2, and b3`."""
    return " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])}, and {names[-1]}"


def brokers(ids: Sequence[int]) -> str:
    """Return brokers as a list for a sentence."""
    return listed([f"b{i}" for i in ids]) or "no broker"


def offsets(start: int, end: int) -> str:
    """Return the offset range [start, end) as text."""
    return f"offset {start}" if end == start + 1 else f"offsets {start}–{end - 1}"


def leader_name(leader: int) -> str:
    """Return a leader's name, or `no leader`."""
    return "no leader" if leader < 0 else f"b{leader}"


_partition_of: Final = attrgetter("topic", "partition")
_range_of: Final = attrgetter("from_offset", "to_offset")


class Event(events.Event, kind="", changes=PARTITION):
    """The base class of all kinds of events in Kafka. A kind that does not change the partition that it names says what it changes."""

    phrases = MappingProxyType({**events.Event.phrases, "brokers": brokers, "count": _counted, "ids": ids, "leader": leader_name})

    @property
    def tp(self) -> str:
        """The event's partition, in the form in which Kafka prints it."""
        return name_of(*_partition_of(self))

    @property
    def record_count(self) -> str:
        """The number of the event's records [from_offset, to_offset) as text, for example `2 records`."""
        start, end = _range_of(self)
        return records(end - start)

    @property
    def offset_range(self) -> str:
        """The offsets of the event's records [from_offset, to_offset) as text, for example `offsets 3–4`."""
        return offsets(*_range_of(self))

    @property
    def record_range(self) -> str:
        """The event's records [from_offset, to_offset) as text, for example `2 records of orders-0 (offsets 3–4)`."""
        return f"{self.record_count} of {self.tp} ({self.offset_range})"


class ReplicaEvent(Event, kind=""):
    """The base class of events at a broker's replica of a partition."""

    broker: int
    topic: str
    partition: int


class CoordinatorEvent(Event, kind=""):
    """The base class of events at the coordinator of a group, which is a broker."""

    broker: int
    group: str


class MemberEvent(Event, kind=""):
    """The base class of events at a client in a group."""

    client: str
    group: str
