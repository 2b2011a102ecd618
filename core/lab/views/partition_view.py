"""The frozen state of a replica, a partition, and a topic."""

from __future__ import annotations

import attrs

from core.kafka.health import PartitionStatus, is_offline
from core.kafka.ids import TopicPartition
from core.sim.repr_mixin import ReprMixin


@attrs.frozen(repr=False)
class ReplicaView(ReprMixin):
    """One replica of a partition.

    Attributes:
        broker: the broker that the replica is on.
        role: `leader`, `follower`, or `offline` (no process, or a failed log directory), according to the replica's broker.
        leo, hw, log_start: the log end offset, the high watermark, and the log start offset of the replica.
        in_isr: whether the controller's ISR includes the replica.
        alive: whether the broker's process is running, even if it is paused.
        fetch_state: the state of a follower: `fetching`, `truncating`, `delayed`, `failed`, or `idle` (no fetcher).
        caught_up_us: the time since the replica was last caught up, according to its leader; -1 if no leader knows this time.
        epochs: the leader-epoch cache as (epoch, start offset).
        believes_leader, believes_epoch: the leader and leader epoch that the broker knows.
        dir: the number of the log directory, from 1.
        dir_online: whether the replica's log directory works.
        moving_to: the log directory that the replica is being moved to; 0 if the replica is not being moved.
        future_leo: the log end offset of the copy in the directory `moving_to`; -1 if there is none.
    """

    broker: int
    role: str
    leo: int
    hw: int
    log_start: int
    in_isr: bool
    alive: bool
    fetch_state: str
    caught_up_us: int
    epochs: tuple[tuple[int, int], ...]
    believes_leader: int
    believes_epoch: int
    dir: int = 1
    dir_online: bool = True
    moving_to: int = 0
    future_leo: int = -1


@attrs.frozen(repr=False)
class PartitionView(ReprMixin):
    """One partition as the controller knows it, with all its replicas.

    Attributes:
        tp: the topic and the number of the partition.
        leader, leader_epoch, partition_epoch: see `core.kafka.partition_registration.PartitionRegistration`.
        replicas, isr, elr, last_known_elr, adding, removing, recovering: see `core.kafka.partition_registration.PartitionRegistration`.
        min_isr: the effective min.insync.replicas.
        status: the status that clients experience (`core.kafka.health`).
        replica_views: the views of the replicas, in replica order.
        slowest_replicas: the replicas that hold back the high watermark, which are the replicas with the lowest LEO that the leader knows;
            the leader if all LEOs are equal.
        accepted, acked, lost, duplicated: the numbers of records in the durability account (`core.lab.accounts.durability_account`).
        committed: the leader's high watermark.
        diverged: the number of offsets below both high watermarks at which two live replicas hold different records.
        exposed: the number of committed records that an electable replica lacks.
        not_fetching: the ISR members that cannot fetch from the leader because their process is down or paused, or the link is cut.
        uncommitted_us: how long the HW has not advanced although it is below the leader's LEO, in µs; 0 if everything is committed.
        lost_acknowledged, lost_read: the number of lost records that were acknowledged, and the number of lost records that a consumer has
            read.
        held_back_at: the leader's last stable offset while transactions keep it below the high watermark; None while the two are equal.
        out_of_order: the number of records that were appended after records that their producer sent later.
        held_us: the age of the record at that offset, by its timestamp, in µs; 0 while the two are equal.
        ongoing: the number of transactions that are open in the leader's log.
    """

    tp: TopicPartition
    leader: int
    leader_epoch: int
    partition_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    last_known_elr: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]
    recovering: bool
    min_isr: int
    status: PartitionStatus
    replica_views: tuple[ReplicaView, ...]
    slowest_replicas: tuple[int, ...]
    accepted: int
    acked: int
    committed: int
    lost: int
    duplicated: int
    diverged: int
    exposed: int = 0
    not_fetching: tuple[int, ...] = ()
    uncommitted_us: int = 0
    lost_acknowledged: int = 0
    lost_read: int = 0
    held_back_at: int | None = None
    ongoing: int = 0
    held_us: int = 0
    out_of_order: int = 0

    @property
    def offline(self) -> bool:
        """Whether the partition has no leader."""
        return is_offline(self)

    def replica_on(self, broker: int) -> ReplicaView:
        """Return the replica on a broker.

        Raises:
            KeyError: the broker has no replica.
        """
        for replica in self.replica_views:
            if replica.broker == broker:
                return replica
        raise KeyError(broker)


@attrs.frozen(repr=False)
class TopicView(ReprMixin):
    """A topic.

    Attributes:
        name: the name of the topic.
        topic_id: the ID of the topic.
        partitions: the number of the topic's partitions.
        replication_factor: the replication factor of the first partition.
        config: the overrides as (name, value), in the order in which `kafka-topics --describe` prints them.
    """

    name: str
    topic_id: str
    partitions: int
    replication_factor: int
    config: tuple[tuple[str, str], ...]
