"""A frozen view of one partition in full: the data on the disks of its brokers, and the state of its leader.

Building this detailed view takes longer than building the views of `core.lab.views.cluster_view`, so the view is built for one partition,
on request (`Cluster.partition_detail`). Times are in µs of virtual time. End offsets are exclusive, as in Kafka. The value -1 means unknown
or none.
"""

from __future__ import annotations

import attrs

from core.lab.views.partition_view import PartitionView


@attrs.frozen
class TermRun:
    """The records [start, end) of a log that one leader wrote in one leader epoch."""

    start: int
    end: int
    epoch: int
    leader: int


@attrs.frozen
class SegmentView:
    """One segment of a log: its offsets [base, end) and its size in bytes."""

    base: int
    end: int
    bytes: int


@attrs.frozen
class ReplicaDetail:
    """The data on the disk of one replica.

    Attributes:
        broker: the ID of the replica's broker.
        runs: the log as runs of records, each of one leader epoch.
        segments: the segments of the log, oldest first.
        recovery_point: the offset below which all records are flushed and survive a power loss.
        checkpointed_hw: the high watermark in `replication-offset-checkpoint`; -1 if there is none.
        checkpointed_recovery_point: the recovery point in `recovery-point-offset-checkpoint`; -1 if there is none.
        checkpointed_log_start: the log start offset in `log-start-offset-checkpoint`; -1 if there is none.
        diverged: the offset ranges at which the replica's records differ from those in the leader's log.
    """

    broker: int
    runs: tuple[TermRun, ...]
    segments: tuple[SegmentView, ...]
    recovery_point: int
    checkpointed_hw: int
    checkpointed_recovery_point: int
    checkpointed_log_start: int
    diverged: tuple[tuple[int, int], ...]

    @property
    def bytes(self) -> int:
        """The size of the log on disk, in bytes."""
        return sum(segment.bytes for segment in self.segments)


@attrs.frozen
class FollowerState:
    """A follower from its leader's perspective (Kafka: `Replica`).

    Attributes:
        broker: the ID of the follower's broker.
        leo: the offset of the follower's last fetch; -1 before its first fetch from this leader.
        fetched_us: the time since the last fetch; -1 if the follower has not fetched.
        caught_up_us: the time since the follower last had all of the leader's records; -1 if the follower has never had all of them.
        counts: whether the high watermark is currently waiting for the follower.
        waits_us: how much longer the follower's fetch can wait in the leader's purgatory, in µs; -1 if no fetch is waiting.
    """

    broker: int
    leo: int
    fetched_us: int
    caught_up_us: int
    counts: bool
    waits_us: int


@attrs.frozen
class WaitingWrite:
    """A write with acks=all in the leader's purgatory (Kafka: `DelayedProduce`).

    Attributes:
        producer: the name of the producer that sent the write.
        records: the number of records in the write.
        base: the offset of the first record in the write.
        required: the offset that the high watermark must reach.
        expires_us: the time until the leader answers with REQUEST_TIMED_OUT.
        waits_for: the replicas that the high watermark waits for and that have not fetched up to `required`.
    """

    producer: str
    records: int
    base: int
    required: int
    expires_us: int
    waits_for: tuple[int, ...]


@attrs.frozen
class LeaderState:
    """The state of a partition's leader.

    Attributes:
        broker: the ID of the leader's broker.
        epoch_start: the leader's LEO at the start of this leader epoch.
        isr: the committed ISR, as the leader knows it.
        maximal_isr: the ISR, including the members that the leader has proposed to add.
        pending: `expand` or `shrink` while the controller has not answered an ISR proposal; otherwise empty.
        proposed: the ISR that the leader has proposed to the controller.
        min_isr: the effective min.insync.replicas.
        under_min_isr: whether the ISR is smaller than `min_isr`.
        strict_min_isr: whether the high watermark stops when the ISR is smaller than `min_isr` (Kafka 3.7 and later).
        lag_max_us: replica.lag.time.max.ms.
        by_fetch: whether `lag_max_us` limits the time since a follower last fetched (before 0.9), instead of the time since it was last
            caught up.
        check_period_us: the period of the isr-expiration task.
        next_check_us: the time until the next run of the isr-expiration task; -1 if no run is scheduled.
        writes_isr: whether the leader writes the ISR to ZooKeeper itself (before 2.7).
        followers: the followers, in replica order.
        waiting: the first `MAX_WAITING_WRITES` waiting writes with acks=all, in offset order.
        waiting_total: the total number of waiting writes.
    """

    broker: int
    epoch_start: int
    isr: tuple[int, ...]
    maximal_isr: tuple[int, ...]
    pending: str
    proposed: tuple[int, ...]
    min_isr: int
    under_min_isr: bool
    strict_min_isr: bool
    lag_max_us: int
    by_fetch: bool
    check_period_us: int
    next_check_us: int
    writes_isr: bool
    followers: tuple[FollowerState, ...]
    waiting: tuple[WaitingWrite, ...]
    waiting_total: int

    def follower(self, broker: int) -> FollowerState | None:
        """Return the state of a follower; None if the leader does not know that broker."""
        return next((each for each in self.followers if each.broker == broker), None)


@attrs.frozen
class PartitionDetail:
    """All details of one partition.

    Attributes:
        now: the virtual time of the view, in µs.
        view: the partition's view in `ClusterView`.
        leads: the state of the leader; None if there is no leader, or if the leader's process has ended.
        replicas: the replicas, in replica order.
        session_us: the session timeout, which is how long a broker can go without a heartbeat before the controller considers it dead.
        eligible: the brokers that the controller could elect now, in order of preference, each with the kind of election.
        lost: the offset ranges of lost records, as (epoch, start, end).
        exposed: the offset ranges of committed records that an electable broker lacks.
    """

    now: int
    view: PartitionView
    leads: LeaderState | None
    replicas: tuple[ReplicaDetail, ...]
    session_us: int
    eligible: tuple[tuple[int, str], ...]
    lost: tuple[tuple[int, int, int], ...]
    exposed: tuple[tuple[int, int], ...]

    def replica(self, broker: int) -> ReplicaDetail | None:
        """Return the data on the disk of a broker; None if the broker has no replica."""
        return next((each for each in self.replicas if each.broker == broker), None)
