"""Watches a running cluster for a sweep: when partitions could not be read or written, how long producers waited.

What clients experience is `core.health.status_of`'s word, as in the report's tables: a partition cannot be read while nobody leads it
or its leader's process is down, stands still, or is cut off from a client of the workload, from that moment on and not only since
the controller noticed. If the workload writes with acks=all, nor can it be written while its ISR is under min.insync.replicas; and
while an ISR member cannot fetch, or the high watermark stands still, such writes are *stalled*: they wait. Those times do not overlap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from core.clients.producer import Producer
from core.health import STALL_BOUND, PartitionStatus, status_of
from core.ids import TopicPartition, broker_address
from core.sim.cluster import Cluster
from spark_reports.sweep.histogram import Histogram

ACKS_ALL: Final = ("all", "-1")


class Meter:
    """Takes a cluster's events.

    Attributes:
        read_down, write_down, stalled: µs, summed over the partitions of the workload: without reads; without writes; and, apart
            from that, with writes that waited.
        latencies: of acknowledged records; waits: of those that were not, how long they had waited when they were given up or it ended.
        acked, failed, unanswered: records acknowledged; given up; neither, `STALL_BOUND` and longer after they were sent, when it ended.
        unclean: unclean elections.
    """

    def __init__(self, topics: dict[str, bool], clients: Iterable[str]) -> None:
        """Watch these topics: whether writes to them need a full ISR (`acks=all`), for these clients."""
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
        self._registered: dict[TopicPartition, tuple[int, tuple[int, ...], int]] = {}
        self._min_isr: dict[TopicPartition, int] = {}
        self._gone: dict[int, None] = {}
        self._cut: dict[tuple[str, str], None] = {}
        self._unreadable = 0
        self._not_served: dict[TopicPartition, PartitionStatus] = {}
        self._counted: dict[TopicPartition, list[tuple[int, int]]] = {}  # spells of the above, that count already
        self._epochs: dict[TopicPartition, int] = {}
        self._ends: dict[TopicPartition, int] = {}
        self._uncommitted: dict[TopicPartition, int] = {}  # since when the high watermark has stood still below the log end
        self._begun = False
        self._handlers: dict[str, Callable[[tuple[Any, ...]], None]] = {
            "append": self._appended,
            "high-watermark": self._committed,
            "became-leader": self._became_leader,
            "produce-acked": self._acked,
            "produce-failed": self._failed,
            "produce-given-up": self._given_up,
            "partition-changed": self._changed,
            "leader-elected": self._elected,
            "broker-stopped": self._lost,
            "broker-paused": self._lost,
            "broker-started": self._back,
            "broker-resumed": self._back,
            "link-cut": self._link_cut,
            "link-healed": self._link_healed,
        }

    def sink(self, event: tuple[Any, ...]) -> None:
        """Take an event."""
        handler = self._handlers.get(event[3])
        if handler is not None:
            handler(event)

    def begin(self, cluster: Cluster) -> None:
        """The cluster stands: from here on time counts."""
        replication = cluster.controller.replication
        self._min_isr = {tp: replication.min_isr(tp) if self.topics[tp.topic] else 0 for tp in self._registered}
        self._begun = True
        self._look(cluster.now)

    def finish(self, cluster: Cluster) -> None:
        """Time counts up to here; what has no answer now has waited so long."""
        now = cluster.now
        self._pass(now)
        for tp in list(self._uncommitted):
            self._moved(tp, now)
        for client in cluster.clients.values():
            if isinstance(client, Producer) and client.name in self.clients:
                for batch in client.unanswered():
                    if now - batch.created > STALL_BOUND:  # what has just been sent tells nothing
                        self.unanswered += batch.count
                        self.waits.add(now - batch.created, batch.count)

    def _pass(self, now: int) -> None:
        since, lasted = self._now, now - self._now
        self.read_down += lasted * self._unreadable
        for tp, status in self._not_served.items():
            if status is PartitionStatus.STALLED:
                self.stalled += lasted
            else:
                self.write_down += lasted
            if lasted:
                self._counted.setdefault(tp, []).append((since, now))
        self._now = now

    def _look(self, now: int) -> None:
        """Something that may matter changed: the time until now was as it was, from now on it is as it is."""
        if not self._begun:
            return
        self._pass(now)
        absent = dict.fromkeys(self._gone)
        for pair in self._cut:
            for one, other in (pair, pair[::-1]):
                if one in self.clients and other[:1] == "b" and other[1:].isdecimal():
                    absent[int(other[1:])] = None
        self._unreadable = 0
        self._not_served = {}
        for tp, (leader, isr, replicas) in self._registered.items():
            stuck = [member for member in isr if member != leader and self._cannot_fetch(member, leader)] if self.topics[tp.topic] else ()
            status = status_of(leader, isr, replicas, self._min_isr.get(tp, 0), leader_serves=leader not in absent, stuck=stuck)
            if not status.readable:
                self._unreadable += 1
            if not status.served:
                self._not_served[tp] = status

    def _cannot_fetch(self, follower: int, leader: int) -> bool:
        one, other = broker_address(follower), broker_address(leader)
        return follower in self._gone or (one, other) in self._cut or (other, one) in self._cut

    # --- progress --------------------------------------------------------------------------------------------------

    def _appended(self, event: tuple[Any, ...]) -> None:
        if self.topics.get(event[5]):
            tp = TopicPartition(event[5], event[6])
            if event[7] == self._epochs.get(tp, event[7]):
                self._ends[tp] = event[9]
                self._uncommitted.setdefault(tp, event[1])

    def _committed(self, event: tuple[Any, ...]) -> None:
        if self.topics.get(event[5]):
            tp = TopicPartition(event[5], event[6])
            if event[7] == self._epochs.get(tp, event[7]):
                self._moved(tp, event[1])
                if event[9] < self._ends.get(tp, 0):
                    self._uncommitted[tp] = event[1]

    def _became_leader(self, event: tuple[Any, ...]) -> None:
        if self.topics.get(event[5]):
            tp = TopicPartition(event[5], event[6])
            if event[7] >= self._epochs.get(tp, event[7]):
                self._moved(tp, event[1])
                self._epochs[tp], self._ends[tp] = event[7], event[8]
                if event[9] < event[8]:
                    self._uncommitted[tp] = event[1]

    def _moved(self, tp: TopicPartition, now: int) -> None:
        """The high watermark moved, or counts no longer: if it had stood still for too long, writes waited all that time."""
        since = self._uncommitted.pop(tp, now)
        if now - since <= STALL_BOUND or not self._begun:
            return
        self._pass(now)
        known = sum(max(0, min(end, now) - max(start, since)) for start, end in self._counted.get(tp, ()))
        self.stalled += now - since - known

    # --- events ----------------------------------------------------------------------------------------------------

    def _acked(self, event: tuple[Any, ...]) -> None:
        records, acks, latency = event[9], event[10], event[11]
        self.acked += records
        if acks != 0:
            self.latencies.add(latency, records)

    def _failed(self, event: tuple[Any, ...]) -> None:
        if not event[11]:
            self.failed += event[7]

    def _given_up(self, event: tuple[Any, ...]) -> None:
        self.waits.add(event[10], event[7])

    def _changed(self, event: tuple[Any, ...]) -> None:
        if event[4] in self.topics:
            self._registered[TopicPartition(event[4], event[5])] = (event[6], event[10], len(event[9]) - len(event[13]))
            self._look(event[1])

    def _elected(self, event: tuple[Any, ...]) -> None:
        self.unclean += event[10] == "unclean"

    def _lost(self, event: tuple[Any, ...]) -> None:
        self._gone[event[4]] = None
        self._look(event[1])

    def _back(self, event: tuple[Any, ...]) -> None:
        self._gone.pop(event[4], None)
        self._look(event[1])

    def _link_cut(self, event: tuple[Any, ...]) -> None:
        self._cut[event[4], event[5]] = None
        self._look(event[1])

    def _link_healed(self, event: tuple[Any, ...]) -> None:
        if self._cut.pop((event[4], event[5]), self) is None:
            self._look(event[1])
