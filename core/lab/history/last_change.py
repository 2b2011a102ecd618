"""The event that last changed a displayed value, found in memory or by searching the past.

A value belongs to a partition or a broker: leader, ISR, high watermark or LEO of a replica, or state of a process. The last change is the
event that set the displayed value; later events did not change it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import attrs

from core.kafka.events import EventTuple
from core.kafka.ids import TopicPartition
from core.lab.history.event_buffer import EventRing
from core.lab.history.playable import ClusterLike
from core.lab.history.watchpoints import Watchpoint
from core.lab.views.broker_view import BrokerView
from core.lab.views.partition_view import PartitionView
from core.sim.repr_mixin import ReprMixin

_BROKER_EVENTS: Final = frozenset(
    {
        "broker-stopped", "broker-started", "broker-paused", "broker-resumed", "broker-registered", "broker-unregistered", "broker-fenced",
        "broker-unfenced",
        "broker-joined", "broker-left", "session-expired", "shutdown-begun", "log-dir-failed",
    }
)  # fmt: skip

ValueAfter = Callable[[EventTuple], object]
"""A function that returns the value after an event; `_UNRELATED` if the event concerns a different value."""

_UNRELATED: Final = object()

_RELOADED: Final = object()
"""The placeholder for a value that a starting process loads from disk. The event that reports the start of a process contains no offsets.
"""


@attrs.frozen(repr=False)
class TrackedValue(ReprMixin):
    """A displayed value that events change.

    Attributes:
        name: the short name of the value.
        label: the name of the value, including its partition or broker.
        value: the value that is currently displayed.
        value_after: the function that returns the value after an event.
        all_events: whether every related event counts as a change.
    """

    name: str
    label: str
    value: object
    value_after: ValueAfter
    all_events: bool = False

    def concerns(self, event: EventTuple) -> bool:
        """Return whether an event concerns the tracked value."""
        return self.value_after(event) not in (_UNRELATED, _RELOADED)

    def last_change(self, ring: EventRing) -> EventTuple | None:
        """Return the event that last changed the value; None if that event is no longer in memory."""
        found = loaded = None
        for index in range(ring.total - 1, ring.first - 1, -1):
            event = ring.at(index)
            value = self.value_after(event)
            if value is _UNRELATED:
                continue
            if value is _RELOADED:
                loaded = event
                continue
            if self.all_events or (found is None and value != self.value):
                return loaded or event
            if value != self.value:
                return loaded or found
            found, loaded = event, None
        return found if ring.first == 0 else None


def tracked_values_of(partition: PartitionView | None, broker: BrokerView | None) -> list[TrackedValue]:
    """Return the tracked values of the selected partition and broker."""
    cells: list[TrackedValue] = []
    if partition is not None:
        tp = partition.tp
        cells.append(TrackedValue("leader", f"leader of {tp}", partition.leader, _leader(tp)))
        cells.append(TrackedValue("isr", f"ISR of {tp}", sorted(partition.isr), _isr(tp)))
        replica = next((one for one in partition.replica_views if broker is not None and one.broker == broker.id), None)
        if replica is not None:
            cells.append(
                TrackedValue("hw", f"high watermark of {tp} on b{replica.broker}", replica.hw, _on_replica(tp, replica.broker, _HW))
            )
            cells.append(TrackedValue("leo", f"LEO of {tp} on b{replica.broker}", replica.leo, _on_replica(tp, replica.broker, _LEO)))
    if broker is not None:
        cells.append(TrackedValue("state", f"state of b{broker.id}", None, _of_broker(broker.id), all_events=True))
    return cells


def _leader(tp: TopicPartition) -> ValueAfter:
    topic, number = tp

    def value_after(event: EventTuple) -> object:
        kind = event[3]
        if kind == "leader-elected" and event[4] == topic and event[5] == number:
            return event[6]
        if kind == "partition-offline" and event[4] == topic and event[5] == number:
            return -1
        if kind == "topic-created" and event[4] == topic:
            return None
        return _UNRELATED

    return value_after


def _isr(tp: TopicPartition) -> ValueAfter:
    topic, number = tp

    def value_after(event: EventTuple) -> object:
        kind = event[3]
        if kind in ("isr-shrunk", "isr-expanded") and event[5] == topic and event[6] == number:
            return sorted(event[7])
        if kind == "partition-changed" and event[4] == topic and event[5] == number:
            return sorted(event[10])
        return _UNRELATED

    return value_after


_HW: Final = {
    "high-watermark": 9, "follower-high-watermark": 8, "follower-append": 10, "truncated": 10, "became-leader": 9, "became-follower": 10,
}  # fmt: skip
"""The index of the high watermark in an event's tuple. The columns of each event kind start with broker, topic, and partition."""

_LEO: Final = {
    "append": 9, "follower-append": 9, "truncated": 8, "log-restarted": 9, "unflushed-lost": 7, "became-leader": 8, "became-follower": 9,
}  # fmt: skip
"""The index of the LEO in an event's tuple."""


def _on_replica(tp: TopicPartition, broker: int, places: dict[str, int]) -> ValueAfter:
    topic, number = tp

    def value_after(event: EventTuple) -> object:
        if event[3] == "broker-started" and event[4] == broker:
            return _RELOADED
        place = places.get(event[3])
        if place is None or event[4] != broker or event[5] != topic or event[6] != number:
            return _UNRELATED
        return event[place]

    return value_after


def _of_broker(broker: int) -> ValueAfter:
    def value_after(event: EventTuple) -> object:
        return event[4] if event[3] in _BROKER_EVENTS and event[4] == broker else _UNRELATED

    return value_after


class LastChangeWatchpoint(Watchpoint):
    """A watchpoint that triggers when a value changes to its current value."""

    def __init__(self, cell: TrackedValue) -> None:
        self._cell = cell
        self._value: object = _UNRELATED
        self._rose = False

    def on_event(self, event: EventTuple) -> None:
        value = self._cell.value_after(event)
        if value is not _UNRELATED and value is not _RELOADED:
            wanted = self._cell.all_events or (value == self._cell.value and value != self._value)
            self._rose = self._rose or wanted
            self._value = value

    def came_true(self, cluster: ClusterLike) -> bool:
        rose, self._rose = self._rose, False
        return rose
