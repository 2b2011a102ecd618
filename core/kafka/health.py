"""The health of a partition: its status, and the conditions that follow from its metadata (offline, under-replicated, at or under min ISR).

All code that shows, counts, or reports the health of partitions uses the functions of this module. Kafka has two definitions each of
under-replicated, under min ISR, and at min ISR. A broker counts only partitions that it leads, and uses the effective min.insync.replicas
(`is_under_replicated`, `is_under_min_isr`, `is_at_min_isr`). Metrics, reports, and `status_of` use the definitions that brokers use.
`kafka-topics --describe` lists partitions from the controller's metadata, including partitions that have no leader, and uses
min.insync.replicas as configured, even if the value exceeds the replication factor (`described_*`). isrlab's `describe` command, the grid's
filters, and the counts next to the grid use the definition of `kafka-topics --describe`.

`status_of` returns the status of a partition from its clients' point of view. Wherever isrlab shows or counts statuses, it uses
`status_of`. Reports use the same names for the statuses. It takes time for the controller to learn that a broker has failed. Until then,
the metadata can contain a leader or an ISR member that has failed. Therefore, the status depends both on the metadata and on the actual
state of processes and links. While an ISR member is not fetching, nothing is committed: the leader accepts writes with acks=1, but writes
with acks=all wait. The partition is then *stalled*, even though its metadata shows a leader and a full ISR.
"""

from __future__ import annotations

import enum
from collections.abc import Container, Sequence
from typing import Final, Protocol

from core.kafka.ids import NO_LEADER
from core.kafka.release import CURRENT, Release
from core.kafka.settings.registry import setting_named
from core.sim.units import SECOND

STALL_BOUND: Final = SECOND
"""The maximum time that the high watermark can stay below the log end without moving, in µs. If the high watermark has not moved for longer
than STALL_BOUND, writes with acks=all are stalled.

A healthy follower fetches at least once per replica.fetch.wait.max.ms, which is 500 ms by default. STALL_BOUND is twice the default of
replica.fetch.wait.max.ms.
"""

HELD_BOUND: Final = 60 * SECOND
"""The maximum time for which a transaction usually holds back the last stable offset, in µs: the default transaction.timeout.ms of producers."""


class LedPartition(Protocol):
    """A partition whose leader and ISR are known. The leader is NO_LEADER if there is none."""

    @property
    def leader(self) -> int: ...

    @property
    def isr(self) -> Sequence[int]: ...


class AssignedPartition(LedPartition, Protocol):
    """A partition whose leader, ISR, and assigned replicas are known. The replicas include those that a running reassignment is adding."""

    @property
    def replicas(self) -> Sequence[int]: ...

    @property
    def adding(self) -> Sequence[int]: ...


class PartitionStatus(enum.IntEnum):
    """The status of a partition, which depends on the operations that clients can perform on it.

    The statuses are ordered from worst to best. Writes with acks=all succeed only if the status is `READS_HELD` or better. Consumers with
    either isolation level make progress only if the status is `AT_MIN_ISR` or better.
    """

    OFFLINE = 0
    """The controller has no leader for the partition, so clients cannot read or write."""
    LEADER_UNAVAILABLE = 1
    """According to the controller, the partition has a leader, but this leader cannot serve requests and has not been replaced yet, so
    clients cannot read or write.
    """
    UNDER_MIN_ISR = 2
    """The ISR is smaller than the effective min.insync.replicas, so writes with acks=all are refused."""
    STALLED = 3
    """The leader serves requests and the ISR is large enough, but the high watermark cannot advance, so writes with acks=all wait."""
    READS_HELD = 4
    """A transaction that no coordinator will end holds back the last stable offset, so consumers with read_committed wait."""
    AT_MIN_ISR = 5
    """The size of the ISR equals the effective min.insync.replicas, and the partition is under-replicated."""
    UNDER_REPLICATED = 6
    """The ISR is smaller than the replication factor."""
    HEALTHY = 7
    """All replicas are in sync."""

    @property
    def readable(self) -> bool:
        """Whether consumers with read_uncommitted, which is the default, get committed records from the leader."""
        return self >= PartitionStatus.UNDER_MIN_ISR

    @property
    def served(self) -> bool:
        """Whether the partition is `readable`, and writes with acks=all are also acknowledged."""
        return self >= PartitionStatus.READS_HELD


