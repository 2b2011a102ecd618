"""Frozen views of the state of a cluster, for the user interface, expectations and `describe`.

`Cluster.view()` builds a view of everything, `Cluster.partition_view(tp)` one of a partition. A view never changes and holds no reference
into the running system. Times are µs of virtual time; end offsets are exclusive, as in Kafka. Leader, ISR and epochs are the
controller's; the LEO, HW and role of a replica are those on its broker, even if that is stopped.
"""

from __future__ import annotations

from functools import cached_property

import attrs

from core.kafka.broker.broker_state import BrokerState
from core.kafka.health import PartitionStatus, is_offline
from core.kafka.ids import TopicPartition
from core.sim.repr_mixin import ReprMixin

__all__ = [
    "BrokerState", "BrokerView", "ClusterView", "ConsumerView", "LinkView", "PartitionStatus", "PartitionView", "ProducerView", "ReplicaView", "TopicView",
    "VoterView",
]  # fmt: skip


@attrs.frozen(repr=False)
class BrokerView(ReprMixin):
    """One broker.

    Attributes:
        id: the broker id.
        rack: broker.rack; None if it has none.
        state: the state of its process.
        fenced: whether the controller has fenced it.
        broker_epoch: the epoch of its registration.
        leaders: the partitions that it leads, according to the controller.
        replicas: the replicas that it has, according to the controller.
        metadata_offset: how far it has read the metadata log.
        silent_us: the time since its last heartbeat reached the controller.
        log_dirs: the number of its log directories.
        failed_dirs: the failed ones, numbered from 1.
        disk_delay_us: the time that each write takes in addition to that of a normal disk.
    """

    id: int
    rack: str | None
    state: BrokerState
    fenced: bool
    broker_epoch: int
    leaders: int
    replicas: int
    metadata_offset: int
    silent_us: int
    log_dirs: int = 1
    failed_dirs: tuple[int, ...] = ()
    disk_delay_us: int = 0

    @property
    def up(self) -> bool:
        """Whether its process runs and the controller considers it alive."""
        return self.state is BrokerState.RUNNING and not self.fenced


