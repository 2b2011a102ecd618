"""Watches a running cluster for a sweep: when partitions could not be read or written, how long producers waited.

The definition of unavailability is that of the report's table of windows (`spark_reports.summaries.unavailability`):
a partition cannot be read while nobody leads it or its leader's process is down or stands still, from that moment on
and not only since the controller noticed; nor written, nor either while its ISR is under min.insync.replicas if the
workload writes with acks=all. Beside that a leader that is cut off from a client of the workload counts as down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from core.ids import NO_LEADER, TopicPartition
from core.sim.cluster import Cluster
from spark_reports.sweep.histogram import Histogram

ACKS_ALL: Final = ("all", "-1")


class Meter:
    """Takes a cluster's events.

    Attributes:
        read_down, write_down: µs, summed over the partitions of the workload.
        latencies: of acknowledged records.
        acked, failed: records acknowledged; given up.
        unclean: unclean elections.
    """

    def __init__(self, topics: dict[str, bool], clients: Iterable[str]) -> None:
        """Watch these topics: whether writes to them need a full ISR (`acks=all`), for these clients."""
        self.topics = topics
        self.clients = tuple(clients)
        self.read_down = 0
        self.write_down = 0
        self.acked = 0
        self.failed = 0
        self.unclean = 0
        self.latencies = Histogram()
        self._now = 0
        self._registered: dict[TopicPartition, tuple[int, int]] = {}
        self._min_isr: dict[TopicPartition, int] = {}
        self._gone: dict[int, None] = {}
        self._cut: dict[tuple[str, str], None] = {}
        self._unreadable = 0
        self._unwritable = 0
        self._begun = False
        self._handlers: dict[str, Callable[[tuple[Any, ...]], None]] = {
            "produce-acked": self._acked,
            "produce-failed": self._failed,
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

    def finish(self, now: int) -> None:
        """Time counts up to here."""
        self._pass(now)

    def _pass(self, now: int) -> None:
        lasted = now - self._now
        self.read_down += lasted * self._unreadable
        self.write_down += lasted * self._unwritable
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
        unreadable = unwritable = 0
        for tp, (leader, in_sync) in self._registered.items():
            if leader == NO_LEADER or leader in absent:
                unreadable += 1
                unwritable += 1
            elif in_sync < self._min_isr.get(tp, 0):
                unwritable += 1
        self._unreadable, self._unwritable = unreadable, unwritable

    # --- events ----------------------------------------------------------------------------------------------------

    def _acked(self, event: tuple[Any, ...]) -> None:
        records, acks, latency = event[9], event[10], event[11]
        self.acked += records
        if acks != 0:
            self.latencies.add(latency, records)

    def _failed(self, event: tuple[Any, ...]) -> None:
        if not event[11]:
            self.failed += event[7]

    def _changed(self, event: tuple[Any, ...]) -> None:
        if event[4] in self.topics:
            self._registered[TopicPartition(event[4], event[5])] = (event[6], len(event[10]))
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
        if event[4] in self.clients or event[5] in self.clients:
            self._cut[event[4], event[5]] = None
            self._look(event[1])

    def _link_healed(self, event: tuple[Any, ...]) -> None:
        if self._cut.pop((event[4], event[5]), self) is None:
            self._look(event[1])
