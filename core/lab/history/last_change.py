"""The event that last changed a displayed value, found in memory or by searching the past.

A value belongs to a partition or a broker: leader, ISR, high watermark or LEO of a replica, or state of a process. The last change is the
event that set the displayed value; later events did not change it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import attrs

from core.kafka import events
from core.kafka.events import Event, EventTuple, decode
from core.kafka.ids import TopicPartition
from core.lab.history.event_buffer import EventRing
from core.lab.history.playable import ClusterLike
from core.lab.history.watchpoints import Watchpoint
from core.lab.views.broker_view import BrokerView
from core.lab.views.partition_view import PartitionView
from core.sim.events import kind_of
from core.sim.repr_mixin import ReprMixin

_BROKER_EVENTS: Final = {
    kind.kind: kind.reader("broker")
    for kind in (
        events.BrokerStopped, events.BrokerStarted, events.BrokerPaused, events.BrokerResumed, events.BrokerRegistered,
        events.BrokerUnregistered, events.BrokerFenced, events.BrokerUnfenced, events.BrokerJoined, events.BrokerLeft, events.SessionExpired,
        events.ShutdownBegun, events.LogDirFailed,
    )
}  # fmt: skip
"""The functions that read the broker of an event about the state of a broker, by kind."""

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
    def value_after(event: EventTuple) -> object:
        match decode(event):
            case events.LeaderElected(topic=tp.topic, partition=tp.partition) as elected:
                return elected.leader
            case events.PartitionOffline(topic=tp.topic, partition=tp.partition):
                return -1
            case events.TopicCreated(topic=tp.topic):
                return None
        return _UNRELATED

    return value_after


def _isr(tp: TopicPartition) -> ValueAfter:
    def value_after(event: EventTuple) -> object:
        match decode(event):
            case (
                events.IsrShrunk(topic=tp.topic, partition=tp.partition)
                | events.IsrExpanded(topic=tp.topic, partition=tp.partition)
                | events.PartitionChanged(topic=tp.topic, partition=tp.partition) as changed
            ):
                return sorted(changed.isr)
        return _UNRELATED

    return value_after


_HW: Final[dict[type[Event], str]] = {
    events.HighWatermarkAdvanced: "new_offset",
    events.FollowerHighWatermark: "new_offset",
    events.FollowerAppended: "high_watermark",
    events.Truncated: "high_watermark",
    events.BecameLeader: "high_watermark",
    events.BecameFollower: "high_watermark",
}
"""The column that contains the high watermark of a replica after an event."""

_LEO: Final[dict[type[Event], str]] = {
    events.Appended: "to_offset",
    events.FollowerAppended: "to_offset",
    events.Truncated: "from_offset",
    events.LogRestarted: "new_offset",
    events.UnflushedLost: "from_offset",
    events.BecameLeader: "offset",
    events.BecameFollower: "offset",
}
"""The column that contains the LEO of a replica after an event."""


def _on_replica(tp: TopicPartition, broker: int, columns: dict[type[Event], str]) -> ValueAfter:
    readers = {kind.kind: kind.reader("broker", "topic", "partition", column) for kind, column in columns.items()}

    def value_after(event: EventTuple) -> object:
        kind = kind_of(event)
        if kind == events.BrokerStarted.kind and events.BrokerStarted(event).broker == broker:
            return _RELOADED
        if kind not in readers:
            return _UNRELATED
        *replica, value = readers[kind](event)
        return value if replica == [broker, *tp] else _UNRELATED

    return value_after


def _of_broker(broker: int) -> ValueAfter:
    def value_after(event: EventTuple) -> object:
        read = _BROKER_EVENTS.get(kind_of(event))
        return broker if read is not None and read(event) == broker else _UNRELATED

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