@attrs.frozen(repr=False)
class ReplicaView(ReprMixin):
    """One replica of a partition.

    Attributes:
        broker: the broker that it is on.
        role: `leader`, `follower` or `offline` (no process, or its log directory failed), according to that broker.
        leo, hw, log_start: its offsets.
        in_isr: whether the controller's ISR includes it.
        alive: whether its broker's process runs, even if paused.
        fetch_state: of a follower: `fetching`, `truncating`, `delayed`, `failed` or `idle` (no fetcher).
        caught_up_us: the time since the leader saw it caught up; -1: no leader knows.
        epochs: the leader-epoch cache as (epoch, start offset).
        believes_leader, believes_epoch: the leader and leader epoch that its broker knows.
        dir: the number of its log directory, from 1.
        dir_online: whether that directory works.
        moving_to: the log directory that it is being moved to; 0: none.
        future_leo: the log end offset of the copy there; -1: none.
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
        tp: the partition.
        leader, leader_epoch, partition_epoch: see `core.kafka.partition_registration.PartitionRegistration`.
        replicas, isr, elr, last_known_elr, adding, removing, recovering: likewise.
        min_isr: the effective min.insync.replicas.
        status: what clients experience (`core.kafka.health`).
        copies: the replicas, in replica order.
        held_by: the replicas that hold the high watermark back: those with the lowest LEO that the leader knows; the leader if all are equal.
        accepted, acked, lost, duplicated: records of the durability account (`core.lab.durability_account`).
        committed: the leader's high watermark.
        diverged: the number of offsets below both high watermarks at which two live replicas hold different records.
        exposed: committed records that a replica which can be elected lacks.
        not_fetching: ISR members that cannot fetch from the leader: their process is down or paused, or a link between the two is cut.
        uncommitted_us: how long the HW has stood still below the leader's LEO; 0 if everything is committed.
        lost_acknowledged, lost_read: lost records that were acknowledged, and that a consumer has read.
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
    copies: tuple[ReplicaView, ...]
    held_by: tuple[int, ...]
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

    @property
    def offline(self) -> bool:
        """Whether it has no leader."""
        return is_offline(self)

    def copy_on(self, broker: int) -> ReplicaView:
        """The replica on a broker.

        Raises:
            KeyError: there is none.
        """
        for copy in self.copies:
            if copy.broker == broker:
                return copy
        raise KeyError(broker)


@attrs.frozen(repr=False)
class TopicView(ReprMixin):
    """A topic.

    Attributes:
        name: its name.
        topic_id: its id.
        partitions: the number of partitions.
        replication_factor: the replication factor of the first partition.
        config: overrides as (name, value), in the order in which `kafka-topics --describe` prints them.
    """

    name: str
    topic_id: str
    partitions: int
    replication_factor: int
    config: tuple[tuple[str, str], ...]


@attrs.frozen(repr=False)
class ProducerView(ReprMixin):
    """A producer.

    Attributes:
        name, topic, acks: its configuration.
        rate: records per second of its load; 0: none.
        sent, acked, failed: records sent, acknowledged, given up.
        in_flight: batches without an answer.
        retries: attempts after the first one.
        last_latency_us: the latency of the batch that was acknowledged last.
        waits_us: the time since each batch without an answer was created, longest first.
    """

    name: str
    topic: str
    acks: int
    rate: int
    sent: int
    acked: int
    failed: int
    in_flight: int
    retries: int
    last_latency_us: int
    waits_us: tuple[int, ...] = ()


@attrs.frozen(repr=False)
class ConsumerView(ReprMixin):
    """A consumer.

    Attributes:
        name, topic: its configuration.
        read: records read.
        positions: its position by partition.
        reads_from: the follower that it reads from, by partition, where it does not read from the leader.
    """

    name: str
    topic: str
    read: int
    positions: tuple[tuple[TopicPartition, int], ...]
    reads_from: tuple[tuple[TopicPartition, int], ...] = ()


@attrs.frozen(repr=False)
class VoterView(ReprMixin):
    """One voter of the metadata quorum.

    Attributes:
        name: its name.
        role: `stopped`, `unattached`, `follower`, `prospective`, `candidate` or `leader`.
        epoch, leader: the epoch and the leader that it knows.
        end: the end of its log.
        high_watermark: its high watermark.
        active: whether it considers itself the active controller.
    """

    name: str
    role: str
    epoch: int
    leader: str
    end: int
    high_watermark: int
    active: bool


@attrs.frozen(repr=False)
class LinkView(ReprMixin):
    """One direction of a link that differs from the other links.

    Attributes:
        src, dst: the sender and the receiver.
        latency_us, jitter_us: its latency and jitter if they exceed those of the network, else 0.
        loss_ppm, duplicate_ppm, reorder_ppm: the messages that it loses, duplicates and reorders, parts per million.
    """

    src: str
    dst: str
    latency_us: int
    jitter_us: int
    loss_ppm: int
    duplicate_ppm: int
    reorder_ppm: int


@attrs.frozen(repr=False)
class ClusterView(ReprMixin):
    """The whole cluster at one moment.

    Attributes:
        now: the virtual time.
        seq: the seq of the last event.
        release: the name of the release.
        controller: the name of the active controller; empty: there is none.
        brokers, topics, partitions, producers, consumers: the parts.
        cut_links, held_links: directed links, sorted.
        accepted, acked, lost, duplicated, lost_acknowledged, lost_read: totals of the durability account.
        diverged, exposed: totals over the partitions.
        unclean_elections: unclean elections, including those of a last known leader.
        isr_shrinks, isr_expands: committed ISR changes.
        controller_epoch: the newest controller epoch.
        active_controllers: ActiveControllerCount, summed over the cluster.
        majority: whether enough voters can talk to each other.
        voters: the voters of the metadata quorum; empty if there is none.
        changed_links: directed links, sorted, that are slower than the others, or that lose, duplicate or reorder more.
        loss_ppm: the messages that every link loses, parts per million.
        latency_us, jitter_us: of every link that nobody has changed.
        unclean_check_us: the time until the KRaft controller checks for unclean elections; -1: not scheduled.
        version: two views of one `IncrementalView` with the same version differ only in offsets, counters and ages; -1: unknown.
    """

    now: int
    seq: int
    release: str
    controller: str
    brokers: tuple[BrokerView, ...]
    topics: tuple[TopicView, ...]
    partitions: tuple[PartitionView, ...]
    producers: tuple[ProducerView, ...]
    consumers: tuple[ConsumerView, ...]
    cut_links: tuple[tuple[str, str], ...]
    held_links: tuple[tuple[str, str], ...]
    accepted: int
    acked: int
    lost: int
    duplicated: int
    diverged: int
    unclean_elections: int
    isr_shrinks: int
    isr_expands: int
    exposed: int = 0
    lost_acknowledged: int = 0
    lost_read: int = 0
    controller_epoch: int = 0
    active_controllers: int = 1
    majority: bool = True
    voters: tuple[VoterView, ...] = ()
    changed_links: tuple[LinkView, ...] = ()
    loss_ppm: int = 0
    latency_us: int = 0
    jitter_us: int = 0
    unclean_check_us: int = -1
    version: int = attrs.field(default=-1, eq=False)

    @cached_property
    def up(self) -> frozenset[int]:
        """The brokers that are up."""
        return frozenset(broker.id for broker in self.brokers if broker.up)

    def partition(self, tp: TopicPartition) -> PartitionView:
        """The view of a partition.

        Raises:
            KeyError: there is no such partition.
        """
        for view in self.partitions:
            if view.tp == tp:
                return view
        raise KeyError(str(tp))

    def broker(self, broker: int) -> BrokerView:
        """The view of a broker.

        Raises:
            KeyError: there is no such broker.
        """
        for view in self.brokers:
            if view.id == broker:
                return view
        raise KeyError(broker)
