"""What somebody waits for while time runs, or looks for in the past: a state that comes true, a value that changes, an event.

`scenarios.running.watchpoint_parser` makes one of what somebody writes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from core.kafka.events import KINDS, EventTuple, column_types
from core.kafka.ids import TopicPartition
from core.lab.history.playable import ClusterLike
from core.lab.views.view import ClusterView


class Watchpoint:
    """Base: `on_event` is handed every event, `came_true` is asked after every step that recorded some."""

    def on_event(self, event: EventTuple) -> None:
        """An event has happened."""

    def came_true(self, cluster: ClusterLike) -> bool:
        """Whether it is so now, and was not a step ago. The first answer is always no: nothing has happened yet."""
        raise NotImplementedError


class BecomesTrue(Watchpoint):
    """A state that was not so comes true."""

    def __init__(self, holds: Callable[[ClusterLike], bool]) -> None:
        self._holds = holds
        self._was = True

    def came_true(self, cluster: ClusterLike) -> bool:
        now = self._holds(cluster)
        rising, self._was = now and not self._was, now
        return rising


class ValueChanges(Watchpoint):
    """A value is another one than a step ago."""

    def __init__(self, value: Callable[[ClusterLike], object]) -> None:
        self._value = value
        self._before: tuple[object] | None = None

    def came_true(self, cluster: ClusterLike) -> bool:
        now = (self._value(cluster),)
        changed, self._before = self._before is not None and now != self._before, now
        return changed


class AnyPartitionChanges(Watchpoint):
    """A column of the state of any partition is another one. Reads the events that carry that state, so it costs nothing else."""

    def __init__(self, column: str) -> None:
        self._name = column.replace("-", "_")
        self._at = 4 + list(column_types(KINDS["partition-changed"])).index(self._name)
        self._known: dict[TopicPartition, object] | None = None
        self._changed = False

    def on_event(self, event: EventTuple) -> None:
        if event[3] == "partition-changed" and self._known is not None:
            tp, value = TopicPartition(event[4], event[5]), event[self._at]
            self._changed = self._changed or self._known.get(tp, value) != value
            self._known[tp] = value

    def came_true(self, cluster: ClusterLike) -> bool:
        if self._known is None:
            view: ClusterView = cluster.view()
            self._known = {p.tp: getattr(p, self._name) for p in view.partitions}
        changed, self._changed = self._changed, False
        return changed


class EventPattern(Protocol):
    """Which events are meant: those of a kind, perhaps with given values in their columns (`scenarios.language.conditions.EventPattern`)."""

    @property
    def kind(self) -> str: ...
    def matches(self, event: EventTuple) -> bool:
        """Whether an event of this kind is one."""


class EventHappens(Watchpoint):
    """An event of a kind, perhaps with given values in its columns."""

    def __init__(self, pattern: EventPattern) -> None:
        self._pattern = pattern
        self._seen = False
        self._asked = False

    def on_event(self, event: EventTuple) -> None:
        if event[3] == self._pattern.kind and self._pattern.matches(event):
            self._seen = True

    def came_true(self, cluster: ClusterLike) -> bool:
        seen, self._seen = self._seen and self._asked, False
        self._asked = True
        return seen
