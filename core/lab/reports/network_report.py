"""What waits for a busy network interface: the copies that it delays, and how long they will take. The report is built on request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import attrs

from core.kafka.broker.broker_state import BrokerState
from core.kafka.ids import TopicPartition
from core.kafka.log.replica_log import ReplicaLog
from core.lab.views.broker_view import BUSY
from core.lab.views.view_builder import network_use
from core.sim.units import SECOND

if TYPE_CHECKING:
    from core.lab.cluster_nodes import ClusterNodes


@attrs.frozen
class CatchUp:
    """The copies that wait for one direction of a broker's network interface: of replicas that lack more than the records of a second.

    Attributes:
        outgoing: whether the broker sends what is copied.
        others: the followers if the broker sends, and the leaders if it receives.
        partitions: the number of partitions that are copied.
        behind: the bytes that the replicas lack.
        passed: the bytes that passed the interface in the last full second.
        inflow: the bytes per second that must pass the interface because of new records: what was written in the last second, by the
            timestamps of the records. What consumers read does not count.
    """

    outgoing: bool
    others: tuple[int, ...]
    partitions: int
    behind: int
    passed: int
    inflow: int

    @property
    def takes(self) -> int:
        """How long the copies take if nothing changes, in µs: the backlog, divided by what passes without the inflow; -1 if they never end."""
        return self.behind * SECOND // (self.passed - self.inflow) if self.passed > self.inflow else -1


def catch_ups(cluster: ClusterNodes, broker: int) -> tuple[CatchUp, ...]:
    """Return the copies that wait for what a broker sends, and for what it receives, if its interface is busy in that direction."""
    use = network_use(cluster, cluster.brokers[broker].address)
    if use is None:
        return ()
    found = []
    for outgoing, passed in ((True, use.sent), (False, use.received)):
        if 100 * passed >= BUSY * use.rate and (catch_up := _catch_up(cluster, broker, outgoing, passed)).behind:
            found.append(catch_up)
    return tuple(found)


def _catch_up(cluster: ClusterNodes, broker: int, outgoing: bool, passed: int) -> CatchUp:
    behind = inflow = 0
    others: dict[int, None] = {}
    partitions: dict[TopicPartition, None] = {}
    for tp, leader, follower in _copies(cluster, broker):
        log = cluster.brokers[leader].disk.logs[tp]
        written = _written(log, cluster.now - SECOND)
        if follower == leader:
            inflow += 0 if outgoing else written
        elif outgoing == (leader == broker):
            inflow += written
            lacks = log.records.bytes_between(min(cluster.brokers[follower].disk.logs[tp].leo, log.leo), log.leo)
            if lacks > written:
                behind += lacks
                partitions[tp] = None
                others[follower if outgoing else leader] = None
    return CatchUp(outgoing, tuple(sorted(others)), len(partitions), behind, passed, inflow)


def _copies(cluster: ClusterNodes, broker: int) -> Iterator[tuple[TopicPartition, int, int]]:
    """Yield each partition that a broker leads or follows, with its leader and a follower of which one is the broker, or with its leader
    twice.
    """
    registrations = cluster.controller.registry.partitions
    for tp, partition in cluster.brokers[broker].partitions.items():
        if partition.is_leader:
            yield tp, broker, broker
            for follower in registrations[tp].replicas if tp in registrations else ():
                if follower != broker and _follows(cluster, tp, broker, follower):
                    yield tp, broker, follower
        elif _follows(cluster, tp, partition.leader, broker):
            yield tp, partition.leader, broker


def _follows(cluster: ClusterNodes, tp: TopicPartition, leader: int, follower: int) -> bool:
    """Return whether a broker copies the partition from a leader that has its log: both processes run, and the link between them works."""
    leads, follows = cluster.brokers.get(leader), cluster.brokers.get(follower)
    if leads is None or follows is None or follows.context.state is BrokerState.STOPPED:
        return False
    links = cluster.network.links
    ends = leads.address, follows.address
    if any(end in cluster.paused for end in ends) or any(each in links and links[each].cut for each in (ends, ends[::-1])):
        return False
    partition = follows.partitions.get(tp)
    return partition is not None and partition.leader == leader and tp in leads.disk.logs and tp in follows.disk.logs


def _written(log: ReplicaLog, since: int) -> int:
    start = log.offset_for_timestamp(since)
    return 0 if start < 0 else log.records.bytes_between(start, log.leo)
