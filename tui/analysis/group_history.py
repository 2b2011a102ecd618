"""The recent history of groups, from the events in memory: the lag of each group, the partitions of each consumer, and the rebalances."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import attrs

from core.kafka.events import (
    DETAIL,
    BecameLeader,
    ConsumerGroupStateChanged,
    EventTuple,
    GroupEmptied,
    GroupRebalancing,
    GroupStable,
    HighWatermarkAdvanced,
    MemberEnded,
    MemberStarted,
    OffsetCommitted,
    OffsetDeleted,
    OffsetExpired,
    OffsetMaterialized,
    OffsetRemoved,
    PartitionsAssigned,
    PartitionsLost,
    PartitionsRevoked,
    decode,
)
from core.kafka.ids import NO_OFFSET, TopicPartition
from core.lab.burrow import LogEnds
from core.lab.history.event_buffer import EventBuffer, EventRing
from core.lab.reports.group_report import OwnedPartition
from core.sim.events import kind_of, time_of

STEP: Final = 100_000
"""The minimum time between two samples of a group's lag, in µs."""

GONE: Final = -1
"""The value that a lane contains while the consumer is not running, in place of a number of partitions."""

CALM: Final = frozenset({"Stable", "Empty"})
"""The states in which a group with the consumer protocol is not rebalancing."""


@attrs.define
class History:
    """The history of one group.

    Attributes:
        committed: the group's committed offsets.
        times, lags: the samples of the group's lag: the virtual time of each sample in µs, and the lag in records at that time.
        lanes: for each consumer, the times at which the number of its partitions changed, each with the new number.
        rebalances: the beginning and the end of each rebalance; the end is None while the rebalance is in progress.
    """

    committed: dict[TopicPartition, int] = attrs.field(factory=dict)
    times: list[int] = attrs.field(factory=list)
    lags: list[float] = attrs.field(factory=list)
    lanes: dict[str, list[tuple[int, int]]] = attrs.field(factory=dict)
    rebalances: list[tuple[int, int | None]] = attrs.field(factory=list)

    def sample(self, time: int, lag: int) -> None:
        """Add a sample of the group's lag."""
        if self.times and time < self.times[-1] + STEP:
            self.lags[-1] = lag
        else:
            self.times.append(time)
            self.lags.append(lag)

    def change(self, time: int, client: str, by: int) -> None:
        """Record that a consumer got partitions (`by` is positive) or lost partitions (`by` is negative)."""
        lane = self.lanes.setdefault(client, [])
        before = max(lane[-1][1], 0) if lane else 0
        lane.append((time, max(before + by, 0)))

    def rebalance(self, time: int, *, begins: bool) -> None:
        """Record that a rebalance has begun or ended."""
        running = bool(self.rebalances) and self.rebalances[-1][1] is None
        if begins and not running:
            self.rebalances.append((time, None))
        elif not begins and running:
            self.rebalances[-1] = (self.rebalances[-1][0], time)


