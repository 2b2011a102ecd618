"""Measures an episode: how long partitions cannot be read or written, and how long producers wait.

The state that clients experience is determined by `core.lab.views.partition_health.partition_health`. The meter calls `partition_health`
after each event that can change the state. A partition cannot be read while the property `readable` of its status is false. If the workload
writes with acks=all, the partition cannot be written while the property `served` of its status is false. While the partition is *stalled*,
writes with acks=all wait instead of failing. The periods without writes and the stalled periods do not overlap. The stall of a high
watermark is reported only after `STALL_BOUND`. Like the tables of a report, the meter also counts the time before the stall is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from core.kafka import events
from core.kafka.clients.producer.producer import Producer
from core.kafka.events import PARTITION_OF
from core.kafka.health import STALL_BOUND, PartitionStatus
from core.kafka.ids import TopicPartition
from core.lab.cluster import Cluster
from core.lab.views.partition_health import partition_health
from core.sim.events import kind_of, time_of
from scenarios.sweeps.simulation.histogram import Histogram

ACKS_ALL: Final = ("all", "-1")

_MANY: Final = 2**31 - 1
"""A limit on the number of steps. The limit is never reached, because far fewer steps than this occur between two events."""

_AFFECTS_ALL: Final = (
    events.BrokerStopped.kind,
    events.BrokerPaused.kind,
    events.BrokerStarted.kind,
    events.BrokerResumed.kind,
    events.LinkCut.kind,
    events.LinkHealed.kind,
    events.LogDirFailed.kind,
    events.SettingChanged.kind,
)
"""The event kinds that can change the status of any partition."""

_append: Final = events.Appended.reader("topic", "partition", "leader_epoch", "to_offset")
_commit: Final = events.HighWatermarkAdvanced.reader("topic", "partition", "leader_epoch", "new_offset")
_ack: Final = events.ProduceAcked.reader("records", "acks", "latency_us")
"""The functions that read the most frequent events."""


class EpisodeMeter:
    """A meter that observes a cluster through its events.

    Attributes:
        read_down, write_down, stalled: the time without reads, the time without writes, and the time during which writes waited;
            `write_down` does not include `stalled`, and each value is the total for all partitions of the workload, in µs.
        latencies: the produce latencies of acknowledged records.
        waits: the waiting times of unacknowledged records, until the producer gave up on them or the episode ended.
        acked, failed, unanswered: the numbers of records that were acknowledged, that producers gave up on, and that had waited for an
            answer for longer than `STALL_BOUND` at the end.
        unclean: the number of unclean elections.
    """

    def __init__(self, topics: dict[str, bool], clients: Iterable[str]) -> None:
        """Watch the given topics and clients. For each topic, `topics` says whether writes to the topic use acks=all."""
        self.topics = topics
        self.clients = tuple(clients)
        self.read_down = 0
        self.write_down = 0
        self.stalled = 0
        self.acked = 0
        self.failed = 0
        self.unanswered = 0
        self.unclean = 0
        self.latencies = Histogram()
        self.waits = Histogram()
        self._now = 0
        self._changed: dict[TopicPartition, None] = {}  # partitions whose status might have changed
        self._all_changed = False
        self._slow: dict[int, None] = {}  # brokers whose disk delays writes
        self._unreadable: dict[TopicPartition, None] = {}
        self._not_served: dict[TopicPartition, PartitionStatus] = {}
        self._counted: dict[TopicPartition, list[tuple[int, int]]] = {}  # the intervals that are already counted
        self._epochs: dict[TopicPartition, int] = {}
        self._ends: dict[TopicPartition, int] = {}
        self._uncommitted: dict[TopicPartition, int] = {}  # the last advance of a high watermark that is below the log end
        self._begun = False
        self._handlers: dict[str, Callable[[tuple[Any, ...]], None]] = {
            events.Appended.kind: self._appended,
            events.HighWatermarkAdvanced.kind: self._committed,
            events.BecameLeader.kind: self._became_leader,
            events.ProduceAcked.kind: self._acked,
            events.ProduceFailed.kind: self._failed,
            events.ProduceGivenUp.kind: self._given_up,
            events.PartitionChanged.kind: self._role_changed,
            events.BecameFollower.kind: self._role_changed,
            events.LeaderElected.kind: self._elected,
            events.DiskSlowed.kind: self._disk_slowed,
            **dict.fromkeys(_AFFECTS_ALL, self._any_changed),
        }

    def sink(self, event: tuple[Any, ...]) -> None:
        """Update the measurements for an event."""
        handler = self._handlers.get(kind_of(event))
        if handler is not None:
            handler(event)

    def begin(self, cluster: Cluster) -> None:
        """Start measuring."""
        self._begun = True
        self._all_changed = True
        self._look(cluster)

    def watch(self, cluster: Cluster, until: int) -> None:
        """Run the cluster until a given time and measure it."""
        self._look(cluster)  # after an act
        while cluster.run_steps(_MANY, cluster.journal.seq + 1, until):
            self._look(cluster)
        cluster.run_until(until)

    def finish(self, cluster: Cluster) -> None:
        """Stop measuring. For each record without an answer, count the time that it has waited so far."""
        now = cluster.now
        self._pass(now)
        for tp in list(self._uncommitted):
            self._moved(tp, now)
        for client in cluster.clients.values():
            if isinstance(client, Producer) and client.name in self.clients:
                for batch in client.sender.incomplete_batches():
                    if now - batch.created > STALL_BOUND:  # a batch that was just sent is not late
                        self.unanswered += batch.count
                        self.waits.add(now - batch.created, batch.count)

    def _pass(self, now: int) -> None:
        since, lasted = self._now, now - self._now
        self.read_down += lasted * len(self._unreadable)
        for tp, status in self._not_served.items():
            if status is PartitionStatus.STALLED:
                self.stalled += lasted
            else:
                self.write_down += lasted
            if lasted:
                self._counted.setdefault(tp, []).append((since, now))
        self._now = now

    def _look(self, cluster: Cluster) -> None:
        """Update the status of each partition whose status might have changed.

        The old status counts until now, and the new status counts from now on.
        """
        partitions = cluster.controller.registry.partitions
        if self._slow:
            # The wait for a disk changes without an event, so slow disks are checked until one check after they recover.
            self._changed.update((tp, None) for tp, registration in partitions.items() if registration.leader in self._slow)
            self._slow = {broker: None for broker in self._slow if cluster.brokers[broker].log_directories.write_wait()}
        if self._all_changed:
            self._changed.update(dict.fromkeys(partitions))
            self._all_changed = False
        if not self._changed:
            return
        self._pass(cluster.now)
        for tp in self._changed:
            if tp.topic not in self.topics or tp not in partitions:
                continue
            status = partition_health(cluster, tp, partitions[tp]).status
            self._unreadable.pop(tp, None)
            self._not_served.pop(tp, None)
            if not status.readable:
                self._unreadable[tp] = None
            if not (status.served if self.topics[tp.topic] else status.readable):
                self._not_served[tp] = status
        self._changed = {}

    # --- progress --------------------------------------------------------------------------------------------------

    def _appended(self, event: tuple[Any, ...]) -> None:
        topic, number, epoch, end = _append(event)
        if self.topics.get(topic):
            tp = TopicPartition(topic, number)
            if epoch == self._epochs.get(tp, epoch):
                self._ends[tp] = end
                self._uncommitted.setdefault(tp, time_of(event))

    def _committed(self, event: tuple[Any, ...]) -> None:
        topic, number, epoch, high_watermark = _commit(event)
        if self.topics.get(topic):
            tp = TopicPartition(topic, number)
            if epoch == self._epochs.get(tp, epoch):
                now = time_of(event)
                self._moved(tp, now)
                if tp in self._not_served:
                    self._changed[tp] = None
                if high_watermark < self._ends.get(tp, 0):
                    self._uncommitted[tp] = now

    def _became_leader(self, event: tuple[Any, ...]) -> None:
        became, now = events.BecameLeader(event), time_of(event)
        tp = TopicPartition(became.topic, became.partition)
        self._changed[tp] = None
        if self.topics.get(tp.topic) and became.leader_epoch >= self._epochs.get(tp, became.leader_epoch):
            self._moved(tp, now)
            self._epochs[tp], self._ends[tp] = became.leader_epoch, became.offset
            if became.high_watermark < became.offset:
                self._uncommitted[tp] = now

    def _moved(self, tp: TopicPartition, now: int) -> None:
        """Record that a high watermark has advanced, or that it no longer counts because there is a new leader or the measurement ends.

        If the high watermark stood still for longer than `STALL_BOUND`, that whole time counts as time during which writes waited.
        """
        since = self._uncommitted.pop(tp, now)
        if now - since <= STALL_BOUND or not self._begun:
            return
        self._pass(now)
        known = sum(max(0, min(end, now) - max(start, since)) for start, end in self._counted.get(tp, ()))
        self.stalled += now - since - known

    # --- events ----------------------------------------------------------------------------------------------------

    def _acked(self, event: tuple[Any, ...]) -> None:
        records, acks, latency = _ack(event)
        self.acked += records
        if acks != 0:
            self.latencies.add(latency, records)

    def _failed(self, event: tuple[Any, ...]) -> None:
        failed = events.ProduceFailed(event)
        if not failed.retry:
            self.failed += failed.records

    def _given_up(self, event: tuple[Any, ...]) -> None:
        given_up = events.ProduceGivenUp(event)
        self.waits.add(given_up.waited_us, given_up.records)

    def _role_changed(self, event: tuple[Any, ...]) -> None:
        self._changed[TopicPartition(*PARTITION_OF[kind_of(event)](event))] = None

    def _disk_slowed(self, event: tuple[Any, ...]) -> None:
        self._slow[events.DiskSlowed(event).broker] = None

    def _any_changed(self, _: tuple[Any, ...]) -> None:
        self._all_changed = True

    def _elected(self, event: tuple[Any, ...]) -> None:
        self.unclean += events.LeaderElected(event).election == "unclean"
