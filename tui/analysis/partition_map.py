"""The state of every partition as one byte, in the order of the map, so that a map of 100,000 partitions is drawn within a frame.

A new view shares the views of unchanged partitions with the view before. Therefore, only the partitions whose view is another object are
looked at.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from itertools import compress
from typing import Final

import attrs

from core.kafka.health import PartitionStatus
from core.kafka.ids import TopicPartition
from core.kafka.transaction.transaction_log import INTERNAL_TOPICS
from core.lab.views.cluster_view import ClusterView
from core.lab.views.partition_view import PartitionView
from tui.rendering.states import STATUS_LOOKS

DIVERGED: Final = 0
"""The state of a partition whose replicas hold different records, which takes precedence over its status."""

MOVING: Final = len(PartitionStatus)
"""The state of a partition that is healthy while a reassignment moves it."""

HEALTHY: Final = MOVING + 1
"""The state of a partition that is healthy, and that no reassignment moves."""

LOOKS: Final[tuple[tuple[str, str, str], ...]] = (
    ("≠", "diverged", "bad"),
    *(STATUS_LOOKS[status] for status in PartitionStatus if status is not PartitionStatus.HEALTHY),
    ("⇄", "moving", "leader"),
    STATUS_LOOKS[PartitionStatus.HEALTHY],
)
"""The glyph, the word, and the role of every state, the worst first. The index of a state is its byte."""


def state_of(p: PartitionView) -> int:
    """Return the state of a partition. The status is that which clients experience, whether or not the controller has noticed."""
    if p.diverged:
        return DIVERGED
    if p.status is not PartitionStatus.HEALTHY:
        return p.status + 1
    return MOVING if p.adding or p.removing else HEALTHY


@attrs.frozen
class TopicSpan:
    """The places [start, stop) of a topic's partitions in the order of the map."""

    topic: str
    start: int
    stop: int


class PartitionMap:
    """The states of all partitions, in the order of the map: by topic and number, internal topics last.

    Attributes:
        states: the state of each partition.
        counts: the number of partitions in each state.
        spans: the topics, in order.
        generation: a number that changes whenever the partitions are ordered anew.
        looked_at: the number of partitions that `update` has looked at so far, for tests of its effort.
    """

    def __init__(self) -> None:
        self.states = bytearray()
        self.counts = [0] * len(LOOKS)
        self.spans: list[TopicSpan] = []
        self.generation = 0
        self.looked_at = 0
        self._views: tuple[PartitionView, ...] = ()
        self._order: list[int] = []
        self._places: list[int] = []

    def __len__(self) -> int:
        return len(self.states)

    def update(self, view: ClusterView) -> list[int] | None:
        """Take over a new view. Return the places whose state has changed, or None if all places are new."""
        before, now = self._views, view.partitions
        if before is now:
            return []
        self._views = now
        if len(before) != len(now) or not now or before[0].tp != now[0].tp or before[-1].tp != now[-1].tp:
            self._order_anew(now)
            return None
        changed: list[int] = []
        states, counts, places = self.states, self.counts, self._places
        for at in compress(range(len(now)), map(operator.is_not, before, now)):
            p = now[at]
            self.looked_at += 1
            if p.tp != before[at].tp:
                self._order_anew(now)
                return None
            state, place = state_of(p), places[at]
            old = states[place]
            if state != old:
                states[place] = state
                counts[old] -= 1
                counts[state] += 1
                changed.append(place)
        return changed

    def _order_anew(self, views: Sequence[PartitionView]) -> None:
        topics: dict[str, list[int]] = {}
        for at, p in enumerate(views):
            topics.setdefault(p.tp.topic, []).append(at)
        self._order, self.spans = [], []
        for topic in sorted(topics, key=lambda name: (name in INTERNAL_TOPICS, name)):
            found = topics[topic]
            numbers = [views[at].tp.partition for at in found]
            if numbers != sorted(numbers):
                found = [at for _, at in sorted(zip(numbers, found, strict=True))]
            self.spans.append(TopicSpan(topic, len(self._order), len(self._order) + len(found)))
            self._order += found
        self._places = [0] * len(views)
        for place, at in enumerate(self._order):
            self._places[at] = place
        self.states = bytearray(state_of(views[at]) for at in self._order)
        self.counts = [self.states.count(state) for state in range(len(LOOKS))]
        self.looked_at += len(views)
        self.generation += 1

    def at(self, place: int) -> PartitionView:
        """Return the view of the partition at a place."""
        return self._views[self._order[place]]

    def place_of(self, tp: TopicPartition) -> int:
        """Return the place of a partition; 0 if there is no such partition."""
        span = next((span for span in self.spans if span.topic == tp.topic), None)
        if span is None:
            return 0
        places = range(span.start, span.stop)
        guess = min(span.start + tp.partition, span.stop - 1)
        return guess if self.at(guess).tp == tp else next((place for place in places if self.at(place).tp == tp), 0)

    def not_healthy(self) -> list[int]:
        """Return the places of all partitions that are not healthy."""
        if self.counts[HEALTHY] == len(self.states):
            return []
        return [place for place, state in enumerate(self.states) if state != HEALTHY]


def counts_in(states: bytes | bytearray) -> Iterator[tuple[int, int]]:
    """Yield each state that occurs, and the number of partitions in this state, the worst first."""
    for state in range(len(LOOKS)):
        if number := states.count(state):
            yield state, number
