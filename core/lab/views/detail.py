"""Frozen snapshots of one partition in full, for who looks at that one: what its brokers' disks hold, what its leader waits for.

They cost more than the views of `core.lab.views.view` and are made for a single partition, when somebody asks
(`Cluster.partition_detail`). Times are µs of virtual time, offsets Kafka's exclusive ones; -1 means unknown or none.
"""

from __future__ import annotations

import attrs

from core.kafka.ids import TopicPartition
from core.lab.views.view import PartitionView


@attrs.frozen
class TermRun:
    """Records [start, end) of a log, all written by one leader in one leader epoch."""

    start: int
    end: int
    epoch: int
    leader: int


@attrs.frozen
class SegmentView:
    """One segment of a log: offsets [base, end), and its bytes."""

    base: int
    end: int
    bytes: int


@attrs.frozen
class ReplicaDetail:
    """What stands on one replica's disk.

    Attributes:
        broker: where it is.
        runs: its log as runs of terms.
        segments: its segments, oldest first.
        recovery_point: all below is flushed and outlives the machine.
        checkpointed_hw, checkpointed_recovery_point, checkpointed_log_start: what the checkpoint files say; -1: not in them.
        diverged: stretches at which it holds other records than the leader's log.
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
        """Bytes on disk."""
        return sum(segment.bytes for segment in self.segments)


@attrs.frozen
class FollowerState:
    """A follower as its leader sees it (Kafka: `Replica`).

    Attributes:
        broker: the follower.
        leo: the offset its last fetch asked from, -1 before the first of this leadership.
        fetched_us: how long ago that was; -1: never.
        caught_up_us: how long ago it had all that the leader had; -1: never.
        counts: whether the high watermark waits for it now.
        parked_us: how long its fetch waits in the leader's purgatory yet, at most; -1: none waits.
    """

    broker: int
    leo: int
    fetched_us: int
    caught_up_us: int
    counts: bool
    parked_us: int


@attrs.frozen
class WaitingWrite:
    """An acks=all write in the leader's purgatory (Kafka: `DelayedProduce`).

    Attributes:
        producer, records, base: whose, how many, from which offset.
        required: the offset that the high watermark must reach.
        expires_us: time until it is answered REQUEST_TIMED_OUT.
        waits_for: the replicas that count and have not fetched so far.
    """

    producer: str
    records: int
    base: int
    required: int
    expires_us: int
    waits_for: tuple[int, ...]


@attrs.frozen
class LeaderState:
    """What the broker that leads believes and waits for.

    Attributes:
        broker: the leader.
        epoch_start: its LEO when this leader epoch began.
        isr, maximal_isr: the committed ISR as it knows it, and with what is proposed.
        pending: `expand` or `shrink` while a proposal is at the controller, with the proposed ISR.
        min_isr: the effective min.insync.replicas; `under_min_isr` whether the ISR is smaller.
        strict_min_isr: whether the high watermark stands still below it (since 3.7).
        lag_max_us: replica.lag.time.max.ms; `by_fetch`: of the time since a follower last fetched (before 0.9), not since it was caught up.
        check_period_us: how often its isr-expiration task looks; `next_check_us` time until it does, -1: not planned.
        writes_isr: it writes ISRs to ZooKeeper itself (before 2.7).
        followers: as it sees them, in replica order.
        waiting: acks=all writes that wait, in order of offset; `waiting_total` counts those left out here, too.
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
        """What it knows of that follower."""
        return next((each for each in self.followers if each.broker == broker), None)


@attrs.frozen
class PartitionDetail:
    """One partition in full.

    Attributes:
        now: when.
        view: its row of the overview.
        leads: the leader's own state; None while nobody leads, or the leader's process is gone.
        replicas: in replica order.
        session_us: how long a broker may be silent before the controller takes it for dead.
        eligible: brokers that the controller could elect now, in the order it would try them, each with the kind of election.
        lost: acknowledged or read offsets that are gone, as (epoch, start, end).
        exposed: committed offsets that an electable broker lacks.
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
        """What stands on that broker's disk."""
        return next((each for each in self.replicas if each.broker == broker), None)


@attrs.frozen
class LostRecords:
    """What one event took from one producer in one partition.

    Attributes:
        tp, producer: whose.
        ranges: the offsets exactly, [start, end) each, in order; records of other producers may lie between them.
        epoch: leader epoch in which they were written.
        acknowledged: whether they were acknowledged to the producer.
        read: whether a consumer has read them.
        event: seq of the event that doomed them.
    """

    tp: TopicPartition
    producer: str
    ranges: tuple[tuple[int, int], ...]
    epoch: int
    acknowledged: bool
    read: bool
    event: int

    @property
    def whose(self) -> str:
        """For whom they count, in words."""
        return " and ".join(word for word, holds in (("acknowledged", self.acknowledged), ("read", self.read)) if holds)

    @property
    def records(self) -> int:
        """How many."""
        return sum(end - start for start, end in self.ranges)


@attrs.frozen
class ExposedRecords:
    """Committed records of a partition that hang on luck: `brokers` may be elected and lack some of `ranges`, [start, end) each."""

    tp: TopicPartition
    ranges: tuple[tuple[int, int], ...]
    brokers: tuple[int, ...]

    @property
    def records(self) -> int:
        """How many."""
        return sum(end - start for start, end in self.ranges)


@attrs.frozen
class Harm:
    """The durability account: what is lost, and what is exposed, now."""

    lost: tuple[LostRecords, ...]
    exposed: tuple[ExposedRecords, ...]
