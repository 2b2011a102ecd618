"""Watchpoints: conditions that stop a run when they become true. A search can also find the last time that a watchpoint was triggered in the
past.

`scenarios.running.watchpoint_parser` parses watchpoints from text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from core.kafka.events import EventTuple, PartitionChanged
from core.kafka.ids import TopicPartition
from core.lab.history.playable import ClusterLike
from core.lab.views.cluster_view import ClusterView
from core.sim.events import kind_of


class Watchpoint:
    """The base class of watchpoints. `on_event` receives every event. `came_true` is called after every step that recorded events."""

    def on_event(self, event: EventTuple) -> None:
        """Handle an event."""

    def came_true(self, cluster: ClusterLike) -> bool:
        """Return whether the condition holds now and did not hold one step ago. The first call to `came_true` returns False."""
        raise NotImplementedError


class BecomesTrue(Watchpoint):
    """A watchpoint that triggers when a condition on the state becomes true."""

    def __init__(self, holds: Callable[[ClusterLike], bool]) -> None:
        self._holds = holds
        self._was = True

    def came_true(self, cluster: ClusterLike) -> bool:
        now = self._holds(cluster)
        rising, self._was = now and not self._was, now
        return rising


class ValueChanges(Watchpoint):
    """A watchpoint that triggers when a value differs from its value one step ago."""

    def __init__(self, value: Callable[[ClusterLike], object]) -> None:
        self._value = value
        self._before: tuple[object] | None = None

    def came_true(self, cluster: ClusterLike) -> bool:
        now = (self._value(cluster),)
        changed, self._before = self._before is not None and now != self._before, now
        return changed


class AnyPartitionChanges(Watchpoint):
    """A watchpoint that triggers when a column of any partition's state changes. This watchpoint reads events, so it does not need a view
    after each step.
    """

    def __init__(self, column: str) -> None:
        self._name = column.replace("-", "_")
        self._value_of = PartitionChanged.reader(self._name)
        self._known: dict[TopicPartition, object] | None = None
        self._changed = False

    def on_event(self, event: EventTuple) -> None:
        if kind_of(event) == PartitionChanged.kind and self._known is not None:
            changed = PartitionChanged(event)
            tp, value = TopicPartition(changed.topic, changed.partition), self._value_of(event)
            self._changed = self._changed or self._known.get(tp, value) != value
            self._known[tp] = value

    def came_true(self, cluster: ClusterLike) -> bool:
        if self._known is None:
            view: ClusterView = cluster.view()
            self._known = {p.tp: getattr(p, self._name) for p in view.partitions}
        changed, self._changed = self._changed, False
        return changed


class EventPattern(Protocol):
    """A pattern of events: a kind and optional column values (`scenarios.conditions.conditions.EventPattern`)."""

    @property
    def kind(self) -> str: ...
    def matches(self, event: EventTuple) -> bool:
        """Return whether an event of this kind matches."""


class EventHappens(Watchpoint):
    """A watchpoint that triggers when an event matches a pattern."""

    def __init__(self, pattern: EventPattern) -> None:
        self._pattern = pattern
        self._seen = False
        self._asked = False

    def on_event(self, event: EventTuple) -> None:
        if kind_of(event) == self._pattern.kind and self._pattern.matches(event):
            self._seen = True

    def came_true(self, cluster: ClusterLike) -> bool:
        seen, self._seen = self._seen and self._asked, False
        self._asked = True
        return seen
