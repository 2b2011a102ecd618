"""Frozen views of the state of a cluster, for the user interface, expectations, and `describe`.

`Cluster.view()` builds a view of everything, and `Cluster.partition_view(tp)` builds one of a partition. A view never changes and
holds no reference into the running system. Times are µs of virtual time. End offsets are exclusive, as in Kafka. Leader, ISR, and
epochs are the controller's. The LEO, HW, and role of a replica are those on its broker, even if that broker is stopped.
"""

from __future__ import annotations

from functools import cached_property

import attrs

from core.kafka.broker.broker_state import BrokerState
from core.kafka.health import PartitionStatus, is_offline
from core.kafka.ids import TopicPartition
from core.lab.views.service_view import RetryView, ServiceView
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
        rack: broker.rack; None if the broker has no rack.
        state: the state of the broker's process.
        fenced: whether the controller has fenced the broker.
        broker_epoch: the epoch of the broker's registration.
        leaders: the number of partitions that the broker leads, according to the controller.
        replicas: the number of replicas on the broker, according to the controller.
        metadata_offset: the offset up to which the broker has read the metadata log.
        silent_us: the time since the broker's last heartbeat reached the controller.
        log_dirs: the number of log directories.
        failed_dirs: the failed log directories, numbered from 1.
        disk_delay_us: how much longer each write takes than on a normal disk.
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
        """Whether the broker's process runs and the controller considers it alive."""
        return self.state is BrokerState.RUNNING and not self.fenced


@attrs.frozen(repr=False)
class ReplicaView(ReprMixin):
    """One replica of a partition.

    Attributes:
        broker: the broker that the replica is on.
        role: `leader`, `follower`, or `offline` (no process, or a failed log directory), according to that broker.
        leo, hw, log_start: the offsets of the replica.
        in_isr: whether the controller's ISR includes it.
        alive: whether the broker's process runs, even if it is paused.
        fetch_state: the state of a follower: `fetching`, `truncating`, `delayed`, `failed`, or `idle` (no fetcher).
        caught_up_us: the time since the leader saw the replica caught up; -1 if no leader knows.
        epochs: the leader-epoch cache as (epoch, start offset).
        believes_leader, believes_epoch: the leader and leader epoch that the broker knows.
        dir: the number of the log directory, from 1.
        dir_online: whether that directory works.
        moving_to: the log directory that the replica is being moved to; 0 if none.
        future_leo: the log end offset of the copy in that directory; -1 if there is none.
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
        replicas, isr, elr, last_known_elr, adding, removing, recovering: see the same class.
        min_isr: the effective min.insync.replicas.
        status: the status that clients experience (`core.kafka.health`).
        replica_views: the replicas, in replica order.
        slowest_replicas: the replicas that hold the high watermark back: those with the lowest LEO that the leader knows; the leader if all
        are equal.
        accepted, acked, lost, duplicated: the numbers of records in the durability account (`core.lab.accounts.durability_account`).
        committed: the leader's high watermark.
        diverged: the number of offsets below both high watermarks at which two live replicas hold different records.
        exposed: the number of committed records that an electable replica lacks.
        not_fetching: the ISR members that cannot fetch from the leader because their process is down or paused, or the link is cut.
        uncommitted_us: how long the HW has not moved while below the leader's LEO; 0 if everything is committed.
        lost_acknowledged, lost_read: the number of lost records that were acknowledged, and the number that a consumer has read.
        held_back_at: the leader's last stable offset while transactions keep it below the high watermark; None while both are equal.
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
        topic_id: the id of the topic.
        partitions: the number of partitions.
        replication_factor: the replication factor of the first partition.
        config: the overrides as (name, value), in the order in which `kafka-topics --describe` prints them.
    """

    name: str
    topic_id: str
    partitions: int
    replication_factor: int
    config: tuple[tuple[str, str], ...]


