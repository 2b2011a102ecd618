"""Turns what is seen of a running cluster, again and again, into the events of a log.

An event says what is new in the metadata, and its cause, a `cluster-observed` event, says within which time it happened. What happened and was undone
between two readings is not seen. What only the controller knows is unknown: partition epochs, and how a leader was elected.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

import attrs

from core.kafka.events import (
    BrokerFenced,
    BrokerJoined,
    BrokerLeft,
    BrokerUnfenced,
    ClusterObserved,
    EventTuple,
    IsrExpanded,
    IsrShrunk,
    LeaderElected,
    PartitionChanged,
    PartitionOffline,
    PartitionsCreated,
    TopicCreated,
    TopicDeleted,
)
from core.kafka.ids import NO_EPOCH, NO_LEADER
from core.sim.journal import Journal
from scenarios.live.facts import LivePartition, LiveTopic
from scenarios.live.read_cluster import Metadata

SEEN: Final = "seen in the metadata"
"""The reason of every change."""

UNKNOWN: Final = "unknown"
"""The kind of an election that was only seen in the metadata."""


@attrs.define
class Watcher:
    """The state of a watched cluster as it was seen last.

    Attributes:
        known: the brokers that the log's header lists; only they can be named in events.
        kraft: whether the controllers are a KRaft quorum.
        brokers: the brokers that were alive.
        topics: the topics.
        left_out: brokers that were seen and that the header does not list, with the partitions that are left out because of them.
        journal: numbers the events.
        since: the time at which the cluster was asked before, in µs since the watch began.
    """

    known: frozenset[int]
    kraft: bool
    brokers: frozenset[int]
    sink: Callable[[EventTuple], object]
    topics: dict[str, LiveTopic] = attrs.field(factory=dict)
    left_out: dict[int, int] = attrs.field(factory=dict)
    journal: Journal = attrs.field(init=False)
    since: int = 0
    _waiting: list[EventTuple] = attrs.field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        self.journal = Journal(self._waiting.append)

    def see(self, seen: Metadata, asked: int, now: int) -> int:
        """Record what is new, and return the number of events.

        Args:
            seen: the metadata.
            asked: the time at which it was asked for, in µs since the watch began. What is not in it happened later.
            now: the time at which it arrived, in µs since the watch began.
        """
        journal = self.journal
        before = journal.seq
        journal.now, journal.cause = now, 0
        journal.cause = journal.emit(ClusterObserved.kind, self.since)
        self._see_brokers(frozenset(seen.brokers) & self.known)
        for broker in seen.brokers.keys() - self.known:
            self.left_out.setdefault(broker, 0)
        for name in self.topics.keys() - seen.topics.keys():
            self._delete(name)
        for _, topic in sorted(seen.topics.items()):
            self._see_topic(self._nameable(topic))
        self.since = asked
        news = journal.seq - before - 1
        if not news:
            journal.seq = before
        else:
            for event in self._waiting:
                self.sink(event)
        self._waiting.clear()
        return news

    def _nameable(self, topic: LiveTopic) -> LiveTopic:
        """Return a topic without the partitions whose replicas include a broker that the header does not list; their last state stays."""
        kept = {}
        old = self.topics.get(topic.name)
        for number, each in topic.partitions.items():
            strangers = {*each.replicas, *each.isr} - self.known
            for broker in strangers:
                self.left_out[broker] = self.left_out.get(broker, 0) + 1
            if not strangers:
                kept[number] = each
            elif old is not None and number in old.partitions:
                kept[number] = old.partitions[number]
        return attrs.evolve(topic, partitions=kept)

    # --- brokers -----------------------------------------------------------------------------------------------------

    def _see_brokers(self, alive: frozenset[int]) -> None:
        emit = self.journal.emit
        for broker in sorted(self.brokers - alive):
            if self.kraft:
                emit(BrokerFenced.kind, broker, -1, -1)
            else:
                emit(BrokerLeft.kind, broker, NO_EPOCH)
        for broker in sorted(alive - self.brokers):
            if self.kraft:
                emit(BrokerUnfenced.kind, broker)
            else:
                emit(BrokerJoined.kind, broker, NO_EPOCH)
        self.brokers = alive

    # --- topics ------------------------------------------------------------------------------------------------------

    def _see_topic(self, topic: LiveTopic) -> None:
        name, emit = topic.name, self.journal.emit
        old = self.topics.get(name)
        if old is not None and old.topic_id != topic.topic_id:
            self._delete(name)
            old = None
        count = 1 + max(topic.partitions, default=-1)
        if not count:
            return
        if old is None:
            emit(TopicCreated.kind, name, topic.topic_id, count, len(next(iter(topic.partitions.values())).replicas))
        elif count > (there := 1 + max(old.partitions, default=-1)):
            emit(PartitionsCreated.kind, name, count - there, count)
        for number, each in sorted(topic.partitions.items()):
            self._see_partition(name, number, None if old is None else old.partitions.get(number), each)
        self.topics[name] = topic

    def _delete(self, name: str) -> None:
        old = self.topics.pop(name)
        self.journal.emit(TopicDeleted.kind, name, old.topic_id, 1 + max(old.partitions, default=-1))

    def _see_partition(self, topic: str, number: int, old: LivePartition | None, new: LivePartition) -> None:
        if old == new:
            return
        emit = self.journal.emit
        leader, epoch = max(new.leader, NO_LEADER), NO_EPOCH if new.leader_epoch is None else new.leader_epoch
        emit(
            PartitionChanged.kind, topic, number, leader, epoch, NO_EPOCH, new.replicas, new.isr, new.elr or (), new.last_known_elr or (),
            new.adding, new.removing, False, SEEN,
        )  # fmt: skip
        if old is None:
            return
        if new.leader != old.leader:
            if leader == NO_LEADER:
                emit(PartitionOffline.kind, topic, number, old.leader, epoch, new.isr, SEEN)
            else:
                emit(LeaderElected.kind, topic, number, leader, max(old.leader, NO_LEADER), epoch, new.isr, UNKNOWN, SEEN)
            return
        if out := _missing(old.isr, new.isr):
            emit(IsrShrunk.kind, leader, topic, number, new.isr, out, NO_EPOCH)
        if joined := _missing(new.isr, old.isr):
            emit(IsrExpanded.kind, leader, topic, number, new.isr, joined, NO_EPOCH)


def _missing(brokers: Collection[int], others: Collection[int]) -> tuple[int, ...]:
    """Return the brokers that are not among the others, in their order."""
    return tuple(broker for broker in brokers if broker not in others)
