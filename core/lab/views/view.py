"""Frozen snapshots for whoever shows the state: a user interface, expectations, `describe`.

A view is taken by `Cluster.view()` (everything) or, for one partition, by `Cluster.partition_view(tp)`; it never changes
afterwards and holds no reference into the running system. Times are µs of virtual time, offsets Kafka's exclusive ones.
Leader, ISR and epochs are the controller's; a replica's LEO, HW and role are what stands on its broker, even a dead one.
"""

from __future__ import annotations

from functools import cached_property

import attrs

from core.kafka.broker.broker_state import BrokerState
from core.kafka.health import PartitionStatus, is_offline
from core.kafka.ids import TopicPartition
from core.sim.spelled_out import SpelledOut

__all__ = [
    "BrokerState", "BrokerView", "ClusterView", "ConsumerView", "LinkView", "PartitionStatus", "PartitionView", "ProducerView", "ReplicaView", "TopicView",
    "VoterView",
]  # fmt: skip


@attrs.frozen(repr=False)
class BrokerView(SpelledOut):
    """One broker. `fenced` is the controller's word; `leaders` and `replicas` count partitions by the controller's metadata."""

    id: int
    rack: str | None
    state: BrokerState
    fenced: bool
    broker_epoch: int
    leaders: int
    replicas: int
    metadata_offset: int
    silent_us: int
    """Since its last heartbeat reached the controller."""
    log_dirs: int = 1
    failed_dirs: tuple[int, ...] = ()
    """Its log directories, numbered from 1, that do not work."""
    disk_delay_us: int = 0
    """How long each write of its disk takes, beyond what every disk takes."""

    @property
    def up(self) -> bool:
        """Whether its process runs and the controller takes it for alive."""
        return self.state is BrokerState.RUNNING and not self.fenced


@attrs.frozen(repr=False)
class ReplicaView(SpelledOut):
    """One replica of a partition, on one broker.

    Attributes:
        broker: where it is.
        role: `leader`, `follower` or `offline` (no process, or its log directory failed), as that broker itself believes.
        leo, hw, log_start: offsets.
        in_isr: a member of the controller's ISR.
        alive: its broker's process runs (perhaps paused).
        fetch_state: of a follower: `fetching`, `truncating`, `delayed`, `failed` or `idle` (no fetcher).
        caught_up_us: how long ago the leader saw it caught up; -1 when no leader knows.
        epochs: the leader-epoch cache as (epoch, start offset).
        believes_leader, believes_epoch: the leader and leader epoch this broker last heard of.
        dir: the log directory it is in, from 1; dir_online whether that works.
        moving_to: the directory that it is being copied to, 0 if it stays, and how far the copy is.
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
class PartitionView(SpelledOut):
    """One partition as the controller has it, with all its replicas.

    `acked`, `lost`, `lost_acknowledged`, `lost_read`, `duplicated` are records of the durability account (`core.lab.durability_account`);
    `diverged` counts offsets at which two live replicas hold different records below both their high watermarks.
    `held_by` are the replicas that hold the HW: those of the least LEO, as the leader knows it; the leader itself if all have all.
    `status` is what clients experience (`core.kafka.health`); `stuck` and `uncommitted_us` say why it is stalled.
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
    """Effective min.insync.replicas."""
    status: PartitionStatus
    copies: tuple[ReplicaView, ...]
    """In replica order."""
    held_by: tuple[int, ...]
    accepted: int
    acked: int
    committed: int
    lost: int
    duplicated: int
    diverged: int
    exposed: int = 0
    """Committed records that a replica which may be elected lacks."""
    stuck: tuple[int, ...] = ()
    """ISR members that cannot fetch from the leader: their process is down or stands still, or a link between the two is cut."""
    uncommitted_us: int = 0
    """How long the HW has stood still below the leader's LEO; 0 when everything is committed."""
    lost_acknowledged: int = 0
    lost_read: int = 0

    @property
    def offline(self) -> bool:
        """Whether nobody leads it."""
        return is_offline(self)

    def copy_on(self, broker: int) -> ReplicaView:
        """The replica on that broker.

        Raises:
            KeyError: no replica there.
        """
        for copy in self.copies:
            if copy.broker == broker:
                return copy
        raise KeyError(broker)


@attrs.frozen(repr=False)
class TopicView(SpelledOut):
    """A topic's headline: overrides as (name, value) in the order describe prints them, and the placement."""

    name: str
    topic_id: str
    partitions: int
    replication_factor: int
    config: tuple[tuple[str, str], ...]


@attrs.frozen(repr=False)
class ProducerView(SpelledOut):
    """A producer client: records sent, acknowledged, given up; batches in flight now.

    `last_latency_us` is of the batch acknowledged last; what is not acknowledged waits, and `waits_us` says for how long.
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
    """Of each batch without answer: the time since it was first sent, µs, the longest first."""


@attrs.frozen(repr=False)
class ConsumerView(SpelledOut):
    """A consumer client: records read, and its positions by partition."""

    name: str
    topic: str
    read: int
    positions: tuple[tuple[TopicPartition, int], ...]
    reads_from: tuple[tuple[TopicPartition, int], ...] = ()
    """The followers that it reads from, where it does not read from the leader."""


@attrs.frozen(repr=False)
class VoterView(SpelledOut):
    """One voter of the controllers' quorum: what it believes, where its log ends, whether it takes itself for the active controller."""

    name: str
    role: str
    """`stopped`, `unattached`, `follower`, `prospective`, `candidate` or `leader`."""
    epoch: int
    leader: str
    end: int
    high_watermark: int
    active: bool


@attrs.frozen(repr=False)
class LinkView(SpelledOut):
    """One direction of a link that differs from the others: its latency and jitter in µs where they are above theirs, else 0, and
    which parts per million of its messages it loses, repeats and reorders."""

    src: str
    dst: str
    latency_us: int
    jitter_us: int
    loss_ppm: int
    duplicate_ppm: int
    reorder_ppm: int


@attrs.frozen(repr=False)
class ClusterView(SpelledOut):
    """The whole cluster at one moment.

    `controller` is the active controller's name, "" when there is none. `voters`, `controller_epoch`, `active_controllers`
    (ActiveControllerCount, summed) and `majority` (whether enough voters can talk to each other) tell of a quorum; without
    one there is the one controller.
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
    """Directed, sorted."""
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
    """Directed links, sorted, that are slower than the others, or lose, repeat or reorder more."""
    loss_ppm: int = 0
    """Messages that every link loses, parts per million."""
    latency_us: int = 0
    jitter_us: int = 0
    """Of every link that nobody has changed."""
    unclean_check_us: int = -1
    """Until the KRaft controller looks again whether unclean election is allowed by now; -1: it does not plan to."""
    version: int = attrs.field(default=-1, eq=False)
    """Two views of one `IncrementalView` with the same version differ only in offsets, counters and ages; -1: unknown."""

    @cached_property
    def up(self) -> frozenset[int]:
        """The brokers that are up."""
        return frozenset(broker.id for broker in self.brokers if broker.up)

    def partition(self, tp: TopicPartition) -> PartitionView:
        """One partition.

        Raises:
            KeyError: there is none of that name.
        """
        for view in self.partitions:
            if view.tp == tp:
                return view
        raise KeyError(str(tp))

    def broker(self, broker: int) -> BrokerView:
        """One broker.

        Raises:
            KeyError: there is none of that id.
        """
        for view in self.brokers:
            if view.id == broker:
                return view
        raise KeyError(broker)
