"""Samples what clients experience according to the core, at regular intervals while a cluster runs."""

from __future__ import annotations

from core.kafka.health import STALL_BOUND, PartitionStatus
from core.kafka.ids import TopicPartition
from core.lab.cluster import Cluster
from core.lab.views.partition_health import partition_health

STEP = 20_000
"""The time between two samples, in µs."""


class Looks:
    """The sums of the samples, in µs by partition: the time without reads (`read_down`), without writes (`write_down`), and stalled
    (`stalled`). Also how often the statuses changed.

    `slow_disk` is the part of `stalled` that only slow disks of leaders cause.
    """

    def __init__(self) -> None:
        self.times: dict[tuple[TopicPartition, str], int] = {}
        self.changes = 0
        self.slow_disk = 0
        self._before: dict[TopicPartition, PartitionStatus] = {}
        self._served: dict[TopicPartition, list[int]] = {}  # looks at which it was served, since all was committed

    def begin(self) -> None:
        """Start to sample another cluster."""
        self._before, self._served = {}, {}

    def total(self, what: str) -> int:
        """Return a sum over all partitions."""
        return sum(time for (_, name), time in self.times.items() if name == what)

    def run_until(self, cluster: Cluster, time: int) -> None:
        """Run the cluster until the given time, and take samples."""
        while cluster.now + STEP <= time:
            cluster.run_until(cluster.now + STEP)
            self._look(cluster)
        cluster.run_until(time)

    def _look(self, cluster: Cluster) -> None:
        for tp, registration in cluster.controller.registry.partitions.items():
            health = partition_health(cluster, tp, registration)
            status, before = health.status, self._before.get(tp, health.status)
            stalled = status is PartitionStatus.STALLED
            self._add(tp, "read_down", STEP * (not status.readable))
            self._add(tp, "write_down", STEP * (not status.served and not stalled))
            still = health.uncommitted_us > STALL_BOUND
            self._add(tp, "stalled", STEP * stalled)
            served = self._served.setdefault(tp, [])
            if status.served:
                served.append(cluster.now)
            elif stalled and still:
                # That it stands still is known only when `STALL_BOUND` is over; it began that much earlier.
                self._add(tp, "stalled", STEP * sum(time > cluster.now - health.uncommitted_us for time in served))
                served.clear()
            if not health.uncommitted_us:
                served.clear()
            self.slow_disk += STEP * (stalled and not still and not health.not_fetching)
            self.changes += before is not status
            self._before[tp] = status

    def _add(self, tp: TopicPartition, what: str, time: int) -> None:
        self.times[tp, what] = self.times.get((tp, what), 0) + time