def effective_min_isr(min_insync_replicas: int, replication_factor: int, *, capped: bool) -> int:
    """Return the effective min.insync.replicas. Since 3.7 (`capped`), the effective value is at most the replication factor.

    Kafka: `Partition#effectiveMinIsr` with the partition's replicas, and `ReplicationControlManager#getTopicEffectiveMinIsr` with the
    replicas of the topic's first partition.
    """
    return min(min_insync_replicas, replication_factor) if capped else min_insync_replicas


def replication_factor(partition: AssignedPartition) -> int:
    """Return the number of replicas that a partition should have, excluding the replicas that a reassignment is adding.

    Kafka: `OngoingReassignmentState#replicationFactor`.
    """
    return len(partition.replicas) - len(partition.adding)


# --- as brokers and controllers count ------------------------------------------------------------------------------


def is_offline(partition: LedPartition) -> bool:
    """Return whether a partition has no leader and counts in OfflinePartitionsCount (`ControllerMetricsChanges#handlePartitionChange`)."""
    return partition.leader == NO_LEADER


def is_under_replicated(partition: AssignedPartition) -> bool:
    """Return whether a partition's leader counts it in UnderReplicatedPartitions (`Partition#isUnderReplicated`); False if the partition
    has no leader."""
    return len(partition.isr) < replication_factor(partition) and not is_offline(partition)


def is_under_min_isr(partition: LedPartition, min_isr: int) -> bool:
    """Return whether a partition's leader refuses writes with acks=all and counts the partition in UnderMinIsrPartitionCount
    (`Partition#isUnderMinIsr`).

    `min_isr` is the effective min.insync.replicas (`effective_min_isr`), here and in `is_at_min_isr`.
    """
    return len(partition.isr) < min_isr and not is_offline(partition)


def is_at_min_isr(partition: LedPartition, min_isr: int) -> bool:
    """Return whether a partition's leader counts it in AtMinIsrPartitionCount, even if all replicas are in sync (`Partition#isAtMinIsr`)."""
    return len(partition.isr) == min_isr and not is_offline(partition)


# --- as `kafka-topics --describe` filters --------------------------------------------------------------------------


def described_unavailable(partition: LedPartition, live_brokers: Container[int] | None) -> bool:
    """Return whether `--unavailable-partitions` lists a partition (`PartitionDescription#hasUnavailablePartitions`).

    `--unavailable-partitions` lists partitions that have no leader, and partitions whose leader is not alive. `live_brokers` contains the
    brokers in the cluster's metadata; None if they are unknown.
    """
    return is_offline(partition) or (live_brokers is not None and partition.leader not in live_brokers)


def described_replication_factor(partition: AssignedPartition, release: Release) -> int:
    """Return the number of replicas as `kafka-topics --describe` counts them (`PartitionDescription#getReplicationFactor`)."""
    return replication_factor(partition) if release.describe_reassignment else len(partition.replicas)


def described_under_replicated(partition: AssignedPartition, release: Release = CURRENT, observing: int = 0) -> bool:
    """Return whether `--under-replicated-partitions` lists a partition, with or without a leader (`PartitionDescription#isUnderReplicated`).

    `observing` is the number of replicas that are outside the ISR by design (Confluent Server).
    """
    return described_replication_factor(partition, release) - observing - len(partition.isr) > 0


def described_min_isr(config: Sequence[tuple[str, str]], release: Release) -> int:
    """Return the uncapped min.insync.replicas from the topic's summary line, which the filters of `kafka-topics --describe` use
    (`TopicCommand#describeTopic`).

    Raises:
        ValueError: the value is not a number.
    """
    setting = setting_named("min.insync.replicas")
    for name, value in config:
        if name == setting.name:
            return int(setting.parse(value))
    return int(setting.default_in(release))


def described_under_min_isr(partition: LedPartition, min_insync_replicas: int) -> bool:
    """Return whether `--under-min-isr-partitions` lists a partition (`PartitionDescription#isUnderMinIsr`).

    `--under-min-isr-partitions` lists partitions that have no leader, and partitions whose ISR is smaller than the uncapped
    min.insync.replicas.
    """
    return is_offline(partition) or len(partition.isr) < min_insync_replicas


def described_at_min_isr(partition: LedPartition, min_insync_replicas: int) -> bool:
    """Return whether `--at-min-isr-partitions` lists a partition (`PartitionDescription#isAtMinIsrPartitions`).

    `--at-min-isr-partitions` uses the uncapped min.insync.replicas, and includes partitions that have no leader.
    """
    return len(partition.isr) == min_insync_replicas