@attrs.frozen(repr=False)
class BatchingView(ReprMixin):
    """The batches of a producer that collects records.

    Attributes:
        batches: the number of batches that were sent, without retries.
        records: the number of records in these batches.
        wire_bytes: the size of these batches on the network.
        queue_time_us: the average time from send() to the sending of the batch; -1 if no batch was sent.
        record_latency_us: the average time from send() to the acknowledgment; -1 if no record was acknowledged.
        available: the part of buffer.memory that no batch occupies, bytes.
        waiting: the number of records that the application wants to send while send() blocks.
    """

    batches: int
    records: int
    wire_bytes: int
    queue_time_us: int
    record_latency_us: int
    available: int
    waiting: int


@attrs.frozen(repr=False)
class ProducerView(ReprMixin):
    """A producer.

    Attributes:
        name, topic, acks: the configuration of the producer.
        rate: the records per second of its load; 0 if it has none.
        sent, acked, failed: the numbers of records sent, acknowledged, and given up.
        in_flight: the number of batches without an answer.
        retries: the number of attempts after the first one.
        last_latency_us: the latency of the batch that was acknowledged last.
        waits_us: the time since each batch without an answer was created, longest first.
        batching: what the producer has collected in batches; None if it does not collect records.
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
    batching: BatchingView | None = None


@attrs.frozen(repr=False)
class ConsumerView(ReprMixin):
    """A consumer.

    Attributes:
        name, topic: the configuration of the consumer.
        read: the number of records read.
        positions: the positions, by partition.
        reads_from: the followers that the consumer reads from, by partition. Partitions that it reads from the leader are missing.
    """

    name: str
    topic: str
    read: int
    positions: tuple[tuple[TopicPartition, int], ...]
    reads_from: tuple[tuple[TopicPartition, int], ...] = ()


@attrs.frozen(repr=False)
class GroupMemberView(ReprMixin):
    """A member of a group, as its coordinator knows it.

    Attributes:
        member_id: the member ID.
        instance_id: the group.instance.id; empty for a dynamic member.
        client: the client.id.
        assignment: its partitions.
    """

    member_id: str
    instance_id: str
    client: str
    assignment: tuple[TopicPartition, ...]


@attrs.frozen(repr=False)
class GroupView(ReprMixin):
    """One group, as its coordinator knows it.

    Attributes:
        name: the group.
        coordinator: the broker that coordinates the group.
        offsets: (partition, committed offset), in the order of the first commits.
        pending: the number of offsets in open transactions.
        state: the state, such as `Stable`.
        generation: the generation; 0 before the first.
        protocol: the chosen assignor; empty if there is none.
        leader_id: the member ID of the leader; empty if there is none.
        members: the members, in the order in which they joined.
    """

    name: str
    coordinator: int
    offsets: tuple[tuple[TopicPartition, int], ...]
    pending: int
    state: str = "Empty"
    generation: int = 0
    protocol: str = ""
    leader_id: str = ""
    members: tuple[GroupMemberView, ...] = ()


@attrs.frozen(repr=False)
class ConsumptionView(ReprMixin):
    """What a group with members has done with one partition, as the durability account sees it.

    Attributes:
        group: the group.
        tp: the partition.
        processed: the number of records that were processed at least once.
        again: the number of records that were processed more than once.
        repeats: how often a record was processed that had been processed before.
        skipped: the number of records that were skipped.
    """

    group: str
    tp: TopicPartition
    processed: int
    again: int
    repeats: int
    skipped: int


@attrs.frozen(repr=False)
class MemberView(ReprMixin):
    """A consumer of a group, as it knows itself.

    Attributes:
        name: the name of the consumer.
        group: the group.
        topics: the topics that it subscribes to.
        running: whether its process runs.
        frozen: whether its process is frozen.
        phase: what its application is doing, such as `processing`.
        state: its membership, such as `Stable`.
        member_id: its member ID; empty if it has none.
        generation: its generation; -1 if it has none.
        coordinator: the broker that it considers the coordinator; -1 if it does not know one.
        owned: its partitions.
        positions: (partition, next offset to poll) of the partitions with a position.
        processed: the number of records that it has processed.
        in_hand: the number of records that it has polled and not processed.
    """

    name: str
    group: str
    topics: tuple[str, ...]
    running: bool
    frozen: bool
    phase: str
    state: str
    member_id: str
    generation: int
    coordinator: int
    owned: tuple[TopicPartition, ...]
    positions: tuple[tuple[TopicPartition, int], ...]
    processed: int
    in_hand: int


@attrs.frozen(repr=False)
class ProcessView(ReprMixin):
    """One process that reads a topic, writes another, and commits its offsets.

    Attributes:
        name: the name of the process.
        source, output: the input topic and the output topic.
        group: the group.
        delivery: `exactly-once`, `at-least-once`, or `at-most-once`.
        instance: the number of the present or last instance.
        running: whether the instance is running.
        step: the present step, or the last one of an instance that has ended.
        input: the number of visible input records. This count and the next ones include the other processes of the group.
        processed: the number of input records all of whose output records are visible.
        processed_twice, half_visible, never_processed: the numbers of input records with this harm.
    """

    name: str
    source: str
    output: str
    group: str
    delivery: str
    instance: int
    running: bool
    step: str
    input: int
    processed: int
    processed_twice: int
    half_visible: int
    never_processed: int


@attrs.frozen(repr=False)
class VoterView(ReprMixin):
    """One voter of the metadata quorum.

    Attributes:
        name: the name of the voter.
        role: `stopped`, `unattached`, `follower`, `prospective`, `candidate`, or `leader`.
        epoch, leader: the epoch and the leader that the voter knows.
        end: the end of the voter's log.
        high_watermark: the voter's high watermark.
        active: whether the voter considers itself the active controller.
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
        latency_us, jitter_us: the latency and jitter of the link if they exceed those of the network; otherwise 0.
        loss_ppm, duplicate_ppm, reorder_ppm: the shares of messages that are lost, duplicated, and reordered, parts per million.
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
        seq: the sequence number of the last event.
        release: the name of the release.
        controller: the name of the active controller; empty if there is none.
        brokers, topics, partitions, producers, consumers: the parts of the cluster.
        cut_links, held_links: the cut and held directed links, sorted.
        accepted, acked, lost, duplicated, lost_acknowledged, lost_read: the totals of the durability account.
        diverged, exposed: the totals over the partitions.
        unclean_elections: the number of unclean elections, including those of a last known leader.
        isr_shrinks, isr_expands: the numbers of committed ISR changes.
        controller_epoch: the newest controller epoch.
        active_controllers: the sum of ActiveControllerCount over the cluster.
        majority: whether a majority of the voters can communicate with each other.
        voters: the voters of the metadata quorum; empty if there is none.
        changed_links: the directed links that are slower than the others, or that lose, duplicate, or reorder more; sorted.
        loss_ppm: the share of messages that every link loses, parts per million.
        latency_us, jitter_us: the latency and jitter of every link that is not in `changed_links`.
        unclean_check_us: the time until the KRaft controller checks for unclean elections; -1 if no check is scheduled.
        groups, processes: the groups, and the processes.
        members: the consumers of groups.
        consumption: what groups with members have done, by group and partition.
        services: the delay services and their workers.
        retries: the retry services.
        version: the version of an `IncrementalView`; -1 if unknown. Views with the same version differ only in offsets, counters, and ages.
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
    groups: tuple[GroupView, ...] = ()
    processes: tuple[ProcessView, ...] = ()
    members: tuple[MemberView, ...] = ()
    consumption: tuple[ConsumptionView, ...] = ()
    services: tuple[ServiceView, ...] = ()
    retries: tuple[RetryView, ...] = ()
    version: int = attrs.field(default=-1, eq=False)

    @cached_property
    def up(self) -> frozenset[int]:
        """The brokers that are up."""
        return frozenset(broker.id for broker in self.brokers if broker.up)

    def partition(self, tp: TopicPartition) -> PartitionView:
        """Return the view of a partition.

        Raises:
            KeyError: the partition does not exist.
        """
        for view in self.partitions:
            if view.tp == tp:
                return view
        raise KeyError(str(tp))

    def broker(self, broker: int) -> BrokerView:
        """Return the view of a broker.

        Raises:
            KeyError: the broker does not exist.
        """
        for view in self.brokers:
            if view.id == broker:
                return view
        raise KeyError(broker)
