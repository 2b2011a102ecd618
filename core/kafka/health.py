"""Facts about a partition that follow from its metadata: offline, under-replicated, at or under min ISR, stalled; and the worst of them.

Whoever shows, counts or reports such a fact asks here. Kafka itself has two definitions of three of them. A broker counts what it
leads, with the effective min.insync.replicas (`is_under_replicated`, `is_under_min_isr`, `is_at_min_isr`): metrics, readings of
conditions, reports and `status_of` go by those. `kafka-topics --describe` goes by its rows and the setting as it is written, and a
leaderless partition counts (`described_*`): the command of the same name, the filters of the grid and the counts beside it go by those.

What state a partition is in, as its clients experience it, is `status_of`. Screens, readings and sweeps ask it; reports follow its words.
The controller learns late that a broker is gone: until then its metadata name a dead leader, or an ISR with a dead member. A
status therefore follows from those metadata *and* from what is true of the processes and links behind them. While an ISR member
does not fetch, nothing is committed: the leader takes writes with acks=1 and lets those with acks=all wait. That partition is
*stalled*, although the metadata show a leader and a whole ISR.
"""

from __future__ import annotations

import enum
from collections.abc import Container, Sequence
from typing import Final, Protocol

from core.kafka.ids import NO_LEADER
from core.kafka.release import Release
from core.kafka.settings import setting_named
from core.sim.units import SECOND

STALL_BOUND: Final = SECOND
"""How long the high watermark may stand still below the log end, µs; after that, writes with acks=all are stalled.

A follower without trouble fetches at least every replica.fetch.wait.max.ms, 500 ms by default: this is twice that.
"""


class LedPartition(Protocol):
    """A partition as somebody knows it: its leader, NO_LEADER if there is none, and its ISR."""

    @property
    def leader(self) -> int: ...

    @property
    def isr(self) -> Sequence[int]: ...


class AssignedPartition(LedPartition, Protocol):
    """One of which the assigned replicas are known, too, with those that a running reassignment adds."""

    @property
    def replicas(self) -> Sequence[int]: ...

    @property
    def adding(self) -> Sequence[int]: ...


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


def replication_factor(partition: AssignedPartition) -> int:
    """How many replicas a partition is to have: those just being added do not count.

    Kafka: `OngoingReassignmentState#replicationFactor`, `PartitionDescription#getReplicationFactor`.
    """
    return len(partition.replicas) - len(partition.adding)


# --- as brokers and controllers count ------------------------------------------------------------------------------


def is_offline(partition: LedPartition) -> bool:
    """Whether nobody leads it: it counts in OfflinePartitionsCount (`ControllerMetricsChanges#handlePartitionChange`)."""
    return partition.leader == NO_LEADER


def is_under_replicated(partition: AssignedPartition) -> bool:
    """Whether its leader counts it in UnderReplicatedPartitions (`Partition#isUnderReplicated`); without a leader nobody does."""
    return len(partition.isr) < replication_factor(partition) and not is_offline(partition)


def is_under_min_isr(partition: LedPartition, min_isr: int) -> bool:
    """Whether its leader refuses acks=all, and counts it in UnderMinIsrPartitionCount (`Partition#isUnderMinIsr`).

    `min_isr` is the effective min.insync.replicas (`effective_min_isr`), here and in `is_at_min_isr`.
    """
    return len(partition.isr) < min_isr and not is_offline(partition)


def is_at_min_isr(partition: LedPartition, min_isr: int) -> bool:
    """Whether its leader counts it in AtMinIsrPartitionCount, even if all replicas are in sync (`Partition#isAtMinIsr`)."""
    return len(partition.isr) == min_isr and not is_offline(partition)


# --- as `kafka-topics --describe` filters --------------------------------------------------------------------------


def described_unavailable(partition: LedPartition, live_brokers: Container[int] | None) -> bool:
    """`--unavailable-partitions`: no leader, or one that is no live broker (`PartitionDescription#hasUnavailablePartitions`).

    `live_brokers`: those that the cluster's metadata name; None: not known.
    """
    return is_offline(partition) or (live_brokers is not None and partition.leader not in live_brokers)


def described_under_replicated(partition: AssignedPartition, observing: int = 0) -> bool:
    """`--under-replicated-partitions`: led or not (`PartitionDescription#isUnderReplicated`).

    `observing`: replicas that by design are outside the ISR (Confluent Server).
    """
    return replication_factor(partition) - observing - len(partition.isr) > 0