# --- as clients experience it --------------------------------------------------------------------------------------


def is_stalled(not_fetching: Sequence[int], uncommitted_us: int, disk_us: int = 0) -> bool:
    """Return whether writes with acks=all wait even though the leader serves requests and the ISR is large enough.

    Args:
        not_fetching: the ISR members, other than the leader, that cannot fetch from the leader, because their process is down or paused or
            because their link to the leader is cut. If any ISR member cannot fetch from the leader, nothing can be committed, even if no
            client is currently writing.
        uncommitted_us: how long the high watermark has been below the log end without moving, in µs.
        disk_us: how long a write waits for the leader's disk before it is appended, in µs.
    """
    return bool(not_fetching) or uncommitted_us > STALL_BOUND or disk_us > STALL_BOUND


def status_of(
    partition: AssignedPartition,
    min_isr: int,
    *,
    leader_serves: bool,
    not_fetching: Sequence[int] = (),
    uncommitted_us: int = 0,
    disk_us: int = 0,
    reads_held: bool = False,
) -> PartitionStatus:
    """Return the status of a partition.

    Args:
        partition: the controller's state of the partition.
        min_isr: the effective min.insync.replicas (`effective_min_isr`).
        leader_serves: whether the leader's process is running and leads the partition, and no client of the topic is cut off from it.
        not_fetching: see `is_stalled`.
        uncommitted_us: see `is_stalled`.
        disk_us: see `is_stalled`.
        reads_held: whether a transaction that no coordinator will end holds the last stable offset below the high watermark.
    """
    if is_offline(partition):
        return PartitionStatus.OFFLINE
    if not leader_serves:
        return PartitionStatus.LEADER_UNAVAILABLE
    if is_under_min_isr(partition, min_isr):
        return PartitionStatus.UNDER_MIN_ISR
    if is_stalled(not_fetching, uncommitted_us, disk_us):
        return PartitionStatus.STALLED
    if reads_held:
        return PartitionStatus.READS_HELD
    if not is_under_replicated(partition):
        return PartitionStatus.HEALTHY
    return PartitionStatus.AT_MIN_ISR if is_at_min_isr(partition, min_isr) else PartitionStatus.UNDER_REPLICATED


class UncleanElection(enum.Enum):
    """The time, if any, at which unclean leader election gives a leader to a partition that has none."""

    NOBODY_UP = enum.auto()
    """No leader can be elected, because none of the partition's replicas is up."""
    AT_ONCE = enum.auto()
    """A ZooKeeper controller elects a leader as soon as unclean.leader.election.enable changes (`TopicUncleanLeaderElectionEnable`)."""
    PERIODIC = enum.auto()
    """A KRaft controller elects a leader in its next periodic check (`ReplicationControlManager#maybeElectUncleanLeaders`)."""
    IGNORED = enum.auto()
    """The controller ignores the setting, so only an administrator can request an election (`release.applies_unclean_setting`)."""


def could_elect_uncleanly(partition: AssignedPartition, up: Container[int]) -> bool:
    """Return whether an unclean election would give a partition a leader. The result is true if the partition has no leader, and one of its
    replicas is on a broker that is up.
    """
    return is_offline(partition) and any(replica in up for replica in partition.replicas)


def unclean_election(
    partition: AssignedPartition, up: Container[int], *, enabled: bool, zookeeper: bool, applied: bool
) -> UncleanElection | None:
    """Return the effect of unclean.leader.election.enable on a partition; None if the partition has a leader or the setting is off.

    Args:
        partition: the controller's state of the partition.
        up: the brokers that are up.
        enabled: the value of the setting for the topic.
        zookeeper: whether the controller uses ZooKeeper.
        applied: whether the controller applies the setting (`release.applies_unclean_setting`).
    """
    if not enabled or not is_offline(partition):
        return None
    if not could_elect_uncleanly(partition, up):
        return UncleanElection.NOBODY_UP
    if not applied:
        return UncleanElection.IGNORED
    return UncleanElection.AT_ONCE if zookeeper else UncleanElection.PERIODIC


def spare_replicas(min_insync_replicas: int, replicas: int, *, capped: bool) -> int:
    """Return the number of replicas that can leave the ISR before writes with acks=all are refused; negative if such writes are already
    refused."""
    return replicas - effective_min_isr(min_insync_replicas, replicas, capped=capped)
