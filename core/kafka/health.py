"""What state a partition is in, as its clients experience it. Screens, readings and sweeps ask `status_of`; reports follow its words.

The controller learns late that a broker is gone: until then its metadata name a dead leader, or an ISR with a dead member. A
status therefore follows from those metadata *and* from what is true of the processes and links behind them. While an ISR member
does not fetch, nothing is committed: the leader takes writes with acks=1 and lets those with acks=all wait. That partition is
*stalled*, although the metadata show a leader and a whole ISR.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Final

from core.kafka.ids import NO_LEADER
from core.sim.units import SECOND

STALL_BOUND: Final = SECOND
"""How long the high watermark may stand still below the log end, µs; after that, writes with acks=all are stalled.

A follower without trouble fetches at least every replica.fetch.wait.max.ms, 500 ms by default: this is twice that.
"""


class PartitionStatus(enum.IntEnum):
    """What clients can do with a partition, worst first (the order operators sort by); the last three are served."""

    OFFLINE = 0
    """The controller has no leader for it: no reads, no writes."""
    LEADER_UNAVAILABLE = 1
    """The controller names a leader that does not serve and is not replaced yet: no reads, no writes."""
    UNDER_MIN_ISR = 2
    """ISR smaller than the effective min.insync.replicas: writes with acks=all are refused."""
    STALLED = 3
    """The leader serves and the ISR is large enough, but the high watermark cannot move: writes with acks=all wait."""
    AT_MIN_ISR = 4
    """ISR just as large as min.insync.replicas, and under-replicated."""
    UNDER_REPLICATED = 5
    """ISR smaller than the replication factor."""
    HEALTHY = 6
    """All replicas in sync."""

    @property
    def readable(self) -> bool:
        """Whether consumers get committed records from the leader."""
        return self >= PartitionStatus.UNDER_MIN_ISR

    @property
    def served(self) -> bool:
        """Whether writes with acks=all are acknowledged, too."""
        return self >= PartitionStatus.AT_MIN_ISR


def effective_min_isr(min_insync_replicas: int, replication_factor: int, *, capped: bool) -> int:
    """The min.insync.replicas that counts; since 3.7 (`capped`) at most the replication factor.

    Kafka: `Partition#effectiveMinIsr` with the partition's replicas, `ReplicationControlManager#getTopicEffectiveMinIsr`
    with those of the topic's first partition.
    """
    return min(min_insync_replicas, replication_factor) if capped else min_insync_replicas


def is_stalled(stuck: Sequence[int], uncommitted_us: int, disk_us: int = 0) -> bool:
    """Whether writes with acks=all wait although the leader serves and the ISR is large enough.

    Args:
        stuck: ISR members beside the leader that cannot fetch from it: their process is down or stands still, or a link between
            the two is cut. Then nothing can be committed, whether anybody writes at the moment or not.
        uncommitted_us: how long the high watermark has stood still below the log end, µs.
        disk_us: how long a write that arrives at the leader waits for its disk, µs; until then it is not even appended.
    """
    return bool(stuck) or uncommitted_us > STALL_BOUND or disk_us > STALL_BOUND


def status_of(
    leader: int,
    isr: Sequence[int],
    replicas: int,
    min_isr: int,
    *,
    leader_serves: bool,
    stuck: Sequence[int] = (),
    uncommitted_us: int = 0,
    disk_us: int = 0,
) -> PartitionStatus:
    """A partition's status.

    Args:
        leader: that the controller names.
        isr: the controller's.
        replicas: how many it is assigned to, without those that a reassignment adds.
        min_isr: the effective min.insync.replicas (`effective_min_isr`).
        leader_serves: whether the leader's process runs, leads the partition, and no client of the topic is cut off from it.
        stuck, uncommitted_us, disk_us: see `is_stalled`.
    """
    if leader == NO_LEADER:
        return PartitionStatus.OFFLINE
    if not leader_serves:
        return PartitionStatus.LEADER_UNAVAILABLE
    in_sync = len(isr)
    if in_sync < min_isr:
        return PartitionStatus.UNDER_MIN_ISR
    if is_stalled(stuck, uncommitted_us, disk_us):
        return PartitionStatus.STALLED
    if in_sync >= replicas:
        return PartitionStatus.HEALTHY
    return PartitionStatus.AT_MIN_ISR if in_sync == min_isr else PartitionStatus.UNDER_REPLICATED