class GroupHistory:
    """The histories of all consumer groups. Each call to `update` reads the new events.

    Attributes:
        groups: the history of each consumer group, by the name of the group.
    """

    def __init__(self) -> None:
        self.groups: dict[str, History] = {}
        self._watermarks: dict[TopicPartition, int] = {}
        self._ends = LogEnds(())
        self._readers: dict[TopicPartition, list[str]] = {}
        self._ring: EventRing | None = None
        self._next = 0
        self._handlers: Final[dict[str, Callable[[int, Any], object]]] = {
            HighWatermarkAdvanced.kind: self._advanced,
            BecameLeader.kind: lambda time, event: self._reached(time, event, event.high_watermark),
            OffsetCommitted.kind: self._committed,
            OffsetMaterialized.kind: self._committed,
            OffsetDeleted.kind: self._offset_gone,
            OffsetExpired.kind: self._offset_gone,
            OffsetRemoved.kind: self._offset_gone,
            GroupRebalancing.kind: lambda time, event: self.of(event.group).rebalance(time, begins=True),
            GroupStable.kind: lambda time, event: self.of(event.group).rebalance(time, begins=False),
            GroupEmptied.kind: lambda time, event: self.of(event.group).rebalance(time, begins=False),
            ConsumerGroupStateChanged.kind: lambda time, event: self.of(event.group).rebalance(time, begins=event.new_state not in CALM),
            PartitionsAssigned.kind: lambda time, event: self.of(event.group).change(time, event.client, _count(event.partition_names)),
            PartitionsRevoked.kind: lambda time, event: self.of(event.group).change(time, event.client, -_count(event.partition_names)),
            PartitionsLost.kind: lambda time, event: self.of(event.group).change(time, event.client, -_count(event.partition_names)),
            MemberStarted.kind: lambda time, event: self.of(event.group).lanes.setdefault(event.client, []).append((time, 0)),
            MemberEnded.kind: lambda time, event: self.of(event.group).lanes.setdefault(event.client, []).append((time, GONE)),
        }

    def update(self, event_buffer: EventBuffer) -> None:
        """Read the new events. If the event buffer was replaced, or if events were missed, discard the history and read all events in the
        buffer."""
        ring = event_buffer.ring(DETAIL)
        if ring is not self._ring or self._next < ring.first or self._next > ring.total:
            self.groups, self._watermarks, self._readers, self._ends = {}, {}, {}, LogEnds(())
            self._ring, self._next = ring, ring.first
        for event in ring.since(self._next):
            self._read(event)
        self._next = ring.total

    def of(self, group: str) -> History:
        """Return the history of a group."""
        known = self.groups.get(group)
        if known is None:
            known = self.groups[group] = History()
        return known

    def time_lag(self, each: OwnedPartition, now: int) -> tuple[int, bool] | None:
        """Return how long, in µs, consumers have been able to read the oldest record that a group has not committed, and whether this time
        can in fact be longer because older events are no longer in memory. Return None if the time is not known.
        """
        if each.lag is None or each.committed == NO_OFFSET:
            return None
        if each.lag <= 0:
            return 0, False
        since = self._ends.passed(each.tp, each.committed)
        return None if since is None else (now - since, self._ends.passed_before(each.tp, each.committed))

    def _read(self, event: EventTuple) -> None:
        handler = self._handlers.get(kind_of(event))
        if handler is not None:
            handler(time_of(event), decode(event))

    def _advanced(self, time: int, event: HighWatermarkAdvanced) -> None:
        self._ends.add(event)
        self._reached(time, event, event.new_offset)

    def _reached(self, time: int, event: HighWatermarkAdvanced | BecameLeader, high_watermark: int) -> None:
        tp = TopicPartition(event.topic, event.partition)
        self._watermarks[tp] = high_watermark
        for group in self._readers.get(tp, ()):
            self._sample(time, group)

    def _committed(self, time: int, event: OffsetCommitted | OffsetMaterialized) -> None:
        tp = TopicPartition(event.topic, event.partition)
        self.of(event.group).committed[tp] = event.committed_offset
        readers = self._readers.setdefault(tp, [])
        if event.group not in readers:
            readers.append(event.group)
        self._sample(time, event.group)

    def _offset_gone(self, time: int, event: OffsetDeleted | OffsetExpired | OffsetRemoved) -> None:
        self.of(event.group).committed.pop(TopicPartition(event.topic, event.partition), None)
        self._sample(time, event.group)

    def _sample(self, time: int, group: str) -> None:
        history = self.of(group)
        watermarks = self._watermarks
        history.sample(time, sum(watermarks[tp] - offset for tp, offset in history.committed.items() if tp in watermarks))


def _count(names: str) -> int:
    return names.count(",") + 1 if names else 0


def lane_cells(lane: list[tuple[int, int]], start: int, end: int, cells: int) -> Iterator[int | None]:
    """For each cell of a consumer's lane, yield the number of partitions that the consumer has at the end of the cell. Yield GONE while the
    consumer is not running, and None before it first starts.
    """
    at, value = 0, None
    for cell in range(1, cells + 1):
        time = start + (end - start) * cell // cells
        while at < len(lane) and lane[at][0] <= time:
            value = lane[at][1]
            at += 1
        yield value


def rebalancing_cells(rebalances: list[tuple[int, int | None]], start: int, end: int, cells: int) -> list[bool]:
    """For each cell of a lane, return whether the group was rebalancing at any time during the cell."""
    width = max((end - start) / cells, 1)
    return [
        any(begin < start + width * (cell + 1) and (over is None or over >= start + width * cell) for begin, over in rebalances)
        for cell in range(cells)
    ]