def described_min_isr(config: Sequence[tuple[str, str]], release: Release) -> int:
    """min.insync.replicas as these filters take it from the settings of a topic's headline: as it is written, not capped (`TopicCommand#describeTopic`).

    Raises:
        ValueError: it is no number.
    """
    setting = setting_named("min.insync.replicas")
    for name, value in config:
        if name == setting.name:
            return int(setting.parse(value))
    return int(setting.default_in(release))


def described_under_min_isr(partition: LedPartition, min_insync_replicas: int) -> bool:
    """`--under-min-isr-partitions`: no leader, or an ISR smaller than the setting, which is not capped (`PartitionDescription#isUnderMinIsr`)."""
    return is_offline(partition) or len(partition.isr) < min_insync_replicas


def described_at_min_isr(partition: LedPartition, min_insync_replicas: int) -> bool:
    """`--at-min-isr-partitions`: led or not, and by the setting, which is not capped (`PartitionDescription#isAtMinIsrPartitions`)."""
    return len(partition.isr) == min_insync_replicas


# --- as clients experience it --------------------------------------------------------------------------------------


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
    partition: AssignedPartition,
    min_isr: int,
    *,
    leader_serves: bool,
    stuck: Sequence[int] = (),
    uncommitted_us: int = 0,
    disk_us: int = 0,
) -> PartitionStatus:
    """A partition's status.

    Args:
        partition: as the controller knows it.
        min_isr: the effective min.insync.replicas (`effective_min_isr`).
        leader_serves: whether the leader's process runs, leads the partition, and no client of the topic is cut off from it.
        stuck, uncommitted_us, disk_us: see `is_stalled`.
    """
    if is_offline(partition):
        return PartitionStatus.OFFLINE
    if not leader_serves:
        return PartitionStatus.LEADER_UNAVAILABLE
    if is_under_min_isr(partition, min_isr):
        return PartitionStatus.UNDER_MIN_ISR
    if is_stalled(stuck, uncommitted_us, disk_us):
        return PartitionStatus.STALLED
    if not is_under_replicated(partition):
        return PartitionStatus.HEALTHY
    return PartitionStatus.AT_MIN_ISR if is_at_min_isr(partition, min_isr) else PartitionStatus.UNDER_REPLICATED


class UncleanElection(enum.Enum):
    """Who makes a replica outside the ISR leader of a partition that has none."""

    NOBODY_UP = enum.auto()
    """Nobody: none of its replicas is up."""
    AT_ONCE = enum.auto()
    """A controller with ZooKeeper, as soon as it hears that it may (`TopicUncleanLeaderElectionEnable`)."""
    PERIODIC = enum.auto()
    """A KRaft controller, when it looks again (`ReplicationControlManager#maybeElectUncleanLeaders`)."""
    ON_CHANGE = enum.auto()
    """A KRaft controller, but only when a broker comes or goes."""


def could_elect_uncleanly(partition: AssignedPartition, up: Container[int]) -> bool:
    """Whether an unclean election would give it a leader: it has none, and a broker that is up has a replica of it."""
    return is_offline(partition) and any(replica in up for replica in partition.replicas)


def unclean_election(
    partition: AssignedPartition, up: Container[int], *, enabled: bool, zookeeper: bool, checks_periodically: bool
) -> UncleanElection | None:
    """What comes of unclean.leader.election.enable for a partition; None if it has a leader, or the setting is off.

    Args:
        partition: as the controller knows it.
        up: the brokers that are.
        enabled: the setting, as it holds for the topic.
        zookeeper: whether the controller works with ZooKeeper.
        checks_periodically: whether a KRaft controller plans to look for such partitions.
    """
    if not enabled or not is_offline(partition):
        return None
    if not could_elect_uncleanly(partition, up):
        return UncleanElection.NOBODY_UP
    if zookeeper:
        return UncleanElection.AT_ONCE
    return UncleanElection.PERIODIC if checks_periodically else UncleanElection.ON_CHANGE


def spare_replicas(min_insync_replicas: int, replicas: int, *, capped: bool) -> int:
    """How many of so many replicas may be out of the ISR until writes with acks=all are refused; negative: they always are."""
    return replicas - effective_min_isr(min_insync_replicas, replicas, capped=capped)
