"""The controller's registration of a partition: replicas, ISR, leader, leader epoch, and partition epoch."""

from __future__ import annotations

import attrs

from core.kafka.ids import NO_LEADER


@attrs.frozen
class PartitionRegistration:
    """The state of a partition that the controller has registered (Kafka: `PartitionRegistration`). `merge` returns a new registration for
    each change.

    Attributes:
        replicas: the assigned brokers, in order; the first one is the preferred leader.
        isr: the in-sync replicas, in the recorded order; empty only if the release keeps an ELR.
        leader: the leading broker, or NO_LEADER.
        leader_epoch: the number that identifies the leader's term. The leader epoch rises with every metadata record that sets a leader,
            even if the leader stays the same.
        partition_epoch: the version of the partition's state. The partition epoch rises with every metadata record for the partition.
        elr: the eligible leader replicas. Eligible leader replicas left the ISR while it was smaller than min.insync.replicas, and they
            have all committed records.
        last_known_elr: the last known leader while the partition has no leader (KIP-966); otherwise empty.
        adding: the replicas that a running reassignment is adding.
        removing: the replicas that a running reassignment removes when it is complete.
        recovering: whether the leader was elected uncleanly and has not reported RECOVERED yet (KIP-704).
    """

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    recovering: bool = False

    @property
    def has_leader(self) -> bool:
        """Whether the partition has a leader (Kafka: `PartitionRegistration#hasLeader`)."""
        return self.leader != NO_LEADER

    @property
    def preferred_replica(self) -> int:
        """The first assigned replica; NO_LEADER if none is assigned (Kafka: `PartitionRegistration#preferredReplica`)."""
        return self.replicas[0] if self.replicas else NO_LEADER

    @property
    def has_preferred_leader(self) -> bool:
        """Whether the preferred replica leads (Kafka: `PartitionRegistration#hasPreferredLeader`)."""
        return self.leader == self.preferred_replica
