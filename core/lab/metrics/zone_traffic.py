"""Counts the bytes of records that cross zones, from events: what clouds charge for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from core.kafka import events
from core.kafka.ids import TopicPartition, broker_address
from core.lab.metrics.observed_partition import ObservedPartition
from core.lab.spec import ZoneSpec
from core.sim.events import kind_of


class ZoneTraffic:
    """The bytes of records that were sent from one zone to another: by producers to leaders, by leaders to followers, and by brokers to
    consumers without a group. Requests without records, batches that a leader refused or had already, and nodes without a zone do not count.

    Attributes:
        total: the bytes that crossed zones.
        by_client: these bytes of each producer and consumer.
    """

    def __init__(self, zones: Iterable[ZoneSpec]) -> None:
        self._zones = {node: zone.name for zone in zones for node in zone.nodes}
        self._partitions: dict[TopicPartition, ObservedPartition] = {}
        self.total = 0
        self.by_client: dict[str, int] = {}

    def on_event(self, event: events.EventTuple) -> None:
        """Handle an event. Events of the kinds in `KINDS` must come in order; other events have no effect."""
        kind = kind_of(event)
        if kind == events.Appended.kind:
            appended = events.Appended(event)
            self._of(appended.topic, appended.partition).appended(appended.from_offset, appended.to_offset, appended.bytes)
            self._sent(appended.producer, broker_address(appended.broker), appended.bytes, appended.producer)
        elif kind == events.FollowerAppended.kind:
            copied = events.FollowerAppended(event)
            size = self._size(copied.topic, copied.partition, copied.from_offset, copied.to_offset)
            self._sent(broker_address(copied.leader), broker_address(copied.broker), size)
        elif kind == events.Consumed.kind:
            read = events.Consumed(event)
            size = self._size(read.topic, read.partition, read.from_offset, read.to_offset)
            self._sent(broker_address(read.broker), read.consumer, size, read.consumer)

    def _of(self, topic: str, partition: int) -> ObservedPartition:
        return self._partitions.setdefault(TopicPartition(topic, partition), ObservedPartition())

    def _size(self, topic: str, partition: int, start: int, end: int) -> int:
        observed = self._of(topic, partition)
        return observed.bytes_below(end) - observed.bytes_below(start)

    def _sent(self, sender: str, receiver: str, size: int, client: str = "") -> None:
        here, there = self._zones.get(sender), self._zones.get(receiver)
        if here is None or there is None or here == there:
            return
        self.total += size
        if client:
            self.by_client[client] = self.by_client.get(client, 0) + size


KINDS: Final = (events.Appended.kind, events.FollowerAppended.kind, events.Consumed.kind)
"""The kinds of events that `ZoneTraffic` reads."""
